// Builds the page into dist/: one script, one style sheet, no source of another origin.
import { build } from "esbuild";
import { cp, mkdir, rm } from "node:fs/promises";

const here = new URL(".", import.meta.url).pathname;
await rm(`${here}dist`, { recursive: true, force: true });
await mkdir(`${here}dist`);
await build({
  absWorkingDir: here,
  entryPoints: ["src/main.ts"],
  outfile: "dist/main.js",
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  legalComments: "linked",
});
for (const file of ["index.html", "style.css", "icon.svg"]) await cp(`${here}src/${file}`, `${here}dist/${file}`);
