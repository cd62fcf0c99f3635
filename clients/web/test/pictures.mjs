// Writes the documents' pictures, drawn by the page itself, if PALPATE_PICTURES=write.
import { mkdir } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { canvas, until } from "./browser.mjs";
import { WIDE, demo } from "./harness.mjs";

/** State of rendering. */
const TOUCHING = 2;
const skip = process.env.PALPATE_PICTURES !== "write";

test("pictures of the documents", { skip }, async () => {
  const page = await demo(WIDE);
  // Without a graphics card the drawing takes the cores from the server: for ten seconds, those of the curve, the page
  // draws seldom.
  await page.evaluate(() => {
    const next = window.requestAnimationFrame.bind(window);
    globalThis.wait_ms = 5000;
    window.requestAnimationFrame = (draw) => window.setTimeout(() => next(draw), globalThis.wait_ms);
  });
  await new Promise((soon) => setTimeout(soon, 16_000));
  await until("it is paused while it presses", () =>
    page.evaluate((touching) => {
      const [tool] = globalThis.palpate.session().tools;
      if (Math.hypot(...tool.force) < 2 || tool.state !== touching) return false;
      document.querySelector("#pause").click();
      globalThis.wait_ms = 0;
      return true;
    }, TOUCHING),
  );
  // A drawing that was put off comes first.
  await new Promise((soon) => setTimeout(soon, 6_000));

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
});
