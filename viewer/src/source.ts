// SourcePane: the user's lines, each with its ops.

import type { CaptureData, PageData } from "./data";
import { counted, h, largest } from "./dom";
import { tokens, type Token } from "./highlight";
import { Lines } from "./lines";
import type { Model } from "./model";

type Row =
  | { kind: "file"; text: string; hint: string }
  | { kind: "gap" }
  | { kind: "line"; file: number; line: number; tokens: Token[]; hasText: boolean; ops: number[]; notes: string[]; inFunction: string };

export interface SourceEvents {
  hover(ops: number[]): void;
  choose(ops: number[]): void;
}

const HEIGHT = 20;
const DEEPEST = 16; // columns that a wrapped line is moved to the right

export class SourcePane {
  readonly element: HTMLElement;
  readonly hasText: boolean; // is there any source to show?
  private rows: Row[] = [];
  private lines: Lines;
  private file = h("div", { class: "file-name" });
  private first: { text: string; hint: string } | null = null; // its name always is above
  private lit: number | null = null; // the row of the op under the pointer

  constructor(private page: PageData, private model: Model, capture: CaptureData | null, private events: SourceEvents) {
    const notes = new Map<string, string[]>();
    for (const line of capture?.lines ?? []) notes.set(`${line.file}\0${line.line}`, line.notes);
    page.files.forEach((_, file) => this.addFile(page, file, notes));
    this.hasText = this.rows.some((row) => row.kind === "line" && row.hasText);
    this.lines = new Lines({ count: this.rows.length, rowHeight: HEIGHT, widest: null, label: "source lines", id: "source" }, {
      render: (row) => this.render(row),
      hover: (row) => this.events.hover(row === null ? [] : this.opsOf(row)),
      choose: (row) => this.events.choose(this.opsOf(row)),
      scrolled: (row) => this.nameFile(row),
      isStop: (row) => this.opsOf(row).length > 0,
    });
    this.element = h("section", { class: "source", "aria-label": "source" }, this.file, this.lines.element);
  }

  private addFile(page: PageData, file: number, notes: Map<string, string[]>): void {
    const { name, path, runs } = page.files[file];
    const places = [...this.model.opsAt.keys()].map((key) => key.split(":").map(Number)).filter(([at]) => at === file);
    if (!places.length && file !== page.entry?.[0] && !runs.some((run) => run.lines.some((_, k) => notes.has(`${path}\0${run.first + k}`)))) return;
    if (this.first) this.rows.push({ kind: "file", text: name, hint: path });
    else this.first = { text: name, hint: path };
    const filled = runs.flatMap((run) => run.lines.filter((line) => line.trim()));
    const indent = -largest(filled, (line) => -indentOf(line));
    if (!runs.length) return this.addPlaces(file, places.map(([, line]) => line));
    runs.forEach((run, index) => {
      if (index) this.rows.push({ kind: "gap" });
      tokens(run.lines.map((line) => line.slice(Math.min(indent, indentOf(line))))).forEach((line, k) => this.addLine(file, run.first + k, line, notes.get(`${path}\0${run.first + k}`)));
    });
  }

  private addPlaces(file: number, lines: number[]): void {
    for (const line of lines.sort((a, b) => a - b)) this.addLine(file, line, null);
  }

  private addLine(file: number, line: number, found: Token[] | null, notes: string[] = []): void {
    const ops = this.model.opsAt.get(`${file}:${line}`) ?? [];
    const inFunction = ops.length ? this.model.op(ops[0]).place![3] : "";
    this.rows.push({ kind: "line", file, line, tokens: found ?? [], hasText: found !== null, ops, notes, inFunction });
  }

  /** The name of the file that is in sight stays above it. */
  private nameFile(first: number): void {
    for (let row = Math.min(first + 1, this.rows.length - 1); row >= 0; row--) {
      const found = this.rows[row];
      if (found.kind === "file") return this.showName(found);
    }
    if (this.first) this.showName(this.first);
  }

  private showName(file: { text: string; hint: string }): void {
    this.file.textContent = file.text;
    this.file.title = file.hint;
  }

  private opsOf(row: number): number[] {
    const found = this.rows[row];
    return found?.kind === "line" ? found.ops : [];
  }

  private render(index: number): HTMLElement {
    const row = this.rows[index];
    if (row.kind === "gap") return h("div", { class: "gap" }, "⋯");
    if (row.kind === "file") return h("div", { class: "file", title: row.hint }, row.text);
    const code = row.hasText
      ? row.tokens.map((token) => (token.kind ? h("span", { class: `t-${token.kind}` }, token.text) : token.text))
      : [h("i", {}, `${counted(row.ops.length, "op")} in ${row.inFunction}`)];
    const made = h("div", { class: `line${row.ops.length ? " has" : ""}` },
      h("span", { class: "number" }, String(row.line)),
      h("span", { class: "count", title: row.ops.length ? counted(row.ops.length, "op") : null }, row.ops.length ? String(row.ops.length) : ""),
      wrapping(row.tokens, h("code", {}, ...code), row.notes.length ? h("span", { class: "note" }, row.notes.join("; ")) : null));
    if (row.notes.length) made.title = row.notes.join("\n");
    made.classList.toggle("lit", index === this.lit);
    return made;
  }

  private rowOf(op: number | null): number | null {
    const place = op === null ? null : this.model.op(op).place;
    return place ? this.rowAt(place[0], place[1]) : null;
  }

  private rowAt(file: number, line: number): number | null {
    const found = this.rows.findIndex((row) => row.kind === "line" && row.file === file && row.line === line);
    return found < 0 ? null : found;
  }

  /** Light the line of the op under the pointer. */
  light(op: number | null): void {
    this.lit = this.rowOf(op);
    this.lines.later();
  }

  /** Bring the line of the selected op into sight. */
  select(op: number | null): void {
    const row = this.rowOf(op);
    if (row === null) this.lines.leave();
    else this.lines.goTo(row);
  }

  /** Begin at the function that was converted; where it is not known, at the first op. */
  start(): void {
    const { entry } = this.page;
    const own = entry && this.rowAt(entry[0], entry[1]);
    const first = this.model.data.ops.findIndex((op) => op.place !== null);
    const row = own ?? this.rowOf(first < 0 ? null : first);
    if (row !== null) this.lines.scrollTo(row, own === null ? 1 / 3 : 0);
  }

  /** What the report says of a line. */
  notesAt(op: number): string[] {
    const row = this.rowOf(op);
    const found = row === null ? null : this.rows[row];
    return found?.kind === "line" ? found.notes : [];
  }

  /** The first line of a file of that name and number, if it is there. */
  goToLine(path: string, line: number, page: PageData): number[] {
    const row = this.rows.findIndex((one) => one.kind === "line" && page.files[one.file].path === path && one.line === line);
    if (row < 0) return [];
    this.lines.goTo(row);
    return this.opsOf(row);
  }

  focus(): void {
    this.lines.element.focus();
  }
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** The code of a line, and its note; where it wraps, it goes on two columns to the right of its start. */
function wrapping(tokens: Token[], ...parts: (Node | null)[]): HTMLElement {
  const made = h("div", { class: "wrapping" }, ...parts);
  const hang = Math.min(DEEPEST, indentOf(tokens[0]?.text ?? "")) + 2;
  made.style.paddingLeft = `${hang}ch`;
  made.style.textIndent = `-${hang}ch`;
  return made;
}
