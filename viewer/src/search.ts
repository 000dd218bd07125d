// Search: ops by name, value, type, weight, function or line.

import type { PageData } from "./data";
import { counted, h } from "./dom";
import type { Model } from "./model";

const SHOWN = 60;

export interface SearchEvents {
  find(ops: number[]): void;
  select(op: number): void;
  leave(): void;
}

export class Search {
  readonly input = h("input", {
    type: "search", id: "search", placeholder: "Search ops, names, lines", "aria-label": "search ops, names and lines",
    role: "combobox", "aria-expanded": "false", "aria-controls": "hits", autocomplete: "off", spellcheck: "false",
  });
  readonly element: HTMLElement;
  private list = h("ul", { id: "hits", role: "listbox", "aria-label": "hits", hidden: true });
  private status = h("span", { class: "status", role: "status" });
  private texts: string[][] = []; // of each op: its name, what else it has, its line as well
  private hits: number[] = [];
  private at = -1;
  private model: Model | null = null;

  constructor(private page: PageData, private events: SearchEvents) {
    this.element = h("div", { class: "search" }, this.input, h("kbd", { "aria-hidden": "true" }, "/"), this.status, this.list);
    this.input.addEventListener("input", () => this.run());
    this.input.addEventListener("focus", () => this.show(this.hits.length > 0));
    this.input.addEventListener("blur", () => this.show(false));
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("pointerdown", (event) => {
      const hit = (event.target as Element).closest("[data-hit]");
      event.preventDefault(); // the box keeps the focus
      if (hit) this.goTo(Number(hit.getAttribute("data-hit")));
    });
  }

  use(model: Model): void {
    this.model = model;
    this.texts = model.data.ops.map((op, index) => {
      const more = [
        op.name, ...op.results.map((value) => `%${model.data.values[value][0]} ${model.data.values[value][1]}`),
        ...model.storedOf[index].map((stored) => model.data.stored[stored].name),
        op.place ? `${this.page.files[op.place[0]].name}:${op.place[1]} ${op.place[3]}` : "",
      ].join("\n").toLowerCase();
      return [`${op.name} ${model.jumps.get(index) ?? ""}`.toLowerCase(), more, `${more}\n${this.sourceOf(index).toLowerCase()}`];
    });
    this.run();
  }

  private sourceOf(op: number): string {
    const place = this.model!.op(op).place;
    const run = place && this.page.files[place[0]].runs.find((one) => place[1] >= one.first && place[1] < one.first + one.lines.length);
    return place && run ? run.lines[place[1] - run.first] : "";
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  clear(): void {
    this.input.value = "";
    this.run();
  }

  private run(): void {
    const words = this.input.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.at = -1;
    this.hits = [];
    if (words.length) {
      const tests = words.map((word) => {
        const line = /^(?:line:?|:)(\d+)$/.exec(word);
        return line ? (text: string) => new RegExp(`:${line[1]} `).test(text) : (text: string) => text.includes(word);
      });
      // first ops of that name, then those that have it elsewhere, last those whose line has it
      const ranked: number[][] = [[], [], []];
      this.texts.forEach((parts, op) => {
        const rank = parts.findIndex((text) => tests.every((test) => test(text)));
        if (rank >= 0) ranked[rank].push(op);
      });
      this.hits = ranked.flat();
    }
    this.status.textContent = words.length ? (this.hits.length ? counted(this.hits.length, "op") : "nothing found") : "";
    this.draw();
    this.show(this.hits.length > 0 && document.activeElement === this.input);
    this.events.find(this.hits);
  }

  private draw(): void {
    const first = Math.max(0, Math.min(this.at - SHOWN / 2, this.hits.length - SHOWN));
    const rows = this.hits.slice(first, first + SHOWN).map((op, k) => {
      const data = this.model!.op(op);
      const place = data.place ? `${this.page.files[data.place[0]].name}:${data.place[1]}` : "";
      const results = data.results.slice(0, 2).map((value) => `%${this.model!.data.values[value][0]} ${this.model!.data.values[value][1]}`);
      return h("li", {
        role: "option", id: `hit-${first + k}`, "data-hit": first + k, "aria-selected": String(first + k === this.at),
      }, h("b", {}, this.model!.opName(op)), h("code", {}, results.join(", ")), h("small", {}, place));
    });
    const left = this.hits.length - first - rows.length;
    if (left > 0) rows.push(h("li", { class: "more", role: "presentation" }, `and ${left} more: Enter goes from one to the next`));
    this.list.replaceChildren(...rows);
    this.list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
    if (this.at >= 0) this.input.setAttribute("aria-activedescendant", `hit-${this.at}`);
    else this.input.removeAttribute("aria-activedescendant");
  }

  private show(isOpen: boolean): void {
    this.list.hidden = !isOpen;
    this.input.setAttribute("aria-expanded", String(isOpen));
  }

  private goTo(hit: number): void {
    if (!this.hits.length) return;
    this.at = (hit + this.hits.length) % this.hits.length;
    this.draw();
    this.show(true);
    this.status.textContent = `${this.at + 1} of ${counted(this.hits.length, "op")}`;
    this.events.select(this.hits[this.at]);
  }

  private key(event: KeyboardEvent): void {
    if (event.key === "ArrowDown" || (event.key === "Enter" && !event.shiftKey)) this.goTo(this.at + 1);
    else if (event.key === "ArrowUp" || event.key === "Enter") this.goTo(this.at < 0 ? -1 : this.at - 1);
    else if (event.key === "Escape") {
      if (this.input.value) this.clear();
      this.events.leave();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
