// What the keys do, and what the colours mean.

import { button, h } from "./dom";

const KEYS: [string, string][] = [
  ["/", "search"],
  ["Enter, Shift+Enter", "in the search: next hit, previous hit"],
  ["g", "to the graph"],
  ["↓ ↑", "next and previous op; in the source, lines that have ops"],
  ["→ ←", "open or go in; close or go out"],
  ["Enter", "open or close a block; on a plain op, go to its line; on a line, its next op"],
  ["Shift+↑ Shift+↓", "along the data: to the op that makes the argument, to the one that uses the result"],
  ["Home End", "first and last op"],
  ["+ −", "zoom in, zoom out"],
  ["0 w", "fit the whole graph; fit its width"],
  ["Esc", "let go of what is selected and searched"],
  ["Tab", "from one part of the page to the next"],
  ["wheel, Ctrl+wheel, drag", "move, zoom, move"],
];
const COLOURS: [string, string][] = [
  ["control", "branches, loops, calls"],
  ["weights", "uses parameters, buffers or constants"],
  ["compute", "computes"],
  ["shape", "changes the form alone"],
  ["number", "Python numbers, texts and lists"],
  ["effect", "can be noticed: writes in place, prints, checks, raises"],
];

export function helpDialog(): HTMLDialogElement {
  const dialog = h("dialog", { "aria-label": "keys and colours" });
  dialog.append(
    h("h2", {}, "Keys"),
    h("dl", {}, ...KEYS.flatMap(([keys, what]) => [h("dt", {}, keys), h("dd", {}, what)])),
    h("h2", {}, "Colours"),
    h("dl", {}, ...COLOURS.flatMap(([kind, what]) => [h("dt", {}, h("span", { class: `swatch ${kind}` })), h("dd", {}, what)])),
    button("Close", "close (Esc)", () => dialog.close()));
  return dialog;
}
