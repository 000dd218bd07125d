// What the page holds: written by src/stator/page/encoding.py and document.py.

export type Arg = { value: number } | string | Arg[];
export type Place = [file: number, line: number, column: number, inFunction: string];

export interface OpData {
  name: string;
  block: number;
  args: Arg[];
  names: string[];
  attributes: [string, Arg][];
  results: number[];
  blocks: number[];
  place: Place | null;
}

export interface BlockData {
  role: string;
  owner: number | null;
  inputs: number[];
  ops: number[];
  outputs: Arg[];
}

export interface StoredData {
  value: number;
  name: string;
  kind: string;
}

export interface ProgramData {
  label: string;
  name: string;
  inputs: number[];
  stored: StoredData[];
  functions: { name: string; block: number }[];
  body: number;
  values: [name: string, type: string, bytes: number | null][];
  blocks: BlockData[];
  ops: OpData[];
}

export interface FileData {
  name: string;
  path: string;
  runs: { first: number; lines: string[] }[];
}

export interface WeightData {
  name: string;
  kind: string;
  type: string;
  bytes: number | null;
  tied: string | null;
}

export interface Fact {
  what: string;
  place: string;
}

export interface ReportLine {
  file: string;
  line: number;
  function: string;
  source: string;
  notes: string[];
  ops: number;
}

export interface CaptureData {
  because: string;
  inputs: string[];
  ops: number;
  lines: ReportLine[];
  converted: Fact[];
  left_alone: Fact[];
  fixed: Fact[];
  watched: Fact[];
  state_inputs: Fact[];
  sizes: Fact[];
  size_checks: Fact[];
  effects: Fact[];
}

export interface ReportData {
  function: string;
  captures: CaptureData[];
  fallbacks: Fact[];
  refused: string;
}

export interface PageData {
  title: string;
  version: string;
  remarks: string[];
  start: number; // the program to show first
  entry: [file: number, line: number] | null; // where the converted function begins
  programs: ProgramData[];
  weights: WeightData[];
  report: ReportData | null;
  files: FileData[];
}

export function valuesIn(arg: Arg): number[] {
  if (typeof arg === "string") return [];
  return Array.isArray(arg) ? arg.flatMap(valuesIn) : [arg.value];
}
