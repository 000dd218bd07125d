// Walker: the keys of the graph. It walks through the outline, in and out of blocks, and along the data.

import type { Group } from "./groups";
import type { Layouts } from "./layout";
import type { Model } from "./model";
import { type Item, itemsOf, parentOf } from "./outline";
import type { Marks } from "./scene";

export interface Steps {
  select(op: number): void;
  showSection(section: Group): void;
  toggle(op: number): void;
  toggleSection(section: Group): void;
  goToSource(op: number): void;
}

export class Walker {
  private items: Item[] | null = null;

  constructor(private model: Model, private layouts: Layouts, private marks: Marks, private steps: Steps) {}

  /** Something has been opened or closed. */
  changed(): void {
    this.items = null;
  }

  key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const act = this.actions(event)[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  private actions(event: KeyboardEvent): Record<string, () => void> {
    const { selected } = this.marks;
    if (event.shiftKey && selected !== null && event.key.startsWith("Arrow")) {
      return { ArrowUp: () => this.follow(selected, -1), ArrowDown: () => this.follow(selected, 1) };
    }
    return {
      ArrowDown: () => this.step(1), ArrowUp: () => this.step(-1),
      ArrowRight: () => this.into(), ArrowLeft: () => this.outOf(),
      PageDown: () => this.step(10), PageUp: () => this.step(-10),
      Home: () => this.step(-Infinity), End: () => this.step(Infinity),
      Enter: () => this.enter(), " ": () => this.enter(),
    };
  }

  private current(): Item | null {
    const { selected, section } = this.marks;
    if (selected !== null) return { op: selected };
    return section !== null ? { section } : null;
  }

  private step(by: number): void {
    const items = (this.items ??= itemsOf(this.model, this.layouts));
    const now = this.current();
    let index = now ? items.findIndex((one) => isSame(one, now)) : -1;
    if (now && index < 0) index = items.findIndex((one) => "op" in one && "op" in now && one.op >= now.op);
    this.goTo(items[Math.max(0, Math.min(items.length - 1, index + by))]);
  }

  private goTo(item: Item | undefined): void {
    if (!item) return;
    if ("op" in item) this.steps.select(item.op);
    else this.steps.showSection(item.section);
  }

  private isOpen(item: Item): boolean | null {
    if ("section" in item) return this.layouts.isOpen(item.section);
    return this.model.op(item.op).blocks.length ? this.layouts.openOps.has(item.op) : null;
  }

  private into(): void {
    const now = this.current();
    if (!now) return this.step(1);
    const isOpen = this.isOpen(now);
    if (isOpen === false) this.enter();
    else if (isOpen) this.step(1);
  }

  private outOf(): void {
    const now = this.current();
    if (!now) return;
    if (this.isOpen(now)) this.enter();
    else this.goTo(parentOf(this.model, now) ?? undefined);
  }

  private enter(): void {
    const now = this.current();
    if (!now) return this.step(1);
    if ("section" in now) return this.steps.toggleSection(now.section);
    if (this.model.op(now.op).blocks.length) return this.steps.toggle(now.op);
    this.steps.goToSource(now.op);
  }

  /** Follow the data: to the op that computes the first argument, or to the first that uses a result. */
  private follow(op: number, direction: 1 | -1): void {
    const near = direction > 0
      ? this.model.op(op).results.flatMap((value) => this.model.users[value])
      : this.model.named(op).flatMap((value) => {
        const from = this.model.producer[value];
        return from.kind === "op" ? [from.op] : [];
      });
    if (near.length) this.steps.select(near[0]);
  }
}

function isSame(a: Item, b: Item): boolean {
  return "op" in a ? "op" in b && a.op === b.op : "section" in b && a.section === b.section;
}
