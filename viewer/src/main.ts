// The page: a header with the search, three tabs, and the panes of the program.

import type { CaptureData, PageData, ProgramData, ReportLine } from "./data";
import { opDetails, programDetails } from "./details";
import { button, h } from "./dom";
import { download, pngFile, svgFile } from "./drawing";
import { FileDrop } from "./drop";
import { GraphPane } from "./graph";
import { helpDialog } from "./help";
import { Model } from "./model";
import { closeNotice, notice } from "./notice";
import { reportPane } from "./report";
import { Search } from "./search";
import { SourcePane } from "./source";
import { splitter } from "./splitter";
import { Tabs } from "./tabs";
import { TextPane } from "./text";
import { themeSwitch } from "./theme";
import { weightsPane } from "./weights";

const NOTHING: ProgramData = {
  label: "", name: "no program", inputs: [], stored: [], functions: [], body: 0, values: [], ops: [],
  blocks: [{ role: "program", owner: null, inputs: [], ops: [], outputs: [] }],
};

class App {
  private model!: Model;
  private graph!: GraphPane;
  private text!: TextPane;
  private source!: SourcePane;
  private selected: number | null = null;
  private models = new Map<number, Model>();
  private search: Search;
  private tabs: Tabs;
  private program = h("div", { class: "program" });
  private weights = h("div", { class: "holder" }); // this and the report are filled when they are looked at
  private report = h("div", { class: "holder" });
  private details = h("aside", { class: "details", "aria-label": "details", tabindex: -1 });
  private centre: Tabs;
  private graphHolder = h("div", { class: "holder" });
  private textHolder = h("div", { class: "holder" });
  private sourceHolder = h("div", { class: "holder" });
  private chooser = h("select", { "aria-label": "program" });
  private tools = h("div", { class: "tools" });
  private help = helpDialog();
  private elements: HTMLElement[] = []; // of the document
  private listening = new AbortController();

  constructor(private page: PageData, private chooseFile: () => void) {
    this.search = new Search(page, {
      find: (ops) => {
        this.graph?.find(ops);
        this.text?.find(new Set(ops));
      },
      select: (op) => this.goTo(op),
      leave: () => this.graph.focus(),
    });
    this.centre = new Tabs("view of the program", [
      { id: "graph-view", title: "Graph", panel: this.graphHolder, shown: () => this.showGraph() },
      { id: "text-view", title: "Text", panel: this.textHolder, shown: () => this.showText() },
    ]);
    this.tabs = new Tabs("parts of the page", [
      { id: "program", title: "Program", panel: this.program },
      { id: "weights", title: "Weights", panel: this.weights, shown: () => this.showWeights() },
      { id: "explain", title: "Explain", panel: this.report, shown: () => this.showReport() },
    ]);
    this.build();
    this.use(page.start);
  }

  show(): void {
    document.title = `${this.page.title} · Stator`;
    document.body.append(...this.elements);
    document.addEventListener("keydown", (event) => this.key(event), this.listening);
  }

  hide(): void {
    this.listening.abort();
    for (const element of this.elements) element.remove();
  }

  private build(): void {
    const { page } = this;
    page.programs.forEach((program, index) => this.chooser.append(h("option", { value: index }, program.label)));
    this.chooser.addEventListener("change", () => this.use(Number(this.chooser.value)));
    this.tools.append(
      button("−", "zoom out (-)", () => this.graph.zoom(0.8)),
      button("+", "zoom in (+)", () => this.graph.zoom(1.25)),
      button("Fit", "fit the whole graph (0)", () => this.graph.fit()),
      button("Fit width", "fit width, from the top (w)", () => this.graph.fitWidth()),
      button("Open all", "open all blocks and sections", () => this.graph.setAll(true)),
      button("Close all", "close all blocks and sections", () => this.graph.setAll(false)),
      button("SVG", "SVG: save the whole graph as a drawing", () => this.saveSvg()),
      button("PNG", "PNG: save the whole graph as a picture", () => void this.savePng()));
    const centre = h("section", { class: "centre", "aria-label": "program" },
      h("div", { class: "bar-top" }, this.centre.list, this.tools), ...this.centre.panels);
    this.program.append(this.sourceHolder, splitter(this.program, "--source-width", 1, "width of the source"), centre,
      splitter(this.program, "--details-width", -1, "width of the details"), this.details);
    const isEmpty = !page.programs.length && !page.report;
    this.elements = [
      h("header", {}, h("span", { class: "brand", "aria-hidden": "true" }), h("h1", { title: `Stator ${page.version}` }, page.title),
        page.programs.length > 1 ? this.chooser : null, isEmpty ? null : this.tabs.list, h("span", { class: "space" }),
        isEmpty ? null : this.search.element, button("Open…", "Open… a .stator file", this.chooseFile),
        themeSwitch(), button("?", "keys and colours (?)", () => this.help.showModal(), "round")),
      h("main", {}, ...(isEmpty ? [this.welcome()] : this.tabs.panels)), this.help];
  }

  /** A page without a program waits for a file. */
  private welcome(): HTMLElement {
    return h("div", { class: "welcome" },
      h("p", {}, "Drop a .stator file here to see its programs."),
      button("Choose a file", "Choose a file", this.chooseFile),
      h("p", { class: "hint" }, "The file is read in this page and goes nowhere else. Its weights (.safetensors) are not needed."));
  }

  private saveSvg(): void {
    download(svgFile(this.graph.drawing()), `${this.page.title}.svg`);
  }

  private async savePng(): Promise<void> {
    try {
      const { file, ratio } = await pngFile(this.graph.drawing());
      download(file, `${this.page.title}.png`);
      if (ratio < 0.5) notice(`The graph is large: the PNG has it at ${Math.max(1, Math.round(ratio * 100))} %. The SVG has every detail.`, "hint");
    } catch (error) {
      notice(`The PNG could not be made: ${String(error)}. The SVG can.`);
    }
  }

  // ---- which program

  private use(index: number): void {
    const { page } = this;
    let model = this.models.get(index);
    if (!model) this.models.set(index, (model = new Model(page.programs[index] ?? NOTHING, otherNames(page), page.files)));
    this.model = model;
    this.selected = null;
    this.chooser.value = String(index);
    this.graph = new GraphPane(model, {
      select: (op) => this.select(op, "graph"),
      hover: (op) => this.source.light(op),
      goToSource: (op) => this.goToSource(op),
    });
    this.text = new TextPane(model, page.files.map((file) => file.name), {
      hover: (op) => this.source.light(op),
      choose: (op) => this.select(op, "text"),
    });
    this.source = new SourcePane(page, model, this.captureOf(index), {
      hover: (ops) => this.light(ops),
      choose: (ops) => this.next(ops),
    });
    this.graphHolder.replaceChildren(this.graph.element);
    this.textHolder.replaceChildren(this.text.element);
    this.sourceHolder.replaceChildren(this.source.element);
    this.program.classList.toggle("no-source", !this.source.hasText);
    if (this.weights.firstChild) this.showWeights();
    this.source.start();
    this.describe();
    this.search.use(model);
  }

  /** The report on this program: reports and programs of a function stand in the same order. */
  private captureOf(index: number): CaptureData | null {
    const captures = this.page.report?.captures ?? [];
    return captures.length === this.page.programs.length ? captures[index] : null;
  }

  // ---- what is chosen

  private select(op: number | null, by: "graph" | "text" | "source" | "other"): void {
    this.selected = op;
    this.graph.select(op);
    if (by !== "text") this.text.select(op);
    this.source.select(op);
    this.describe();
  }

  private showGraph(): void {
    this.tools.hidden = false;
    this.graph.focus();
  }

  private showText(): void {
    this.tools.hidden = true;
    this.text.select(this.selected);
  }

  private showWeights(): void {
    this.weights.replaceChildren(weightsPane(this.page, this.model, (op) => this.goTo(op)));
  }

  private showReport(): void {
    if (!this.report.firstChild) {
      this.report.append(reportPane(this.page.report, (capture, line) => this.goToReportLine(capture, line)));
    }
  }

  private light(ops: number[]): void {
    this.graph.light(ops);
    this.text.light(new Set(ops));
  }

  /** The first op of a line; when it is chosen again, the next one. */
  private next(ops: number[]): void {
    const at = this.selected === null ? -1 : ops.indexOf(this.selected);
    this.select(ops[(at + 1) % ops.length], "source");
    this.light(ops);
  }

  private goTo(op: number): void {
    this.tabs.choose("program");
    this.select(op, "other");
  }

  private goToSource(op: number): void {
    this.source.select(op);
    this.source.focus();
  }

  private goToReportLine(capture: number, line: ReportLine): void {
    if (this.captureOf(capture) && capture !== Number(this.chooser.value)) this.use(capture);
    this.tabs.choose("program");
    const ops = this.source.goToLine(line.file, line.line, this.page);
    if (ops.length) this.next(ops);
    this.source.focus();
  }

  private describe(): void {
    const made = this.selected === null ? programDetails(this.page, this.model) : opDetails(this.page, this.model, this.selected, this.source.notesAt(this.selected), {
      select: (op) => this.select(op, "other"),
      goToSource: (op) => this.goToSource(op),
    });
    this.details.replaceChildren(made);
    this.details.scrollTop = 0;
  }

  private key(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    if (event.key === "Escape") {
      if (this.help.open) return;
      if (isTyping) (event.target as HTMLElement).blur();
      closeNotice();
      this.search.clear();
      this.light([]);
      this.select(null, "other");
    } else if (isTyping) return;
    else if (event.key === "/") this.search.focus();
    else if (event.key === "?") this.help.showModal();
    else if (event.key === "g") this.graphView();
    else if (event.key === "0") this.graph.fit();
    else if (event.key === "w") this.graph.fitWidth();
    else if (event.key === "+" || event.key === "=") this.graph.zoom(1.25);
    else if (event.key === "-") this.graph.zoom(0.8);
    else return;
    event.preventDefault();
  }

  private graphView(): void {
    this.tabs.choose("program");
    this.centre.choose("graph-view");
    this.graph.focus();
  }
}

/** The names of each tensor that has several, by the first. */
function otherNames(page: PageData): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const { name, tied } of page.weights) if (tied !== null) names.set(tied, [...(names.get(tied) ?? []), name]);
  return names;
}

const own = JSON.parse(document.getElementById("data")!.textContent!) as PageData;
const drop = new FileDrop(own.version, (page) => {
  const next = new App(page, () => drop.choose()); // if this raises, the page is as it was
  app.hide();
  app = next;
  app.show();
});
let app = new App(own, () => drop.choose());
app.show();
