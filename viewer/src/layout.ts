// Layout: where everything of a group is, in the group's own coordinates. dagre puts the ops of one
// group into layers; sections are below each other; an open block is inside its op.

import { layout as dagre } from "@dagrejs/dagre";
import { blockGroup, type Group, opsIn, type Port, shapesOf, startsClosed } from "./groups";
import type { Category, Model } from "./model";
import { Wiring } from "./wiring";
import { type Arg, valuesIn } from "./data";
import { counted, largest } from "./dom";

export const CHARACTER = 7.25; // width of one, in the 12px fixed font
export const TITLE = 26;
export const LINE = 16;
const PAD = 14;
const GAP = 30; // between sections
const NODE_MIN = 96;
const NODE_MAX = 280;
const UNSEEN = 30; // height for each op of a section that has not been laid out
const CLOSED = { least: 300, most: 460 }; // width of a closed section

export interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

export interface Framed extends Box {
  group: Group;
}

export interface Node extends Box {
  op: number | null;
  port: Port | null;
  lines: string[];
  frames: Framed[]; // of an op whose blocks are open
}

export interface Edge {
  from: number | null; // ops; null: a port
  to: number | null;
  kind: "tensor" | "number" | "outer";
  d: string;
  top: number;
  bottom: number;
}

export interface Placed {
  w: number;
  h: number;
  nodes: Node[];
  edges: Edge[];
  sections: Framed[];
  far: Map<Category | "port", string>; // the same in few strokes, for a look from afar
}

export class Layouts {
  private known = new Map<string, Placed>();
  private stale = new Set<string>();
  readonly openOps = new Set<number>();
  readonly closedSections = new Set<string>();

  constructor(readonly model: Model) {
    for (const section of model.sections.values()) if (startsClosed(section)) this.closedSections.add(section.key);
  }

  isOpen(group: Group): boolean {
    return !this.closedSections.has(group.key);
  }

  has(group: Group): boolean {
    return this.known.has(group.key);
  }

  /** The group and all around it are to be laid out again: something inside has changed its size. */
  forget(group: Group): void {
    this.stale.add(group.key);
    if (group.parent) this.forget(group.parent);
    const owner = this.model.data.blocks[group.block].owner;
    if (owner !== null) this.forget(this.model.groupOf[owner]);
  }

  forgetAll(): void {
    this.known.clear();
  }

  /** The outermost closed section around a group, or the group itself if it is one. */
  closedAround(group: Group): Group | null {
    const outer = group.parent && this.closedAround(group.parent);
    return outer ?? (this.isOpen(group) ? null : group);
  }

  /** What is written on a closed section: its number of ops, its shapes. */
  closedLines(group: Group): string[] {
    const count = counted(opsIn(this.model, group), "op");
    const most = Math.floor((CLOSED.most - 28) / CHARACTER);
    return [group.hint ? `${count}: ${group.hint}` : count, clipped(shapesOf(this.model, group), most)];
  }

  private closedSize(group: Group): { w: number; h: number } {
    const lines = this.closedLines(group);
    const width = largest([...lines, `▸ ${group.title}`], (line) => line.length) * CHARACTER + 28;
    return { w: Math.min(CLOSED.most, Math.max(CLOSED.least, width)), h: TITLE + lines.length * LINE + 8 };
  }

  /** A guess for a section that has not been laid out; otherwise the truth. */
  size(group: Group): { w: number; h: number } {
    if (!this.isOpen(group)) return this.closedSize(group);
    if (group.parent !== null && !group.sections.length && !this.has(group)) return { w: 560, h: TITLE + group.ops.length * UNSEEN };
    return this.of(group);
  }

  of(group: Group): Placed {
    let placed = this.known.get(group.key);
    if (!placed || this.stale.delete(group.key)) {
      placed = group.sections.length ? this.stack(group) : this.layers(group);
      this.known.set(group.key, placed);
    }
    return placed;
  }

  private stack(group: Group): Placed {
    const sizes = group.sections.map((section) => this.size(section));
    const w = largest(sizes, (size) => size.w);
    let y = TITLE + 6;
    const sections = group.sections.map((section, index) => {
      const size = sizes[index];
      const framed = { group: section, x: PAD + (w - size.w) / 2, y, w: size.w, h: size.h };
      y += size.h + GAP;
      return framed;
    });
    return { w: w + 2 * PAD, h: y - GAP + PAD, nodes: [], edges: [], sections, far: new Map() };
  }

  private layers(group: Group): Placed {
    const make = { op: (op: number) => this.opNode(op), port: (port: Port) => this.portNode(port) };
    const wiring = new Wiring(this.model, group, make, this.openOps);
    wiring.graph.setGraph({ rankdir: "TB", nodesep: 16, ranksep: 26, edgesep: 8, marginx: PAD, marginy: 4 });
    dagre(wiring.graph);
    return this.read(wiring);
  }

  private read(wiring: Wiring): Placed {
    const { graph, nodes } = wiring;
    let right = 220, bottom = TITLE;
    for (const [key, node] of nodes) {
      const at = graph.node(key) as { x: number; y: number };
      [node.x, node.y] = [at.x - node.w / 2, at.y - node.h / 2 + TITLE];
      right = Math.max(right, node.x + node.w);
      bottom = Math.max(bottom, node.y + node.h);
      for (const frame of node.frames) [frame.x, frame.y] = [frame.x + node.x, frame.y + node.y];
    }
    const edges: Edge[] = [];
    for (const edge of graph.edges()) {
      const kind = wiring.kinds.get(`${edge.v}>${edge.w}`);
      if (!kind) continue; // it only kept the order
      const { points } = graph.edge(edge) as { points: { x: number; y: number }[] };
      const moved = points.map((point) => ({ x: point.x, y: point.y + TITLE }));
      attach(moved, nodes.get(edge.v)!, nodes.get(edge.w)!);
      const heights = moved.map((point) => point.y);
      edges.push({
        from: wiring.opOf(edge.v), to: wiring.opOf(edge.w), kind, d: curve(moved),
        top: Math.min(...heights), bottom: Math.max(...heights),
      });
    }
    const list = [...nodes.values()];
    return { w: right + PAD, h: bottom + PAD, nodes: list, edges, sections: [], far: this.far(list) };
  }

  private far(nodes: Node[]): Placed["far"] {
    const strokes: Placed["far"] = new Map();
    for (const node of nodes) {
      if (node.frames.length) continue;
      const kind = node.op === null ? "port" : this.model.category(node.op);
      const box = `M${node.x.toFixed(0)} ${node.y.toFixed(0)}h${node.w.toFixed(0)}v${node.h.toFixed(0)}h-${node.w.toFixed(0)}z`;
      strokes.set(kind, (strokes.get(kind) ?? "") + box);
    }
    return strokes;
  }

  private portNode(port: Port): Node {
    const type = port.values.length && (port.kind === "in" || port.kind === "outer") ? ` ${this.model.data.values[port.values[0]][1]}` : "";
    const text = clipped(port.text + type);
    return { op: null, port, lines: [text], frames: [], x: 0, y: 0, w: text.length * CHARACTER + 20, h: 22 };
  }

  private opNode(op: number): Node {
    const lines = this.opLines(op);
    const width = Math.max(...lines.map((line) => line.length)) * CHARACTER + 28;
    const data = this.model.op(op);
    const node: Node = {
      op, port: null, lines, frames: [], x: 0, y: 0,
      w: Math.min(NODE_MAX, Math.max(NODE_MIN, width + (data.blocks.length ? 18 : 0))),
      h: lines.length * LINE + 12,
    };
    if (data.blocks.length && this.openOps.has(op)) this.frameBlocks(node, data.blocks);
    return node;
  }

  private frameBlocks(node: Node, blocks: number[]): void {
    const head = node.lines.length * LINE + 14;
    let x = PAD, h = 0;
    for (const block of blocks) {
      const group = blockGroup(this.model, block);
      const size = this.of(group);
      node.frames.push({ group, x, y: head, w: size.w, h: size.h });
      x += size.w + PAD;
      h = Math.max(h, size.h);
    }
    for (const frame of node.frames) frame.h = h;
    [node.w, node.h] = [Math.max(node.w, x), head + h + PAD];
  }

  private opLines(op: number): string[] {
    const { model } = this;
    const data = model.op(op);
    const isConstant = (arg: Arg) => !valuesIn(arg).length && arg !== "None";
    const constants = [
      ...data.args.filter(isConstant).map((arg) => model.argText(arg)),
      ...data.attributes.filter(([, arg]) => isConstant(arg) && arg !== "False").map(([name, arg]) => `${name}=${model.argText(arg)}`),
    ];
    const lines = [clipped(`${model.opName(op)}  ${constants.join(", ")}`.trimEnd())];
    if (model.hasContent(op)) lines.push(`${counted(model.inside[op], "op")} inside`);
    for (const value of data.results.slice(0, 2)) {
      lines.push(clipped(`%${model.data.values[value][0]}  ${model.data.values[value][1]}`));
    }
    if (data.results.length > 2) lines.push(`and ${data.results.length - 2} more`);
    const stored = model.storedOf[op].map((index) => model.data.stored[index].name);
    for (const name of stored.slice(0, 2)) lines.push(`▪ ${clippedFront(name)}`);
    if (stored.length > 2) lines.push(`▪ and ${stored.length - 2} more`);
    return lines;
  }
}

/** Let the line leave below its first box and end above its last, wherever dagre has met their sides. */
function attach(points: { x: number; y: number }[], from: Box, to: Box): void {
  const within = (x: number, box: Box) => Math.min(Math.max(x, box.x + 14), box.x + box.w - 14);
  const last = points.length - 1;
  points[0] = { x: within(points[Math.min(1, last)].x, from), y: from.y + from.h };
  points[last] = { x: within(points[Math.max(0, last - 1)].x, to), y: to.y };
}

const LONGEST = Math.floor((NODE_MAX - 28) / CHARACTER);

function clipped(text: string, most = LONGEST): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The end of a dotted name says most. */
function clippedFront(text: string): string {
  return text.length > LONGEST - 2 ? `…${text.slice(text.length - LONGEST + 3)}` : text;
}

function curve(points: { x: number; y: number }[]): string {
  const at = (point: { x: number; y: number }) => `${point.x.toFixed(1)} ${point.y.toFixed(1)}`;
  const middle = (a: { x: number; y: number }, b: { x: number; y: number }) => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  let d = `M${at(points[0])}`;
  for (let k = 1; k < points.length - 1; k++) {
    const end = k === points.length - 2 ? points[k + 1] : middle(points[k], points[k + 1]);
    d += `Q${at(points[k])} ${at(end)}`;
  }
  return points.length > 2 ? d : `${d}L${at(points[points.length - 1])}`;
}
