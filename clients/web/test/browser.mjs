// Opens the page in a browser and reads its pixels.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";

import { PNG } from "pngjs";
import puppeteer from "puppeteer-core";

const chromium = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);

export async function launch() {
  if (chromium === undefined) throw new Error("there is no chromium: apt-get install chromium, or set CHROMIUM");
  return puppeteer.launch({
    executablePath: chromium,
    headless: true,
    args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
  });
}

/** Errors and warnings on the consoles of pages. */
export const complaints = [];

/** `forgiven`: console messages that the test causes. `downloads`: folder for downloads. */
export async function open(browser, url, { width = 760, height = 480, theme = "dark", forgiven, downloads } = {}) {
  const context = await browser.createBrowserContext(
    downloads === undefined ? {} : { downloadBehavior: { policy: "allow", downloadPath: downloads } },
  );
  const page = await context.newPage();
  page.setDefaultTimeout(120_000);
  page.on("console", (message) => {
    const text = `${message.text()} ${message.location().url ?? ""}`;
    if (["error", "warn"].includes(message.type()) && !forgiven?.test(text)) complaints.push(text);
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.goto(url);
  return page;
}

export async function pages(browser) {
  const all = await Promise.all(browser.browserContexts().map((context) => context.pages()));
  return all.flat();
}

/** The time limit only catches a condition that never becomes true: no test judges how long a wait takes. */
export async function until(what, isSo, within_s = 120) {
  const end = Date.now() + 1000 * within_s;
  for (;;) {
    const value = await isSo();
    if (value) return value;
    if (Date.now() > end) throw new Error(`not within ${within_s} s: ${what}`);
    await new Promise((soon) => setTimeout(soon, 50));
  }
}

export const state = (page) => page.$eval("#state", (shown) => shown.dataset.state);
export const text = (page, selector) => page.$eval(selector, (shown) => shown.textContent);

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

/** Asserts that axe finds no serious problem in the dark and the light theme. */
export async function assertAccessible(page) {
  await page.evaluate(axe);
  for (let theme = 0; theme < 2; theme++) {
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]), []);
    await page.evaluate(() => document.querySelector("#theme")?.click());
  }
}

/** Returns the canvas only, transparent where nothing is drawn. */
export async function canvas(page) {
  const url = await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(document.querySelector("#canvas").toDataURL())))),
  );
  return PNG.sync.read(Buffer.from(url.split(",")[1], "base64"));
}

/** Returns true if a pixel near a position has a colour: lines are a pixel or two wide. */
export function hasNear({ width, data }, [x, y], isColour) {
  for (let dy = -2; dy <= 2; dy++) {
    for (let dx = -2; dx <= 2; dx++) {
      const i = 4 * (width * (Math.round(y) + dy) + Math.round(x) + dx);
      if (isColour(data[i], data[i + 1], data[i + 2])) return true;
    }
  }
  return false;
}

/** Mask of the drawn pixels. */
export function mask({ width, height, data }) {
  const drawn = new Uint8Array(width * height);
  for (let i = 0; i < drawn.length; i++) drawn[i] = data[4 * i + 3] > 127 ? 1 : 0;
  return { width, height, drawn };
}

/** Mask of a mesh's triangles, by the page's camera and a rasteriser of the tests. */
export async function silhouette(page, { positions, triangles }, { width, height }) {
  const at = await page.evaluate((flat) => {
    const points = [];
    for (let i = 0; i < flat.length; i += 3) points.push(...globalThis.palpate.project([flat[i], flat[i + 1], flat[i + 2]]));
    return points;
  }, positions);
  const drawn = new Uint8Array(width * height);
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [0, 1, 2].map((k) => [at[2 * triangles[t + k]], at[2 * triangles[t + k] + 1]]);
    const side = (p, q, x, y) => (q[0] - p[0]) * (y - p[1]) - (q[1] - p[1]) * (x - p[0]);
    const area = side(a, b, ...c);
    const [x0, x1] = [Math.min(a[0], b[0], c[0]), Math.max(a[0], b[0], c[0])];
    const [y0, y1] = [Math.min(a[1], b[1], c[1]), Math.max(a[1], b[1], c[1])];
    for (let y = Math.max(0, Math.floor(y0)); y < Math.min(height, Math.ceil(y1)); y++) {
      for (let x = Math.max(0, Math.floor(x0)); x < Math.min(width, Math.ceil(x1)); x++) {
        const [u, v, w] = [side(a, b, x + 0.5, y + 0.5), side(b, c, x + 0.5, y + 0.5), side(c, a, x + 0.5, y + 0.5)];
        if (u * area >= 0 && v * area >= 0 && w * area >= 0) drawn[y * width + x] = 1;
      }
    }
  }
  return { width, height, drawn };
}

/** Fraction of the pixels in either mask that are in both. */
export function overlap(one, other) {
  let [both, either] = [0, 0];
  for (let i = 0; i < one.drawn.length; i++) {
    both += one.drawn[i] & other.drawn[i];
    either += one.drawn[i] | other.drawn[i];
  }
  return both / either;
}
