// Elements. Strings are always set as text: nothing of a program is ever parsed as HTML.

type Attributes = Record<string, string | number | boolean | null | undefined>;
type Child = Node | string | null | undefined | false;

const SVG = "http://www.w3.org/2000/svg";

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

export function s<K extends keyof SVGElementTagNameMap>(
  tag: K, attributes: Attributes = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

export function button(label: string, title: string, act: () => void, kind = ""): HTMLButtonElement {
  const made = h("button", { type: "button", title, "aria-label": title, class: kind }, label);
  made.addEventListener("click", act);
  return made;
}

export function bytesText(bytes: number | null): string {
  if (bytes === null) return "dynamic size";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = bytes, unit = 0;
  while (size >= 1000 && unit < units.length - 1) [size, unit] = [size / 1000, unit + 1];
  return `${unit === 0 ? size : size.toFixed(size < 10 ? 2 : size < 100 ? 1 : 0)} ${units[unit]}`;
}

/** The largest value of `of`; -Infinity if there are no items. (Math.max takes at most some 100,000 arguments.) */
export function largest<T>(items: T[], of: (item: T) => number): number {
  return items.reduce((most, item) => Math.max(most, of(item)), -Infinity);
}

export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}
