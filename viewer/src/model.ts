// Model: a program with what the page needs to know of it: which op computes a value, which ones use it, the ops of a line.

import { type Arg, type FileData, type OpData, type ProgramData, valuesIn } from "./data";
import { type Group, groupsOf } from "./groups";
import { type Jump, jumpsOf } from "./jumps";

export type Producer =
  | { kind: "op"; op: number }
  | { kind: "input" }
  | { kind: "stored"; index: number }
  | { kind: "block"; block: number };

export type Category = "control" | "weights" | "shape" | "effect" | "number" | "compute";

const SHAPE = new Set(
  `view reshape _unsafe_view transpose permute t expand slice select split split_with_sizes unsqueeze
   squeeze flatten unflatten cat stack chunk unbind narrow contiguous clone detach alias expand_as
   repeat size sym_size movedim swapaxes as_strided to _to_copy index_select gather`.split(/\s+/),
);
const CONTROL = new Set(["if", "while", "call", "try", "keep", "reraise", "custom_gradient", "gradients", "hook"]);
const EFFECT = new Set(["assert", "raise", "demand", "print", "set_grad", "set_inference", "set_autocast"]);

export class Model {
  readonly producer: Producer[] = [];
  readonly users: number[][]; // ops that name a value themselves
  readonly opsAt = new Map<string, number[]>(); // "file:line" -> ops
  readonly storedOf: number[][]; // op -> indexes of the stored tensors that it names
  readonly inside: number[]; // op -> how many ops its blocks hold, at any depth
  private within = new Map<number, number[]>();
  readonly roots: Group[];
  readonly groupOf: Group[] = []; // op -> the section or block that shows it
  readonly sections = new Map<string, Group>(); // by their keys, outer ones first

  readonly jumps: ReadonlyMap<number, Jump>; // the branches that are a `break` or a `return`

  /** `names` has the other names of tensors that have several, `files` what there is of the source. */
  constructor(readonly data: ProgramData, private names: ReadonlyMap<string, string[]> = new Map(), files: FileData[] = []) {
    this.users = data.values.map(() => []);
    for (const value of data.inputs) this.producer[value] = { kind: "input" };
    data.stored.forEach((stored, index) => (this.producer[stored.value] = { kind: "stored", index }));
    data.blocks.forEach((block, index) => {
      for (const value of block.inputs) this.producer[value] = { kind: "block", block: index };
    });
    data.ops.forEach((op, index) => {
      for (const value of op.results) this.producer[value] = { kind: "op", op: index };
      for (const value of new Set(this.named(index))) this.users[value].push(index);
      if (op.place) this.at(op.place[0], op.place[1]).push(index);
    });
    this.storedOf = data.ops.map((_, index) => [...new Set(this.named(index).flatMap((value) => {
      const from = this.producer[value];
      return from.kind === "stored" ? [from.index] : [];
    }))]);
    this.inside = data.ops.map(() => 0);
    for (let op = data.ops.length - 1; op >= 0; op--) {
      for (const block of data.ops[op].blocks) {
        for (const inner of data.blocks[block].ops) this.inside[op] += 1 + this.inside[inner];
      }
    }
    this.jumps = jumpsOf(this, files);
    this.roots = groupsOf(this);
  }

  op(index: number): OpData {
    return this.data.ops[index];
  }

  private at(file: number, line: number): number[] {
    const key = `${file}:${line}`;
    let found = this.opsAt.get(key);
    if (!found) this.opsAt.set(key, (found = []));
    return found;
  }

  /** The values that an op names in its own arguments. */
  named(op: number): number[] {
    const data = this.data.ops[op];
    return [...data.args, ...data.attributes.map(([, arg]) => arg)].flatMap(valuesIn);
  }

  /** The values that an op names, or anything in its blocks does. */
  namedWithin(op: number): number[] {
    const blocks = this.data.ops[op].blocks;
    if (!blocks.length) return this.named(op);
    let found = this.within.get(op);
    if (!found) this.within.set(op, (found = [...this.collect(op, new Set())]));
    return found;
  }

  private collect(op: number, into: Set<number>): Set<number> {
    for (const value of this.named(op)) into.add(value);
    for (const index of this.data.ops[op].blocks) {
      const block = this.data.blocks[index];
      for (const inner of block.ops) this.collect(inner, into);
      for (const value of block.outputs.flatMap(valuesIn)) into.add(value);
    }
    return into;
  }

  /** The op that holds this one in a block, and so on outwards. */
  owners(op: number): number[] {
    const owner = this.data.blocks[this.data.ops[op].block].owner;
    return owner === null ? [] : [owner, ...this.owners(owner)];
  }

  valueName(value: number): string {
    const from = this.producer[value];
    return from.kind === "stored" ? this.data.stored[from.index].name : `%${this.data.values[value][0]}`;
  }

  /** The name of a stored tensor as an op uses it: a tied tensor has its first name where it is used first. */
  storedName(index: number, op: number): string {
    const { name, value } = this.data.stored[index];
    const names = [name, ...(this.names.get(name) ?? [])];
    const use = Math.max(0, this.users[value].indexOf(op));
    return names[Math.min(use, names.length - 1)];
  }

  /** What a reader calls an op. */
  opName(op: number): string {
    return this.jumps.get(op) ?? shortName(this.data.ops[op].name);
  }

  /** Can the blocks of an op tell a reader anything? Those of a mere flag cannot. */
  hasContent(op: number): boolean {
    return this.inside[op] > 0 || (this.data.ops[op].blocks.length > 0 && !this.jumps.has(op));
  }

  argText(arg: Arg): string {
    if (typeof arg === "string") return arg;
    return Array.isArray(arg) ? `[${arg.map((item) => this.argText(item)).join(", ")}]` : this.valueName(arg.value);
  }

  category(op: number): Category {
    const { name } = this.data.ops[op];
    const [space, rest] = name.split("::", 2);
    const base = (rest ?? name).split(".")[0];
    if (space === "stator") {
      if (CONTROL.has(base)) return "control";
      return EFFECT.has(base) ? "effect" : "number";
    }
    if (/[^_]_$/.test(base)) return "effect"; // writes in place
    if (this.storedOf[op].length) return "weights";
    return SHAPE.has(base) ? "shape" : "compute";
  }
}

export function shortName(name: string): string {
  return name.replace(/^(aten|stator)::/, "");
}
