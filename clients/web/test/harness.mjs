// Shared by the tests: a browser, child processes and their end, and queries of a page.
import assert from "node:assert/strict";
import { after, afterEach, before } from "node:test";

import { complaints, launch, open, pages, state, until } from "./browser.mjs";
import { Child, Server, dist, freePort } from "./server.mjs";

export const SCENE = "theatre";
/** A page with its figures next to the picture. */
export const WIDE = { width: 1280, height: 800 };

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

// Child processes of the running test, ended however it ends: a page that nobody looks at would take cores from the
// next test.
const started = [];
afterEach(async () => {
  for (const page of await pages(browser)) await page.close();
  for (const child of started.splice(0).reverse()) await child.end();
  assert.deepEqual(complaints.splice(0), [], "what the console says");
});

/** Ends the child process with the test, the newest first. */
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
  // A frame may have arrived in part: the next one comes after all of it.
  await frames(page, 2);
}

export async function frames(page, n) {
  const first = await seen(page, "frames");
  await until(`${n} frames`, async () => (await seen(page, "frames")) >= first + n);
}

export const distance = (a, b) => Math.hypot(...a.map((x, k) => x - b[k]));

/** Opens the demo in a page and waits until its instrument is posed. */
export async function demo(options) {
  const http = await freePort();
  const child = ending(new Child(["demo", "--watch", "--viewer", dist, "--watch-listen", `127.0.0.1:${http}`]));
  assert.match(await child.firstLine(), /^The live view is at http:/);
  const page = await view(`http://127.0.0.1:${http}/view/`, options);
  await live(page);
  await until("the instrument is posed", async () => (await seen(page, "deviceLinks"))?.length === 3);
  return page;
}

/** Presses the pointer on the device's hinge; returns the position. Retries, because a page that draws for a second at
 * a time sometimes sees it too late. */
export async function takeHold(page) {
  const top = await page.$eval("#canvas", (canvas) => canvas.getBoundingClientRect().top);
  return until("it is taken hold of", async () => {
    const [x, y] = await page.evaluate(() => globalThis.palpate.project(globalThis.palpate.devicePosition()));
    await page.mouse.move(x, top + y);
    await page.mouse.down();
    if ((await page.$("#canvas[data-drag]")) !== null) return [x, top + y];
    await page.mouse.up();
    return null;
  });
}
