// Lines: a list of rows of one height, of which only those in sight are made.

import { h } from "./dom";

const BEYOND = 12; // rows made above and below those in sight

export interface LineEvents {
  render(row: number): HTMLElement;
  hover(row: number | null): void;
  choose(row: number): void;
  /** The first row in sight has changed. */
  scrolled?(first: number): void;
  /** Can the keyboard stop here? */
  isStop(row: number): boolean;
}

export class Lines {
  readonly element: HTMLElement;
  private inner = h("div", { class: "rows" });
  private current: number | null = null;
  private waiting = 0;

  constructor(
    private count: number, private rowHeight: number, characters: number, label: string, private id: string,
    private events: LineEvents,
  ) {
    this.element = h("div", { class: "lines", tabindex: 0, role: "listbox", "aria-label": label, id }, this.inner);
    this.inner.style.height = `${count * rowHeight}px`;
    this.inner.style.minWidth = `${Math.max(40, characters) + 8}ch`;
    this.element.addEventListener("scroll", () => this.later());
    this.element.addEventListener("pointerover", (event) => this.events.hover(this.rowOf(event)));
    this.element.addEventListener("pointerleave", () => this.events.hover(null));
    this.element.addEventListener("click", (event) => {
      const row = this.rowOf(event);
      if (row !== null) this.choose(row);
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("blur", () => this.events.hover(null));
    new ResizeObserver(() => this.later()).observe(this.element);
  }

  private rowOf(event: Event): number | null {
    const found = event.target instanceof Element ? event.target.closest("[data-row]") : null;
    return found ? Number(found.getAttribute("data-row")) : null;
  }

  later(): void {
    if (!this.waiting) {
      this.waiting = requestAnimationFrame(() => {
        this.waiting = 0;
        this.draw();
      });
    }
  }

  draw(): void {
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / this.rowHeight) - BEYOND);
    const last = Math.min(this.count, Math.ceil((scrollTop + clientHeight) / this.rowHeight) + BEYOND);
    const rows: HTMLElement[] = [];
    for (let row = first; row < last; row++) rows.push(this.row(row));
    this.inner.replaceChildren(...rows);
    this.events.scrolled?.(Math.floor(scrollTop / this.rowHeight));
  }

  private row(index: number): HTMLElement {
    const row = this.events.render(index);
    row.classList.add("row");
    row.classList.toggle("current", index === this.current);
    row.style.top = `${index * this.rowHeight}px`;
    row.setAttribute("data-row", String(index));
    row.id = `${this.id}-${index}`;
    if (this.events.isStop(index)) {
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(index === this.current));
    } else {
      row.setAttribute("role", "presentation");
    }
    return row;
  }

  /** Make `row` the current one, in sight. */
  goTo(row: number): void {
    this.current = row;
    const top = row * this.rowHeight;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop + this.rowHeight || top > scrollTop + clientHeight - 2 * this.rowHeight) {
      this.element.scrollTop = top - clientHeight / 2;
    }
    this.element.setAttribute("aria-activedescendant", `${this.id}-${row}`);
    this.later();
  }

  /** Let `row` be seen, a third from the top. */
  scrollTo(row: number): void {
    requestAnimationFrame(() => {
      this.element.scrollTop = row * this.rowHeight - this.element.clientHeight / 3;
    });
  }

  leave(): void {
    this.current = null;
    this.element.removeAttribute("aria-activedescendant");
    this.later();
  }

  private choose(row: number): void {
    if (!this.events.isStop(row)) return;
    this.goTo(row);
    this.events.choose(row);
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step) {
      let row = (this.current ?? -1) + step;
      while (row >= 0 && row < this.count && !this.events.isStop(row)) row += step;
      if (row >= 0 && row < this.count) {
        this.goTo(row);
        this.events.hover(row);
      }
    } else if ((event.key === "Enter" || event.key === " ") && this.current !== null) {
      this.choose(this.current);
    } else {
      return;
    }
    event.preventDefault();
  }
}
