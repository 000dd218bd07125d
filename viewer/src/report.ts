// The explain report: what each line became, and the facts of each capture.

import type { CaptureData, Fact, ReportData, ReportLine } from "./data";
import { counted, h, largest } from "./dom";

// the titles of stator/debug/text.py
const SECTIONS: [keyof CaptureData, string][] = [
  ["sizes", "dynamic sizes"],
  ["size_checks", "size checks, made by each run"],
  ["fixed", "guards: another value causes a new capture"],
  ["state_inputs", "state that each run reads again"],
  ["effects", "effects"],
  ["converted", "converted"],
  ["left_alone", "not converted"],
];

export function reportPane(report: ReportData | null, go: (capture: number, line: ReportLine) => void): HTMLElement {
  if (!report) {
    return h("div", { class: "report page" }, h("p", { class: "empty" },
      "There is no report: saved models and bare programs have none. The page of a static function has the report of ",
      "`stator.explain`."));
  }
  return h("div", { class: "report page" },
    h("h2", {}, `${report.function}: ${report.captures.length === 1 ? "captured once" : `captured ${report.captures.length} times`}`),
    report.refused ? h("section", {}, h("h3", {}, "refused"), h("pre", {}, report.refused)) : null,
    report.fallbacks.length ? h("section", {}, h("h3", {}, "runs eagerly (full_graph=False)"), facts(report.fallbacks)) : null,
    ...report.captures.map((capture, index) => captureSection(capture, index, report.captures.length, go)));
}

function captureSection(
  capture: CaptureData, index: number, count: number, go: (capture: number, line: ReportLine) => void,
): HTMLElement {
  return h("details", { open: index === count - 1, class: "capture" },
    h("summary", {}, `${index + 1}. because ${capture.because}`),
    h("p", {}, `takes ${capture.inputs.join(", ") || "nothing"}; ${counted(capture.ops, "op")}`),
    ...linesByFunction(capture.lines, (line) => go(index, line)),
    ...SECTIONS.flatMap(([name, title]) => {
      const found = capture[name] as Fact[];
      return found.length ? [h("h3", {}, title), facts(found)] : [];
    }),
    capture.watched.length ? watched(capture.watched) : null);
}

/** Often many: listed when the reader opens them. */
function watched(found: Fact[]): HTMLElement {
  const words = found.length === 1 ? "must stay as it is (a module, a function, a list)" : "must stay as they are (modules, functions, lists)";
  const made = h("details", {}, h("summary", {}, `${counted(found.length, "object")} ${words}`));
  made.addEventListener("toggle", () => made.append(facts(found)), { once: true });
  return made;
}

function linesByFunction(lines: ReportLine[], go: (line: ReportLine) => void): HTMLElement[] {
  const made: HTMLElement[] = [];
  let where = "", table = h("table");
  const indent = -largest(lines, (line) => line.source.trimStart().length - line.source.length);
  for (const line of lines) {
    if (`${line.file}\0${line.function}` !== where) {
      where = `${line.file}\0${line.function}`;
      table = h("table", { class: "report-lines" });
      made.push(h("h3", { title: line.file, class: "where" }, `${line.file.split("/").pop()}, in ${line.function}`), table);
    }
    const number = h("button", { type: "button", class: "link" }, String(line.line));
    number.addEventListener("click", () => go(line));
    table.append(h("tr", {}, h("td", { class: "number" }, number), h("td", { class: "code" }, h("code", {}, line.source.slice(indent))),
      h("td", { class: "note" }, ...line.notes.map((note) => h("div", {}, note))),
      h("td", { class: "ops" }, line.ops ? counted(line.ops, "op") : "")));
  }
  return made;
}

function facts(found: Fact[]): HTMLElement {
  return h("ul", {}, ...found.map((fact) => h("li", {}, fact.what, fact.place ? h("small", {}, ` ${fact.place}`) : null)));
}
