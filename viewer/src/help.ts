// The keys and the colours.

import { button, h } from "./dom";

const KEYS: [string, string][] = [
  ["/", "search"],
  ["Enter, Shift+Enter", "in the search: next hit, previous hit"],
  ["g", "go to the graph"],
  ["↓ ↑", "next and previous op; in the source, next and previous line with ops"],
  ["→ ←", "open, or go inside; close, or go outside"],
  ["Enter", "open or close a block or a section; on another op, go to its line; on a line, go to its next op"],
  ["Shift+↑ Shift+↓", "follow the data: to the op that computes the first argument; to the first op that uses a result"],
  ["Home End", "first and last op"],
  ["+ −", "zoom in, zoom out"],
  ["0 w", "fit the whole graph; fit its width"],
  ["Esc", "clear the selection and the search"],
  ["Tab", "go to the next part of the page"],
  ["wheel, Ctrl+wheel, drag", "move, zoom, move"],
];
const COLOURS: [string, string][] = [
  ["control", "branch, loop or call"],
  ["weights", "op with parameters, buffers or constants"],
  ["compute", "other computation"],
  ["shape", "changes only the shape or layout"],
  ["number", "Python numbers, strings and lists"],
  ["effect", "side effect: writes in place, prints, checks or raises"],
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
