// Jumps: the branches of a program that are a `break`, or a `return` inside a loop. A program has no jumps: the
// rewrite makes a flag of one, and a loop goes on while its flag is not set. Such a branch is known by what it does
// (it ends the loop) and by its line in the source; without the source it is shown as the branch that it is.

import { type FileData, type Place, valuesIn } from "./data";
import type { Model } from "./model";

export type Jump = "break" | "return";

/** The jumps of a program, by the ops that make them. */
export function jumpsOf(model: Model, files: FileData[]): Map<number, Jump> {
  const jumps = new Map<number, Jump>();
  model.data.ops.forEach((op, index) => {
    if (op.name !== "stator::while" || op.blocks.length !== 1) return;
    const conditions = [op.args[0], model.data.blocks[op.blocks[0]].outputs[0]]; // of the first iteration, of the next
    for (const one of conditions.flatMap(valuesIn).flatMap((value) => enders(model, value))) {
      const jump = jumpIn(files, model.op(one).place, BRANCH)
        ?? (isOnFlag(model, one) ? jumpIn(files, model.op(index).place, LOOP) : null);
      if (jump) jumps.set(one, jump);
    }
  });
  return jumps;
}

/** The branches that can make the condition of a loop false, whatever its test says. */
function enders(model: Model, condition: number): number[] {
  const from = model.producer[condition];
  if (from.kind !== "op") return [];
  const { name, args, blocks } = model.op(from.op);
  if (name === "stator::if") return blocks.some((block) => isConstant(model, block, "False")) ? [from.op] : [];
  if (name === "stator::and") return args.flatMap(valuesIn).flatMap((value) => enders(model, value));
  if (name !== "stator::not") return [];
  const flag = args.flatMap(valuesIn).map((value) => model.producer[value])[0];
  const isFlag = flag?.kind === "op" && model.op(flag.op).name === "stator::if"
    && model.op(flag.op).blocks.every((block) => isConstant(model, block, "True") || isConstant(model, block, "False"));
  return isFlag ? [flag.op] : [];
}

/** Does a block do nothing but yield this constant? */
function isConstant(model: Model, block: number, constant: string): boolean {
  const { ops, outputs } = model.data.blocks[block];
  return !ops.length && outputs.length === 1 && outputs[0] === constant;
}

/** Is the condition of a branch what another branch has decided? */
function isOnFlag(model: Model, op: number): boolean {
  const makers = model.named(op).map((value) => model.producer[value]);
  return makers.some((from) => {
    if (from.kind !== "op") return false;
    const { name } = model.op(from.op);
    return name === "stator::if" || (name === "stator::not" && isOnFlag(model, from.op));
  });
}

const BRANCH = /^(if|elif)\b/;
const LOOP = /^(while|for)\b/;
const JUMP = /(?:^|:\s*)(break|return)\b/;

/** The first jump in the statement of this kind that begins at a place, its `else` included. */
function jumpIn(files: FileData[], place: Place | null, kind: RegExp): Jump | null {
  const run = place && files[place[0]].runs.find((one) => place[1] >= one.first && place[1] < one.first + one.lines.length);
  if (!place || !run) return null;
  const [header, ...rest] = run.lines.slice(place[1] - run.first);
  if (!kind.test(header.trim())) return null;
  const indent = (line: string) => line.length - line.trimStart().length;
  for (const line of [header, ...rest]) {
    const text = line.trim();
    const isInside = line === header || !text || indent(line) > indent(header) || (indent(line) === indent(header) && /^(else|elif|\))/.test(text));
    if (!isInside) return null;
    const found = JUMP.exec(text.replace(/#.*/, ""));
    if (found) return found[1] as Jump;
  }
  return null;
}
