// JSON as a `.stator` file has it. Numbers stay the text that they are, since those of a program may have more
// digits than a number of JavaScript; a key that an object has twice is an error, as it is to every reader.

/** What is wrong with a file, and where. */
export class Damage extends Error {}

export class NumberText {
  constructor(readonly text: string) {}
}

export type Json = null | boolean | string | NumberText | Json[] | JsonObject;
export type JsonObject = Map<string, Json>;

const DEEPEST = 1000;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const SPACE = /[ \t\n\r]*/y;

export function parseJson(text: string): Json {
  const reader = new Reader(text);
  const made = reader.value(0);
  reader.end();
  return made;
}

class Reader {
  private at = 0;

  constructor(private text: string) {}

  value(depth: number): Json {
    if (depth > DEEPEST) throw new Damage("it is nested too deeply");
    const first = this.next();
    if (first === "{") return this.object(depth + 1);
    if (first === "[") return this.list(depth + 1);
    if (first === '"') return this.string();
    for (const [word, value] of [["null", null], ["true", true], ["false", false]] as const) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    NUMBER.lastIndex = this.at;
    const number = NUMBER.exec(this.text);
    if (!number) throw this.wrong();
    this.at += number[0].length;
    return new NumberText(number[0]);
  }

  end(): void {
    if (this.next() !== "") throw this.wrong();
  }

  /** The next character that is not a space; "" at the end. */
  private next(): string {
    SPACE.lastIndex = this.at;
    SPACE.exec(this.text);
    this.at = SPACE.lastIndex;
    return this.text.charAt(this.at);
  }

  private take(mark: string): boolean {
    if (this.next() !== mark) return false;
    this.at += 1;
    return true;
  }

  private object(depth: number): JsonObject {
    const made: JsonObject = new Map();
    this.at += 1;
    if (this.take("}")) return made;
    do {
      if (this.next() !== '"') throw this.wrong();
      const key = this.string();
      if (!this.take(":")) throw this.wrong();
      if (made.has(key)) throw new Damage(`an object has the key ${JSON.stringify(key.slice(0, 100))} twice`);
      made.set(key, this.value(depth));
    } while (this.take(","));
    if (!this.take("}")) throw this.wrong();
    return made;
  }

  private list(depth: number): Json[] {
    const made: Json[] = [];
    this.at += 1;
    if (this.take("]")) return made;
    do made.push(this.value(depth));
    while (this.take(","));
    if (!this.take("]")) throw this.wrong();
    return made;
  }

  private string(): string {
    let end = this.at;
    do end = this.text.indexOf('"', end + 1);
    while (end >= 0 && this.isEscaped(end));
    if (end < 0) throw this.wrong();
    const written = this.text.slice(this.at, end + 1);
    const start = this.at;
    this.at = end + 1;
    try {
      return JSON.parse(written) as string;
    } catch {
      this.at = start;
      throw this.wrong();
    }
  }

  private isEscaped(at: number): boolean {
    let before = at - 1;
    while (this.text[before] === "\\") before -= 1;
    return (at - before) % 2 === 0;
  }

  private wrong(): Damage {
    return new Damage(`it is not valid JSON: character ${this.at}`);
  }
}
