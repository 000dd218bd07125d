// GraphPane: the drawing with its ways to move in it: wheel, drag, keys, and the strip at the side.

import { h, largest, s } from "./dom";
import type { Group } from "./groups";
import { type Box, type Framed, Layouts } from "./layout";
import type { Model } from "./model";
import { AFAR, type Marks, Scene } from "./scene";
import { Strip } from "./strip";
import { itemsOf, type Item, parentOf } from "./outline";

const FEW = 150; // a program of so many ops is opened at once
const MARGIN = 0.35; // drawn beyond the edges, in parts of the pane
const LEGIBLE = 0.66; // the least scale to start with
const WIDE = 1.6; // panes that the graph may be wide with all its blocks open
const BUDGET = 40; // milliseconds of layout in one frame
const SCALES = { least: 0.06, most: 2.2 };

export interface GraphEvents {
  select(op: number | null): void;
  hover(op: number | null): void;
  goToSource(op: number): void;
}

export class GraphPane {
  readonly element: HTMLElement;
  readonly layouts: Layouts;
  readonly marks: Marks = { selected: null, section: null, lit: new Set(), found: new Set() };
  private svg: SVGSVGElement;
  private world = s("g");
  private scene: Scene | null = null;
  private strip: Strip;
  private at = { x: 0, y: 0, scale: 1 };
  private drawnBox: Box | null = null;
  private waiting = 0;
  private items: Item[] | null = null;
  private started = false;

  constructor(private model: Model, private events: GraphEvents) {
    this.layouts = new Layouts(model);
    if (model.data.ops.length <= FEW) model.data.ops.forEach((op, k) => op.blocks.length && this.layouts.openOps.add(k));
    this.svg = s("svg", {
      tabindex: 0, role: "tree", "aria-label": `graph of ${model.data.name}; arrow keys move, Enter opens blocks`,
      id: "graph",
    },
      s("defs", {}, arrow("arrow"), arrow("arrow-near")), this.world);
    this.strip = new Strip(model, this.layouts, (y) => this.moveTo(this.at.x, y - this.height / 2));
    this.element = h("div", { class: "graph" }, this.svg, this.strip.element);
    this.listen();
    new ResizeObserver(() => this.resized()).observe(this.element);
  }

  // ---- where things are

  private get width(): number {
    return this.svg.clientWidth / this.at.scale;
  }

  private get height(): number {
    return this.svg.clientHeight / this.at.scale;
  }

  private frames(): Framed[] {
    let y = 0;
    return this.model.roots.map((group) => {
      const { w, h } = this.layouts.of(group);
      const framed = { group, x: 0, y, w, h };
      y += h + 40;
      return framed;
    });
  }

  private boxOfGroup(group: Group): Framed {
    const owner = this.model.data.blocks[group.block].owner;
    const inside = (holder: Framed, found: Framed) => ({ ...found, x: holder.x + found.x, y: holder.y + found.y });
    if (group.parent) {
      const found = this.layouts.of(group.parent).sections.find((one) => one.group === group)!;
      return inside(this.boxOfGroup(group.parent), found);
    }
    if (owner === null) return this.frames().find((one) => one.group === group)!;
    const around = this.model.groupOf[owner];
    const node = this.layouts.of(around).nodes.find((one) => one.op === owner)!;
    return inside(this.boxOfGroup(around), node.frames.find((one) => one.group === group)!);
  }

  private boxOf(op: number): Box {
    const group = this.model.groupOf[op];
    this.settleSection(group);
    const node = this.layouts.of(group).nodes.find((one) => one.op === op)!;
    const holder = this.boxOfGroup(group);
    return { x: holder.x + node.x, y: holder.y + node.y, w: node.w, h: node.h };
  }

  /** A section that is looked at for the first time gets its true size. */
  private settleSection(group: Group): void {
    if (this.layouts.has(group) || !this.layouts.isOpen(group)) return;
    this.layouts.of(group);
    if (group.parent) this.layouts.forget(group.parent);
  }

  /** Lay out what has come into sight, as far as there is time; what is in sight stays where it is. */
  private settle(scene: Scene): void {
    const end = performance.now() + BUDGET;
    const isSeen = (group: Group) => {
      const box = this.boxOfGroup(group);
      return box.y < this.at.y + this.height && box.y + box.h > this.at.y;
    };
    const anchor = [...scene.laidOut, ...scene.guessed].find(isSeen);
    for (const section of scene.guessed) {
      if (performance.now() > end) return this.later();
      if (!anchor || !isSeen(section)) continue;
      const before = this.boxOfGroup(anchor);
      this.settleSection(section);
      const after = this.boxOfGroup(anchor);
      const above = Math.max(0, this.at.y - before.y) / before.h; // how much of it is above the edge
      this.at.y += after.y - before.y + (after.h - before.h) * above;
      this.at.x += after.x + after.w / 2 - before.x - before.w / 2;
      this.drawnBox = null;
    }
  }

  // ---- drawing

  private later(): void {
    if (!this.waiting) {
      this.waiting = requestAnimationFrame(() => {
        this.waiting = 0;
        this.draw();
      });
    }
  }

  private resized(): void {
    if (!this.started && this.svg.clientWidth) {
      this.started = true;
      this.closeWide();
      this.fit();
      if (this.marks.selected !== null) this.select(this.marks.selected);
    }
    this.drawnBox = null;
    this.later();
  }

  private draw(): void {
    if (!this.svg.clientWidth) return;
    if (!this.isWithin(this.drawnBox)) this.redraw();
    if (this.scene?.guessed.length) this.settle(this.scene);
    if (!this.drawnBox) this.redraw();
    const { x, y, scale } = this.at;
    this.world.setAttribute("transform", `scale(${scale}) translate(${-x} ${-y})`);
    this.strip.draw(this.frames(), { x, y, w: this.width, h: this.height }, this.marks);
  }

  private isWithin(box: Box | null): boolean {
    const { x, y } = this.at;
    return box !== null && x >= box.x && y >= box.y && x + this.width <= box.x + box.w && y + this.height <= box.y + box.h;
  }

  private redraw(): void {
    const [w, h] = [this.width, this.height];
    const box = { x: this.at.x - w * MARGIN, y: this.at.y - h * MARGIN, w: w * (1 + 2 * MARGIN), h: h * (1 + 2 * MARGIN) };
    this.scene = new Scene(this.model, this.layouts, this.marks, box, this.at.scale);
    this.world.replaceChildren(this.scene.draw(this.frames()));
    this.drawnBox = box;
    this.svg.classList.toggle("afar", this.at.scale < AFAR);
    this.svg.setAttribute("data-drawn", String(this.scene.drawn.size));
    this.setActive();
  }

  private changed(): void {
    this.items = null;
    this.drawnBox = null;
    this.later();
  }

  private setActive(): void {
    const { selected, section } = this.marks;
    const id = selected !== null ? `op-${selected}` : section !== null ? `section-${section}` : "";
    if (id && document.getElementById(id)) this.svg.setAttribute("aria-activedescendant", id);
    else this.svg.removeAttribute("aria-activedescendant");
  }

  // ---- moving

  private moveTo(x: number, y: number): void {
    const frames = this.frames();
    const right = Math.max(...frames.map((one) => one.x + one.w));
    const last = frames[frames.length - 1];
    const [margin, bottom] = [24 / this.at.scale, last.y + last.h];
    const within = (value: number, end: number, view: number) => Math.min(Math.max(value, -margin), end + margin - view);
    this.at.x = right + 2 * margin <= this.width ? (right - this.width) / 2 : within(x, right, this.width);
    this.at.y = bottom + 2 * margin <= this.height ? -margin : within(y, bottom, this.height);
    this.later();
  }

  zoom(factor: number, px = this.svg.clientWidth / 2, py = this.svg.clientHeight / 2): void {
    const before = this.at.scale;
    const after = Math.min(SCALES.most, Math.max(SCALES.least, before * factor));
    this.at.scale = after;
    if (before < AFAR !== after < AFAR || after < AFAR) this.drawnBox = null;
    this.moveTo(this.at.x + px / before - px / after, this.at.y + py / before - py / after);
  }

  /** Start with the innermost blocks closed where the whole would be too wide to read. */
  private closeWide(): void {
    const depths = [...this.layouts.openOps].map((op): [number, number] => [op, this.model.owners(op).length]);
    const openTo = (most: number) => {
      for (const [op, depth] of depths) {
        if (depth <= most) this.layouts.openOps.add(op);
        else this.layouts.openOps.delete(op);
      }
      this.layouts.forgetAll();
      return this.frames()[0].w * LEGIBLE <= WIDE * this.svg.clientWidth;
    };
    let [least, most] = [-1, largest(depths, ([, depth]) => depth)];
    while (least < most) {
      const middle = Math.ceil((least + most) / 2);
      if (openTo(middle)) least = middle;
      else most = middle - 1;
    }
    openTo(least);
    this.changed();
  }

  /** The whole width, as large as can be read; from the top left. */
  fit(): void {
    const [first] = this.frames();
    if (first.group.sections.length) this.settleSection(first.group.sections[0]);
    const [frame] = this.frames();
    const { clientWidth } = this.svg;
    this.at.scale = Math.min(1, Math.max(clientWidth / (frame.w + 48), LEGIBLE));
    this.drawnBox = null;
    this.moveTo(-Infinity, -Infinity);
  }

  private center(box: Box): void {
    const { x, y } = this.at;
    const isInside = box.x > x + 10 && box.x + Math.min(box.w, this.width - 40) < x + this.width && box.y > y + 20
      && box.y + Math.min(box.h, 120) < y + this.height - 20;
    if (isInside) return this.later();
    this.moveTo(
      box.w > this.width ? box.x - 20 : box.x + box.w / 2 - this.width / 2,
      box.h > this.height * 0.7 ? box.y - 60 : box.y + box.h / 2 - this.height / 2,
    );
  }

  // ---- what is shown of the state

  select(op: number | null): void {
    this.marks.selected = op;
    this.marks.section = null;
    if (op !== null && this.started) {
      this.reveal(op);
      if (this.at.scale < AFAR) this.zoom(0.7 / this.at.scale);
      this.center(this.boxOf(op));
    }
    this.refresh();
  }

  light(ops: Iterable<number>): void {
    this.marks.lit = new Set(ops);
    this.refresh();
  }

  find(ops: Iterable<number>): void {
    this.marks.found = new Set(ops);
    this.refresh();
  }

  private refresh(): void {
    if (this.at.scale < AFAR) this.drawnBox = null; // marked ops are drawn on top there
    this.scene?.mark();
    this.setActive();
    this.later();
  }

  private reveal(op: number): void {
    for (const one of [...this.model.owners(op).reverse(), null]) {
      const group = this.model.groupOf[one ?? op];
      if (this.layouts.closedSections.delete(group.key)) this.layouts.forget(group);
      if (one !== null && !this.layouts.openOps.has(one)) {
        this.layouts.openOps.add(one);
        this.layouts.forget(group);
      }
    }
    this.changed();
  }

  toggle(op: number): void {
    if (!this.model.op(op).blocks.length) return;
    const group = this.model.groupOf[op];
    const before = this.boxOf(op);
    if (!this.layouts.openOps.delete(op)) this.layouts.openOps.add(op);
    this.layouts.forget(group);
    this.keep(before, this.boxOf(op));
  }

  toggleSection(key: string): void {
    const group = this.sectionOf(key);
    const before = this.boxOfGroup(group);
    if (!this.layouts.closedSections.delete(key)) this.layouts.closedSections.add(key);
    this.layouts.forget(group);
    this.settleSection(group);
    this.keep(before, this.boxOfGroup(group));
  }

  /** What was clicked stays under the pointer. */
  private keep(before: Box, after: Box): void {
    this.at.x += after.x - before.x;
    this.at.y += after.y - before.y;
    this.changed();
  }

  private sectionOf(key: string): Group {
    const at = this.model.groupOf.find((group) => group.key === key);
    return at!;
  }

  setAll(isOpen: boolean): void {
    this.model.data.ops.forEach((op, index) => {
      if (!op.blocks.length) return;
      if (isOpen) this.layouts.openOps.add(index);
      else this.layouts.openOps.delete(index);
    });
    this.layouts.closedSections.clear();
    if (!isOpen) for (const group of new Set(this.model.groupOf)) if (group.parent) this.layouts.closedSections.add(group.key);
    this.layouts.forgetAll();
    this.changed();
    this.fit();
  }

  focus(): void {
    this.svg.focus({ preventScroll: true });
  }

  // ---- hands

  private listen(): void {
    this.svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.svg.addEventListener("pointerdown", (event) => this.press(event));
    this.svg.addEventListener("pointerover", (event) => this.events.hover(numberOf(event.target, "op")));
    this.svg.addEventListener("pointerleave", () => this.events.hover(null));
    this.svg.addEventListener("click", (event) => this.click(event));
    this.svg.addEventListener("dblclick", (event) => {
      const op = numberOf(event.target, "op");
      if (op !== null) this.toggle(op);
    });
    this.svg.addEventListener("keydown", (event) => this.key(event));
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) {
      const box = this.svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * 0.004), event.clientX - box.left, event.clientY - box.top);
      return;
    }
    const unit = event.deltaMode === 1 ? 16 : 1;
    const [dx, dy] = event.shiftKey && !event.deltaX ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
    this.moveTo(this.at.x + (dx * unit) / this.at.scale, this.at.y + (dy * unit) / this.at.scale);
  }

  private dragged = false;

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    const start = { x: event.clientX, y: event.clientY, ...{ ax: this.at.x, ay: this.at.y } };
    this.dragged = false;
    const move = (now: PointerEvent) => {
      const [dx, dy] = [now.clientX - start.x, now.clientY - start.y];
      if (!this.dragged && Math.hypot(dx, dy) < 4) return;
      this.dragged = true;
      this.svg.classList.add("dragging");
      this.moveTo(start.ax - dx / this.at.scale, start.ay - dy / this.at.scale);
    };
    const stop = () => {
      window.removeEventListener("pointermove", move);
      this.svg.classList.remove("dragging");
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", stop, { once: true });
    window.addEventListener("pointercancel", stop, { once: true });
  }

  private click(event: MouseEvent): void {
    if (this.dragged) return;
    const fold = numberOf(event.target, "fold");
    if (fold !== null) return this.toggle(fold);
    const section = (event.target as Element).closest("[data-toggle]");
    if (section) return this.toggleSection(section.getAttribute("data-toggle")!);
    const value = numberOf(event.target, "value");
    if (value !== null) return this.goToValue(value);
    this.events.select(numberOf(event.target, "op"));
  }

  private goToValue(value: number): void {
    const from = this.model.producer[value];
    const owner = from.kind === "block" ? this.model.data.blocks[from.block].owner : null;
    if (from.kind === "op") this.events.select(from.op);
    else if (owner !== null) this.events.select(owner);
  }

  // ---- keys

  private key(event: KeyboardEvent): void {
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
      "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), "0": () => this.fit(),
    };
  }

  private outline(): Item[] {
    return (this.items ??= itemsOf(this.model, this.layouts));
  }

  private current(): Item | null {
    const { selected, section } = this.marks;
    if (selected !== null) return { op: selected };
    return section !== null ? { section: this.sectionOf(section) } : null;
  }

  private step(by: number): void {
    const items = this.outline();
    const now = this.current();
    let index = now ? items.findIndex((one) => isSame(one, now)) : -1;
    if (now && index < 0) index = items.findIndex((one) => "op" in one && "op" in now && one.op >= now.op);
    this.goTo(items[Math.max(0, Math.min(items.length - 1, index + by))]);
  }

  private goTo(item: Item | undefined): void {
    if (!item) return;
    if ("op" in item) return this.events.select(item.op);
    this.events.select(null);
    this.marks.section = item.section.key;
    this.center({ ...this.boxOfGroup(item.section), h: 40 });
    this.drawnBox = null;
    this.refresh();
  }

  private isOpenItem(item: Item): boolean | null {
    if ("section" in item) return this.layouts.isOpen(item.section);
    return this.model.op(item.op).blocks.length ? this.layouts.openOps.has(item.op) : null;
  }

  private into(): void {
    const now = this.current();
    if (!now) return this.step(1);
    const isOpen = this.isOpenItem(now);
    if (isOpen === false) this.enter();
    else if (isOpen) this.step(1);
  }

  private outOf(): void {
    const now = this.current();
    if (!now) return;
    if (this.isOpenItem(now)) this.enter();
    else this.goTo(parentOf(this.model, now) ?? undefined);
  }

  private enter(): void {
    const now = this.current();
    if (!now) return this.step(1);
    if ("section" in now) return this.toggleSection(now.section.key);
    if (this.model.op(now.op).blocks.length) return this.toggle(now.op);
    this.events.goToSource(now.op);
  }

  /** Along the data: to the op that makes the first argument, or to the first that uses a result. */
  private follow(op: number, direction: 1 | -1): void {
    const near = direction > 0
      ? this.model.op(op).results.flatMap((value) => this.model.users[value])
      : this.model.named(op).flatMap((value) => {
        const from = this.model.producer[value];
        return from.kind === "op" ? [from.op] : [];
      });
    if (near.length) this.events.select(near[0]);
  }
}

function arrow(id: string): SVGMarkerElement {
  return s("marker", {
    id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, orient: "auto", markerUnits: "userSpaceOnUse",
  }, s("path", { d: "M0 0.5L8 4L0 7.5z" }));
}

function isSame(a: Item, b: Item): boolean {
  return "op" in a ? "op" in b && a.op === b.op : "section" in b && a.section === b.section;
}

function numberOf(target: EventTarget | null, name: string): number | null {
  const found = target instanceof Element ? target.closest(`[data-${name}]`) : null;
  return found ? Number(found.getAttribute(`data-${name}`)) : null;
}
