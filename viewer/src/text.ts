// TextPane: the program as it prints, line by line.

import { valuesIn, type Arg } from "./data";
import { h, largest } from "./dom";
import { Lines } from "./lines";
import type { Model } from "./model";

interface Row {
  depth: number;
  text: string;
  op: number | null;
  place: string;
}

export interface TextEvents {
  hover(op: number | null): void;
  choose(op: number): void;
}

export class TextPane {
  readonly element: HTMLElement;
  private rows: Row[] = [];
  private rowOfOp = new Map<number, number>();
  private lines: Lines;
  private lit: ReadonlySet<number> = new Set();
  private found: ReadonlySet<number> = new Set();

  constructor(private model: Model, fileNames: string[], private events: TextEvents) {
    this.print(fileNames);
    const widest = largest(this.rows, (row) => row.depth * 2 + row.text.length + row.place.length + 4);
    this.lines = new Lines({ count: this.rows.length, rowHeight: 20, widest, label: "the program as text", id: "text" }, {
      render: (row) => this.render(row),
      hover: (row) => this.events.hover(row === null ? null : this.rows[row].op),
      choose: (row) => this.events.choose(this.rows[row].op!),
      isStop: (row) => this.rows[row].op !== null,
    });
    this.element = h("div", { class: "text" }, this.lines.element);
  }

  private add(depth: number, text: string, op: number | null = null, place = ""): void {
    this.rows.push({ depth, text, op, place });
  }

  private print(fileNames: string[]): void {
    const { data } = this.model;
    this.add(0, `program ${data.name}(${this.typed(data.inputs)}) {`);
    for (const stored of data.stored) this.add(1, `${this.typed([stored.value])} = ${stored.kind} "${stored.name}"`);
    this.block(data.body, 1, fileNames, "return");
    this.add(0, "}");
    for (const one of data.functions) {
      this.add(0, `function ${one.name}(${this.typed(data.blocks[one.block].inputs)}) {`);
      this.block(one.block, 1, fileNames, "return");
      this.add(0, "}");
    }
  }

  private block(index: number, depth: number, fileNames: string[], word: string): void {
    const block = this.model.data.blocks[index];
    for (const op of block.ops) this.op(op, depth, fileNames);
    if (block.outputs.length) this.add(depth, `${word} ${block.outputs.map((arg) => this.arg(arg)).join(", ")}`);
  }

  private op(op: number, depth: number, fileNames: string[]): void {
    const data = this.model.op(op);
    const named = data.attributes.map(([name, arg]) => `${name}=${this.arg(arg)}`);
    const results = data.results.length ? `${this.typed(data.results)} = ` : "";
    const head = `${results}${data.name}(${[...data.args.map((arg) => this.arg(arg)), ...named].join(", ")})`;
    const place = data.place ? `# ${fileNames[data.place[0]]}:${data.place[1]}` : "";
    this.rowOfOp.set(op, this.rows.length);
    if (!data.blocks.length) return this.add(depth, head, op, place);
    data.blocks.forEach((inner, index) => {
      const inputs = this.model.data.blocks[inner].inputs;
      const start = `${index ? "}" : head}${inputs.length ? ` (${this.typed(inputs)})` : ""} {`;
      this.add(depth, start, index ? null : op, index ? "" : place);
      this.block(inner, depth + 1, fileNames, "yield");
    });
    this.add(depth, "}");
  }

  private typed(values: number[]): string {
    return values.map((value) => `%${this.model.data.values[value][0]}: ${this.model.data.values[value][1]}`).join(", ");
  }

  private arg(arg: Arg): string {
    if (typeof arg !== "string" && !Array.isArray(arg)) return `%${this.model.data.values[valuesIn(arg)[0]][0]}`;
    return Array.isArray(arg) ? `[${arg.map((item) => this.arg(item)).join(", ")}]` : arg;
  }

  private render(index: number): HTMLElement {
    const row = this.rows[index];
    const made = h("div", { class: `line${row.op !== null ? ` has ${this.model.category(row.op)}` : ""}` },
      h("code", {}, "  ".repeat(row.depth) + row.text), row.place ? h("span", { class: "place" }, row.place) : null);
    if (row.op !== null) {
      made.classList.toggle("lit", this.lit.has(row.op));
      made.classList.toggle("found", this.found.has(row.op));
    }
    return made;
  }

  light(ops: ReadonlySet<number>): void {
    this.lit = ops;
    this.lines.later();
  }

  find(ops: ReadonlySet<number>): void {
    this.found = ops;
    this.lines.later();
  }

  select(op: number | null): void {
    const row = op === null ? undefined : this.rowOfOp.get(op);
    if (row === undefined) this.lines.leave();
    else this.lines.goTo(row);
  }

  focus(): void {
    this.lines.element.focus();
  }
}
