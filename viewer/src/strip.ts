// The strip beside the graph: the whole program in a few pixels, with what is highlighted and what is in sight.

import { h } from "./dom";
import type { Group } from "./groups";
import type { Box, Framed, Layouts, Node } from "./layout";
import type { Model } from "./model";
import type { Marks } from "./scene";

const WIDTH = 18;

export class Strip {
  readonly element = h("canvas", { class: "strip", width: WIDTH, "aria-hidden": "true", title: "the whole program: click to go to a part" });
  private bottom = 1;

  constructor(private model: Model, private layouts: Layouts, go: (y: number) => void) {
    const move = (event: PointerEvent) => {
      if (event.buttons) go((event.offsetY / this.element.clientHeight) * this.bottom);
    };
    this.element.addEventListener("pointerdown", move);
    this.element.addEventListener("pointermove", move);
  }

  draw(frames: Framed[], seen: Box, marks: Marks): void {
    const height = this.element.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    [this.element.width, this.element.height] = [WIDTH * ratio, height * ratio];
    const pen = this.element.getContext("2d");
    if (!pen || !height) return;
    const last = frames[frames.length - 1];
    this.bottom = Math.max(1, last.y + last.h);
    pen.scale(ratio, (ratio * height) / this.bottom);
    const colour = (name: string) => getComputedStyle(this.element).getPropertyValue(name).trim();
    const unit = this.bottom / height;
    pen.fillStyle = colour("--frame-line");
    for (const frame of frames) {
      const parts = frame.group.sections.length ? this.layouts.of(frame.group).sections : [frame];
      for (const part of parts) {
        const top = part === frame ? frame.y : frame.y + part.y;
        pen.fillRect(5, top, WIDTH - 10, Math.max(part.h, unit));
      }
    }
    for (const [ops, name] of [[marks.found, "--found"], [marks.lit, "--lit"]] as const) {
      pen.fillStyle = colour(name);
      for (const op of ops) pen.fillRect(2, this.heightOf(op, frames), WIDTH - 4, 2.5 * unit);
    }
    if (marks.selected !== null) {
      pen.fillStyle = colour("--accent");
      pen.fillRect(0, this.heightOf(marks.selected, frames), WIDTH, 3 * unit);
    }
    pen.fillStyle = colour("--seen");
    pen.fillRect(0, seen.y, WIDTH, Math.max(seen.h, 6 * unit));
  }

  /** About where an op is; exact where it has been looked at. */
  private heightOf(op: number, frames: Framed[]): number {
    for (const one of [...this.model.owners(op).reverse(), op]) {
      const closed = this.layouts.closedAround(this.model.groupOf[one]);
      if (closed) return this.spanOf(closed, frames).top + 10;
      if (one === op || !this.layouts.openOps.has(one)) return this.heightIn(one, frames);
    }
    return 0;
  }

  private heightIn(op: number, frames: Framed[]): number {
    const group = this.model.groupOf[op];
    const { top, height } = this.spanOf(group, frames);
    const node = this.layouts.isOpen(group) && this.layouts.has(group) ? this.nodeOf(op) : undefined;
    if (node) return top + node.y + (node.frames.length ? 20 : node.h / 2);
    return top + (group.ops.indexOf(op) / group.ops.length) * height;
  }

  private spanOf(group: Group, frames: Framed[]): { top: number; height: number } {
    if (group.parent) {
      const section = this.layouts.of(group.parent).sections.find((one) => one.group === group)!;
      return { top: this.spanOf(group.parent, frames).top + section.y, height: section.h };
    }
    const owner = this.model.data.blocks[group.block].owner;
    if (owner === null) {
      const frame = frames.find((one) => one.group === group)!;
      return { top: frame.y, height: frame.h };
    }
    const around = this.model.groupOf[owner];
    const frame = this.layouts.has(around) ? this.nodeOf(owner)?.frames.find((one) => one.group === group) : undefined;
    if (!frame) return { top: this.heightIn(owner, frames), height: 0 };
    return { top: this.spanOf(around, frames).top + frame.y, height: frame.h };
  }

  private nodeOf(op: number): Node | undefined {
    return this.layouts.of(this.model.groupOf[op]).nodes.find((one) => one.op === op);
  }
}
