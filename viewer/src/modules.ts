// Modules: to which module of the model each op of a block belongs, and the runs of ops that a module has.
//
// An op belongs to the module whose tensors it uses; one that uses none, to the innermost module that holds
// both its neighbours with tensors.

import type { Model } from "./model";

export type Path = string[];

/** Ops of a block from `start` to `end` that belong to one child of a module; to the module itself: null. */
export interface Run {
  start: number;
  end: number;
  part: string | null;
}

const LOOSE = 8; // a run of so many ops without a module joins the run before it
const SMALL = 12; // runs of so many ops become one
const SMALL_ITEM = 4; // the same for the items of a list of modules, which are better apart
const PACK = 40; // ops that small runs may have together
const NUMERIC = /^\d+$/;

export function isItem(part: string | null): boolean {
  return part !== null && NUMERIC.test(part);
}

/** The module of each op. */
export function pathsOf(model: Model, ops: number[]): Path[] {
  const own = ops.map((op) => modulePath(model, op));
  const after: (Path | null)[] = [];
  for (let at = ops.length - 1, next: Path | null = null; at >= 0; at--) after[at] = next = own[at] ?? next;
  let before: Path | null = null;
  return ops.map((_, at) => {
    before = own[at] ?? before;
    const next = after[at];
    return own[at] ?? (before && next ? common(before, next) : []);
  });
}

/** The module that holds all the tensors that an op uses, or its blocks do; null if it uses none. */
export function modulePath(model: Model, op: number): Path | null {
  const names = model.namedWithin(op).flatMap((value) => {
    const from = model.producer[value];
    return from.kind === "stored" && model.data.stored[from.index].kind !== "constant" ? [model.storedName(from.index, op)] : [];
  });
  if (!names.length) return null;
  return names.map((name) => name.split(".").slice(0, -1)).reduce(common);
}

function common(a: Path, b: Path): Path {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return a.slice(0, length);
}

/** The runs of the children of one module, whose path has `depth` parts. */
export function runsOf(paths: Path[], start: number, end: number, depth: number): Run[] {
  const runs: Run[] = [];
  for (let at = start; at < end; at++) {
    const part = paths[at][depth] ?? null;
    const last = runs[runs.length - 1];
    if (last && last.part === part) last.end = at + 1;
    else runs.push({ start: at, end: at + 1, part });
  }
  return joined(runs);
}

/** Short runs without a module become part of the run before them; at the start, of the one after. */
function joined(runs: Run[]): Run[] {
  const made: Run[] = [];
  for (const run of runs) {
    const last = made[made.length - 1];
    const isShort = (one: Run) => one.part === null && one.end - one.start <= LOOSE;
    if (last && (isShort(run) || last.part === run.part)) last.end = run.end;
    else if (last && made.length === 1 && isShort(last)) made[0] = { ...run, start: last.start };
    else made.push({ ...run });
  }
  return made;
}

/** Small runs beside each other become one, of no child in particular. */
export function packed(runs: Run[]): Run[] {
  const made: Run[] = [];
  let isOpen = false; // may the last one take more?
  for (const run of runs) {
    const count = run.end - run.start;
    const isSmall = count <= (isItem(run.part) ? SMALL_ITEM : SMALL);
    const last = made[made.length - 1];
    if (isSmall && isOpen && run.end - last.start <= PACK) made[made.length - 1] = { start: last.start, end: run.end, part: null };
    else made.push(run);
    isOpen = isSmall;
  }
  return made;
}

/** The modules of a run that has several, as a reader would name them: `wte, wpe`, `layers.0 … 7`. */
export function namesIn(paths: Path[], start: number, end: number): string {
  const found = paths.slice(start, end).filter((path) => path.length);
  if (!found.length) return "";
  const shared = found.reduce(common);
  const parts = [...new Set(found.filter((path) => path.length > shared.length).map((path) => branch(path, shared.length)))];
  const list = parts.length > 3 || parts.every((part) => NUMERIC.test(part)) ? [parts[0], parts[parts.length - 1]].join(" … ") : parts.join(", ");
  return [...shared, ...(parts.length > 1 ? [list] : parts)].join(".");
}

/** What a module path has beyond its first parts: one part, and the number of a list after it. */
function branch(path: Path, length: number): string {
  return path.slice(length, length + (NUMERIC.test(path[length + 1] ?? "") ? 2 : 1)).join(".");
}
