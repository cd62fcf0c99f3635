// The page against a real server, in a real browser.
import assert from "node:assert/strict";
import { readFile, writeFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { fileURLToPath } from "node:url";

import { canvas, complaints, launch, mask, open, overlap, pages, silhouette, state, text, until } from "./browser.mjs";
import { ball, sheet } from "./meshes.mjs";
import { Child, dist, freePort, Server } from "./server.mjs";

const SCENE = "theatre";
/** Of the picture at the top of the README; else as small as is enough: each pixel costs this machine's processor. */
const SIZE = process.env.PALPATE_PICTURES === "write" ? { width: 1280, height: 800 } : {};
/** A pixel at each boundary is drawn or not by rounding: of a shape some hundred pixels wide. */
const SAME = 0.98;

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

// Of the test under way, however it ends: software that draws what nobody looks at takes the cores from the next one.
const ended = [];
afterEach(async () => {
  for (const page of await pages(browser)) await page.close();
  for (const child of ended.splice(0)) await child.end();
});

async function serve(options) {
  const server = await Server.start(options);
  ended.push(server);
  return server;
}

const live = (page) => until("it is live", async () => (await state(page)) === "live");
const seen = (page, what) => page.evaluate((name) => globalThis.palpate[name](), what);
const revisions = async (page, ...wanted) => {
  const isSo = async () => JSON.stringify((await seen(page, "revisions"))[0]) === JSON.stringify(wanted);
  await until(`revisions ${wanted}`, isSo);
  // A frame may have come in part: the next one is behind all of it.
  const frame = await seen(page, "frames");
  await until("a whole frame", async () => (await seen(page, "frames")) > frame + 1);
};

async function assertDrawnAs(server, page, tissue) {
  const image = await canvas(page);
  const shape = await silhouette(page, await server.exported(SCENE, tissue), image);
  const share = overlap(mask(image), shape);
  assert.ok(share > SAME, `of the exported mesh's pixels and the page's ${share} are the same`);
  return mask(image);
}

test("a scene is shown, and its deformation and cut are followed", async () => {
  const server = await serve();
  const page = await open(browser, server.page);
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

  // A window in the middle: what is behind shows through.
  const removed_triangles = [];
  for (let i = 9; i < 15; i++) for (let j = 9; j < 15; j++) removed_triangles.push(2 * (24 * i + j), 2 * (24 * i + j) + 1);
  await server.call("EditTopology", { scene_id: SCENE, tissue_id: tissue, removed_triangles });
  await revisions(page, 1, 1);
  const cut = await assertDrawnAs(server, page, tissue);
  assert.ok(overlap(waved, cut) < 0.97, "there is a window");
  deformations.end();
});

test("contacts are where the server says, with their force", async () => {
  const server = await serve();
  await server.call("CreateScene", { scene_id: SCENE });
  await server.addTissue(SCENE, "sheet", sheet(0.2, 24));
  const tool_id = await server.addTool(SCENE, "ball", ball(0.01, 12));
  const page = await open(browser, server.page);
  await live(page);
  const loop = server.track();
  loop.tell({ start: { scene_id: SCENE, tool_ids: [tool_id], mode: "TRACK_MODE_EVERY", render: [{ tool_id }] } });
  let answer;
  for (let sequence = 1; sequence <= 400; sequence++) {
    const z = Math.max(0.007, 0.012 - 5e-5 * sequence);
    const pose = { position_m: { x: 0.03, y: 0.02, z }, orientation: { w: 1 } };
    answer = await loop.ask({ tick: { sequence, tools: [{ tool_id, pose }] } });
    await new Promise((soon) => setTimeout(soon, 2));
  }
  const [rendering] = answer.renderings;
  assert.ok(rendering.force_n.z > 1, `${rendering.force_n.z} N`);
  await until("the last tick is shown", async () => (await seen(page, "session"))?.tools[0]?.force[2] > 1);
  await until("the force is told", async () => Math.abs(Number(await text(page, "#force")) - rendering.force_n.z) < 0.05);
  assert.equal(await text(page, "#render-state"), "touching");
  const [x, y] = await page.evaluate((at) => globalThis.palpate.project(at), rendering.contact_xyz_m.slice(0, 3));
  const image = await canvas(page);
  // Amber over rose, grey and cyan: much more red and green than blue.
  const isAmber = (px, py) => {
    const i = 4 * (image.width * Math.round(py) + Math.round(px));
    const [r, g, b] = image.data.subarray(i, i + 3);
    return r > 200 && g > 140 && r - b > 60;
  };
  const near = [-2, -1, 0, 1, 2].flatMap((dx) => [-2, -1, 0, 1, 2].map((dy) => [x + dx, y + dy]));
  assert.ok(near.some(([px, py]) => isAmber(px, py)), `a contact at ${x}, ${y}`);
  loop.end();
});

test("a hand in the page makes a force, by pointer and by key", async () => {
  const http = await freePort();
  const demo = new Child(["demo", "--watch", "--viewer", dist, "--watch-listen", `127.0.0.1:${http}`]);
  ended.push(demo);
  assert.match(await demo.firstLine(), /^The live view is at http:/);
  const page = await open(browser, `http://127.0.0.1:${http}/view/`, SIZE);
  await live(page);
  await until("the instrument is posed", async () => (await seen(page, "deviceLinks"))?.length === 3);
  const device = () => seen(page, "devicePosition");
  await page.focus("#canvas");
  await page.keyboard.press("ArrowUp");
  const held = await until("it is held", async () => {
    const [before, frame] = [await device(), await seen(page, "frames")];
    await until("frames", async () => (await seen(page, "frames")) > frame + 15);
    const now = await device();
    return distance(before, now) < 1e-6 && now;
  });
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowUp");
  await until("it went on by 5 mm", async () => Math.abs(distance(await device(), held) - 0.005) < 1e-4);

  // By its hinge, and pulled across the organ. A page that draws for a second at a time may lose its hold in between.
  const top = await page.$eval("#canvas", (canvas) => canvas.getBoundingClientRect().top);
  const [x, y] = await until("it is taken hold of", async () => {
    const at = await page.evaluate(() => globalThis.palpate.project(globalThis.palpate.devicePosition()));
    await page.mouse.move(at[0], top + at[1]);
    await page.mouse.down();
    if ((await page.$("#canvas[data-drag]")) !== null) return at;
    await page.mouse.up();
    return null;
  });
  const [toX, toY] = await page.evaluate(() => {
    const { clientWidth, clientHeight } = document.querySelector("#canvas");
    return [0.4 * clientWidth, 0.56 * clientHeight];
  });
  let most = 0;
  for (let i = 1; i <= 120; i++) {
    const share = Math.min(1, i / 60);
    await page.mouse.move(x + share * (toX - x), top + y + share * (toY - y));
    await new Promise((soon) => setTimeout(soon, 25));
    most = Math.max(most, Math.hypot(...((await seen(page, "session")).tools[0]?.force ?? [0])));
  }
  assert.ok(most > 0.5, `at most ${most} N`);
  await pictures(page, "live-view");
  const dragged = await device();
  await page.mouse.up();
  assert.equal(await text(page, "#device-note"), "");
  await until("it is let go", async () => distance(await device(), dragged) > 0.007);
});

test("a server that is restarted is found again", async () => {
  const http = await freePort();
  const server = await Server.start({ http });
  const page = await open(browser, server.page);
  await live(page);
  await server.end();
  await until("it says so", async () => (await state(page)) === "lost");
  assert.match(await text(page, "#notice-text"), /Trying again/);
  const next = await serve({ http });
  await live(page);
  await next.call("CreateScene", { scene_id: SCENE });
  await next.addTissue(SCENE, "ball", ball(0.1, 12));
  await revisions(page, 0, 0);
  await page.click("#pause");
  assert.equal(await state(page), "paused");
  await page.click("#pause");
  await live(page);
});

test("a wrong key is told, and a good one is let in", async () => {
  const folder = await mkdtemp(join(tmpdir(), "palpate-viewer-"));
  const keys = join(folder, "keys.toml");
  await writeFile(keys, '[[key]]\nname = "wall"\nrole = "read-only"\nsecret = "wall-0123456789ab"\n');
  const server = await serve({ more: ["--set", `access.keys_file=${keys}`] });
  const page = await open(browser, server.page);
  await until("a key is asked for", async () => (await text(page, "#notice-title")) === "This server asks for a key");
  await page.type("#key", "wall-wrong-456789");
  await page.keyboard.press("Enter");
  await until("it is told", async () => (await text(page, "#notice-title")) === "This key is not valid");
  await page.$eval("#key", (input) => (input.value = ""));
  await page.type("#key", "wall-0123456789ab");
  await page.keyboard.press("Enter");
  await live(page);
  await page.close();
  await rm(folder, { recursive: true });
});

test("100,000 triangles that all move are followed", async (t) => {
  const server = await serve();
  await server.call("CreateScene", { scene_id: SCENE });
  const mesh = ball(0.1, 160);
  const tissue_id = await server.addTissue(SCENE, "organ", mesh);
  assert.ok(mesh.triangles.length / 3 > 100_000);
  const page = await open(browser, server.page);
  await live(page);
  await revisions(page, 0, 0);
  const deformations = server.deformations();
  const shapes = [0, 1].map((odd) => mesh.positions.map((x) => x * (1 + 0.02 * odd)));
  const began = performance.now();
  const first = await seen(page, "frames");
  let sequence = 0;
  while (performance.now() - began < 5000) {
    sequence += 1;
    await deformations.ask({ scene_id: SCENE, tissue_id, sequence, dense: { positions_m: shapes[sequence % 2] } });
    await new Promise((soon) => setTimeout(soon, Math.max(0, began + (1000 / 30) * sequence - performance.now())));
  }
  await revisions(page, sequence, 0);
  const seconds = (performance.now() - began) / 1000;
  const frames = (await seen(page, "frames")) - first;
  const drawing = await page.evaluate(() => {
    const context = document.querySelector("#canvas").getContext("webgl2");
    const from = performance.now();
    for (let i = 0; i < 5; i++) globalThis.palpate.drawNow(), context.readPixels(0, 0, 1, 1, context.RGBA, context.UNSIGNED_BYTE, new Uint8Array(4));
    const drawn = performance.now();
    for (let i = 0; i < 5; i++) globalThis.palpate.takeAgain();
    return { draw_ms: (drawn - from) / 5, take_ms: (performance.now() - drawn) / 5 };
  });
  // Said and not judged: it is this machine's.
  const figures = `${sequence} deformations in ${seconds.toFixed(1)} s, ${frames} frames taken in; a frame takes ${drawing.take_ms.toFixed(1)} ms of the page, drawing it ${drawing.draw_ms.toFixed(0)} ms of swiftshader`;
  t.diagnostic(figures);
  await assertDrawnAs(server, page, tissue_id);
  deformations.end();
});

test("all of it is reached by keyboard and read by axe without serious findings", async () => {
  const server = await serve();
  await server.call("CreateScene", { scene_id: SCENE });
  await server.addTissue(SCENE, "ball", ball(0.1, 12));
  const axe = await readFile(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
  for (const theme of ["dark", "light"]) {
    const page = await open(browser, server.page, { theme, width: 1280, height: 800 });
    await revisions(page, 0, 0);
    assert.equal(await page.$eval("html", (html) => html.dataset.theme), theme);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run());
    const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
    assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]), []);
    const reached = new Set();
    for (let i = 0; i < 40; i++) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement?.id || document.activeElement?.getAttribute("name")));
    }
    for (const id of ["scene", "pause", "fit", "picture", "theme", "canvas", "colour"]) assert.ok(reached.has(id), id);
    await page.close();
  }
});

test("a recording is played for whoever opens the page", async () => {
  const recording = fileURLToPath(new URL("../../../tests/golden/grasper.mcap", import.meta.url));
  const replay = new Child(["replay", "--watch", "--viewer", dist, "--speed", "0.02", recording]);
  ended.push(replay);
  const [, url] = /at (http:\S+) until/.exec(await replay.firstLine());
  for (let visit = 0; visit < 2; visit++) {
    const page = await open(browser, url);
    await live(page);
    await until("its loop is seen", async () => (await seen(page, "session"))?.sequence > 0);
    assert.ok(mask(await canvas(page)).drawn.some((drawn) => drawn === 1), "a tissue is drawn");
    await page.close();
  }
});

test("a tissue's colours tell where it moved", async () => {
  const server = await serve();
  await server.call("CreateScene", { scene_id: SCENE });
  const mesh = sheet(0.2, 24);
  const tissue_id = await server.addTissue(SCENE, "sheet", mesh);
  const page = await open(browser, server.page);
  await revisions(page, 0, 0);
  const positions_m = mesh.positions.map((x, i) => (i % 3 === 2 && mesh.positions[i - 2] > 0.02 ? 0.01 : x));
  const deformations = server.deformations();
  await deformations.ask({ scene_id: SCENE, tissue_id, sequence: 1, dense: { positions_m } });
  await revisions(page, 1, 0);
  await page.evaluate(() => document.querySelector("input[value=depth]").click());
  const colourAt = async (at) => {
    const [x, y] = await page.evaluate((at) => globalThis.palpate.project(at), at);
    const image = await canvas(page);
    const i = 4 * (image.width * Math.round(y) + Math.round(x));
    return [...image.data.subarray(i, i + 3)];
  };
  const [still, moved] = [await colourAt([-0.05, 0, 0]), await colourAt([0.06, 0, 0.01])];
  assert.ok(still[2] > still[0], `still: blue, got ${still}`);
  assert.ok(moved[0] > moved[2] + 60, `moved by 10 mm: yellow, got ${moved}`);
  assert.match(await text(page, "#legend-to"), /10 mm/);
  deformations.end();
});

test("the console has nothing to say", () => {
  assert.deepEqual(complaints, []);
});

const distance = (a, b) => Math.hypot(...[0, 1, 2].map((k) => a[k] - b[k]));

/** Pictures of documents, by the page itself. */
async function pictures(page, name) {
  if (process.env.PALPATE_PICTURES !== "write") return;
  const folder = fileURLToPath(new URL("../docs/", import.meta.url));
  await mkdir(folder, { recursive: true });
  await page.evaluate(() => document.activeElement.blur());
  await page.screenshot({ path: `${folder}${name}.png` });
}
