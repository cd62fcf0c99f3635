// Tests of a recording that the server plays: its timeline, marked ticks, and several haptic loops.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { PNG } from "pngjs";

import { assertAccessible, canvas, mask, text, until } from "./browser.mjs";
import { SCENE, WIDE, distance, ending, frames, live, project, seen, serve, view } from "./harness.mjs";
import { ball, sheet } from "./meshes.mjs";
import { Child, dist } from "./server.mjs";

const FLAG_DEGRADED = 4;
/** Tick of the first loop whose deadline is over when it arrives, and number of ticks of each loop. */
const LATE = 1080;
const TICKS = { hook: 1200, probe: 200 };
const [REFUSED, OBJECTIVE_US] = [1100, 1000];

/** Records a scene with two haptic loops, of which the second ends early. Returns the file, and the answers of the first
 * loop by sequence. */
async function recorded(folder) {
  const server = await serve({ more: ["--record", folder] });
  await server.call("CreateScene", { scene_id: SCENE });
  const tissue_id = await server.addTissue(SCENE, "sheet", sheet(0.2, 24));
  const page = await view(server.page, WIDE);
  await live(page);
  const { width } = await page.$eval("#pause", (button) => button.getBoundingClientRect().toJSON());
  assert.ok(width > 0 && (await page.$eval("#timeline", ({ hidden }) => hidden)), "a live scene has no timeline");
  await page.close();

  const answers = new Map();
  const tools = new Map();
  for (const name of Object.keys(TICKS)) tools.set(name, await server.addTool(SCENE, name, ball(0.01, 12)));
  const run = async (name, x) => {
    const tool_id = tools.get(name);
    const track = server.track();
    track.tell({ start: { scene_id: SCENE, tool_ids: [tool_id], mode: "TRACK_MODE_EVERY", render: [{ tool_id }], report: { report_stages: true } } });
    for (let sequence = 1; sequence <= TICKS[name]; sequence++) {
      const z = 0.012 - 0.007 * Math.sin((Math.PI * sequence) / TICKS[name]);
      const position_m = { x, y: 0.02, z: name === "hook" && sequence === REFUSED ? NaN : z };
      const deadline_us = name === "hook" && sequence === LATE ? 1 : 0;
      const answer = await track.ask({ tick: { sequence, deadline_us, tools: [{ tool_id, pose: { position_m, orientation: { w: 1 } } }] } });
      if (name === "hook") answers.set(sequence, answer);
      await new Promise((soon) => setTimeout(soon, 1));
    }
    track.end();
  };
  const loops = Promise.all(Object.keys(TICKS).map((name, at) => run(name, 0.05 * at)));
  const { positions } = sheet(0.2, 24);
  const deformations = server.deformations();
  for (let sequence = 1; sequence <= 20; sequence++) {
    const raised = positions.map((x, k) => (k % 3 === 2 ? 0.0001 * sequence : x));
    await deformations.ask({ scene_id: SCENE, tissue_id, sequence, dense: { positions_m: raised } });
    await new Promise((soon) => setTimeout(soon, 50));
  }
  deformations.end();
  await loops;
  await server.end();
  return { file: join(folder, `${SCENE}.mcap`), answers };
}

const isLate = ({ flags, renderings, stages }) =>
  (flags & FLAG_DEGRADED) !== 0 || renderings.some(({ state }) => state === "RENDER_STATE_LATE") || stages.wait_us + stages.engine_us > OBJECTIVE_US;

/** Waits for a state of the replay that is shown. */
const replayed = (page, what, isSo) =>
  until(what, async () => {
    const replay = await seen(page, "replay");
    return replay !== null && !replay.isSeeking && isSo(replay) && replay;
  }).catch(async (error) => {
    throw new Error(`${error.message}: ${JSON.stringify({ ...(await seen(page, "replay")), marks: null })}`);
  });

const chosen = (page) => seen(page, "session");
/** Moves the slider as a script of the browser would: to the millisecond. */
const seek = (page, seconds) =>
  page.evaluate((seconds) => {
    const input = document.querySelector("#position");
    input.value = String(seconds);
    input.dispatchEvent(new Event("input"));
  }, seconds);
const sliderAt = (page) => page.$eval("#position", ({ value }) => Number(value));

test("a recording has a timeline: it is sought, stepped, and jumped to a late tick and a refused one", async () => {
  const folder = await mkdtemp(join(tmpdir(), "palpate-viewer-record-"));
  const { file, answers } = await recorded(folder);
  const program = ending(new Child(["replay", "--watch", "--viewer", dist, "--speed", "2", file]));
  const [, url] = /at (http:\S+) until/.exec(await program.firstLine());
  const page = await view(url, WIDE);
  await live(page);
  await until("the timeline is shown", () => page.$eval("#timeline", ({ hidden }) => !hidden));
  const end = await replayed(page, "it was played to its end", ({ isPlaying, tick, ticks }) => !isPlaying && tick === ticks);
  await until("the slider is at the end", async () => (await sliderAt(page)) === end.durationS);
  assert.equal((await chosen(page)).sequence, TICKS.hook, "the loop's last tick is still shown");
  await until("the other loop has ended", () => page.$eval("#session-field", ({ hidden }) => hidden));
  await seek(page, 0.1);
  await until("both loops can be chosen from", () => page.$eval("#session-field", ({ hidden }) => !hidden));
  const names = await page.$$eval("#session option", (options) => options.map((option) => option.text));
  assert.deepEqual(names.map((name) => name.split(" ")[0]).sort(), ["hook", "probe"]);
  await seek(page, end.durationS);
  await replayed(page, "the end", ({ tick, ticks }) => tick === ticks);

  // No device can be moved.
  const isShown = (id) => page.$eval(id, (element) => getComputedStyle(element).display !== "none");
  for (const id of ["#device-section", "#invitation", "#pause"]) assert.equal(await isShown(id), false, id);
  const device = await seen(page, "devicePosition");
  const { left, top } = await page.$eval("#canvas", (c) => c.getBoundingClientRect().toJSON());
  const [x, y] = await project(page, device);
  await page.mouse.move(left + x, top + y);
  await page.mouse.down();
  await page.mouse.move(left + x + 40, top + y, { steps: 3 });
  assert.equal(await page.$("#canvas[data-drag]"), null);
  await page.mouse.up();
  assert.ok(distance(await project(page, device), [x, y]) > 1, "the drag orbits");

  // Back through the marks: the refused tick, and late ones down to the known one.
  const late = [...answers.values()].filter((answer) => answer.refusal === null && isLate(answer));
  assert.ok(late.some(({ sequence }) => Number(sequence) === LATE), "the deadline was over");
  const back = () => page.click('[data-jump="-1"]');
  const jumped = async () => {
    const { tick } = await seen(page, "replay");
    await back();
    const there = await replayed(page, "it has jumped", (replay) => replay.tick < tick);
    assert.ok(there.mark > 0, "at a marked tick");
    return there;
  };
  let at;
  do at = await jumped();
  while (at.mark !== 2);
  await until("it is told", async () => (await text(page, "#replay-state")) === "refused");
  do at = await jumped();
  while ((await chosen(page)).sequence > LATE);
  assert.deepEqual([(await chosen(page)).sequence, at.mark], [LATE, 1]);
  await until("it is told", async () => (await text(page, "#replay-state")) === "late");
  const force = Math.hypot(...Object.values(answers.get(LATE).renderings[0].force_n));
  assert.ok(Math.abs((await seen(page, "force")) - force) < 1e-9, "the force is that of the recorded answer");
  await until("the slider is there", async () => (await sliderAt(page)) === at.positionS);
  assert.match(await text(page, "#replay-time"), /^0:0\d\.\d{3} \/ 0:0\d\.\d{3}$/);
  const [, told] = /^([\d,]+)/.exec(await page.$eval("#mark-counts .late b", (b) => b.textContent));
  assert.ok(Number(told.replaceAll(",", "")) >= late.length, `${told} are told`);
  assert.equal(await page.$eval("#mark-counts .refused b", (b) => b.textContent), "1");
  assert.equal(await page.$eval("#mark-counts .differs b", (b) => b.textContent), "0");

  // Its mark is drawn above the slider's thumb.
  const bar = await page.$("#marks");
  const { data, width, height } = PNG.sync.read(await bar.screenshot());
  const column = Math.round((width * at.positionS) / at.durationS);
  const isRed = (px, py) => {
    const [r, g, b] = data.subarray(4 * (width * py + px));
    return r > 120 && r - g > 40 && r - b > 40;
  };
  const near = [-2, -1, 0, 1, 2].map((dx) => Math.min(width - 1, Math.max(0, column + dx)));
  assert.ok(near.some((px) => [...Array(height).keys()].some((py) => isRed(px, py))), "a red mark");

  // By tick, with buttons, keys of the slider, and keys of the page.
  const stepped = (by) => replayed(page, `${by} ticks`, ({ tick }) => tick === at.tick + by);
  await page.click('[data-step="1"]');
  await stepped(1);
  assert.equal((await chosen(page)).sequence, LATE + 1);
  await page.focus("#position");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await stepped(-1);
  assert.equal((await chosen(page)).sequence, LATE - 1);
  await page.keyboard.press(".");
  await stepped(0);
  const shown = await chosen(page);
  await page.keyboard.press("Home");
  await replayed(page, "the beginning", ({ positionS }) => positionS === 0);
  await page.keyboard.press("n");
  await replayed(page, "a mark after it", ({ mark, tick }) => mark === 1 && tick > 1);

  // With the pointer, to the same tick: nothing depends on the way there.
  const slider = await page.$eval("#position", (input) => input.getBoundingClientRect().toJSON());
  await page.mouse.move(slider.left + 20, slider.top + 8);
  await page.mouse.down();
  await page.mouse.move(slider.left + slider.width / 2, slider.top + 8, { steps: 5 });
  await page.mouse.up();
  await replayed(page, "half of it", ({ positionS, durationS }) => Math.abs(positionS / durationS - 0.5) < 0.2);
  await seek(page, at.positionS);
  await stepped(0);
  assert.deepEqual((({ sequence, tools, forces }) => [sequence, tools[0].links, forces])(await chosen(page)), [shown.sequence, shown.tools[0].links, shown.forces]);

  // Another viewer has the same playback.
  const other = await view(url, WIDE);
  await replayed(other, "it is where the first page is", ({ tick, isPlaying }) => tick === at.tick && !isPlaying);
  await until("its controls show it", () => other.$eval("#speed", ({ value }) => value === "2"));
  await other.select("#speed", "0.25");
  await other.click("#repeat");
  await other.keyboard.press("p");
  await replayed(page, "it plays as the other page has it", ({ speed, repeats, isPlaying }) => speed === 0.25 && repeats && isPlaying);
  await until("the page shows it", () => page.$eval("#speed", ({ value }) => value === "0.25"));
  await other.close();
  await page.select("#speed", "4");
  await replayed(page, "it starts again", ({ positionS, durationS }) => positionS < durationS / 4);
  await page.click("#play");
  await replayed(page, "it is paused", ({ isPlaying }) => !isPlaying);
  await until("a tissue is drawn", async () => mask(await canvas(page)).drawn.some((drawn) => drawn === 1));
  await rm(folder, { recursive: true });
});

test("the timeline fits any width, and is read by axe without serious findings", async () => {
  const recording = new URL("../../../tests/golden/grasper.mcap", import.meta.url).pathname;
  const program = ending(new Child(["replay", "--watch", "--viewer", dist, recording]));
  const [, url] = /at (http:\S+) until/.exec(await program.firstLine());
  const page = await view(url, { theme: "light", ...WIDE });
  await live(page);
  await replayed(page, "it was played to its end", ({ isPlaying, tick, ticks }) => !isPlaying && tick === ticks);
  await page.focus("#position");
  await page.keyboard.press("n");
  for (const [width, height] of [[390, 844], [760, 480], [1280, 800], [1920, 1080]]) {
    await page.setViewport({ width, height });
    await frames(page, 3);
    const outside = await page.$$eval("#timeline button, #timeline select, #timeline input, #timeline p, #timeline li, #marks", (all) =>
      all.filter((e) => e.getClientRects().length > 0).filter((e) => {
        const { left, right } = e.getBoundingClientRect();
        return left < 0 || right > innerWidth;
      }).map((e) => e.outerHTML),
    );
    assert.deepEqual(outside, [], `at ${width}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `no scrolling sideways at ${width}`);
  }
  await page.setViewport(WIDE);
  await assertAccessible(page);
  // Played once more, from the beginning.
  await page.click("#play");
  await replayed(page, "it was played again", ({ isPlaying, tick, ticks }) => !isPlaying && tick === ticks);
  await page.keyboard.press("?");
  await until("the keys are shown", () => page.$eval("#help", (help) => help.open));
  assert.match(await page.$eval("#help", (help) => help.innerText), /one tick back, forward/);
  assert.doesNotMatch(await page.$eval("#help", (help) => help.innerText), /device/);
});
