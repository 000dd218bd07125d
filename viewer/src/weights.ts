// The table of stored tensors: the size of each, its share of the whole, and the ops that use it.

import type { PageData } from "./data";
import { bar } from "./details";
import { bytesText, counted, h } from "./dom";
import type { Model } from "./model";

interface Row {
  name: string;
  kind: string;
  type: string;
  bytes: number; // 0 where only a run knows
  size: string;
  tied: string | null;
  users: number[];
  isUsed: boolean;
}

const PIECE = 60;

type Column = "name" | "kind" | "type" | "bytes" | "users";

const COLUMNS: [Column, string][] = [["name", "name"], ["kind", "kind"], ["type", "type"], ["bytes", "size"], ["users", "used by"]];

export function weightsPane(page: PageData, model: Model, select: (op: number) => void): HTMLElement {
  const rows = rowsOf(page, model);
  const counted_ = rows.filter((row) => row.tied === null);
  const total = counted_.reduce((sum, row) => sum + row.bytes, 0);
  const body = h("tbody");
  const filter = h("input", { type: "search", placeholder: "filter by name", "aria-label": "filter by name" });
  let sort: { by: Column; up: boolean } | null = null;
  const draw = () => {
    const wanted = filter.value.toLowerCase();
    const shown = rows.filter((row) => row.name.toLowerCase().includes(wanted));
    if (sort) shown.sort(order(sort.by, sort.up));
    left = shown;
    body.replaceChildren();
    more();
  };
  // rows are made as the reader comes to them
  let left: Row[] = [];
  const more = () => body.append(...left.splice(0, PIECE).map((row) => tableRow(row, total, select)));
  const end = h("p", { class: "end" });
  new IntersectionObserver(([at]) => at.isIntersecting && more(), { rootMargin: "600px" }).observe(end);
  const heads = COLUMNS.map(([by, text]) => {
    const head = h("th", { scope: "col", class: by, "aria-sort": "none" });
    const sorter = h("button", { type: "button", class: "sort" }, text);
    sorter.addEventListener("click", () => {
      sort = { by, up: sort?.by === by ? !sort.up : by === "name" || by === "kind" || by === "type" };
      for (const one of heads) one.setAttribute("aria-sort", one === head ? (sort.up ? "ascending" : "descending") : "none");
      draw();
    });
    head.append(sorter);
    return head;
  });
  filter.addEventListener("input", draw);
  draw();
  return h("div", { class: "weights page" },
    h("p", { class: "totals" }, h("b", {}, bytesText(total)), ` in ${counted(counted_.length, "tensor")}: ${byKind(counted_)}`),
    rows.length ? filter : h("p", { class: "empty" }, "This program stores no tensors."),
    rows.length ? h("table", {}, h("thead", {}, h("tr", {}, ...heads, h("th", { scope: "col", class: "share" }, "share"))), body) : null, end);
}

function rowsOf(page: PageData, model: Model): Row[] {
  const ofModel = new Map(page.weights.map((row) => [row.name, row]));
  const stored = model.data.stored.map((one): Row => {
    const [, type, bytes] = model.data.values[one.value];
    const tied = ofModel.get(one.name)?.tied ?? null;
    return { name: one.name, kind: one.kind, type, bytes: bytes ?? 0, size: bytesText(bytes), tied, users: model.users[one.value], isUsed: true };
  });
  const names = new Set(stored.map((row) => row.name));
  const firstNames = new Map(stored.map((row) => [ofModel.get(row.name)?.tied ?? row.name, row.name]));
  for (const row of stored) row.tied = firstNames.get(row.tied ?? row.name) === row.name ? null : row.tied;
  const others = page.weights.filter((row) => !names.has(row.name)).map((row): Row => {
    const tied = firstNames.get(row.tied ?? row.name) ?? row.tied;
    return { name: row.name, kind: row.kind, type: row.type, bytes: row.bytes ?? 0, size: bytesText(row.bytes), tied, users: [], isUsed: false };
  });
  return [...stored, ...others];
}

function byKind(rows: Row[]): string {
  return ["parameter", "buffer", "constant"].flatMap((kind) => {
    const mine = rows.filter((row) => row.kind === kind);
    if (!mine.length) return [];
    const elements = mine.reduce((sum, row) => sum + elementsOf(row.type), 0);
    const bytes = mine.reduce((sum, row) => sum + row.bytes, 0);
    return [`${counted(mine.length, kind)} (${bytesText(bytes)}, ${counted(elements, "element")})`];
  }).join(", ");
}

function elementsOf(type: string): number {
  const inside = /\[(.*)\]/.exec(type)?.[1] ?? "";
  return inside ? inside.split(",").reduce((product, size) => product * (Number(size) || 0), 1) : 1;
}

function order(by: Column, up: boolean): (a: Row, b: Row) => number {
  const key = (row: Row) => (by === "users" ? row.users.length : row[by]);
  return (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (up ? 1 : -1);
}

function tableRow(row: Row, total: number, select: (op: number) => void): HTMLTableRowElement {
  const share = total && row.tied === null ? row.bytes / total : 0;
  const users = h("td", { class: "users" });
  if (!row.isUsed) users.append("not used by this program");
  else {
    const go = h("button", { type: "button", class: "link" }, counted(row.users.length, "op"));
    let next = 0;
    go.addEventListener("click", () => row.users.length && select(row.users[next++ % row.users.length]));
    users.append(go);
  }
  const size = row.tied === null ? row.size : `tied to ${row.tied}`;
  return h("tr", { class: row.isUsed ? "" : "unused" },
    h("th", { scope: "row", class: "name" }, row.name), h("td", {}, row.kind), h("td", { class: "type" }, row.type),
    h("td", { class: "bytes" }, size), users,
    h("td", { class: "share" }, share ? bar(share) : null, share ? ` ${share < 0.0005 ? "< 0.1" : (share * 100).toFixed(1)} %` : ""));
}
