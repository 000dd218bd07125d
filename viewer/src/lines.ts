// Lines: a list of rows of which only those in sight are made. Rows may wrap: those that have been in sight
// have the height that they were found to have, the others a guess.

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

export interface LineOptions {
  count: number;
  rowHeight: number;
  label: string;
  id: string;
  widest: number | null; // characters of the longest row; null: rows wrap
}

export class Lines {
  readonly element: HTMLElement;
  private inner = h("div", { class: "rows" });
  private current: number | null = null;
  private waiting = 0;
  private width = 0;
  private heights: number[];
  private tops: number[] = []; // of each row, and the end of the last

  constructor(private options: LineOptions, private events: LineEvents) {
    const { label, id, widest } = options;
    this.element = h("div", { class: `lines${widest === null ? " wrapped" : ""}`, tabindex: 0, role: "listbox", "aria-label": label, id }, this.inner);
    if (widest !== null) this.inner.style.minWidth = `${Math.max(40, widest) + 8}ch`;
    this.heights = new Array<number>(options.count).fill(options.rowHeight);
    this.place();
    this.element.addEventListener("scroll", () => this.later());
    this.element.addEventListener("pointerover", (event) => this.events.hover(this.rowOf(event)));
    this.element.addEventListener("pointerleave", () => this.events.hover(null));
    this.element.addEventListener("click", (event) => {
      const row = this.rowOf(event);
      if (row !== null) this.choose(row);
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("blur", () => this.events.hover(null));
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  private rowOf(event: Event): number | null {
    const found = event.target instanceof Element ? event.target.closest("[data-row]") : null;
    return found ? Number(found.getAttribute("data-row")) : null;
  }

  // ---- heights

  private place(): void {
    this.tops = [0];
    for (const height of this.heights) this.tops.push(this.tops[this.tops.length - 1] + height);
  }

  /** The row at a height, by bisection. */
  private rowAt(y: number): number {
    let [low, high] = [0, this.heights.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.tops[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  /** In another width rows wrap elsewhere: what is known of their heights is void, what is in sight stays. */
  private resized(): void {
    const { clientWidth } = this.element;
    if (this.options.widest === null && clientWidth && clientWidth !== this.width) {
      const first = this.rowAt(this.element.scrollTop);
      this.width = clientWidth;
      this.heights.fill(this.options.rowHeight);
      this.place();
      this.draw();
      this.element.scrollTop = this.tops[first];
    }
    this.later();
  }

  /** Take over the true heights of the rows that have been made; the first in sight stays where it is. */
  private measure(first: number): void {
    const found = [...this.inner.children].map((row) => row.getBoundingClientRect().height);
    if (!this.element.clientHeight || found.every((height, k) => Math.abs(height - this.heights[first + k]) < 0.5)) return;
    const { scrollTop } = this.element;
    const anchor = this.rowAt(scrollTop);
    const inside = scrollTop - this.tops[anchor];
    found.forEach((height, k) => (this.heights[first + k] = height));
    this.place();
    this.setRoom(first, first + found.length);
    this.element.scrollTop = this.tops[anchor] + inside;
    this.later();
  }

  private setRoom(first: number, last: number): void {
    this.inner.style.paddingTop = `${this.tops[first]}px`;
    this.inner.style.paddingBottom = `${this.tops[this.heights.length] - this.tops[last]}px`;
  }

  // ---- drawing

  later(): void {
    if (!this.waiting) {
      this.waiting = requestAnimationFrame(() => {
        this.waiting = 0;
        this.draw();
      });
    }
  }

  draw(): void {
    const { count, widest } = this.options;
    if (!count) return;
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, this.rowAt(scrollTop) - BEYOND);
    const last = Math.min(count, this.rowAt(scrollTop + clientHeight) + 1 + BEYOND);
    const rows: HTMLElement[] = [];
    for (let row = first; row < last; row++) rows.push(this.row(row));
    this.inner.replaceChildren(...rows);
    this.setRoom(first, last);
    if (widest === null) this.measure(first);
    this.events.scrolled?.(this.rowAt(scrollTop));
  }

  private row(index: number): HTMLElement {
    const { id } = this.options;
    const row = this.events.render(index);
    row.classList.add("row");
    row.classList.toggle("current", index === this.current);
    row.setAttribute("data-row", String(index));
    row.id = `${id}-${index}`;
    if (this.events.isStop(index)) {
      row.setAttribute("role", "option");
      row.setAttribute("aria-selected", String(index === this.current));
    } else {
      row.setAttribute("role", "presentation");
    }
    return row;
  }

  // ---- moving

  /** Make `row` the current one, in sight. */
  goTo(row: number): void {
    this.current = row;
    const { rowHeight, id } = this.options;
    const { scrollTop, clientHeight } = this.element;
    if (this.tops[row] < scrollTop + rowHeight || this.tops[row + 1] > scrollTop + clientHeight - rowHeight) {
      this.bring(row, 1 / 2);
    }
    this.element.setAttribute("aria-activedescendant", `${id}-${row}`);
    this.later();
  }

  /** Let `row` be seen, at some part of the height from the top. */
  scrollTo(row: number, part = 1 / 3): void {
    requestAnimationFrame(() => this.bring(row, part));
  }

  /** Rows on the way may turn out to be higher than was thought: what counts is where `row` is in the end. */
  private bring(row: number, part: number): void {
    for (let attempt = 0; attempt < 4; attempt++) {
      const wanted = Math.max(0, this.tops[row] - this.element.clientHeight * part);
      this.element.scrollTop = wanted;
      this.draw();
      if (Math.abs(this.tops[row] - this.element.clientHeight * part - wanted) < 1) return;
    }
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
    const { count } = this.options;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (step) {
      let row = (this.current ?? -1) + step;
      while (row >= 0 && row < count && !this.events.isStop(row)) row += step;
      if (row >= 0 && row < count) {
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
