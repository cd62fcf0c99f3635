// Tests of connections to a server that restarts, or that requires a key.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { assertAccessible, state, text, until } from "./browser.mjs";
import { SCENE, live, revisions, serve, view } from "./harness.mjs";
import { ball } from "./meshes.mjs";
import { freePort } from "./server.mjs";

/** Console message if a test stops its server. */
const GONE = /net::ERR_/;

test("a server that is restarted is found again", async () => {
  const http = await freePort();
  const server = await serve({ http });
  const page = await view(server.page, { forgiven: GONE });
  await live(page);
  await server.end();
  await until("it says so", async () => (await state(page)) === "lost");
  await until("it says that it tries again", async () => /Trying again/.test(await text(page, "#notice-text")));
  const next = await serve({ http });
  await live(page);
  await next.call("CreateScene", { scene_id: SCENE });
  await next.addTissue(SCENE, "ball", ball(0.1, 12));
  await revisions(page, 0, 0);
});

test("a scene that was chosen is waited for while it is not there", async () => {
  const http = await freePort();
  const make = async (server, scene_id) => {
    await server.call("CreateScene", { scene_id });
    await server.addTissue(scene_id, `${scene_id}'s`, ball(0.1, 12));
  };
  const server = await serve({ http });
  await make(server, "anteroom");
  await make(server, SCENE);
  const page = await view(server.page, { forgiven: GONE });
  const shows = (words) => until(words, async () => (await text(page, "#tissues")).startsWith(words));
  await shows("anteroom's");
  await page.select("#scene", SCENE);
  await shows("theatre's");

  await server.end();
  await until("the server is gone", async () => (await state(page)) === "lost");
  const next = await serve({ http });
  const missing = () => until("it is missing", async () => (await text(page, "#notice-title")) === "Scene theatre is not there");
  await missing();
  await make(next, "anteroom");
  await make(next, SCENE);
  await live(page);
  await shows("theatre's");
  await until("the notice is gone", async () => page.$eval("#notice", (notice) => notice.hidden));

  await next.call("DeleteScene", { scene_id: SCENE });
  await missing();
  await page.select("#scene", "");
  await shows("anteroom's");
});

test("a wrong key is told, and a good one is let in", async () => {
  const folder = await mkdtemp(join(tmpdir(), "palpate-viewer-"));
  const keys = join(folder, "keys.toml");
  await writeFile(keys, '[[key]]\nname = "wall"\nrole = "read-only"\nsecret = "wall-0123456789ab"\n');
  const server = await serve({ more: ["--set", `access.keys_file=${keys}`] });
  await rm(folder, { recursive: true });
  const page = await view(server.page);
  await until("a key is asked for", async () => (await text(page, "#notice-title")) === "This server asks for a key");
  await assertAccessible(page);
  await page.type("#key", "wall-wrong-456789");
  await page.keyboard.press("Enter");
  await until("it is told", async () => (await text(page, "#notice-title")) === "This key is not valid");
  await page.$eval("#key", (input) => (input.value = ""));
  await page.type("#key", "wall-0123456789ab");
  await page.keyboard.press("Enter");
  await live(page);
});
