// Tabs: a list of titles of which one is chosen, and the panel that belongs to it.

import { h } from "./dom";

interface Tab {
  id: string;
  title: string;
  panel: HTMLElement;
  shown?: () => void;
}

export class Tabs {
  readonly list: HTMLElement;
  readonly panels: HTMLElement[];
  private buttons: HTMLButtonElement[];

  constructor(label: string, private tabs: Tab[]) {
    this.buttons = tabs.map((tab) => {
      const made = h("button", { type: "button", role: "tab", id: `tab-${tab.id}`, "aria-controls": `panel-${tab.id}` }, tab.title);
      made.addEventListener("click", () => this.choose(tab.id));
      return made;
    });
    this.list = h("div", { class: "tabs", role: "tablist", "aria-label": label }, ...this.buttons);
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.panels = tabs.map((tab) => h("div", { class: "panel", role: "tabpanel", id: `panel-${tab.id}`, "aria-labelledby": `tab-${tab.id}` }, tab.panel));
    this.set(0);
  }

  choose(id: string): void {
    const index = this.tabs.findIndex((tab) => tab.id === id);
    if (!this.panels[index].hidden) return;
    this.set(index);
    this.tabs[index].shown?.();
  }

  private set(chosen: number): void {
    this.buttons.forEach((button, index) => {
      button.setAttribute("aria-selected", String(index === chosen));
      button.tabIndex = index === chosen ? 0 : -1;
      this.panels[index].hidden = index !== chosen;
    });
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const now = this.buttons.findIndex((button) => button.tabIndex === 0);
    const next = (now + step + this.tabs.length) % this.tabs.length;
    this.choose(this.tabs[next].id);
    this.buttons[next].focus();
    event.preventDefault();
  }
}
