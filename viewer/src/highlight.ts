// A light reading of Python, enough to colour it: keywords, strings, numbers, comments.

export interface Token {
  text: string;
  kind: "" | "word" | "text" | "number" | "comment" | "decorator" | "name";
}

const WORDS = new Set(
  `and as assert async await break class continue def del elif else except finally for from global if
   import in is lambda nonlocal not or pass raise return try while with yield True False None match case`.split(/\s+/),
);
const PARTS =
  /(#.*)|([rbfuRBFU]{0,2}("""|'''))|([rbfuRBFU]{0,2}(?:"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?))|(@[\w.]+)|(\d[\w.]*)|([A-Za-z_]\w*)|(\s+|.)/gy;

/** The tokens of each line; a text of several lines goes on from one to the next. */
export function tokens(lines: string[]): Token[][] {
  let closing: string | null = null;
  return lines.map((line) => {
    const found: Token[] = [];
    let at = 0;
    while (at < line.length) {
      if (closing !== null) {
        const end = line.indexOf(closing, at);
        const stop: number = end < 0 ? line.length : end + closing.length;
        found.push({ text: line.slice(at, stop), kind: "text" });
        if (end >= 0) closing = null;
        at = stop;
        continue;
      }
      PARTS.lastIndex = at;
      const match = PARTS.exec(line);
      if (!match) break;
      const [whole, comment, long, quotes, short, decorator, number, name] = match;
      at += whole.length;
      if (long) closing = quotes;
      found.push({ text: whole, kind: kindOf(comment, long ?? short, decorator, number, name, found) });
    }
    return found;
  });
}

function kindOf(
  comment?: string, text?: string, decorator?: string, number?: string, name?: string, before: Token[] = [],
): Token["kind"] {
  if (comment) return "comment";
  if (text) return "text";
  if (decorator && before.every((token) => !token.text.trim())) return "decorator";
  if (number) return "number";
  if (!name) return "";
  if (WORDS.has(name)) return "word";
  const last = before.filter((token) => token.text.trim()).pop();
  return last && (last.text === "def" || last.text === "class") ? "name" : "";
}
