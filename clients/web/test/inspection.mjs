// Tests of what a user reads off: the force of every tick, what the pointer points at, points that were picked.
import assert from "node:assert/strict";
import { test } from "node:test";

import { PNG } from "pngjs";

import { assertAccessible, canvas, text, until } from "./browser.mjs";
import { SCENE, WIDE, ending, frames, live, project, revisions, seen, serve, view } from "./harness.mjs";
import { ball, sheet } from "./meshes.mjs";
import { Loop } from "./server.mjs";

const isShown = (page, id) => page.$eval(id, (element) => !element.hidden);
const isForce = (r, g, b) => r > 180 && r - b > 100 && g > 90;
const isBad = (r, g, b) => r > 200 && Math.abs(g - b) < 60 && r - g > 80;

/** Number of the curve's pixels that have a colour. */
async function pixels(page, isColour) {
  const { data } = PNG.sync.read(await (await page.$("#curve")).screenshot());
  let n = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 180 && isColour(data[i], data[i + 1], data[i + 2])) n++;
  return n;
}

/** Position in the curve, on the page: a share of its width from the left. */
async function onCurve(page, share) {
  const { left, top, width, height } = await page.$eval("#curve", (curve) => curve.getBoundingClientRect().toJSON());
  return [left + share * width, top + height / 2];
}

async function pressed(server) {
  await server.call("CreateScene", { scene_id: SCENE });
  const tissue_id = await server.addTissue(SCENE, "sheet", sheet(0.2, 24));
  const tip = { name: "tip", link: 0, position_m: { x: 0, y: 0, z: 0.03 }, radius_m: 0.001 };
  const tool_id = await server.addTool(SCENE, "ball", ball(0.01, 12), [tip]);
  const loop = ending(new Loop(server, SCENE, tool_id, { at: [0.03, 0.02, 0.012], isRendered: true }));
  await until("it ticks", () => loop.answer);
  return { tissue_id, loop };
}

test("the curve has the force of every tick; it is held, zoomed, read and drawn over depth", async () => {
  const server = await serve();
  const { loop } = await pressed(server);
  const page = await view(server.page, WIDE);
  await live(page);
  await until("100 ticks in a row are in the curve as they were answered", async () => {
    loop.goTo([0.03, 0.02, 0.012]);
    await until("it is free", () => loop.at[2] === 0.012);
    loop.forces = [];
    loop.goTo([0.03, 0.02, 0.003]);
    await until("it is pressed in", () => loop.at[2] === 0.003);
    await frames(page, 4);
    // The force rises: no two of these are equal.
    const rising = loop.forces.map(Math.fround).filter((newtons) => newtons > 0.02 && newtons < 3);
    const shown = (await seen(page, "curve")).map(({ newtons }) => newtons);
    const from = shown.lastIndexOf(rising[0]);
    // A page that draws for longer than the server keeps ticks misses some.
    return rising.length > 100 && from >= 0 && rising.every((newtons, at) => newtons === shown[from + at]);
  });
  await until("they are drawn", async () => (await pixels(page, isForce)) > 30);
  assert.match(await text(page, "#reading"), /^\d+ of [\d,]+ ticks late$/);

  await page.click("#curve-hold");
  const held = await seen(page, "curve");
  await frames(page, 10);
  assert.deepEqual(await seen(page, "curve"), held, "ticks go on, what is shown stays");
  await page.mouse.move(...(await onCurve(page, 0.95)));
  await page.mouse.wheel({ deltaY: -100 });
  await page.mouse.wheel({ deltaY: -100 });
  await until("the last notch shows two seconds", async () => (await page.$eval("#curve-span", ({ value }) => value)) === "2");
  const zoomed = await seen(page, "curve");
  const span = zoomed.at(-1).seconds - zoomed[0].seconds;
  assert.ok(span <= 2 && zoomed.length < held.length, `${zoomed.length} ticks of ${span} s`);
  const reading = await text(page, "#reading");
  const [, newtons] = /^[\d.]+ (?:ms|s) before hold · ([\d.]+) N · [\d.]+ mm/.exec(reading) ?? [];
  assert.ok(zoomed.some((tick) => tick.newtons.toFixed(2) === newtons), reading);

  await page.click("#over-depth");
  await until("force over depth is drawn", async () => (await pixels(page, isForce)) > 30);
  // The tissue does not give way: the spring of 500 N/m alone gives force for depth. The device was last free at most a
  // step, and the stand-off, before it touched: a tenth of a millimetre. A force that rises too fast is held back,
  // and a late tick keeps the force of the one before, from which the hand has gone 0.05 mm: 0.025 N.
  const lacks = held.map(({ newtons, pressed }) => 500 * pressed - newtons);
  assert.ok(Math.min(...lacks) > -0.03, `${-Math.min(...lacks)} N more than the spring's`);
  const rising = lacks.filter((lack, at) => held[at].newtons > 0.5 && lack < 0.05);
  assert.ok(rising.length > 50, `${rising.length} ticks as the spring has it`);
  await page.click("#over-depth");
  await page.click("#curve-hold");

  // By key: it is held, and its newest tick is read, then the one before.
  await page.focus("#curve");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await until("a tick is read", async () => / N · /.test(await text(page, "#reading")));
  assert.equal(await page.$eval("#curve-hold", (button) => button.getAttribute("aria-pressed")), "true");
  await page.click("#curve-hold");
  await assertAccessible(page);

  await loop.end();
  await until("without a loop it moves on until it is empty", async () => (await seen(page, "curve")).length === 0);
});

test("ticks later than the server's objective are counted and marked", async () => {
  // The shortest objective there is: most ticks take longer.
  const server = await serve({ more: ["--set", "sessions.objective=100us"] });
  await pressed(server);
  const page = await view(server.page, WIDE);
  await until("they are counted", async () => {
    const [, late] = /^([\d,]+) of [\d,]+ ticks late$/.exec(await text(page, "#reading")) ?? [];
    return late !== undefined && Number.parseInt(late.replace(",", "")) > 20;
  });
  for (const { latencyUs, isLate } of await seen(page, "curve")) assert.equal(isLate, latencyUs > 100);
  await until("and marked", async () => (await pixels(page, isBad)) > 30);
});

test("the probes of the instrument are listed with their distance", async () => {
  const server = await serve();
  const { loop } = await pressed(server);
  const page = await view(server.page, WIDE);
  await live(page);
  const told = () => page.$eval("#probes", (list) => list.textContent);
  // The sheet is at 0 under the probe, whose radius of a millimetre counts.
  await until("its distance", async () => (await told()) === "Probe tip41.0 mm");
  loop.goTo([0.03, 0.02, 0.02]);
  await until("another", async () => (await told()) === "Probe tip49.0 mm");
  await assertAccessible(page);
});

test("what is under the pointer is described; picked points move with the tissue and are measured", async () => {
  const server = await serve();
  const { tissue_id, loop } = await pressed(server);
  const page = await view(server.page, WIDE);
  await revisions(page, 0, 0);
  await canvas(page);
  const top = await page.$eval("#canvas", (canvas) => canvas.getBoundingClientRect().top);
  const onPage = async (at) => (([x, y]) => [x, top + y])(await project(page, at));
  const pointAt = async (at) => page.mouse.move(...(await onPage(at)));
  const tip = async () => ((await isShown(page, "#tip")) ? text(page, "#tip") : null);
  const tells = (at, words) =>
    until(`${words} at ${at}`, async () => {
      await pointAt(at);
      await frames(page, 1);
      return words.test((await tip()) ?? "nothing");
    });

  // Of the sheet's squares, 24 by 24, the one with this corner; its second triangle lies above the diagonal.
  const [i, j] = [16, 5];
  const square = [0.2 * ((j + 0.25) / 24 - 0.5), 0.16 * ((i + 0.75) / 24 - 0.5), 0];
  const triangle = 2 * (24 * i + j) + 1;
  await tells(square, new RegExp(`^sheet · triangle ${triangle.toLocaleString("en")}$`));
  await tells([0.03, 0.02, 0.022], /^ball/);
  loop.goTo([0.03, 0.02, 0.007]);
  await until("it presses", () => loop.answer.renderings[0].force_n.z > 1);
  await tells([0.03, 0.02, 0], /^(contact with sheet · −?0\.0\d mm · )?force · \d\.\d\d N$/);
  await page.mouse.move(3, top + 3);
  await until("nothing is told beside the tissue", async () => (await tip()) === null);

  assert.equal(await isShown(page, "#picked"), false);
  await page.mouse.click(...(await onPage([-0.05, 0.021, 0])));
  await until("a point is picked", () => isShown(page, "#picked"));
  const position = async () => (await text(page, "#picked-position")).replaceAll("−", "-").split(",").map(Number.parseFloat);
  const isNear = async (at) => Math.hypot(...(await position()).map((mm, k) => mm - 1000 * at[k])) < 1;
  assert.ok(await isNear([-0.05, 0.021, 0]), `${await position()} mm`);
  assert.equal(await text(page, "#picked-normal"), "0.00, 0.00, 1.00");
  await page.mouse.click(...(await onPage([0.01, -0.059, 0])));
  await until("both are measured", async () => Math.abs(Number.parseFloat(await text(page, "#picked-distance")) - 100) < 1);

  const { positions } = sheet(0.2, 24);
  const raised = positions.map((x, k) => (k % 3 === 2 ? 0.004 : x));
  const deformations = server.deformations();
  await deformations.ask({ scene_id: SCENE, tissue_id, sequence: 1, dense: { positions_m: raised } });
  deformations.end();
  await until("it moved with the tissue", () => isNear([0.01, -0.059, 0.004]));
  assert.equal(await text(page, "#picked-displacement"), "4.00 mm");
  await assertAccessible(page);
  const picked = Number(/^[\d,]+/.exec(await text(page, "#picked-triangle"))[0].replaceAll(",", ""));
  await server.call("EditTopology", { scene_id: SCENE, tissue_id, removed_triangles: [picked] });
  await until("a point that was cut away is forgotten", () => isNear([-0.05, 0.021, 0.004]));
  await page.click("#pause");
  await page.click("#pause");
  await revisions(page, 1, 1);
  assert.ok(await isShown(page, "#picked"), "a new stream of the same scene keeps it");
  await page.click("#clear-picked");
  assert.equal(await isShown(page, "#picked"), false);
  await page.focus("#canvas");
  await page.keyboard.press("Enter");
  await until("the middle of the view is picked", () => isShown(page, "#picked"));
});
