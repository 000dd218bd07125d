// Groups: what is drawn as one frame. A block is a group; a long block is cut into sections, each
// small enough to lay out at once, at places where few values are alive.

import { valuesIn } from "./data";
import type { Model } from "./model";

export interface Port {
  kind: "in" | "outer" | "out" | "yield";
  values: number[]; // none where a constant is yielded
  text: string;
}

export interface Group {
  key: string;
  block: number;
  title: string;
  hint: string;
  ops: number[]; // of the block itself, in order
  sections: Group[];
  parent: Group | null; // the group that a section is cut from
  inputs: Port[];
  outputs: Port[];
}

const WHOLE = 80; // a block of up to so many ops is not cut
const LEAST = 20;
const MOST = 60;

/** The groups of the program itself and of its functions; every block of it has its group. */
export function groupsOf(model: Model): Group[] {
  const { body, functions } = model.data;
  return [body, ...functions.map((one) => one.block)].map((block) => blockGroup(model, block));
}

const made = new WeakMap<Model, Map<number, Group>>();

export function blockGroup(model: Model, block: number): Group {
  let known = made.get(model);
  if (!known) made.set(model, (known = new Map()));
  let group = known.get(block);
  if (!group) {
    known.set(block, (group = newGroup(model, block)));
    for (const op of group.ops) for (const inner of model.op(op).blocks) blockGroup(model, inner);
  }
  return group;
}

function newGroup(model: Model, index: number): Group {
  const block = model.data.blocks[index];
  const title = block.role === "program" ? model.data.name : block.role;
  const group: Group = {
    key: `b${index}`, block: index, title, hint: "", ops: block.ops, sections: [], parent: null,
    inputs: [], outputs: [],
  };
  const uses = usesOf(model, block.ops);
  const cuts = cutsOf(model, block.ops, uses);
  if (cuts.length === 2) {
    setPorts(model, group, block.ops.length, uses);
    for (const op of group.ops) model.groupOf[op] = group;
    return group;
  }
  for (let k = 0; k + 1 < cuts.length; k++) {
    const ops = block.ops.slice(cuts[k], cuts[k + 1]);
    const section: Group = {
      key: `b${index}s${k}`, block: index, title: sectionTitle(model, ops, cuts[k]),
      hint: `ops ${cuts[k] + 1} to ${cuts[k + 1]}`, ops, sections: [], parent: group, inputs: [], outputs: [],
    };
    setPorts(model, section, cuts[k + 1], uses);
    for (const op of ops) model.groupOf[op] = section;
    group.sections.push(section);
  }
  return group;
}

/** Positions to cut at, the first and the last included. */
function cutsOf(model: Model, ops: number[], uses: Uses): number[] {
  if (ops.length <= WHOLE) return [0, ops.length];
  const alive = aliveAt(ops.length, uses);
  const shared = sharedAt(model, ops);
  const cuts = [0];
  while (ops.length - cuts[cuts.length - 1] > MOST) {
    const start = cuts[cuts.length - 1];
    let best = start + LEAST;
    for (let at = best; at <= start + MOST && at < ops.length; at++) {
      if (2 * alive[at] + shared[at] <= 2 * alive[best] + shared[best]) best = at;
    }
    cuts.push(best);
  }
  return [...cuts, ops.length];
}

interface Uses {
  made: Map<number, number>; // value -> position of the op that makes it
  last: Map<number, number>; // value -> position of the last op that uses it
}

function usesOf(model: Model, ops: number[]): Uses {
  const made = new Map<number, number>();
  const last = new Map<number, number>();
  ops.forEach((op, at) => model.op(op).results.forEach((value) => made.set(value, at)));
  ops.forEach((op, at) => {
    for (const value of model.namedWithin(op)) if (made.has(value)) last.set(value, at);
  });
  return { made, last };
}

/** How many values of the block cross each position. */
function aliveAt(count: number, { made, last }: Uses): number[] {
  const change = new Array<number>(count + 2).fill(0);
  for (const [value, end] of last) {
    change[made.get(value)! + 1] += 1;
    change[end + 1] -= 1;
  }
  let now = 0;
  return change.map((delta) => (now += delta));
}

/** How many parts the module paths before and after each position share: few at a good cut. */
function sharedAt(model: Model, ops: number[]): number[] {
  const paths = ops.map((op) => modulePath(model, op));
  const shared = new Array<number>(ops.length + 1).fill(0);
  let before: string[] = [];
  const after: string[][] = [];
  for (let at = ops.length - 1, next: string[] = []; at >= 0; at--) after[at] = next = paths[at] ?? next;
  for (let at = 0; at < ops.length; at++) {
    shared[at] = commonLength(before, after[at]);
    before = paths[at] ?? before;
  }
  return shared;
}

function modulePath(model: Model, op: number): string[] | null {
  const stored = model.storedOf[op].map((index) => model.data.stored[index]).find((one) => one.kind !== "constant");
  return stored ? stored.name.split(".").slice(0, -1) : null;
}

function commonLength(a: string[], b: string[]): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}

/** The modules whose tensors the ops use; where there are none, the functions that they come from. */
function sectionTitle(model: Model, ops: number[], start: number): string {
  const paths = ops.map((op) => modulePath(model, op)).filter((path): path is string[] => path !== null);
  if (paths.length) {
    const common = paths.reduce((a, b) => a.slice(0, commonLength(a, b)));
    const ends = [paths[0], paths[paths.length - 1]].map((path) => branch(path, common.length));
    const isRange = ends[0].length > 0 && ends[1].length > 0 && ends[0].join() !== ends[1].join();
    if (isRange && (common.length < 2 || ends.every((end) => NUMERIC.test(end[0])))) {
      return `${[...common, ...ends[0]].join(".")} … ${ends[1].join(".")}`;
    }
    return common.join(".") || ends[0].join(".") || `from op ${start + 1}`;
  }
  const functions = [...new Set(ops.map((op) => model.op(op).place?.[3]).filter(Boolean))];
  return functions.length ? `in ${functions.slice(0, 3).join(", ")}` : `from op ${start + 1}`;
}

const NUMERIC = /^\d+$/;

/** What a module path has beyond its first parts: one part, and the number of a list after it. */
function branch(path: string[], length: number): string[] {
  return path.slice(length, length + (NUMERIC.test(path[length + 1] ?? "") ? 2 : 1));
}

function setPorts(model: Model, group: Group, end: number, uses: Uses): void {
  const block = model.data.blocks[group.block];
  const isLast = end === block.ops.length;
  const mine = new Set(group.ops.flatMap((op) => model.op(op).results));
  const inner = new Set<number>();
  for (const op of group.ops) defineWithin(model, op, inner);
  const own = block.role === "program" ? model.data.inputs : block.inputs;
  const wanted = new Set(group.parent === null ? own : []);
  for (const op of group.ops) for (const value of model.namedWithin(op)) wanted.add(value);
  block.outputs.forEach((arg, index) => {
    const values = valuesIn(arg);
    const isHere = values.some((value) => uses.made.has(value)) ? values.some((value) => mine.has(value)) : isLast;
    if (!isHere) return;
    const word = block.owner === null ? "return" : "yield";
    group.outputs.push({ kind: "yield", values, text: `${word} ${index}: ${model.argText(arg)}` });
    for (const value of values) wanted.add(value);
  });
  for (const value of mine) {
    if ((uses.last.get(value) ?? -1) >= end) {
      group.outputs.push({ kind: "out", values: [value], text: model.valueName(value) });
    }
  }
  for (const value of wanted) {
    if (mine.has(value) || inner.has(value) || model.producer[value].kind === "stored") continue;
    const near = own.includes(value) || uses.made.has(value);
    group.inputs.push({ kind: near ? "in" : "outer", values: [value], text: model.valueName(value) });
  }
}

function defineWithin(model: Model, op: number, into: Set<number>): void {
  for (const index of model.op(op).blocks) {
    const block = model.data.blocks[index];
    for (const value of block.inputs) into.add(value);
    for (const inner of block.ops) {
      for (const value of model.op(inner).results) into.add(value);
      defineWithin(model, inner, into);
    }
  }
}
