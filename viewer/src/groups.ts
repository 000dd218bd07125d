// Groups: what is drawn as one frame. A block is a group; a long block is cut into sections by the modules
// that its ops belong to, and these again. What is still long is cut at places where few values are alive.

import { valuesIn } from "./data";
import { counted } from "./dom";
import type { Model } from "./model";
import { isItem, namesIn, packed, type Path, pathsOf, type Run, runsOf } from "./modules";

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
  isModule: boolean; // a section for modules
  isItem: boolean; // for one item of a list of modules
  inputs: Port[];
  outputs: Port[];
}

const WHOLE = 80; // a program of up to so many ops is not cut
const INNER = 30; // nor is a block of a longer one, or a section of a module, of up to so many
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
    known.set(block, (group = new Sectioning(model, block).group()));
    for (const op of group.ops) for (const inner of model.op(op).blocks) blockGroup(model, inner);
  }
  return group;
}

/** A module section starts closed, unless it is there for a list of modules: the items of the list are then seen. */
export function startsClosed(section: Group): boolean {
  return section.isModule && !holdsItems(section);
}

function holdsItems(section: Group): boolean {
  return !section.isItem && section.sections.some((one) => one.isItem || holdsItems(one));
}

/** How many ops a group has, those inside blocks included. */
export function opsIn(model: Model, group: Group): number {
  return group.ops.reduce((sum, op) => sum + 1 + model.inside[op], 0);
}

/** The types that go into a group, and those that come out: `f32[8, 48] → f32[8, 48], 2 × f32[8, 12]`. */
export function shapesOf(model: Model, group: Group): string {
  const types = (ports: Port[]) => {
    const values = [...new Set(ports.flatMap((port) => port.values))].filter((value) => model.producer[value].kind !== "stored");
    const all = values.map((value) => model.data.values[value][1]);
    const tensors = all.filter((type) => type.includes("["));
    const counts = new Map<string, number>();
    for (const type of tensors.length ? tensors : all) counts.set(type, (counts.get(type) ?? 0) + 1);
    const shown = [...counts].slice(0, 2).map(([type, count]) => (count > 1 ? `${count} × ${type}` : type));
    return [...shown, ...(counts.size > 2 ? [`${counts.size - 2} more`] : [])].join(", ");
  };
  const results = [...group.outputs].sort((a, b) => Number(a.kind === "yield") - Number(b.kind === "yield")); // what goes on first
  return `${types(group.inputs) || "nothing"} → ${types(results) || "nothing"}`;
}

/** What a block is for; those of a `break` are not what a reader would call `then` and `else`. */
function titleOf(model: Model, block: number): string {
  const { role, owner, ops } = model.data.blocks[block];
  if (role === "program") return model.data.name;
  if (owner === null || !model.jumps.has(owner)) return role;
  return ops.length ? "test again" : "leave the loop";
}

/** Makes the group of one block. */
class Sectioning {
  private ops: number[];
  private uses: Uses;
  private paths: Path[] = [];
  private alive: number[] = [];

  constructor(private model: Model, private index: number) {
    this.ops = model.data.blocks[index].ops;
    this.uses = usesOf(model, this.ops);
  }

  group(): Group {
    const { model, index, ops } = this;
    const group: Group = {
      key: `b${index}`, block: index, title: titleOf(model, index), hint: "", ops,
      sections: [], parent: null, isModule: false, isItem: false, inputs: [], outputs: [],
    };
    if (ops.length > (model.data.ops.length > WHOLE ? INNER : WHOLE)) {
      this.paths = pathsOf(model, ops);
      this.alive = aliveAt(ops.length, this.uses);
      this.divide(group, 0, ops.length, 0);
    }
    if (!group.sections.length) this.finish(group, 0, ops.length);
    return group;
  }

  /** Cut the ops of a group by the children of a module, whose path has `depth` parts. */
  private divide(group: Group, start: number, end: number, depth: number): void {
    const runs = runsOf(this.paths, start, end, depth);
    if (runs.length === 1 && runs[0].part !== null) return this.divide(group, start, end, depth + 1);
    const parts = packed(runs);
    if (parts.length === 1) return this.cut(group, start, end);
    for (const run of parts) {
      const section = this.section(group, run, this.moduleTitle(run, depth), "", run.part);
      if (run.part !== null && run.end - run.start > INNER) this.divide(section, run.start, run.end, depth + 1);
      else if (run.part === null) this.cut(section, run.start, run.end);
      if (!section.sections.length) this.finish(section, run.start, run.end);
    }
  }

  /** Cut what has no modules, and is long. */
  private cut(group: Group, start: number, end: number): void {
    const cuts = this.cutsOf(start, end);
    if (cuts.length === 2) return;
    for (let k = 0; k + 1 < cuts.length; k++) {
      const run = { start: cuts[k], end: cuts[k + 1], part: null };
      const section = this.section(group, run, this.plainTitle(run), `ops ${run.start + 1} to ${run.end}`, null);
      section.isModule = false;
      this.finish(section, run.start, run.end);
    }
  }

  private section(parent: Group, run: Run, title: string, hint: string, part: string | null): Group {
    const section: Group = {
      key: `b${this.index}s${this.model.sections.size}`, block: this.index, title, hint, ops: this.ops.slice(run.start, run.end),
      sections: [], parent, isModule: true, isItem: isItem(part), inputs: [], outputs: [],
    };
    parent.sections.push(section);
    this.model.sections.set(section.key, section);
    setPorts(this.model, section, run.end, this.uses);
    return section;
  }

  /** What is drawn at once: its ops are in no smaller group. */
  private finish(group: Group, start: number, end: number): void {
    if (group.parent === null) setPorts(this.model, group, end, this.uses);
    for (let at = start; at < end; at++) this.model.groupOf[this.ops[at]] = group;
  }

  private moduleTitle(run: Run, depth: number): string {
    if (run.part === null) return namesIn(this.paths, run.start, run.end) || this.plainTitle(run);
    const path = this.paths.slice(run.start, run.end).find((one) => one[depth] === run.part)!;
    return path.slice(0, depth + 1).join(".");
  }

  /** Where there are no modules: the functions that the ops come from. */
  private plainTitle(run: Run): string {
    const ops = this.ops.slice(run.start, run.end);
    const functions = [...new Set(ops.map((op) => this.model.op(op).place?.[3]).filter(Boolean))];
    const more = functions.length > 3 ? `, ${counted(functions.length - 3, "other")}` : "";
    return functions.length ? `in ${functions.slice(0, 3).join(", ")}${more}` : `from op ${run.start + 1}`;
  }

  /** Positions to cut at, the first and the last included. */
  private cutsOf(start: number, end: number): number[] {
    if (end - start <= WHOLE) return [start, end];
    const cuts = [start];
    while (end - cuts[cuts.length - 1] > MOST) {
      const last = cuts[cuts.length - 1];
      let best = last + LEAST;
      for (let at = best; at <= last + MOST && at < end; at++) if (this.alive[at] <= this.alive[best]) best = at;
      cuts.push(best);
    }
    return [...cuts, end];
  }
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
