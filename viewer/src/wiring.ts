// Wiring: the graph that dagre lays out for one group. Values flow as edges; one that comes from
// elsewhere, or from above an open block, is named by a pill beside the op that uses it: no line has
// to go far, or around anything.

import { Graph } from "@dagrejs/dagre";
import type { Group, Port } from "./groups";
import type { Edge, Node } from "./layout";
import type { Model } from "./model";

const REACH = 8; // ops that one pill may serve after another
const MANY = 10; // pills of one op; more are drawn as one

export interface Makers {
  op(op: number): Node;
  port(port: Port): Node;
}

export class Wiring {
  readonly graph = new Graph({ directed: true });
  readonly nodes = new Map<string, Node>();
  readonly kinds = new Map<string, Edge["kind"]>(); // of the edges that are drawn
  private made = new Map<number, { key: string; at: number }>(); // value -> its op, and the op's position
  private ports: Map<number, Port>; // values from elsewhere
  private pills = new Map<number, { key: string; at: number }>(); // value -> its last pill, and the last use
  private gates: number[]; // positions of open ops
  private before: string | null = null;

  constructor(private model: Model, private group: Group, private make: Makers, openOps: ReadonlySet<number>) {
    this.gates = group.ops.flatMap((op, at) => (openOps.has(op) && model.op(op).blocks.length ? [at] : []));
    this.ports = new Map(group.inputs.map((port) => [port.values[0], port]));
    group.ops.forEach((op, at) => {
      this.add(`o${op}`, make.op(op));
      for (const value of model.op(op).results) this.made.set(value, { key: `o${op}`, at });
    });
    group.ops.forEach((op, at) => {
      this.connect(`o${op}`, model.namedWithin(op), at);
      this.before = `o${op}`;
    });
    group.outputs.forEach((port, index) => {
      this.add(`x${index}`, make.port(port));
      this.connect(`x${index}`, port.values, group.ops.length);
    });
    this.addUnused();
  }

  /** The op of a node, or the one whose value it names. */
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

  private connect(key: string, named: number[], at: number): void {
    const gate = this.gates.filter((position) => position < at).pop() ?? -1;
    const values = [...new Set(named)].filter((value) => this.ports.has(value) || (this.made.get(value)?.at ?? at) < at);
    const direct = values.filter((value) => (this.made.get(value)?.at ?? -1) >= Math.max(gate, 0));
    const far = values.filter((value) => !direct.includes(value));
    for (const value of direct) this.link(this.made.get(value)!.key, key, value);
    if (far.length > MANY) this.linkMany(far, key, gate);
    else for (const value of far) this.link(this.pill(value, at, gate), key, value);
    // an op that takes nothing from here is below the op that runs before it
    if (!values.length && this.before !== null) this.graph.setEdge(this.before, key, { weight: 0 });
  }

  private link(from: string, to: string, value: number): void {
    const isTensor = this.model.data.values[value][1].includes("[");
    const isOuter = this.nodes.get(from)!.port?.kind === "outer";
    const key = `${from}>${to}`;
    this.graph.setEdge(from, to, { weight: isTensor ? 2 : 1 });
    if (this.kinds.get(key) !== "tensor") this.kinds.set(key, isOuter ? "outer" : isTensor ? "tensor" : "number");
  }

  private linkMany(values: number[], to: string, gate: number): void {
    const key = `m${to}`;
    this.addPill(key, { kind: "in", values: [], text: `${values.length} values from above` }, gate);
    this.link(key, to, values[0]);
    for (const value of values) if (!this.pills.has(value)) this.pills.set(value, { key, at: -Infinity });
  }

  /** A pill that names the value near the op at `at`, below the last open block. */
  private pill(value: number, at: number, gate: number): string {
    const last = this.pills.get(value);
    if (last && at - last.at <= REACH && last.at > gate) {
      last.at = at;
      return last.key;
    }
    const key = `p${this.nodes.size}`;
    this.addPill(key, this.ports.get(value) ?? { kind: "in", values: [value], text: this.model.valueName(value) }, gate);
    this.pills.set(value, { key, at });
    return key;
  }

  private addPill(key: string, port: Port, gate: number): void {
    this.add(key, this.make.port(port));
    if (gate >= 0) this.graph.setEdge(`o${this.group.ops[gate]}`, key, { weight: 0 });
  }

  /** What a block takes is shown, used or not. */
  private addUnused(): void {
    if (this.group.parent !== null) return;
    for (const [value, port] of this.ports) {
      if (!this.pills.has(value)) this.addPill(`u${value}`, port, -1);
    }
  }
}
