// Writes the documents' pictures, drawn by the page itself, if PALPATE_PICTURES=write.
import { mkdir } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { canvas, until } from "./browser.mjs";
import { WIDE, demo, frames, project, seen, takeHold } from "./harness.mjs";

const skip = process.env.PALPATE_PICTURES !== "write";

test("pictures of the documents", { skip }, async () => {
  const page = await demo(WIDE);
  const [width, height] = await page.$eval("#canvas", ({ clientWidth, clientHeight }) => [clientWidth, clientHeight]);
  await until("it is pressed in left of the middle", async () => {
    const [x] = await project(page, await seen(page, "devicePosition"));
    return x > 0.3 * width && x < 0.5 * width && (await seen(page, "force")) > 1;
  });
  const [x, y] = await takeHold(page);
  const top = await page.$eval("#canvas", (canvas) => canvas.getBoundingClientRect().top);
  const [toX, toY] = [0.4 * width, top + 0.5 * height];
  for (let i = 1; i <= 30; i++) {
    await page.mouse.move(x + (i / 30) * (toX - x), y + (i / 30) * (toY - y));
    await frames(page, 2);
  }
  await until("it is pressed in", async () => (await seen(page, "force")) > 2);

  const folder = fileURLToPath(new URL("../docs/", import.meta.url));
  await mkdir(folder, { recursive: true });
  const picture = async (name, part) => {
    await canvas(page);
    await (await page.$(part)).screenshot({ path: `${folder}${name}.png` });
  };
  await picture("live-view", "body");
  await page.$eval("input[value=depth]", (input) => input.click());
  await until("the legend is shown", () => page.$eval("#legend", (legend) => !legend.hidden));
  await picture("displacement", "#stage");
  await page.mouse.up();
});
