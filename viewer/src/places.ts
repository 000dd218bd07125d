// Places: where groups and ops are, in the coordinates of the whole drawing.

import type { Group } from "./groups";
import type { Box, Framed, Layouts } from "./layout";
import type { Model } from "./model";

const BETWEEN = 40; // the program and its functions

export class Places {
  constructor(private model: Model, private layouts: Layouts) {}

  /** The program, and below it its functions. */
  frames(): Framed[] {
    let y = 0;
    return this.model.roots.map((group) => {
      const { w, h } = this.layouts.of(group);
      const framed = { group, x: 0, y, w, h };
      y += h + BETWEEN;
      return framed;
    });
  }

  boxOfGroup(group: Group): Framed {
    const owner = this.model.data.blocks[group.block].owner;
    const inside = (holder: Framed, found: Framed) => ({ ...found, x: holder.x + found.x, y: holder.y + found.y });
    if (group.parent) {
      const found = this.layouts.of(group.parent).sections.find((one) => one.group === group)!;
      return inside(this.boxOfGroup(group.parent), found);
    }
    if (owner === null) return this.frames().find((one) => one.group === group)!;
    const around = this.model.groupOf[owner];
    this.settleSection(around);
    const node = this.layouts.of(around).nodes.find((one) => one.op === owner)!;
    return inside(this.boxOfGroup(around), node.frames.find((one) => one.group === group)!);
  }

  boxOf(op: number): Box {
    const group = this.model.groupOf[op];
    this.settleSection(group);
    const node = this.layouts.of(group).nodes.find((one) => one.op === op)!;
    const holder = this.boxOfGroup(group);
    return { x: holder.x + node.x, y: holder.y + node.y, w: node.w, h: node.h };
  }

  /** A section that is looked at for the first time gets its true size. */
  settleSection(group: Group): void {
    if (this.layouts.has(group) || !this.layouts.isOpen(group)) return;
    this.layouts.of(group);
    if (group.parent) this.layouts.forget(group.parent);
  }
}
