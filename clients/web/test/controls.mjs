// Tests of the user's actions by pointer and by key: moves a device, looks around, chooses, saves.
import assert from "node:assert/strict";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { PNG } from "pngjs";

import { assertAccessible, canvas, mask, state, text, until } from "./browser.mjs";
import { SCENE, WIDE, demo, distance, ending, frames, project, revisions, seen, serve, takeHold, view } from "./harness.mjs";
import { ball, sheet } from "./meshes.mjs";
import { Loop } from "./server.mjs";

test("a hand in the page makes a force, by pointer and by key", async () => {
  const page = await demo();
  const device = () => seen(page, "devicePosition");
  const force = () => seen(page, "force");
  const rests = () =>
    until("it is held", async () => {
      const before = await device();
      await frames(page, 15);
      const now = await device();
      return distance(before, now) < 1e-6 && now;
    });
  await page.focus("#canvas");
  // At the place where the demo presses it in: lifted off from there, the device returns to the organ on the same path.
  const held = await until("it is held where it is pressed in", async () => {
    if ((await force()) < 1) return null;
    await page.keyboard.press("ArrowUp");
    const at = await rests();
    if ((await force()) > 0.5) return at;
    await page.keyboard.press("Escape");
    return null;
  });
  for (let i = 0; i < 5; i++) await page.keyboard.press("ArrowUp");
  await until("it went on by 5 mm", async () => Math.abs(distance(await device(), held) - 0.005) < 1e-4);

  // From here on the drag alone causes the force: the organ pulses by some millimetres.
  await until("it is clear of the organ", async () => {
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowUp");
    await frames(page, 15);
    return (await seen(page, "session")).tools[0].signedDistance > 0.012 && (await force()) < 0.05;
  });
  const [x, y] = await takeHold(page);
  await until("it is still clear of the organ", async () => (await force()) < 0.05);
  const clear = await rests();
  let pulled = 0;
  await until("the device went with the pointer and is pressed into the organ", async () => {
    pulled += 2;
    await page.mouse.move(x, y + pulled);
    return distance(await device(), clear) > 0.01 && (await force()) > 0.5;
  });
  await until("nothing is said against it", async () => (await text(page, "#device-note")) === "");
  const dragged = await device();
  await page.mouse.up();
  await until("it is let go", async () => distance(await device(), dragged) > 0.007);
  await assertAccessible(page);
});

/** Elements that Tab reaches, by id, by `data-move` or by name. */
async function reached(page) {
  const all = new Set();
  for (let i = 0; i < 50; i++) {
    await page.keyboard.press("Tab");
    all.add(
      await page.evaluate(() => {
        const at = document.activeElement;
        return at.id || at.dataset.move || at.name || (at.closest("#tissues") !== null ? "tissue" : at.tagName);
      }),
    );
  }
  return all;
}

test("all of it is reached by keyboard and read by axe without serious findings", async () => {
  const server = await serve();
  await server.call("CreateScene", { scene_id: SCENE });
  await server.addTissue(SCENE, "sheet", sheet(0.2, 24));
  for (const name of ["probe", "hook"]) {
    const tool_id = await server.addTool(SCENE, name, ball(0.01, 12));
    ending(new Loop(server, SCENE, tool_id, { at: [0, 0, 0.012], isRendered: true }));
  }
  const page = await view(server.page, { theme: "light", ...WIDE });
  await revisions(page, 0, 0);
  assert.equal(await page.$eval("html", (html) => html.dataset.theme), "light", "as the visitor's system has it");
  await until("two instruments can be chosen from", () => page.$eval("#session-field", (field) => !field.hidden));
  await until("the device can be moved", () => page.$eval("#device-section", (section) => !section.hidden));
  await assertAccessible(page);
  const ids = ["scene", "pause", "fit", "picture", "show-help", "theme", "canvas", "session", "colour", "tissue", "curve-span", "over-depth", "curve-hold"];
  const moves = ["left", "up", "down", "right", "in", "out", "release"];
  const all = await reached(page);
  assert.deepEqual([...ids, ...moves].filter((id) => !all.has(id)), [], "what Tab does not reach");
  await page.close();

  // The page without JavaScript.
  const plain = await view("about:blank");
  await plain.setContent(await (await fetch(`http://127.0.0.1:${server.http}/`)).text());
  await assertAccessible(plain);
});

test("the camera is moved by pointer and by key", async () => {
  const server = await serve();
  await server.call("CreateScene", { scene_id: SCENE });
  await server.addTissue(SCENE, "ball", ball(0.1, 12));
  const page = await view(server.page);
  await revisions(page, 0, 0);
  // Waits for the first drawing, which fits the view.
  await canvas(page);
  const ends = async () => [await project(page, [0.05, 0.03, 0.02]), await project(page, [-0.04, -0.02, 0.03])];
  const moves = async (what, act, isSo) => {
    const before = await ends();
    await act();
    await until(what, async () => isSo(before, await ends()));
  };
  const isOtherwise = (before, now) => distance(before[0], now[0]) > 2;
  const isLarger = (before, now) => distance(...now) > 1.05 * distance(...before);
  const press = (key, isShifted) => async () => {
    if (isShifted) await page.keyboard.down("Shift");
    await page.keyboard.press(key);
    if (isShifted) await page.keyboard.up("Shift");
  };
  await page.focus("#canvas");
  const first = await ends();
  for (const key of ["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"]) await moves(key, press(key, true), isOtherwise);
  await until("there and back", async () => distance(first[0], (await ends())[0]) < 0.1);
  await moves("nearer", press("+"), isLarger);
  await moves("and back", press("-"), (before, now) => isLarger(now, before));
  const [x, y] = await page.$eval("#canvas", (canvas) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  });
  const drag = async () => {
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x + 60, y + 20, { steps: 4 });
    await page.mouse.up();
  };
  await moves("dragged", drag, isOtherwise);
  await moves("scrolled", () => page.mouse.wheel({ deltaY: -300 }), isLarger);
  await moves("fitted", () => page.click("#fit"), (_, now) => distance(now[0], first[0]) < 0.1);
});

test("all of a scene is in view at any size of the window, with its axes, its name and the triangles that are there", async () => {
  const server = await serve();
  await server.call("CreateScene", { scene_id: SCENE });
  const mesh = ball(0.1, 12);
  const tissue_id = await server.addTissue(SCENE, "ball", mesh);
  const page = await view(server.page, WIDE);
  await revisions(page, 0, 0);
  await canvas(page);
  const poles = [0, 1, 2].flatMap((k) => [-0.1, 0.1].map((x) => [0, 0, 0].with(k, x)));
  const spans = async () => {
    const { width, height } = await page.$eval("#canvas", (c) => ({ width: c.clientWidth, height: c.clientHeight }));
    const at = await Promise.all(poles.map((pole) => project(page, pole)));
    const isInside = at.every(([x, y]) => x >= 0 && x <= width && y >= 0 && y <= height);
    const reach = Math.max(...at.map(([x, y]) => distance([x, y], [width / 2, height / 2])));
    return { isInside, share: (2 * reach) / Math.min(width, height), reach };
  };
  const resize = async (width, height) => {
    await page.setViewport({ width, height });
    await until("the page took the size in", () =>
      page.$eval("#canvas", (c, width) => innerWidth === width && c.width === c.clientWidth && c.height === c.clientHeight, width),
    );
  };
  for (const [width, height] of [[390, 844], [760, 480], [1920, 1080], [1280, 800]]) {
    await resize(width, height);
    const { isInside, share } = await spans();
    assert.ok(isInside && share > 0.7, `${share} of ${width} x ${height}`);
  }
  // A camera that the user has moved stays where it is.
  await page.focus("#canvas");
  const fitted = (await spans()).reach;
  await page.keyboard.press("+");
  const nearer = (await spans()).reach;
  assert.ok(nearer > 1.05 * fitted, "nearer");
  await resize(1600, 800);
  assert.ok(Math.abs((await spans()).reach - nearer) < 0.5, "no fit after a look from nearer");

  const lines = await page.$$eval("#axes g", (axes) =>
    axes.map((g) => [g.querySelector("text").textContent, ...["x2", "y2"].map((end) => Number(g.querySelector("line").getAttribute(end)))]),
  );
  assert.deepEqual(lines.map(([name]) => name).sort(), ["x", "y", "z"]);
  const origin = await project(page, [0, 0, 0]);
  for (const [name, x, y] of lines) {
    const end = await project(page, [0, 0, 0].with("xyz".indexOf(name), 1e-3));
    const [alongX, alongY] = [end[0] - origin[0], end[1] - origin[1]];
    const cosine = (alongX * x + alongY * y) / Math.hypot(alongX, alongY) / Math.hypot(x, y);
    assert.ok(cosine > 0.98, `${name}: cosine ${cosine}`);
  }
  assert.equal(await page.title(), "theatre · Palpate");
  assert.equal(await page.$eval("#scene", (choice) => choice.selectedOptions[0].text), "First scene: theatre");

  await server.call("EditTopology", { scene_id: SCENE, tissue_id, removed_triangles: [0, 1, 2] });
  const left = (mesh.triangles.length / 3 - 3).toLocaleString("en");
  await until("removed triangles are not counted", async () => (await text(page, "#tissues .detail")).startsWith(`${left} △`));

  await page.keyboard.press("?");
  await until("the keys are shown", () => page.$eval("#help", (help) => help.open));
  await assertAccessible(page);
  await page.keyboard.press("Escape");
  await until("and hidden", () => page.$eval("#help", (help) => !help.open));
});

test("a device invites to be dragged until it was, and the pointer over it says so", async () => {
  const server = await serve();
  await server.call("CreateScene", { scene_id: SCENE });
  await server.addTissue(SCENE, "sheet", sheet(0.2, 24));
  const tool_id = await server.addTool(SCENE, "ball", ball(0.01, 12));
  ending(new Loop(server, SCENE, tool_id, { at: [0.02, 0.02, 0.03], isRendered: true }));
  const page = await view(server.page, WIDE);
  await until("it is said", () => page.$eval("#invitation", (invitation) => !invitation.hidden));
  const [x, y] = await until("the device is seen", async () => {
    const at = await seen(page, "devicePosition");
    return at && (await project(page, at));
  });
  const { left, top } = await page.$eval("#canvas", (c) => c.getBoundingClientRect().toJSON());
  const cursor = () => page.$eval("#canvas", (c) => getComputedStyle(c).cursor);
  await until("beside it", async () => {
    const [said] = await page.$$eval("#invitation", ([i]) => [i.getBoundingClientRect().toJSON()]);
    return distance([said.left, said.top], [left + x, top + y]) < 2;
  });
  await page.mouse.move(left + 4, top + 4);
  assert.equal(await cursor(), "grab");
  await page.mouse.move(left + x, top + y);
  await until("the pointer is over the device", async () => (await cursor()) === "pointer");
  await page.focus("#canvas");
  await page.keyboard.press("ArrowUp");
  await until("it was moved", () => page.$eval("#invitation", (invitation) => invitation.hidden));
});

test("a scene is chosen, the stream paused, a tissue hidden, a picture saved, the theme changed", async () => {
  const server = await serve();
  const mesh = ball(0.1, 12);
  for (const scene_id of ["anteroom", SCENE]) {
    await server.call("CreateScene", { scene_id });
    await server.addTissue(scene_id, `${scene_id}'s`, mesh);
  }
  const downloads = await mkdtemp(join(tmpdir(), "palpate-viewer-"));
  const page = await view(server.page, { downloads });
  const shows = (words) => until(words, async () => (await text(page, "#tissues")).startsWith(words));
  await shows("anteroom's");
  const watchers = async () => Number(/^palpate_watchers (\d+)/m.exec(await (await fetch(`http://127.0.0.1:${server.http}/metrics`)).text())[1]);
  const paused = () => page.$eval("#pause", (button) => `${button.textContent} ${button.getAttribute("aria-pressed")}`);
  await page.click("#pause");
  await until("it is paused", async () => (await state(page)) === "paused" && (await paused()) === "Resume true");
  await until("nothing is streamed", async () => (await watchers()) === 0);
  // Choosing a scene resumes the view.
  await page.select("#scene", SCENE);
  await shows("theatre's");
  await until("it is not paused any more", async () => (await state(page)) === "live" && (await paused()) === "Pause false");
  for (const shown of [true, false]) {
    await page.keyboard.press("p");
    await until("a key pauses and resumes", async () => (await state(page)) === (shown ? "paused" : "live"));
  }

  const isDrawn = async () => mask(await canvas(page)).drawn.some((drawn) => drawn === 1);
  await until("it is drawn", isDrawn);
  await page.click("#picture");
  const name = await until("a picture is saved", async () => (await readdir(downloads)).find((name) => name.endsWith(".png")));
  assert.match(name, /^palpate-theatre-\d+\.png$/);
  const picture = await until("all of it", async () => {
    try {
      return PNG.sync.read(await readFile(join(downloads, name)));
    } catch {
      return null;
    }
  });
  const { width, height } = await canvas(page);
  assert.deepEqual([picture.width, picture.height], [width, height]);
  assert.ok(mask(picture).drawn.some((drawn) => drawn === 1), "the tissue is in it");

  await page.click("#tissues input");
  await until("it is hidden", async () => !(await isDrawn()));
  await page.click("#tissues input");
  await until("it is back", isDrawn);

  for (const theme of ["light", "dark"]) {
    await page.click("#theme");
    await until(theme, () => page.$eval("html", (html, theme) => html.dataset.theme === theme, theme));
  }
  await rm(downloads, { recursive: true });
});
