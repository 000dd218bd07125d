// A bar between two panes: drag it, or move it with the arrow keys.

import { h } from "./dom";

const STEP = 24;
const LEAST = 160;

export function splitter(holder: HTMLElement, property: string, direction: 1 | -1, label: string): HTMLElement {
  const bar = h("div", { class: "splitter", role: "separator", "aria-orientation": "vertical", "aria-label": label, "aria-valuenow": LEAST, tabindex: 0 });
  const pane = () => (direction > 0 ? bar.previousElementSibling : bar.nextElementSibling);
  const width = () => pane()?.clientWidth ?? LEAST;
  const set = (pixels: number) => {
    const most = holder.clientWidth * 0.6;
    const value = Math.round(Math.max(LEAST, Math.min(most, pixels)));
    holder.style.setProperty(property, `${value}px`);
    bar.setAttribute("aria-valuenow", String(value));
  };
  new ResizeObserver(() => bar.setAttribute("aria-valuenow", String(width()))).observe(holder);
  bar.addEventListener("pointerdown", (event) => {
    const [start, before] = [event.clientX, width()];
    bar.setPointerCapture(event.pointerId);
    const move = (now: PointerEvent) => set(before + direction * (now.clientX - start));
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", () => bar.removeEventListener("pointermove", move), { once: true });
    event.preventDefault();
  });
  bar.addEventListener("keydown", (event) => {
    const step = { ArrowRight: STEP, ArrowLeft: -STEP }[event.key];
    if (!step) return;
    set(width() + direction * step);
    event.preventDefault();
  });
  return bar;
}
