// Scene: draws what can be seen of the groups, and nothing else.

import { counted, s } from "./dom";
import { type Group, opsIn } from "./groups";
import { type Box, type Framed, type Layouts, LINE, type Node, type Placed, TITLE } from "./layout";
import type { Model } from "./model";

export const AFAR = 0.42; // below this scale a group is drawn in a few strokes

export interface Marks {
  selected: number | null;
  section: Group | null; // that the keyboard has reached
  lit: ReadonlySet<number>;
  found: ReadonlySet<number>;
}

export class Scene {
  readonly drawn = new Map<number, SVGGElement>(); // ops
  readonly guessed: Group[] = []; // sections in sight that have not been laid out
  readonly laidOut: Group[] = []; // and those that have
  private edges: { from: number | null; to: number | null; element: SVGPathElement }[] = [];
  private root = s("g");
  private sideTitles = s("g");

  constructor(
    private model: Model, private layouts: Layouts, private marks: Marks,
    private seen: Box, private scale: number,
  ) {}

  draw(frames: Framed[]): SVGGElement {
    for (const frame of frames) this.frame(frame, 0, 0, 0);
    this.root.append(this.sideTitles); // above the frames beside them
    this.mark();
    return this.root;
  }

  private isSeen(x: number, y: number, w: number, h: number): boolean {
    const { seen } = this;
    return x < seen.x + seen.w && x + w > seen.x && y < seen.y + seen.h && y + h > seen.y;
  }

  private frame(framed: Framed, dx: number, dy: number, depth: number): void {
    const { group } = framed;
    const [x, y] = [framed.x + dx, framed.y + dy];
    if (!this.isSeen(x, y, framed.w, framed.h)) return;
    const isOpen = this.layouts.isOpen(group);
    const isSection = group.parent !== null;
    const holder = s("g", {
      class: `frame ${isSection ? "section" : "block"} depth-${depth % 4}`, transform: `translate(${x} ${y})`,
      ...(isSection && {
        role: "treeitem", id: `section-${group.key}`, "data-section": group.key, "aria-expanded": String(isOpen),
        "aria-level": depth + 1, "aria-label": `section ${group.title}, ${counted(opsIn(this.model, group), "op")}`,
      }),
    });
    holder.append(s("rect", { class: "edge", width: framed.w, height: framed.h, rx: 10 }));
    this.title(holder, framed, isSection, isOpen);
    this.root.append(holder);
    if (!isOpen) {
      if (this.scale >= AFAR) this.closed(holder, group);
    } else if (group.sections.length) {
      this.stack(this.layouts.of(group), x, y, depth);
    } else if (isSection && !this.layouts.has(group)) {
      this.guessed.push(group);
      holder.append(s("text", { class: "hint", x: 14, y: TITLE + 12 }, counted(group.ops.length, "op")));
    } else {
      if (isSection) this.laidOut.push(group);
      this.content(this.layouts.of(group), x, y, depth);
    }
  }

  private closed(holder: SVGGElement, group: Group): void {
    this.layouts.closedLines(group).forEach((line, index) => {
      holder.append(s("text", { class: index ? "shapes" : "hint", x: 14, y: TITLE + 10 + index * LINE }, line));
    });
  }

  private title(holder: SVGGElement, framed: Framed, isSection: boolean, isOpen: boolean): void {
    if (this.scale < AFAR) return this.sideTitle(holder, framed, isSection);
    const sign = isSection ? (isOpen ? "▾ " : "▸ ") : "";
    const room = Math.max(4, Math.floor(framed.w / 8) - 2);
    const text = framed.group.title.length > room ? `${framed.group.title.slice(0, room - 1)}…` : framed.group.title;
    if (isSection) {
      holder.append(s("rect", { class: "head", width: framed.w, height: isOpen ? TITLE - 4 : framed.h, rx: 10, "data-toggle": framed.group.key }));
    }
    holder.append(s("text", { class: "title", x: 12, y: 17, "aria-hidden": isSection ? "true" : null }, sign + text));
  }

  /** From afar, sections are named at their side, in letters that can still be read. */
  private sideTitle(holder: SVGGElement, framed: Framed, isSection: boolean): void {
    if (!isSection || (this.layouts.isOpen(framed.group) && framed.group.sections.length)) return;
    const size = Math.min(12 / this.scale, framed.h);
    if (size * this.scale < 8) return; // too small to read
    holder.append(s("rect", { class: "head", width: framed.w, height: framed.h, rx: 10, "data-toggle": framed.group.key }));
    const text = s("text", { class: "title", x: framed.w + 8 / this.scale, y: size }, framed.group.title);
    text.style.fontSize = `${size}px`;
    this.sideTitles.append(s("g", { class: "frame", transform: holder.getAttribute("transform"), "aria-hidden": "true" }, text));
  }

  private stack(placed: Placed, x: number, y: number, depth: number): void {
    placed.sections.forEach((framed, index) => {
      this.frame(framed, x, y, depth + 1);
      const next = placed.sections[index + 1];
      if (!next) return;
      const [from, to] = [y + framed.y + framed.h + 4, y + next.y - 6];
      const middle = x + placed.w / 2;
      if (this.isSeen(middle - 8, from, 16, to - from)) {
        this.root.append(s("path", { class: "link tensor", d: `M${middle} ${from}L${middle} ${to}`, "marker-end": "url(#arrow)" }));
      }
    });
  }

  private content(placed: Placed, x: number, y: number, depth: number): void {
    if (this.scale < AFAR) {
      for (const [kind, d] of placed.far) {
        this.root.append(s("path", { class: `far ${kind}`, d, transform: `translate(${x} ${y})` }));
      }
    } else {
      this.links(placed, x, y);
    }
    for (const node of placed.nodes) {
      if (!this.isSeen(x + node.x, y + node.y, node.w, node.h)) continue;
      if (node.port && this.scale >= AFAR) this.root.append(this.port(node, x, y));
      if (node.op !== null && (this.scale >= AFAR || node.frames.length || this.isMarked(node.op))) {
        this.op(node, node.op, x, y, depth);
      }
      for (const frame of node.frames) this.frame(frame, x, y, depth + 2);
    }
  }

  private isMarked(op: number): boolean {
    return this.drawn.size < 300 && (this.marks.lit.has(op) || this.marks.found.has(op) || this.marks.selected === op);
  }

  private links(placed: Placed, x: number, y: number): void {
    const holder = s("g", { transform: `translate(${x} ${y})` });
    for (const edge of placed.edges) {
      if (y + edge.top > this.seen.y + this.seen.h || y + edge.bottom < this.seen.y) continue;
      const element = s("path", { class: `link ${edge.kind}`, d: edge.d, "marker-end": "url(#arrow)" });
      this.edges.push({ from: edge.from, to: edge.to, element });
      holder.append(element);
    }
    this.root.append(holder);
  }

  private port(node: Node, x: number, y: number): SVGGElement {
    const port = node.port!;
    return s("g", {
      class: `port ${port.kind}`, transform: `translate(${x + node.x} ${y + node.y})`,
      ...(port.values.length === 1 && { "data-value": port.values[0] }),
    },
      s("rect", { width: node.w, height: node.h, rx: 11 }),
      s("text", { x: 10, y: 15 }, node.lines[0]),
      s("title", {}, PORT_WORDS[port.kind]));
  }

  private op(node: Node, op: number, x: number, y: number, depth: number): void {
    const { model } = this;
    const data = model.op(op);
    const isOpen = node.frames.length > 0;
    const group = s("g", {
      class: `op ${model.category(op)}${isOpen ? " open" : ""}`, id: `op-${op}`, "data-op": op,
      transform: `translate(${x + node.x} ${y + node.y})`, role: "treeitem", "aria-level": depth + 2,
      "aria-label": spoken(model, node, op), ...(data.blocks.length && { "aria-expanded": String(isOpen) }),
    });
    group.append(s("rect", { class: "box", width: node.w, height: node.h, rx: 7 }));
    group.append(s("path", { class: "bar", d: `M1 8q0-7 6-7h-1v${node.h - 2}h1q-6 0-6-7z` }));
    if (this.scale >= AFAR) this.opTexts(group, node, op);
    this.drawn.set(op, group);
    this.root.append(group);
  }

  private opTexts(group: SVGGElement, node: Node, op: number): void {
    const [name, ...rest] = node.lines;
    const space = name.indexOf("  ");
    const first = s("text", { class: "name", x: 14, y: 19 }, space < 0 ? name : name.slice(0, space));
    if (space >= 0) first.append(" ", s("tspan", { class: "constants" }, name.slice(space + 2)));
    group.append(first);
    rest.forEach((line, index) => {
      const kind = line.startsWith("▪") ? "stored" : "type";
      group.append(" ", s("text", { class: kind, x: 14, y: 19 + (index + 1) * LINE }, line));
    });
    if (this.model.op(op).blocks.length) {
      const sign = node.frames.length ? "M6 9h8" : "M6 9h8M10 5v8";
      group.append(s("g", { class: "fold", "data-fold": op, transform: `translate(${node.w - 26} 6)` },
        s("rect", { width: 20, height: 18, rx: 4 }), s("path", { d: sign })));
    }
  }

  /** Put the classes of what is selected, lit or found on what is drawn. */
  mark(): void {
    const { selected, lit, found, section } = this.marks;
    for (const [op, element] of this.drawn) {
      element.classList.toggle("selected", op === selected);
      element.setAttribute("aria-selected", String(op === selected));
      element.classList.toggle("lit", lit.has(op));
      element.classList.toggle("found", found.has(op));
    }
    for (const edge of this.edges) {
      const isNear = selected !== null && (edge.from === selected || edge.to === selected);
      edge.element.classList.toggle("near", isNear);
      edge.element.setAttribute("marker-end", `url(#arrow${isNear ? "-near" : ""})`);
      if (isNear) edge.element.parentNode?.append(edge.element); // above the others
    }
    for (const element of this.root.querySelectorAll("[data-section]")) {
      const isHere = element.getAttribute("data-section") === section?.key;
      element.classList.toggle("selected", isHere);
      element.setAttribute("aria-selected", String(isHere));
    }
  }
}

const PORT_WORDS = {
  in: "an input: click to see where it is computed",
  outer: "a value from outside this block",
  out: "used by later ops",
  yield: "a result of the block",
};

/** What is written on the op, its line, and what is inside, for screen readers. */
function spoken(model: Model, node: Node, op: number): string {
  const { place } = model.op(op);
  const written = node.lines.map((line) => line.replace(/^▪ /, "").replace(/\s+/g, " ")).join(" ");
  return place ? `${written}, line ${place[1]}` : written;
}
