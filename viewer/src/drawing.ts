// The whole graph as a picture that needs no page: an SVG with the styles in its elements, and a PNG painted
// from that. (An image element could paint the SVG, but the page's policy loads no images.)

import { s } from "./dom";

const EDGE = 24;
const PIXELS = { side: 16_000, area: 120_000_000, ratio: 2 }; // what browsers can paint on
const SHAPE = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity"];
const TEXT = ["fill", "font-family", "font-size", "font-weight"];
const DEFAULTS: Record<string, string> = { stroke: "none", "stroke-width": "1px", "stroke-dasharray": "none", opacity: "1", "font-weight": "400" };

/** A standalone drawing of `world`, which is as large as said; `holder` is where the page's styles reach it. */
export function standalone(world: SVGGElement, width: number, height: number, holder: HTMLElement): SVGSVGElement {
  const size = { w: Math.ceil(width + 2 * EDGE), h: Math.ceil(height + 2 * EDGE) };
  const svg = s("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${size.w} ${size.h}`, width: size.w, height: size.h });
  const ground = getComputedStyle(document.body).backgroundColor;
  svg.append(s("rect", { width: size.w, height: size.h, fill: ground }), s("g", { transform: `translate(${EDGE} ${EDGE})` }, world));
  for (const hidden of world.querySelectorAll(".head, .fold, title")) hidden.remove();
  holder.append(svg);
  for (const element of [...world.querySelectorAll("rect, path, text, tspan")]) inline(element);
  for (const element of [...world.querySelectorAll("path[marker-end]")]) addArrow(element);
  svg.remove();
  for (const element of [world, ...world.querySelectorAll("*")]) strip(element);
  return svg;
}

function inline(element: Element): void {
  const found = getComputedStyle(element);
  for (const name of element.matches("text, tspan") ? TEXT : SHAPE) {
    const value = found.getPropertyValue(name);
    if (value !== DEFAULTS[name] || element.tagName === "tspan") element.setAttribute(name, value); // a tspan inherits
  }
  if (element instanceof SVGElement) element.removeAttribute("style");
}

/** The arrow at the end of a line, as a path: not every program that reads SVG draws markers. */
function addArrow(line: Element): void {
  const numbers = (line.getAttribute("d") ?? "").match(/-?[\d.]+/g)?.map(Number) ?? [];
  if (numbers.length < 4) return;
  const [fromX, fromY, x, y] = numbers.slice(-4);
  const angle = Math.atan2(y - fromY, x - fromX);
  const corner = (along: number, across: number) => {
    const [px, py] = [x + along * Math.cos(angle) - across * Math.sin(angle), y + along * Math.sin(angle) + across * Math.cos(angle)];
    return `${px.toFixed(1)} ${py.toFixed(1)}`;
  };
  line.after(s("path", { d: `M${corner(-8, -4)}L${corner(1, 0)}L${corner(-8, 4)}z`, fill: line.getAttribute("stroke") }));
}

function strip(element: Element): void {
  for (const { name } of [...element.attributes]) {
    if (/^(class|id|role|tabindex|marker-end|aria-|data-)/.test(name)) element.removeAttribute(name);
  }
}

export function svgFile(drawing: SVGSVGElement): Blob {
  return new Blob([new XMLSerializer().serializeToString(drawing)], { type: "image/svg+xml" });
}

/** The drawing in pixels, two for each of its units where the browser can do so many; and how many it was. */
export async function pngFile(drawing: SVGSVGElement): Promise<{ file: Blob; ratio: number }> {
  const [width, height] = ["width", "height"].map((name) => Number(drawing.getAttribute(name)));
  const ratio = Math.min(PIXELS.ratio, PIXELS.side / Math.max(width, height), Math.sqrt(PIXELS.area / (width * height)));
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.ceil(width * ratio), Math.ceil(height * ratio)];
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("this browser cannot draw on a canvas");
  pen.scale(ratio, ratio);
  paint(pen, drawing);
  return new Promise((done, fail) => canvas.toBlob((file) => (file ? done({ file, ratio }) : fail(new Error("the picture is too large")))));
}

function paint(pen: CanvasRenderingContext2D, element: Element): void {
  pen.save();
  const moved = /^translate\((-?[\d.e-]+)[ ,](-?[\d.e-]+)\)$/.exec(element.getAttribute("transform") ?? "");
  if (moved) pen.translate(Number(moved[1]), Number(moved[2]));
  if (element.tagName === "rect" || element.tagName === "path") paintShape(pen, element);
  else if (element.tagName === "text") paintText(pen, element);
  else for (const child of element.children) paint(pen, child);
  pen.restore();
}

function paintShape(pen: CanvasRenderingContext2D, element: Element): void {
  const of = (name: string) => element.getAttribute(name);
  const number = (name: string) => parseFloat(of(name) ?? "0");
  const path = new Path2D(of("d") ?? undefined);
  if (element.tagName === "rect") path.roundRect(number("x"), number("y"), number("width"), number("height"), number("rx"));
  const [fill, stroke] = [of("fill") ?? "#000", of("stroke")];
  pen.globalAlpha = of("opacity") === null ? 1 : number("opacity");
  if (fill !== "none") {
    pen.fillStyle = fill;
    pen.fill(path);
  }
  if (stroke) {
    pen.strokeStyle = stroke;
    pen.lineWidth = number("stroke-width") || 1;
    pen.setLineDash((of("stroke-dasharray") ?? "").match(/[\d.]+/g)?.map(Number) ?? []);
    pen.stroke(path);
  }
}

function paintText(pen: CanvasRenderingContext2D, element: Element): void {
  let x = Number(element.getAttribute("x") ?? 0);
  const y = Number(element.getAttribute("y") ?? 0);
  for (const node of element.childNodes) {
    const styled = node instanceof Element ? node : element;
    const of = (name: string) => styled.getAttribute(name) ?? "";
    const text = (node.textContent ?? "").replace(/\s+/g, " "); // as SVG shows it
    pen.font = `${of("font-weight") || "400"} ${of("font-size")} ${of("font-family")}`;
    pen.fillStyle = of("fill");
    pen.fillText(text, x, y);
    x += pen.measureText(text).width;
  }
}

/** Hand a file to the reader, who keeps it where downloads go. */
export function download(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  [link.href, link.download] = [address, name];
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
