// Light or dark: the system's choice, or the reader's.

import { h } from "./dom";

const CHOICES = ["auto", "light", "dark"] as const;
const KEY = "stator-theme";

export function themeSwitch(): HTMLElement {
  const made = h("button", { type: "button", class: "theme" });
  let now = CHOICES.indexOf((kept() ?? "auto") as (typeof CHOICES)[number]);
  const show = () => {
    const choice = CHOICES[Math.max(0, now)];
    if (choice === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", choice);
    made.textContent = { auto: "◐ Auto", light: "○ Light", dark: "● Dark" }[choice];
    made.setAttribute("aria-label", `colours: ${choice}`);
    made.title = "light or dark";
  };
  made.addEventListener("click", () => {
    now = (Math.max(0, now) + 1) % CHOICES.length;
    keep(CHOICES[now]);
    show();
  });
  show();
  return made;
}

// a page from a file may not be allowed to keep anything: the choice then lasts as long as the page
function kept(): string | null {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function keep(choice: string): void {
  try {
    window.localStorage.setItem(KEY, choice);
  } catch {
    return;
  }
}
