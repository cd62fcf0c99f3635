// What the tests share: a browser, what they start and how it ends, and what they ask of a page.
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { after, afterEach, before } from "node:test";
import { fileURLToPath } from "node:url";

import { canvas, complaints, launch, open, pages, state, until } from "./browser.mjs";
import { Server } from "./server.mjs";

export const SCENE = "theatre";
/** A page with its figures beside the picture. */
export const WIDE = { width: 1280, height: 800 };
const isWriting = process.env.PALPATE_PICTURES === "write";
/** Of pictures for documents; else as small as is enough: each pixel costs this machine's processor. */
export const SIZE = isWriting ? WIDE : {};

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

// Of the test under way, however it ends: software that draws what nobody looks at takes the cores from the next one.
const started = [];
afterEach(async () => {
  for (const page of await pages(browser)) await page.close();
  for (const child of started.splice(0).reverse()) await child.end();
  assert.deepEqual(complaints.splice(0), [], "what the console says");
});

/** Has it end with the test: the newest first. */
export function ending(child) {
  started.push(child);
  return child;
}

export const serve = async (options) => ending(await Server.start(options));
export const view = (url, options) => open(browser, url, options);

export const live = (page) => until("it is live", async () => (await state(page)) === "live");
export const seen = (page, what) => page.evaluate((name) => globalThis.palpate[name](), what);
export const project = (page, at) => page.evaluate((at) => globalThis.palpate.project(at), at);

export async function revisions(page, ...wanted) {
  const isSo = async () => JSON.stringify((await seen(page, "revisions"))[0]) === JSON.stringify(wanted);
  await until(`revisions ${wanted}`, isSo);
  // A frame may have come in part: the next one is behind all of it.
  await frames(page, 2);
}

export async function frames(page, n) {
  const first = await seen(page, "frames");
  await until(`${n} frames`, async () => (await seen(page, "frames")) >= first + n);
}

export const distance = (a, b) => Math.hypot(...a.map((x, k) => x - b[k]));

/** Pictures of documents, of the page itself or a part of it. */
export async function pictures(page, name, part = "body") {
  if (!isWriting) return;
  const folder = fileURLToPath(new URL("../docs/", import.meta.url));
  await mkdir(folder, { recursive: true });
  await page.evaluate(() => document.activeElement.blur());
  await canvas(page);
  await (await page.$(part)).screenshot({ path: `${folder}${name}.png` });
}
