// Types, sizes and constants of a saved program as Python prints them.

import { Damage, type Json, NumberText } from "./json";

const SHORT: Record<string, string> = {
  float16: "f16", bfloat16: "bf16", float32: "f32", float64: "f64", int8: "i8", int16: "i16", int32: "i32",
  int64: "i64", uint8: "u8", bool: "b8", complex64: "c64", complex128: "c128",
};
const BYTES: Record<string, number> = {
  float16: 2, bfloat16: 2, float32: 4, float64: 8, int8: 1, int16: 2, int32: 4, int64: 8, uint8: 1, uint16: 2,
  uint32: 4, uint64: 8, bool: 1, complex32: 4, complex64: 8, complex128: 16, float8_e4m3fn: 1, float8_e5m2: 1,
  float8_e4m3fnuz: 1, float8_e5m2fnuz: 1, float8_e8m0fnu: 1,
};
const DEEPEST = 100;

export function oneKey(data: Json | undefined, at: string): [string, Json] {
  if (!(data instanceof Map) || data.size !== 1) throw new Damage(`${at} must be an object with one key`);
  return [...data][0];
}

export function textOf(data: Json | undefined, at: string): string {
  if (typeof data !== "string") throw new Damage(`${at} must be a string`);
  return data;
}

export function listOf(data: Json | undefined, at: string): Json[] {
  if (!Array.isArray(data)) throw new Damage(`${at} must be a list`);
  return data;
}

export function objectOf(data: Json | undefined, at: string): Map<string, Json> {
  if (!(data instanceof Map)) throw new Damage(`${at} must be an object`);
  return data;
}

export function integerOf(data: Json | undefined, at: string): number {
  if (!(data instanceof NumberText) || !/^-?\d{1,15}$/.test(data.text)) throw new Damage(`${at} must be an integer`);
  return Number(data.text);
}

// ---- types

/** The type as text, and how many bytes such a tensor takes: null where only a run knows. */
export function typeOf(data: Json | undefined, at: string, depth = 0): [string, number | null] {
  if (depth > DEEPEST) throw new Damage(`${at} is nested more than ${DEEPEST} deep`);
  const [kind, part] = oneKey(data, at);
  if (kind === "tensor") return tensorType(objectOf(part, at), at);
  if (kind === "number") return [textOf(part, at), null];
  if (kind === "text") return ["text", null];
  if (kind === "tag") {
    const tag = objectOf(part, at);
    return [`tag(${integerOf(tag.get("count"), at)}, ${textOf(tag.get("union"), at)})`, null];
  }
  if (kind === "part") {
    const union = objectOf(part, at);
    const alternatives = listOf(union.get("alternatives"), at).map((one) => integerOf(one, at)).join("|");
    return [`${typeOf(union.get("type"), at, depth + 1)[0]}?(${textOf(union.get("union"), at)}=${alternatives})`, null];
  }
  if (kind !== "list" && kind !== "optional") throw new Damage(`${at} has an unknown type`);
  const [element] = typeOf(part, at, depth + 1);
  return [kind === "list" ? `list<${element}>` : `${element}?`, null];
}

export function tensorType(data: Map<string, Json>, at: string): [string, number | null] {
  const dtype = textOf(data.get("dtype"), `${at}.dtype`);
  const device = data.has("device") ? textOf(data.get("device"), `${at}.device`) : "cpu";
  const sizes = listOf(data.get("shape"), `${at}.shape`);
  const text = sizes.map((size) => (size === null ? "?" : sizeText(size, `${at}.shape`)[0])).join(", ");
  const isStatic = dtype in BYTES && sizes.every((size) => size instanceof NumberText);
  const bytes = isStatic ? sizes.reduce((product, size) => product * Number((size as NumberText).text), BYTES[dtype]) : null;
  return [`${SHORT[dtype] ?? dtype}[${text}]${device === "cpu" ? "" : `@${device}`}`, bytes];
}

// ---- sizes: how tightly a text binds decides where it needs brackets

const [SUM, PRODUCT, POWER, ATOM] = [0, 1, 2, 3];
const SIGNS: Record<string, string> = { floordiv: "//", mod: " % ", truediv: "/", pow: "**" };
const FUNCTIONS = ["min", "max", "floor", "ceil", "trunc", "round"];

function sizeText(size: Json, at: string, depth = 0): [string, number] {
  if (depth > DEEPEST) throw new Damage(`${at} is nested more than ${DEEPEST} deep`);
  if (typeof size === "string") return [size, ATOM];
  const number = numberIn(size);
  if (number !== null) return [number, number.startsWith("-") ? SUM : ATOM];
  const [op, part] = oneKey(size, at);
  const args = listOf(part, at);
  if (!args.length) throw new Damage(`${at} is not a valid size`);
  const inside = (arg: Json, least: number) => {
    const [text, binds] = sizeText(arg, at, depth + 1);
    return binds >= least ? text : `(${text})`;
  };
  if (op === "add") return [args.map((arg, k) => (k ? term(arg, at, depth) : sizeText(arg, at, depth + 1)[0])).join(""), SUM];
  if (op === "mul") return [product(args, inside), PRODUCT];
  if (op in SIGNS) return [args.map((arg) => inside(arg, ATOM)).join(SIGNS[op]), op === "pow" ? POWER : PRODUCT];
  if (FUNCTIONS.includes(op)) return [`${op}(${args.map((arg) => sizeText(arg, at, depth + 1)[0]).join(", ")})`, ATOM];
  throw new Damage(`${at} is not a valid size`);
}

/** The number that a size is, or the fraction; null for other sizes. */
function numberIn(size: Json): string | null {
  if (size instanceof NumberText) return size.text;
  const fraction = size instanceof Map && size.size === 1 ? size.get("float") : undefined;
  return fraction instanceof NumberText ? fraction.text : null;
}

function product(args: Json[], inside: (arg: Json, least: number) => string): string {
  const [first, ...rest] = args;
  if (first instanceof NumberText && first.text === "-1") return `-${rest.map((arg) => inside(arg, POWER)).join("*")}`;
  return [numberIn(first) ?? inside(first, POWER), ...rest.map((arg) => inside(arg, POWER))].join("*");
}

/** One more term of a sum, with its sign. */
function term(size: Json, at: string, depth: number): string {
  const positive = negated(size);
  const shown = positive ?? size;
  const isSum = shown instanceof Map && shown.has("add");
  const text = sizeText(shown, at, depth + 1)[0];
  return ` ${positive === null ? "+" : "-"} ${isSum ? `(${text})` : text}`;
}

/** `-size` if `size` is written with a minus: `-2`, `-s0`, `-2*s0`; else null. */
function negated(size: Json): Json | null {
  const flipped = (one: Json): Json | null => {
    const text = numberIn(one);
    if (text === null || !text.startsWith("-")) return null;
    const number = new NumberText(text.slice(1));
    return one instanceof NumberText ? number : new Map([["float", number]]);
  };
  const factors = size instanceof Map ? size.get("mul") : undefined;
  if (!Array.isArray(factors) || !factors.length) return flipped(size);
  const first = flipped(factors[0]);
  if (first === null) return null;
  const rest = factors.slice(1);
  if (!(first instanceof NumberText) || first.text !== "1") return new Map([["mul", [first, ...rest]]]);
  return rest.length === 1 ? rest[0] : new Map([["mul", rest]]);
}

// ---- constants

const LITERALS = ["dtype", "device", "layout", "memory_format"];

/** A constant as Python's `repr` writes it. */
export function constantText(data: Json, at: string): string {
  if (data === null) return "None";
  if (typeof data === "boolean") return data ? "True" : "False";
  if (typeof data === "string") return stringText(data);
  if (data instanceof NumberText) return data.text;
  const [kind, part] = oneKey(data, at);
  if (LITERALS.includes(kind)) return textOf(part, at);
  if (kind === "float") return floatText(part, at);
  if (kind === "complex" && Array.isArray(part) && part.length === 2) return complexText(part.map((one) => floatText(one, at)));
  throw new Damage(`${at} is not a valid constant`);
}

function floatText(data: Json, at: string): string {
  if (data instanceof NumberText) return data.text;
  if (data === "inf" || data === "-inf" || data === "nan") return data;
  throw new Damage(`${at} is not a valid number`);
}

function complexText(parts: string[]): string {
  const [real, imaginary] = parts.map((part) => part.replace(/\.0$/, ""));
  if (real === "0") return `${imaginary}j`;
  return `(${real}${/^[-]/.test(imaginary) ? "" : "+"}${imaginary}j)`;
}

const ESCAPES: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A string with quotes, and escapes for what cannot be printed. */
export function stringText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let made = "";
  for (const one of text) {
    if (one in ESCAPES) made += ESCAPES[one];
    else if (one === quote) made += `\\${one}`;
    else made += one !== " " && /[\p{C}\p{Z}]/u.test(one) ? escaped(one.codePointAt(0)!) : one;
  }
  return quote + made + quote;
}

function escaped(code: number): string {
  const [mark, digits] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
  return `\\${mark}${code.toString(16).padStart(digits, "0")}`;
}
