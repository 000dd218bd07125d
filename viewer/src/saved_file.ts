// A `.stator` file, read in the browser: its programs, methods and tensors as `stator view` shows them.
// The weights are in another file, which is not needed. Nothing in the file is trusted.

import type { FileData, PageData, WeightData } from "./data";
import { Damage, type Json, type JsonObject, parseJson } from "./json";
import { integerOf, listOf, objectOf, stringText, tensorType, textOf } from "./python_text";
import { FileNumbers, ProgramReader } from "./saved_program";
import { sha256 } from "./sha256";

const HEAD = /^\{"format":"stator","version":(\d{1,9}),"digest":"([0-9a-f]{64})",/;
const LATEST = 4; // of the format
const LARGEST = 2 ** 28; // bytes
const LARGEST_SOURCE = 2 ** 22; // characters of embedded source
const MODES = ["eval", "train"];
const NO_SOURCE = "This model was saved with file names and line numbers, but no source. "
  + "stator.save(..., embed_source=True) keeps the source of its functions.";

interface Method {
  programs: Map<string, string>; // mode -> program
  refused: Map<string, string>; // mode -> reason
}

/** What the page shows of the file; Damage says what is wrong with it. */
export function readSaved(fileName: string, bytes: Uint8Array, pageVersion: string): PageData {
  try {
    const [version, data] = parsed(bytes);
    return pageOf(fileName.replace(/\.stator$/, ""), data, version, pageVersion);
  } catch (error) {
    if (error instanceof RangeError) throw new Damage(`${fileName} is damaged: it is nested too deeply`);
    if (error instanceof Damage) throw new Damage(`${fileName} ${error.message}`);
    throw error;
  }
}

function parsed(bytes: Uint8Array): [number, JsonObject] {
  if (bytes.length > LARGEST) throw new Damage(`is larger than ${LARGEST} bytes`);
  const head = HEAD.exec(String.fromCharCode(...bytes.subarray(0, 140)));
  if (!head) throw new Damage("is not a Stator model: choose the .stator file that stator.save has written");
  const version = Number(head[1]);
  if (version < 1 || version > LATEST) {
    throw new Damage(`has format version ${version}, and this page reads versions 1 to ${LATEST}: write the page with a newer Stator`);
  }
  if (sha256(bytes.subarray(head[0].length)) !== head[2]) throw new Damage("is damaged: its text does not have the digest that it names");
  return within(() => [version, objectOf(parseJson(decoded(bytes)), "the model")]);
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Damage("it is not text");
  }
}

/** What `act` gives; what it finds wrong is damage. */
function within<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof Damage) throw new Damage(`is damaged: ${error.message}`);
    throw error;
  }
}

function pageOf(title: string, data: JsonObject, version: number, pageVersion: string): PageData {
  return within(() => {
    const programs = objectOf(data.get("programs"), "programs");
    const methods = version > 1 ? methodsOf(data.get("methods")) : firstMethods(data, programs);
    const sources = sourcesOf(data.get("sources"));
    const files = new FileNumbers();
    const schemas = version > 1 ? objectOf(data.get("ops"), "ops") : new Map<string, Json>();
    const labels = labelsOf(methods, [...programs.keys()]);
    const read = [...labels].map(([name, label]) => {
      const at = `programs.${name}`;
      return new ProgramReader(files, schemas).program(objectOf(programs.get(name), at), joined(label), at);
    });
    return {
      title, version: pageVersion, remarks: [...(sources.size ? [] : [NO_SOURCE]), ...refusals(methods)], start: 0, entry: null,
      programs: read, weights: weightsOf(objectOf(data.get("tensors"), "tensors")), report: null,
      files: files.data((name) => sources.get(name) ?? []),
    };
  });
}

// ---- methods

function methodsOf(data: Json | undefined): Map<string, Method> {
  const made = new Map<string, Method>();
  for (const [name, item] of objectOf(data, "methods")) {
    const parts = objectOf(item, `methods.${name}`);
    const table = (key: string) => {
      const found = objectOf(parts.get(key), `methods.${name}.${key}`);
      for (const [mode] of found) if (!MODES.includes(mode)) throw new Damage(`methods.${name}.${key} must have the keys eval and train`);
      return new Map([...found].map(([mode, text]) => [mode, textOf(text, `methods.${name}.${key}`)]));
    };
    made.set(name, { programs: table("programs"), refused: table("refused") });
  }
  return made;
}

/** Version 1 has no methods: they follow from the names of the programs. */
function firstMethods(data: JsonObject, programs: JsonObject): Map<string, Method> {
  if (!programs.has("forward")) return new Map();
  const plain = objectOf(data.get("metadata"), "metadata").get("dict");
  const hasModes = !(plain instanceof Map) || plain.get("modes") !== false;
  const own = data.get("training") === true ? "train" : "eval";
  const other = own === "train" ? "eval" : "train";
  const chosen = new Map([[own, "forward"]]);
  if (!hasModes) chosen.set(other, "forward");
  else if (programs.has(other)) chosen.set(other, other);
  return new Map([["forward", { programs: chosen, refused: new Map() }]]);
}

/** Each program with the methods and modes that run it, `forward` first. */
function labelsOf(methods: Map<string, Method>, programs: string[]): Map<string, string[]> {
  const labels = new Map<string, string[]>();
  for (const method of sorted(methods)) {
    const chosen = methods.get(method)!.programs;
    for (const mode of MODES) {
      const name = chosen.get(mode);
      if (name === undefined) continue;
      if (!programs.includes(name)) throw new Damage(`methods.${method}.${mode} names the program ${stringText(name)}, which is not there`);
      labels.set(name, [...(labels.get(name) ?? []), `${method}, ${mode}`]);
    }
  }
  for (const name of programs) if (!labels.has(name)) labels.set(name, [name]);
  return labels;
}

function sorted(methods: Map<string, Method>): string[] {
  const key = (name: string) => (name === "forward" ? "" : name);
  return [...methods.keys()].sort((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** `forward, eval` and `forward, train` as `forward`: a method that is the same in both. */
function joined(labels: string[]): string {
  const methods = [...new Set(labels.map((label) => label.replace(/, (eval|train)$/, "")))];
  return labels.length === MODES.length * methods.length ? methods.join("; ") : labels.join("; ");
}

function refusals(methods: Map<string, Method>): string[] {
  return sorted(methods).flatMap((name) => [...methods.get(name)!.refused]
    .map(([mode, reason]) => `${name} could not be captured in ${mode} mode: ${reason}`));
}

// ---- tensors and source

function weightsOf(table: JsonObject): WeightData[] {
  const first = new Map<string, string>();
  return [...table].map(([name, item]) => {
    const at = `tensors.${name}`;
    const entry = objectOf(item, at);
    const key = textOf(entry.get("key"), `${at}.key`);
    const owner = first.get(key) ?? name;
    first.set(key, owner);
    const [type, bytes] = tensorType(entry, at);
    return { name, kind: textOf(entry.get("kind"), `${at}.kind`), type, bytes, tied: owner === name ? null : owner };
  });
}

function sourcesOf(data: Json | undefined): Map<string, FileData["runs"]> {
  if (data === undefined) return new Map();
  let room = LARGEST_SOURCE;
  return new Map([...objectOf(data, "sources")].map(([name, runs]) => [name, listOf(runs, `sources.${name}`).map((one) => {
    const at = `sources.${name}`;
    const run = objectOf(one, at);
    const lines = listOf(run.get("lines"), at).map((line) => textOf(line, at));
    for (const line of lines) room -= line.length + 1;
    if (room < 0) throw new Damage("sources has more text than a file may have");
    return { first: integerOf(run.get("first"), at), lines };
  })]));
}
