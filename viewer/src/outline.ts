// The outline: what the arrow keys walk through, sections and ops in the order of the program.

import { blockGroup, type Group } from "./groups";
import type { Layouts } from "./layout";
import type { Model } from "./model";

export type Item = { op: number } | { section: Group };

export function itemsOf(model: Model, layouts: Layouts): Item[] {
  const items: Item[] = [];
  const walk = (group: Group) => {
    for (const section of group.sections) {
      items.push({ section });
      if (layouts.isOpen(section)) walk(section);
    }
    if (!group.sections.length) group.ops.forEach(add);
  };
  const add = (op: number) => {
    items.push({ op });
    if (layouts.openOps.has(op)) for (const block of model.op(op).blocks) walk(blockGroup(model, block));
  };
  model.roots.forEach(walk);
  return items;
}

export function parentOf(model: Model, item: Item): Item | null {
  const around = "op" in item ? model.groupOf[item.op] : item.section.parent;
  if (around?.parent) return { section: around };
  const block = "op" in item ? model.op(item.op).block : item.section.block;
  const owner = model.data.blocks[block].owner;
  return owner === null ? null : { op: owner };
}
