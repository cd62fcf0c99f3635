// Tests of the drawn picture: tissue, contacts, forces, colours.
import assert from "node:assert/strict";
import { test } from "node:test";

import { assertAccessible, canvas, hasNear, mask, overlap, silhouette, text, until } from "./browser.mjs";
import { SCENE, WIDE, ending, live, project, revisions, seen, serve, view } from "./harness.mjs";
import { ball, sheet } from "./meshes.mjs";
import { Loop } from "./server.mjs";

/** Minimum overlap: at each boundary, rounding decides whether a pixel is drawn, in a shape some hundred pixels wide.
 * */
const SAME = 0.98;

async function assertDrawnAs(server, page, tissue) {
  const image = await canvas(page);
  const shape = await silhouette(page, await server.exported(SCENE, tissue), image);
  const share = overlap(mask(image), shape);
  assert.ok(share > SAME, `of the exported mesh's pixels and the page's ${share} are the same`);
  return mask(image);
}

test("a scene is shown, and its deformation and cut are followed", async () => {
  const server = await serve();
  const page = await view(server.page);
  await live(page);
  await until("there is no scene yet", async () => (await text(page, "#notice-title")) === "No scene yet");
  await server.call("CreateScene", { scene_id: SCENE });
  const mesh = sheet(0.2, 24);
  const tissue = await server.addTissue(SCENE, "sheet", mesh);
  await revisions(page, 0, 0);
  await until("the notice is gone", async () => page.$eval("#notice", (notice) => notice.hidden));
  const whole = await assertDrawnAs(server, page, tissue);

  const deformations = server.deformations();
  const positions_m = mesh.positions.map((x, i) => (i % 3 === 2 ? 0.05 * Math.sin(40 * mesh.positions[i - 2]) : x));
  await deformations.ask({ scene_id: SCENE, tissue_id: tissue, sequence: 1, dense: { positions_m } });
  await revisions(page, 1, 0);
  const waved = await assertDrawnAs(server, page, tissue);
  assert.ok(overlap(whole, waved) < 0.97, "it looks otherwise than before");

  // A window in the middle: the background shows through.
  const removed_triangles = [];
  for (let i = 9; i < 15; i++) for (let j = 9; j < 15; j++) removed_triangles.push(2 * (24 * i + j), 2 * (24 * i + j) + 1);
  await server.call("EditTopology", { scene_id: SCENE, tissue_id: tissue, removed_triangles });
  await revisions(page, 1, 1);
  const cut = await assertDrawnAs(server, page, tissue);
  assert.ok(overlap(waved, cut) < SAME, "there is a window");
  deformations.end();
});

// Amber of forces, white of contacts, or either, over rose, grey and cyan.
const isForce = (r, g, b) => r > 200 && g > 140 && r - b > 140;
const isContact = (r, g, b) => Math.min(r, g, b) > 240;
const isTouch = (r, g, b) => isForce(r, g, b) || isContact(r, g, b);

/** Adds balls on a sheet, with a loop each: position of each, and whether it is rendered. */
async function balls(server, tools) {
  await server.call("CreateScene", { scene_id: SCENE });
  await server.addTissue(SCENE, "sheet", sheet(0.2, 24));
  const loops = [];
  for (const { name, x, y, isRendered } of tools) {
    const tool_id = await server.addTool(SCENE, name, ball(0.01, 12));
    const loop = ending(new Loop(server, SCENE, tool_id, { at: [x, y, 0.012], isRendered }));
    await until("it ticks", () => loop.answer);
    loops.push(loop);
  }
  return loops;
}

test("contacts are where the server says, with their force, its curve and the loop's times", async () => {
  const server = await serve();
  const [loop] = await balls(server, [{ name: "ball", x: 0.03, y: 0.02, isRendered: true }]);
  const page = await view(server.page);
  await live(page);
  loop.goTo([0.03, 0.02, 0.007]);
  await until("a force is felt", () => loop.answer.renderings[0].force_n.z > 1);
  await until("the force is told", async () => {
    const told = Number(await text(page, "#force"));
    return told > 1 && Math.abs(told - loop.answer.renderings[0].force_n.z) < 0.05;
  });
  await until("it touches", async () => (await text(page, "#render-state")) === "touching");
  const contact = await project(page, loop.answer.renderings[0].contact_xyz_m.slice(0, 3));
  await until("a contact is drawn there", async () => hasNear(await canvas(page), contact, isTouch));
  // A point in the head of an arrow of 32 mm, which the device's ghost does not reach.
  const head = await project(page, [0.03, 0.02, 0.026]);
  await until("an arrow of the force is drawn", async () => hasNear(await canvas(page), head, isForce));

  await until("its times are told", async () => {
    const told = await page.$$eval(".value, div > .all, #missed, #missed-by, #rate", (values) => values.map((value) => value.textContent));
    return told.length === 9 && told.every((value) => /^\d/.test(value));
  });
  await until("the force has a curve", () =>
    page.$eval("#curve", (curve) => {
      const { data } = curve.getContext("2d").getImageData(0, 0, curve.width, curve.height);
      let amber = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i] > 180 && data[i] - data[i + 2] > 100 && data[i + 3] > 180) amber++;
      return amber > 10;
    }),
  );
});

test("the device's ghost tints tissue and ground, and not the instrument", async () => {
  const server = await serve();
  const [loop] = await balls(server, [{ name: "ball", x: 0.03, y: 0.02, isRendered: true }]);
  const page = await view(server.page, WIDE);
  await live(page);
  const isCyan = (r, g, b) => b > r + 12;
  const colours = async (at) => {
    const [x, y] = (await project(page, at)).map(Math.round);
    const { width, data } = await canvas(page);
    return [...data.subarray(4 * (width * y + x), 4 * (width * y + x) + 3)];
  };
  // In the air the ghost is where the instrument is.
  await until("the instrument is grey", async () => {
    const [r, g, b] = await colours([0.03, 0.02, 0.012]);
    return r > 30 && !isCyan(r, g, b);
  });
  // Pressed in by more than its size, the ghost is seen through the tissue.
  loop.goTo([0.03, 0.02, -0.03]);
  await until("the ghost is seen", async () => isCyan(...(await colours([0.03, 0.02, -0.03]))));
});

test("contacts and forces are the chosen instrument's, contacts without a force arrows along their normals", async () => {
  const server = await serve();
  const [probe, hook] = await balls(server, [
    { name: "probe", x: -0.05, y: 0.02, isRendered: false },
    { name: "hook", x: 0.05, y: -0.02, isRendered: true },
  ]);
  const page = await view(server.page, WIDE);
  await live(page);
  probe.goTo([-0.05, 0.02, 0.009]);
  hook.goTo([0.05, -0.02, 0.007]);
  await until("the rendered one is chosen", async () => /^hook/.test(await page.$eval("#session", (s) => s.selectedOptions[0]?.text)));
  const [probed, hooked] = [await project(page, [-0.05, 0.02, 0]), await project(page, [0.05, -0.02, 0])];
  // A point in the head of an arrow of 16 mm.
  const normal = await project(page, [-0.05, 0.02, 0.8 * 0.016]);
  const drawn = async () => {
    const image = await canvas(page);
    return [hasNear(image, hooked, isTouch), hasNear(image, probed, isTouch), hasNear(image, normal, isContact)].join();
  };
  await until("its contacts alone are drawn", async () => (await drawn()) === "true,false,false");

  await page.select("#session", await page.$eval("#session", (s) => [...s.options].find((o) => /^probe/.test(o.text)).value));
  await until("the other's contacts are drawn, and point away from the tissue", async () => (await drawn()) === "false,true,true");
  await until("it is said to be not rendered", async () => (await text(page, "#render-state")) === "not rendered");
  await until("its contacts are counted", async () => Number.parseInt(await text(page, "#contacts")) > 0);
});

/** A view of a sheet, and the ends of its scale of colours at points of it. */
async function viewedSheet() {
  const server = await serve();
  await server.call("CreateScene", { scene_id: SCENE });
  const mesh = sheet(0.2, 24);
  const tissue_id = await server.addTissue(SCENE, "sheet", mesh);
  const page = await view(server.page);
  await revisions(page, 0, 0);
  const colourAt = async (at) => {
    const [x, y] = await project(page, at);
    const image = await canvas(page);
    const i = 4 * (image.width * Math.round(y) + Math.round(x));
    return [...image.data.subarray(i, i + 3)];
  };
  const choose = (colour) => page.$eval(`input[value=${colour}]`, (input) => input.click());
  const isBlue = async (at) => until(`blue at ${at}`, async () => (([r, , b]) => b > r)(await colourAt(at)));
  const isYellow = async (at) => until(`yellow at ${at}`, async () => (([r, , b]) => r > b + 60)(await colourAt(at)));
  return { server, mesh, tissue_id, page, choose, isBlue, isYellow };
}

test("a tissue's colours tell where it moved, and when", async () => {
  const { server, mesh, tissue_id, page, choose, isBlue, isYellow } = await viewedSheet();
  const deformations = server.deformations();
  const raise = (beyond, z) => mesh.positions.map((x, i) => (i % 3 === 2 && mesh.positions[i - 2] > beyond ? z : x));
  await deformations.ask({ scene_id: SCENE, tissue_id, sequence: 1, dense: { positions_m: raise(0.02, 0.01) } });
  await revisions(page, 1, 0);
  await choose("depth");
  await isBlue([-0.05, 0, 0]);
  await isYellow([0.06, 0, 0.01]);
  await until("the legend tells how far", async () => /10 mm/.test(await text(page, "#legend-to")));
  await assertAccessible(page);

  // Stops the page's clock: ages are then independent of the browser's speed.
  await page.evaluate(() => {
    globalThis.now = performance.now();
    performance.now = () => globalThis.now;
  });
  await choose("age");
  // This moves four fifths of the vertices, so that all are sent.
  await deformations.ask({ scene_id: SCENE, tissue_id, sequence: 2, dense: { positions_m: raise(-0.06, 0.02) } });
  await revisions(page, 2, 0);
  await isYellow([0.06, 0, 0.02]);
  await isYellow([-0.04, 0, 0.02]);
  await isBlue([-0.08, 0, 0]);
  await page.evaluate(() => (globalThis.now += 10_000));
  await isBlue([0.06, 0, 0.02]);
  deformations.end();
});

test("a tissue's colours tell how stiff its materials are", async () => {
  const { server, mesh, tissue_id, page, choose, isBlue, isYellow } = await viewedSheet();
  await choose("stiffness");
  await isYellow([-0.05, 0, 0]);
  // Soft on one side, hard on the other.
  const isRight = (t) => [0, 1, 2].every((k) => mesh.positions[3 * mesh.triangles[3 * t + k]] > 0);
  const triangle_materials = Buffer.from(Array.from({ length: mesh.triangles.length / 3 }, (_, t) => (isRight(t) ? 1 : 0)));
  const feel = { materials: [{ stiffness_n_per_m: 30 }, { stiffness_n_per_m: 9000 }], triangle_materials };
  await server.call("SetFeel", { scene_id: SCENE, tissue_id, feel });
  await isBlue([-0.05, 0, 0]);
  await isYellow([0.05, 0, 0]);
  await until("the legend tells the range", async () => /10,000 N\/m/.test(await text(page, "#legend-to")));
  const { top } = await page.$eval("#canvas", (canvas) => canvas.getBoundingClientRect().toJSON());
  for (const [x, words] of [[-0.05, "30 N/m"], [0.05, "9,000 N/m"]]) {
    const [atX, atY] = await project(page, [x, 0, 0]);
    await page.mouse.move(atX, top + atY);
    await until(words, async () => (await text(page, "#tip")).endsWith(` · ${words}`));
  }
  await server.call("SetFeel", { scene_id: SCENE, tissue_id });
  await isYellow([-0.05, 0, 0]);
});

// The deep red of an edge that a cut has opened; the inside of tissue, cooler than its rose outside.
const isCutEdge = (r, g, b) => r > 60 && r < 130 && g < 36 && b < 40;
const isInside = (r, g, b) => b > r && r < 110;
const isOutside = (r, g, b) => r > b + 30 && r > 110;

test("a cut has edges, its inside another colour; edges of triangles and a section on request", async () => {
  const server = await serve();
  await server.call("CreateScene", { scene_id: SCENE });
  const tissue_id = await server.addTissue(SCENE, "organ", ball(0.1, 24));
  const page = await view(server.page, WIDE);
  await revisions(page, 0, 0);
  const count = async (is) => {
    const { data } = await canvas(page);
    let n = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 250 && is(data[i], data[i + 1], data[i + 2])) n++;
    return n;
  };
  await until("the whole ball is drawn", async () => (await count(isOutside)) > 1000);
  assert.deepEqual([await count(isCutEdge), await count(isInside)], [0, 0], "a whole ball has no inside and no edges");

  // A window in the half that the camera sees: all triangles within 30 degrees of its direction.
  const towards = await page.evaluate(() => globalThis.palpate.towards());
  const { positions, triangles } = ball(0.1, 24);
  const removed_triangles = [];
  for (let t = 0; t < triangles.length / 3; t++) {
    const middle = [0, 1, 2].map((x) => [0, 1, 2].reduce((sum, k) => sum + positions[3 * triangles[3 * t + k] + x], 0));
    const along = middle.reduce((sum, x, k) => sum + x * towards[k], 0) / Math.hypot(...middle);
    if (along > Math.cos(Math.PI / 6)) removed_triangles.push(t);
  }
  await server.call("EditTopology", { scene_id: SCENE, tissue_id, removed_triangles });
  await revisions(page, 0, 1);
  await until("the inside is seen through the window", async () => (await count(isInside)) > 1000);
  await until("its edge is drawn", async () => (await count(isCutEdge)) > 60);
  const outside = await count(isOutside);

  await page.click("#wires");
  await until("the edges of triangles darken it", async () => (await count(isOutside)) < 0.98 * outside);
  await page.keyboard.press("w");
  await until("without them it is as before", async () => (await count(isOutside)) === outside);
  await page.click("#opened");
  await until("the front is left out", async () => (await count(isOutside)) < 100);
  assert.ok((await count(isInside)) > 1000, "the back is seen from inside");
  await page.keyboard.press("x");
  await until("all of it is back", async () => (await count(isOutside)) === outside);
  await assertAccessible(page);
});

test("100,000 triangles that all move are followed", async (t) => {
  const server = await serve();
  await server.call("CreateScene", { scene_id: SCENE });
  const mesh = ball(0.1, 160);
  const tissue_id = await server.addTissue(SCENE, "organ", mesh);
  assert.ok(mesh.triangles.length / 3 > 100_000);
  const page = await view(server.page);
  await live(page);
  await revisions(page, 0, 0);
  const deformations = server.deformations();
  const shapes = [0, 1].map((odd) => mesh.positions.map((x) => x * (1 + 0.02 * odd)));
  const [N, PERIOD_MS] = [60, 1000 / 30];
  const began = performance.now();
  const first = await seen(page, "frames");
  for (let sequence = 1; sequence <= N; sequence++) {
    await deformations.ask({ scene_id: SCENE, tissue_id, sequence, dense: { positions_m: shapes[sequence % 2] } });
    await new Promise((soon) => setTimeout(soon, Math.max(0, began + PERIOD_MS * sequence - performance.now())));
  }
  await revisions(page, N, 0);
  const seconds = (performance.now() - began) / 1000;
  const taken = (await seen(page, "frames")) - first;
  await assertDrawnAs(server, page, tissue_id);
  deformations.end();
  const draw_ms = await page.evaluate(() => {
    const context = document.querySelector("#canvas").getContext("webgl2");
    const from = performance.now();
    for (let i = 0; i < 5; i++) globalThis.palpate.drawNow(), context.readPixels(0, 0, 1, 1, context.RGBA, context.UNSIGNED_BYTE, new Uint8Array(4));
    return (performance.now() - from) / 5;
  });
  const takes_ms = () =>
    page.evaluate(() => {
      const times = Array.from({ length: 15 }, () => {
        const from = performance.now();
        globalThis.palpate.takeAgain();
        return performance.now() - from;
      });
      return times.sort((a, b) => a - b);
    });
  const median_ms = (await takes_ms())[7];
  // The minimum counts: it excludes time that other processes take from the page.
  const least_ms = await until("a frame leaves time to draw it", async () => {
    const [least] = await takes_ms();
    return least < PERIOD_MS && least;
  });
  t.diagnostic(
    `${N} deformations in ${seconds.toFixed(1)} s, ${taken} frames taken in; a frame takes ${least_ms.toFixed(1)} ms of the page at least ` +
      `(${median_ms.toFixed(1)} in the median), drawing it ${draw_ms.toFixed(0)} ms of swiftshader`,
  );
});
