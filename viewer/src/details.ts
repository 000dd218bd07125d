// The details of the selected op; without one, of the whole program.

import { type Arg, type PageData, valuesIn } from "./data";
import { bytesText, counted, h } from "./dom";
import type { Model } from "./model";

export interface DetailEvents {
  select(op: number): void;
  goToSource(op: number): void;
}

export function opDetails(page: PageData, model: Model, op: number, notes: string[], events: DetailEvents): HTMLElement {
  const data = model.op(op);
  const place = data.place;
  const args: [string, Arg][] = [
    ...data.args.map((arg, index): [string, Arg] => [data.names[index] ?? String(index), arg]), ...data.attributes,
  ];
  const stored = model.storedOf[op].map((index) => model.data.stored[index]);
  const users = [...new Set(data.results.flatMap((value) => model.users[value]))];
  return h("div", { class: "details-body" },
    h("h2", { class: `op-title ${model.category(op)}` }, data.name),
    model.jumps.has(op) ? h("p", {}, `a ${model.jumps.get(op)} out of the loop`) : null,
    place ? h("p", { class: "place" }, link(`${page.files[place[0]].name}:${place[1]}`, () => events.goToSource(op)),
      ` in ${place[3]}`) : h("p", { class: "place" }, "no place in the source"),
    sourceLine(page, op, model),
    ...notes.map((note) => h("p", { class: "note" }, note)),
    part("results", data.results.map((value) => {
      const [name, type, bytes] = model.data.values[value];
      const size = bytes === null ? "" : bytesText(bytes);
      return h("div", { class: "value" }, h("b", {}, `%${name}`), h("code", {}, type), h("small", {}, size));
    })),
    part("arguments", args.map(([name, arg]) => h("div", { class: "value" }, h("span", { class: "key" }, name), argument(model, arg, events)))),
    part("weights", stored.map((one) => {
      const [, type, bytes] = model.data.values[one.value];
      return h("div", { class: "value wide" }, h("b", {}, one.name), h("code", {}, type), h("small", {}, `${one.kind}, ${bytesText(bytes)}`));
    })),
    part("calls", called(model, op).map((one) => h("div", { class: "value" }, h("b", {}, one.name),
      h("small", {}, counted(one.ops.length, "op")), one.ops.length ? link("first op", () => events.select(one.ops[0])) : null))),
    part("blocks", data.blocks.map((block) => {
      const inner = model.data.blocks[block];
      return h("div", { class: "value" }, h("b", {}, inner.role), h("small", {}, counted(inner.ops.length, "op")),
        inner.ops.length ? link("first op", () => events.select(inner.ops[0])) : null);
    })),
    part(`used by${users.length > 1 ? ` ${users.length} ops` : ""}`, users.slice(0, 40).map((user) => opLink(model, user, events))),
    yields(model, data.results),
    part("inside", model.owners(op).map((owner) => opLink(model, owner, events))),
  );
}

/** The function of the program that an op calls. */
function called(model: Model, op: number): { name: string; ops: number[] }[] {
  const { name, attributes } = model.op(op);
  const wanted = name === "stator::call" ? attributes.find(([key]) => key === "function")?.[1] : undefined;
  return model.data.functions.filter((one) => wanted === `'${one.name}'`)
    .map((one) => ({ name: one.name, ops: model.data.blocks[one.block].ops }));
}

function sourceLine(page: PageData, op: number, model: Model): HTMLElement | null {
  const place = model.op(op).place;
  if (!place) return null;
  const run = page.files[place[0]].runs.find((one) => place[1] >= one.first && place[1] < one.first + one.lines.length);
  return run ? h("pre", { class: "excerpt" }, run.lines[place[1] - run.first].trim()) : null;
}

function part(title: string, rows: HTMLElement[]): HTMLElement | null {
  return rows.length ? h("section", {}, h("h3", {}, title), ...rows) : null;
}

function yields(model: Model, results: number[]): HTMLElement | null {
  const blocks = model.data.blocks.filter((block) => block.outputs.some((arg) => valuesIn(arg).some((value) => results.includes(value))));
  return part("result of", blocks.map((block) => h("div", { class: "value" }, block.owner === null ? `the ${block.role}` : `the block “${block.role}”`)));
}

function link(text: string, act: () => void): HTMLButtonElement {
  const made = h("button", { type: "button", class: "link" }, text);
  made.addEventListener("click", act);
  return made;
}

function opLink(model: Model, op: number, events: DetailEvents): HTMLElement {
  const data = model.op(op);
  const line = data.place ? `line ${data.place[1]}` : "";
  return h("div", { class: "value" }, link(model.opName(op), () => events.select(op)),
    h("code", {}, data.results.map((value) => `%${model.data.values[value][0]}`).join(", ")), h("small", {}, line));
}

function argument(model: Model, arg: Arg, events: DetailEvents): HTMLElement {
  if (typeof arg === "string") return h("code", { class: "constant" }, arg);
  if (Array.isArray(arg)) {
    const many = arg.length > 12;
    return h("span", { class: "items" }, ...arg.slice(0, 12).map((item) => argument(model, item, events)), many ? `and ${arg.length - 12} more` : null);
  }
  const from = model.producer[arg.value];
  const name = model.valueName(arg.value);
  const type = from.kind === "stored" ? null : h("code", {}, model.data.values[arg.value][1]);
  const word = { input: "input", stored: "", block: "input of the block", op: "" }[from.kind];
  return h("span", { class: "given" },
    from.kind === "op" ? link(name, () => events.select(from.op)) : h("b", {}, name), type, word ? h("small", {}, word) : null);
}

export function programDetails(page: PageData, model: Model): HTMLElement {
  const { data } = model;
  const counts = new Map<string, number>();
  for (const op of data.ops) counts.set(op.name, (counts.get(op.name) ?? 0) + 1);
  const common = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const total = data.stored.reduce((sum, one) => sum + (data.values[one.value][2] ?? 0), 0);
  const value = (index: number) => h("div", { class: "value" }, h("b", {}, `%${data.values[index][0]}`), h("code", {}, data.values[index][1]));
  return h("div", { class: "details-body" },
    h("h2", {}, data.name),
    h("p", {}, `${counted(data.ops.length, "op")}, ${data.stored.length ? `${counted(data.stored.length, "stored tensor")} of ${bytesText(total)}` : "no stored tensors"}`),
    ...page.remarks.map((text) => h("p", { class: "remark" }, text)),
    part("inputs", data.inputs.map(value)),
    part("outputs", data.blocks[data.body].outputs.slice(0, 30).map((arg) => h("div", { class: "value" },
      h("b", {}, model.argText(arg)), h("code", {}, valuesIn(arg).map((one) => data.values[one][1]).join(", "))))),
    part("ops", common.slice(0, 24).map(([name, count]) => h("div", { class: "value bars" },
      h("span", {}, name), bar(count / common[0][1]), h("small", {}, String(count))))),
    common.length > 24 ? h("p", {}, `and ${counted(common.length - 24, "other op name")}`) : null,
  );
}

export function bar(share: number): HTMLElement {
  const fill = h("i");
  fill.style.width = `${Math.max(1, share * 100)}%`;
  return h("span", { class: "bar", "aria-hidden": "true" }, fill);
}
