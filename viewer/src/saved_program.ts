// A program of a `.stator` file as the page's own data: what src/stator/page/encoding.py makes of one.

import type { Arg, BlockData, FileData, OpData, Place, ProgramData, StoredData } from "./data";
import { Damage, type Json, type JsonObject } from "./json";
import { constantText, integerOf, listOf, objectOf, oneKey, textOf, typeOf } from "./python_text";

const DEEPEST = 100;
// what the blocks of each op are for; a last name that ends in `...` may repeat
const ROLES: Record<string, string[]> = {
  "stator::if": ["then", "else"],
  "stator::while": ["each iteration"],
  "stator::region": ["ops"],
  "stator::try": ["try", "handler..."],
  "stator::custom_gradient": ["backward"],
  "stator::hook": ["backward"],
};

/** The files that programs name, numbered in the order in which they are met. */
export class FileNumbers {
  readonly names: string[] = [];

  of(name: string): number {
    const found = this.names.indexOf(name);
    return found >= 0 ? found : this.names.push(name) - 1;
  }

  data(runs: (name: string) => FileData["runs"]): FileData[] {
    return this.names.map((name) => ({ name, path: name, runs: runs(name) }));
  }
}

/** Reads one program; what is wrong in it is named by its place. */
export class ProgramReader {
  private numbers = new Map<string, number>(); // values defined so far
  private values: ProgramData["values"] = [];
  private blocks: BlockData[] = [];
  private ops: OpData[] = [];
  private fileNames: string[] = [];

  constructor(private files: FileNumbers, private schemas: JsonObject) {}

  program(data: JsonObject, label: string, at: string): ProgramData {
    this.fileNames = listOf(data.get("files"), `${at}.files`).map((one) => textOf(one, `${at}.files`));
    const inputs = this.define(data.get("inputs"), `${at}.inputs`);
    const stored = listOf(data.get("stored"), `${at}.stored`).map((one, k): StoredData => {
      const item = objectOf(one, `${at}.stored[${k}]`);
      const [value] = this.define([item.get("value") ?? null], `${at}.stored[${k}].value`);
      return { value, name: textOf(item.get("name"), `${at}.stored`), kind: textOf(item.get("kind"), `${at}.stored`) };
    });
    const functions = [...objectOf(data.get("functions"), `${at}.functions`)].map(([name, block]) => ({
      name, block: this.block(block, `function ${name}`, null, `${at}.functions.${name}`, 0),
    }));
    const body = this.block(data.get("body"), "program", null, `${at}.body`, 0);
    const { values, blocks, ops } = this;
    return { label, name: textOf(data.get("name"), `${at}.name`), inputs, stored, functions, body, values, blocks, ops };
  }

  private define(data: Json | undefined, at: string): number[] {
    return listOf(data, at).map((one) => {
      const item = objectOf(one, at);
      const name = textOf(item.get("name"), at);
      if (this.numbers.has(name)) throw new Damage(`${at} defines %${name} once more`);
      this.numbers.set(name, this.values.length);
      return this.values.push([name, ...typeOf(item.get("type"), `${at}.type`)]) - 1;
    });
  }

  private block(data: Json | undefined, role: string, owner: number | null, at: string, depth: number): number {
    if (depth > DEEPEST) throw new Damage(`${at} is nested more than ${DEEPEST} deep`);
    const item = objectOf(data, at);
    const made: BlockData = { role, owner, inputs: this.define(item.get("inputs"), `${at}.inputs`), ops: [], outputs: [] };
    const number = this.blocks.push(made) - 1;
    made.ops = listOf(item.get("ops"), `${at}.ops`).map((op, k) => this.op(op, number, `${at}.ops[${k}]`, depth));
    made.outputs = listOf(item.get("outputs"), `${at}.outputs`).map((arg) => this.arg(arg, `${at}.outputs`));
    return number;
  }

  private op(data: Json, block: number, at: string, depth: number): number {
    const item = objectOf(data, at);
    const name = textOf(item.get("name"), `${at}.name`);
    const made: OpData = { name, block, args: [], names: [], attributes: [], results: [], blocks: [], place: null };
    const number = this.ops.push(made) - 1;
    made.args = listOf(item.get("args") ?? [], `${at}.args`).map((arg) => this.arg(arg, `${at}.args`));
    made.names = this.argumentNames(name).slice(0, made.args.length);
    made.attributes = [...objectOf(item.get("attributes") ?? new Map(), `${at}.attributes`)]
      .map(([key, arg]) => [key, this.arg(arg, `${at}.attributes.${key}`)]);
    const blocks = listOf(item.get("blocks") ?? [], `${at}.blocks`);
    made.blocks = blocks.map((inner, k) => this.block(inner, roleOf(name, k), number, `${at}.blocks[${k}]`, depth + 1));
    made.results = this.define(item.get("results") ?? [], `${at}.results`);
    if (item.has("place")) made.place = this.place(item.get("place"), `${at}.place`);
    return number;
  }

  private arg(data: Json, at: string, depth = 0): Arg {
    if (depth > DEEPEST) throw new Damage(`${at} is nested more than ${DEEPEST} deep`);
    if (Array.isArray(data)) return data.map((one) => this.arg(one, at, depth + 1));
    if (!(data instanceof Map) || !data.has("value")) return constantText(data, at);
    const name = textOf(oneKey(data, at)[1], at);
    const value = this.numbers.get(name);
    if (value === undefined) throw new Damage(`${at} uses %${name}, which is not defined`);
    return { value };
  }

  private place(data: Json | undefined, at: string): Place {
    const [file, line, column, inFunction] = listOf(data, at);
    const name = this.fileNames[integerOf(file, at)];
    if (name === undefined) throw new Damage(`${at} must be [file, line, column, function]`);
    return [this.files.of(name), integerOf(line, at), integerOf(column, at), textOf(inFunction, at)];
  }

  /** What the schema of an op calls its arguments; the file has the schema of every op of torch. */
  private argumentNames(op: string): string[] {
    const schema = this.schemas.get(op);
    return typeof schema === "string" ? namesInSchema(schema) : [];
  }
}

function roleOf(op: string, index: number): string {
  const roles = ROLES[op] ?? [];
  const last = roles.length - 1;
  if (index < last || (index === last && !roles[last].endsWith("..."))) return roles[index];
  return last >= 0 && roles[last].endsWith("...") ? `${roles[last].slice(0, -3)} ${index - last + 1}` : "block";
}

/** `f(Tensor self, int[2] size=[1, 1], *, bool flag=False) -> Tensor` has `self`, `size`, `flag`. */
function namesInSchema(schema: string): string[] {
  const start = schema.indexOf("(");
  const names: string[] = [];
  let depth = 0, from = start + 1;
  for (let at = start; at < schema.length; at++) {
    if ("([".includes(schema[at])) depth += 1;
    if (")]".includes(schema[at])) depth -= 1;
    if ((schema[at] === "," && depth === 1) || depth === 0) {
      const argument = schema.slice(from, at).trim();
      if (argument && argument !== "*") names.push(argument.split("=")[0].split(" ").pop()!);
      from = at + 1;
    }
    if (depth === 0) break;
  }
  return names;
}
