// Bundles src/ into the Python package: node build.mjs [folder]
// The first line of the bundle has the digest of everything it was made from; a test compares it.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../src/stator/page/assets");
const PACKAGES = ["@dagrejs/dagre", "@dagrejs/graphlib"];

function digest() {
  const sources = readdirSync(join(here, "src")).map((name) => join("src", name));
  const hash = createHash("sha256");
  for (const name of [...sources, "build.mjs", "package-lock.json"].sort()) {
    hash.update(name + "\0").update(readFileSync(join(here, name))).update("\0");
  }
  return hash.digest("hex");
}

const options = {
  bundle: true,
  minify: true,
  write: false,
  charset: "ascii",
  legalComments: "none", // THIRD_PARTY.txt has the licences
  target: ["chrome110", "firefox110", "safari16"],
};
const [script, style] = await Promise.all([
  build({ ...options, entryPoints: [join(here, "src/main.ts")], format: "iife" }),
  build({ ...options, entryPoints: [join(here, "src/style.css")] }),
]);

const banner = `/* built from viewer/, sha256 ${digest()} */\n`;
mkdirSync(out, { recursive: true });
writeFileSync(join(out, "viewer.js"), banner + script.outputFiles[0].text);
writeFileSync(join(out, "viewer.css"), style.outputFiles[0].text);
writeFileSync(
  join(out, "THIRD_PARTY.txt"),
  PACKAGES.map((name) => {
    const folder = join(here, "node_modules", name);
    const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
  }).join("\n\n"),
);
