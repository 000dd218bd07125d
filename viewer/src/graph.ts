// GraphPane: the drawing, and how to move in it: wheel, drag, keys, and the strip at the side.

import { h, largest, s } from "./dom";
import { standalone } from "./drawing";
import type { Group } from "./groups";
import { type Box, Layouts } from "./layout";
import { Places } from "./places";
import type { Model } from "./model";
import { AFAR, type Marks, Scene } from "./scene";
import { Strip } from "./strip";
import { Walker } from "./walker";

const FEW = 150; // a program of so many ops is opened at once
const MARGIN = 0.35; // drawn beyond the edges, in parts of the pane
const LEGIBLE = 0.66; // the least scale to start with
const EDGE = 24; // pixels around the graph
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
  private places: Places;
  private walker: Walker;
  private at = { x: 0, y: 0, scale: 1 };
  private drawnBox: Box | null = null;
  private waiting = 0;
  private started = false;
  private isFitted = false; // the whole is in sight, and stays so while sections are laid out

  constructor(private model: Model, private events: GraphEvents) {
    this.layouts = new Layouts(model);
    this.places = new Places(model, this.layouts);
    this.walker = new Walker(model, this.layouts, this.marks, {
      select: (op) => events.select(op), goToSource: (op) => events.goToSource(op),
      showSection: (section) => this.showSection(section), toggleSection: (section) => this.toggleSection(section),
      toggle: (op) => this.toggle(op),
    });
    if (model.data.ops.length <= FEW) model.data.ops.forEach((_, k) => model.hasContent(k) && this.layouts.openOps.add(k));
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

  /** Lay out what has come into sight, as far as there is time; what is in sight stays where it is. */
  private settle(scene: Scene): void {
    const end = performance.now() + BUDGET;
    const isFitted = this.isFitted;
    const isSeen = (group: Group) => {
      const box = this.places.boxOfGroup(group);
      return box.y < this.at.y + this.height && box.y + box.h > this.at.y;
    };
    const anchor = [...scene.laidOut, ...scene.guessed].find(isSeen);
    for (const section of scene.guessed) {
      if (performance.now() > end) {
        this.later();
        break;
      }
      if (!anchor || !isSeen(section)) continue;
      const before = this.places.boxOfGroup(anchor);
      this.places.settleSection(section);
      const after = this.places.boxOfGroup(anchor);
      const above = Math.max(0, this.at.y - before.y) / before.h; // how much of it is above the edge
      this.at.y += after.y - before.y + (after.h - before.h) * above;
      this.at.x += after.x + after.w / 2 - before.x - before.w / 2;
      this.drawnBox = null;
    }
    if (isFitted && !this.drawnBox) this.fit();
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
      this.frame();
      if (this.marks.selected !== null) this.select(this.marks.selected);
    }
    this.drawnBox = null;
    if (this.isFitted) this.fit();
    this.later();
  }

  private draw(): void {
    if (!this.svg.clientWidth) return;
    if (!this.isWithin(this.drawnBox)) this.redraw();
    if (this.scene?.guessed.length) this.settle(this.scene);
    if (!this.drawnBox) this.redraw();
    const { x, y, scale } = this.at;
    this.world.setAttribute("transform", `scale(${scale}) translate(${-x} ${-y})`);
    this.strip.draw(this.places.frames(), { x, y, w: this.width, h: this.height }, this.marks);
  }

  private isWithin(box: Box | null): boolean {
    const { x, y } = this.at;
    return box !== null && x >= box.x && y >= box.y && x + this.width <= box.x + box.w && y + this.height <= box.y + box.h;
  }

  private redraw(): void {
    const [w, h] = [this.width, this.height];
    const box = { x: this.at.x - w * MARGIN, y: this.at.y - h * MARGIN, w: w * (1 + 2 * MARGIN), h: h * (1 + 2 * MARGIN) };
    this.scene = new Scene(this.model, this.layouts, this.marks, box, this.at.scale);
    this.world.replaceChildren(this.scene.draw(this.places.frames()));
    this.drawnBox = box;
    this.svg.classList.toggle("afar", this.at.scale < AFAR);
    this.svg.setAttribute("data-drawn", String(this.scene.drawn.size));
    this.setActive();
  }

  private changed(): void {
    this.walker.changed();
    this.drawnBox = null;
    this.later();
  }

  private setActive(): void {
    const { selected, section } = this.marks;
    const id = selected !== null ? `op-${selected}` : section !== null ? `section-${section.key}` : "";
    if (id && document.getElementById(id)) this.svg.setAttribute("aria-activedescendant", id);
    else this.svg.removeAttribute("aria-activedescendant");
  }

  // ---- moving

  /** How wide and how high the whole drawing is. */
  private extent(): { right: number; bottom: number } {
    const frames = this.places.frames();
    const last = frames[frames.length - 1];
    return { right: largest(frames, (one) => one.x + one.w), bottom: last.y + last.h };
  }

  private moveTo(x: number, y: number): void {
    this.isFitted = false;
    const { right, bottom } = this.extent();
    const margin = EDGE / this.at.scale;
    const within = (value: number, end: number, view: number) => Math.min(Math.max(value, -margin), end + margin - view);
    this.at.x = right + 2 * margin <= this.width ? (right - this.width) / 2 : within(x, right, this.width);
    this.at.y = bottom + 2 * margin <= this.height ? -margin : within(y, bottom, this.height);
    this.later();
  }

  zoom(factor: number, px = this.svg.clientWidth / 2, py = this.svg.clientHeight / 2): void {
    const before = this.at.scale;
    const after = Math.min(SCALES.most, Math.max(Math.min(SCALES.least, before), before * factor));
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
      return this.places.frames()[0].w * LEGIBLE <= WIDE * this.svg.clientWidth;
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

  /** The scale at which the whole graph is in sight. */
  private wholeScale(): number {
    const { right, bottom } = this.extent();
    const { clientWidth, clientHeight } = this.svg;
    return Math.min(1, (clientWidth - 2 * EDGE) / right, (clientHeight - 2 * EDGE) / bottom) * 0.999;
  }

  /** The whole graph where it can be read, else its width. */
  private frame(): void {
    this.fitWidth();
    if (this.wholeScale() >= LEGIBLE) this.fit();
  }

  /** The whole graph, however small. */
  fit(): void {
    this.at.scale = Math.max(0.001, this.wholeScale());
    this.drawnBox = null;
    this.moveTo(-Infinity, -Infinity);
    this.isFitted = true;
  }

  /** The whole width, as large as can be read; from the top left. */
  fitWidth(): void {
    const [first] = this.places.frames();
    if (first.group.sections.length) this.places.settleSection(first.group.sections[0]);
    const [frame] = this.places.frames();
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
      this.center(this.places.boxOf(op));
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
      for (let around: Group | null = group; around; around = around.parent) {
        if (this.layouts.closedSections.delete(around.key)) this.layouts.forget(around);
      }
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
    const before = this.places.boxOf(op);
    if (!this.layouts.openOps.delete(op)) this.layouts.openOps.add(op);
    this.layouts.forget(group);
    this.keep(before, this.places.boxOf(op));
  }

  toggleSection(group: Group): void {
    const before = this.places.boxOfGroup(group);
    if (!this.layouts.closedSections.delete(group.key)) this.layouts.closedSections.add(group.key);
    this.layouts.forget(group);
    this.places.settleSection(group);
    this.keep(before, this.places.boxOfGroup(group));
  }

  /** What was clicked stays under the pointer. */
  private keep(before: Box, after: Box): void {
    this.at.x += after.x - before.x;
    this.at.y += after.y - before.y;
    this.changed();
  }

  private showSection(section: Group): void {
    this.events.select(null);
    this.marks.section = section;
    this.center({ ...this.places.boxOfGroup(section), h: 40 });
    this.drawnBox = null;
    this.refresh();
  }

  setAll(isOpen: boolean): void {
    this.model.data.ops.forEach((_, index) => {
      if (isOpen && this.model.hasContent(index)) this.layouts.openOps.add(index);
      else this.layouts.openOps.delete(index);
    });
    this.layouts.closedSections.clear();
    if (!isOpen) for (const key of this.model.sections.keys()) this.layouts.closedSections.add(key);
    this.layouts.forgetAll();
    this.changed();
    this.frame();
  }

  /** The whole graph as it is open and closed now, without marks, as a drawing that needs no page. */
  drawing(): SVGSVGElement {
    let scene: Scene, world: SVGGElement;
    do { // sections out of sight may not have been laid out yet
      const { right, bottom } = this.extent();
      const whole = { x: 0, y: 0, w: right + 1, h: bottom + 1 };
      scene = new Scene(this.model, this.layouts, { selected: null, section: null, lit: new Set(), found: new Set() }, whole, 1);
      world = scene.draw(this.places.frames());
      for (const section of scene.guessed) this.places.settleSection(section);
    } while (scene.guessed.length);
    const { right, bottom } = this.extent();
    const holder = h("div", { class: "graph", hidden: true });
    document.body.append(holder);
    const made = standalone(world, right, bottom, holder);
    holder.remove();
    this.changed();
    return made;
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
    this.svg.addEventListener("keydown", (event) => this.walker.key(event));
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
    if (section) return this.toggleSection(this.model.sections.get(section.getAttribute("data-toggle")!)!);
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
}

function arrow(id: string): SVGMarkerElement {
  return s("marker", {
    id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, orient: "auto", markerUnits: "userSpaceOnUse",
  }, s("path", { d: "M0 0.5L8 4L0 7.5z" }));
}

function numberOf(target: EventTarget | null, name: string): number | null {
  const found = target instanceof Element ? target.closest(`[data-${name}]`) : null;
  return found ? Number(found.getAttribute(`data-${name}`)) : null;
}
