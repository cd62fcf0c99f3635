// Writes the documents' pictures, drawn by the page itself from a recording of the demo, if PALPATE_PICTURES=write. The
// demo is recorded while nothing else runs: drawing without a graphics card would take its cores.
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { canvas, until } from "./browser.mjs";
import { WIDE, ending, live, seen, view } from "./harness.mjs";
import { Child, dist } from "./server.mjs";
import { animated } from "./webp.mjs";

/** State of rendering. */
const TOUCHING = 2;
const RECORDED_S = 12;
/** The animation: its times in the recording, and its size. */
const FILM = { from_s: 4.5, to_s: 8.1, rate: 12, width: 1080, height: 660, bytes_max: 2e6 };
const skip = process.env.PALPATE_PICTURES !== "write";

test("pictures of the documents", { skip }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "palpate-viewer-pictures-"));
  const file = join(folder, "demo.mcap");
  const demo = ending(new Child(["demo", "--seconds", String(RECORDED_S), "--record", file]));
  await until("the demo is over", () => demo.process.exitCode !== null);
  assert.equal(demo.process.exitCode, 0);

  const player = ending(new Child(["replay", "--watch", "--viewer", dist, file]));
  const [, url] = /at (http:\S+) until/.exec(await player.firstLine());
  const page = await view(url, WIDE);
  await live(page);
  const seek = async (seconds) => {
    await page.evaluate((seconds) => {
      const input = document.querySelector("#position");
      input.value = String(seconds);
      input.dispatchEvent(new Event("input"));
    }, seconds);
    await until(`it shows ${seconds} s`, async () => {
      const replay = await seen(page, "replay");
      return replay !== null && !replay.isSeeking && Math.abs(replay.positionS - seconds) < 2e-3;
    });
    await canvas(page);
  };
  await until("it is played", async () => (await seen(page, "replay")) !== null);
  await page.evaluate(() => document.querySelector("#play").click());

  const out = fileURLToPath(new URL("../docs/", import.meta.url));
  await mkdir(out, { recursive: true });
  const picture = async (name, part) => {
    await canvas(page);
    await (await page.$(part)).screenshot({ path: `${out}${name}.png` });
  };
  // The first press after the curve is full.
  let pressed_s = 10;
  for (; pressed_s < RECORDED_S; pressed_s += 0.05) {
    await seek(pressed_s);
    const [tool] = (await seen(page, "session")).tools;
    if (Math.hypot(...tool.force) > 2 && tool.state === TOUCHING) break;
  }
  await picture("live-view", "body");
  await page.$eval("input[value=depth]", (input) => input.click());
  await until("the legend is shown", () => page.$eval("#legend", (legend) => !legend.hidden));
  await picture("displacement", "#stage");
  await page.$eval("input[value=plain]", (input) => input.click());

  await page.setViewport(FILM);
  await page.$eval("#fit", (button) => button.click());
  const frames = [];
  for (let n = 0; n < FILM.rate * (FILM.to_s - FILM.from_s); n++) {
    await seek(FILM.from_s + n / FILM.rate);
    frames.push(Buffer.from(await page.screenshot({ type: "webp", quality: 70 })));
  }
  const film = animated(frames, 1000 / FILM.rate);
  assert.ok(film.length < FILM.bytes_max, `${film.length} bytes`);
  await writeFile(`${out}demo.webp`, film);
  await rm(folder, { recursive: true });
});
