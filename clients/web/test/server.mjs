// A real server and a gRPC client that acts as a simulator.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const root = fileURLToPath(new URL("../../../", import.meta.url));
export const program = process.env.PALPATE_SERVER_BIN ?? `${root}target/release/palpate`;
export const dist = fileURLToPath(new URL("../dist", import.meta.url));

const files = ["scene", "haptic"].map((name) => `palpate/v1/${name}.proto`);
const { palpate } = grpc.loadPackageDefinition(
  loadSync(files, { includeDirs: [`${root}proto`], keepCase: true, longs: Number, defaults: true }),
);

export async function freePort() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}

/** Waits until the server has read its scenes and serves. */
async function ready(port) {
  for (;;) {
    const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => null);
    if (answer?.ok) return;
    await new Promise((soon) => setTimeout(soon, 20));
  }
}

/** A child process that ends with the test. */
export class Child {
  constructor(args) {
    this.process = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, RUST_LOG: "off" } });
  }

  async firstLine() {
    for await (const line of createInterface({ input: this.process.stdout })) return line;
    throw new Error("it said nothing");
  }

  async end(signal = "SIGTERM") {
    if (this.process.exitCode !== null) return;
    this.process.kill(signal);
    await once(this.process, "exit");
  }
}

export class Server {
  static async start({ listen = 0, http, more = [] } = {}) {
    const server = new Server();
    server.http = http ?? (await freePort());
    server.data = await mkdtemp(join(tmpdir(), "palpate-viewer-data-"));
    const args = ["serve", "--data-dir", server.data, "--listen", `127.0.0.1:${listen}`, "--metrics", `127.0.0.1:${server.http}`, "--viewer", dist, ...more];
    server.child = new Child(args);
    server.address = (await server.child.firstLine()).replace("listening on ", "");
    await ready(server.http);
    server.page = `http://127.0.0.1:${server.http}/view/`;
    const client = (Service) => new Service(server.address, grpc.credentials.createInsecure());
    server.scenes = client(palpate.v1.SceneService);
    server.haptics = client(palpate.v1.HapticService);
    return server;
  }

  call(method, request) {
    return new Promise((done, failed) => {
      this.scenes[method](request, (error, answer) => (error ? failed(error) : done(answer)));
    });
  }

  upload(method, messages) {
    return new Promise((done, failed) => {
      const stream = this.scenes[method]((error, answer) => (error ? failed(error) : done(answer)));
      for (const message of messages) stream.write(message);
      stream.end();
    });
  }

  async addTissue(scene_id, name, mesh) {
    const header = { scene_id, name, mesh: meshHeader(mesh) };
    const { tissue_id } = await this.upload("AddTissue", [{ header }, ...chunks(mesh)]);
    return tissue_id;
  }

  async addTool(scene_id, name, mesh, probes = []) {
    const header = { scene_id, name, links: [{ name, mesh: meshHeader(mesh) }], probes };
    const { tool_id } = await this.upload("AddTool", [{ header }, ...chunks(mesh)]);
    return tool_id;
  }

  deformations() {
    return new Exchange(this.scenes.Deform());
  }

  track() {
    return new Exchange(this.haptics.Track());
  }

  /** Returns positions, and the three vertices of each existing triangle. */
  exported(scene_id, tissue_id) {
    return new Promise((done, failed) => {
      const [positions, triangles] = [[], []];
      const stream = this.scenes.ExportTissue({ scene_id, tissue_id });
      stream.on("data", ({ chunk }) => {
        if (!chunk) return;
        positions.push(...chunk.positions_m);
        triangles.push(...chunk.triangles);
      });
      stream.on("end", () => done({ positions, triangles }));
      stream.on("error", failed);
    });
  }

  async end() {
    this.scenes.close();
    this.haptics.close();
    await this.child.end();
    await rm(this.data, { recursive: true, force: true });
  }
}

/** A haptic loop of one tool. It ticks until it is ended, because the page shows a loop without ticks as resting, and
 * moves to its target in steps of a hand. */
export class Loop {
  constructor(server, scene_id, tool_id, { at, isRendered }) {
    [this.tool_id, this.at, this.to, this.isOver] = [tool_id, at, at, false];
    this.track = server.track();
    /** Magnitudes of the force of all answers, newtons. */
    this.forces = [];
    const render = isRendered ? [{ tool_id }] : [];
    this.track.tell({ start: { scene_id, tool_ids: [tool_id], mode: "TRACK_MODE_EVERY", render } });
    this.ticks = this.run();
  }

  goTo(to) {
    this.to = to;
  }

  async run() {
    const STEP_M = 5e-5;
    for (let sequence = 1; !this.isOver; sequence++) {
      const left = Math.hypot(...this.at.map((x, k) => this.to[k] - x));
      const share = Math.min(1, STEP_M / (left || 1));
      this.at = this.at.map((x, k) => x + share * (this.to[k] - x));
      const [x, y, z] = this.at;
      const pose = { position_m: { x, y, z }, orientation: { w: 1 } };
      this.answer = await this.track.ask({ tick: { sequence, tools: [{ tool_id: this.tool_id, pose }] } });
      for (const { force_n } of this.answer.renderings) this.forces.push(Math.hypot(force_n.x, force_n.y, force_n.z));
      await new Promise((soon) => setTimeout(soon, 2));
    }
  }

  async end() {
    this.isOver = true;
    await this.ticks;
    this.track.end();
  }
}

/** A stream with an answer to each request. */
class Exchange {
  constructor(stream) {
    this.stream = stream;
    this.waiting = [];
    stream.on("data", (answer) => this.waiting.shift()?.done(answer));
    stream.on("error", (error) => this.waiting.shift()?.failed(error));
  }

  ask(request) {
    return new Promise((done, failed) => {
      this.waiting.push({ done, failed });
      this.stream.write(request);
    });
  }

  tell(request) {
    this.stream.write(request);
  }

  end() {
    this.stream.on("error", () => undefined);
    this.stream.cancel();
  }
}

function meshHeader({ positions, triangles }) {
  return { raw: { vertices: positions.length / 3, triangles: triangles.length / 3 } };
}

function* chunks({ positions, triangles }) {
  const PIECE = 60_000;
  for (let i = 0; i < positions.length; i += PIECE) yield { chunk: { positions: positions.slice(i, i + PIECE) } };
  for (let i = 0; i < triangles.length; i += PIECE) yield { chunk: { triangles: triangles.slice(i, i + PIECE) } };
}
