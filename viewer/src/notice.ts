// One message at the foot of the page, until it is closed or another one comes.

import { button, h } from "./dom";

let shown: HTMLElement | null = null;

export function notice(text: string, kind: "error" | "hint" = "error"): void {
  closeNotice();
  shown = h("div", { class: `notice ${kind}`, role: kind === "error" ? "alert" : "status" },
    h("span", {}, text), button("Close", "close the message", closeNotice));
  document.body.append(shown);
}

export function closeNotice(): void {
  shown?.remove();
  shown = null;
}
