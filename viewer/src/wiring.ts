// Wiring: the graph that dagre lays out for one group. Values flow as edges; past an open block they
// are named again below it, so that no line has to find its way around.

import { Graph } from "@dagrejs/dagre";
import type { Group, Port } from "./groups";
import type { Edge, Node } from "./layout";
import type { Model } from "./model";

export interface Makers {
  op(op: number): Node;
  port(port: Port): Node;
}

export class Wiring {
  readonly graph = new Graph({ directed: true });
  readonly nodes = new Map<string, Node>();
  readonly kinds = new Map<string, Edge["kind"]>(); // of the edges that are drawn
  private source = new Map<number, { key: string; at: number }>(); // value -> node, and its position
  private gates: number[]; // positions of open ops

  constructor(private model: Model, private group: Group, private make: Makers, openOps: ReadonlySet<number>) {
    this.gates = group.ops.flatMap((op, at) => (openOps.has(op) && model.op(op).blocks.length ? [at] : []));
    this.addNodes();
    this.connect();
  }

  /** The op that a node stands for, or whose value it names. */
  opOf(key: string): number | null {
    if (key[0] === "o") return Number(key.slice(1));
    const port = this.nodes.get(key)!.port!;
    const from = port.kind === "yield" || port.values.length !== 1 ? null : this.model.producer[port.values[0]];
    return from?.kind === "op" ? from.op : null;
  }

  private add(key: string, node: Node): void {
    this.nodes.set(key, node);
    this.graph.setNode(key, { width: node.w, height: node.h });
  }

  private addNodes(): void {
    const { group } = this;
    group.inputs.forEach((port, index) => {
      this.add(`i${index}`, this.make.port(port));
      for (const value of port.values) this.source.set(value, { key: `i${index}`, at: -1 });
    });
    group.ops.forEach((op, at) => {
      this.add(`o${op}`, this.make.op(op));
      for (const value of this.model.op(op).results) this.source.set(value, { key: `o${op}`, at });
    });
    group.outputs.forEach((port, index) => this.add(`x${index}`, this.make.port(port)));
  }

  private connect(): void {
    const { group, graph } = this;
    let before: string | null = null;
    // what takes nothing from here stands below the op that runs before it
    const place = (key: string, values: number[], at: number) => {
      const linked = values.map((value) => this.link(value, key, at)).some(Boolean);
      if (!linked && before !== null) graph.setEdge(before, key, { weight: 0 });
    };
    group.ops.forEach((op, at) => {
      place(`o${op}`, this.model.namedWithin(op), at);
      before = `o${op}`;
    });
    group.outputs.forEach((port, index) => place(`x${index}`, port.values, group.ops.length));
  }

  private link(value: number, to: string, at: number): boolean {
    const found = this.source.get(value);
    if (!found || found.key === to) return false;
    const gate = this.gates.filter((position) => position < at).pop();
    const from = gate !== undefined && gate > found.at ? this.again(value, gate) : found.key;
    const isTensor = this.model.data.values[value][1].includes("[");
    this.graph.setEdge(from, to, { weight: isTensor ? 2 : 1 });
    const isOuter = this.nodes.get(from)!.port?.kind === "outer";
    const key = `${from}>${to}`;
    if (this.kinds.get(key) !== "tensor") this.kinds.set(key, isOuter ? "outer" : isTensor ? "tensor" : "number");
    return true;
  }

  /** A node that names the value below an open block. */
  private again(value: number, gate: number): string {
    const key = `r${value}:${gate}`;
    if (!this.nodes.has(key)) {
      this.add(key, this.make.port({ kind: "in", values: [value], text: this.model.valueName(value) }));
      this.graph.setEdge(`o${this.group.ops[gate]}`, key, { weight: 0 });
    }
    return key;
  }
}
