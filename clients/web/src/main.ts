// The live view: receives the frames of a scene and draws them.

import { Vector3 } from "three";

import { niceAbove } from "./curve";
import { moveDeviceRequest, readMessage, watchRequest, type Triple } from "./frames";
import { call, CallError } from "./grpc_web";
import { AGE_MAX_S, type TissueColour } from "./materials";
import { Model } from "./model";
import { setOptions } from "./options";
import { element, millimetres, Panel } from "./panel";
import { Picks } from "./picks";
import { Stage } from "./stage";
import { STIFFNESS } from "./surface";
import { Timeline } from "./timeline";

const RATE_HZ = 60;
/** Delays between attempts to connect, seconds. */
const RETRY_S = [0.5, 1, 2, 4];
/** Interval, in milliseconds, at which a held device's position is sent again: a request that is not repeated ends
 * after a second. */
const HOLD_MS = 250;
const NUDGE_M = 1e-3;
/** Angle by which a key orbits the camera, radians, and the factor by which another key changes its distance. */
const AXIS_PX = 20;
const ORBIT_RAD = Math.PI / 36;
const NEARER = 0.9;

type State = "connecting" | "live" | "paused" | "missing" | "lost" | "refused";

const seconds = () => performance.now() / 1000;

class View {
  private model = new Model();
  private readonly stage: Stage;
  private readonly panel: Panel;
  private readonly picks: Picks;
  private readonly hand: Hand;
  private readonly timeline = new Timeline(key);
  private stream = new AbortController();
  private colour: TissueColour = "plain";
  private depthMax = 1e-3;
  private hasWires = false;
  private isPaused = false;
  private chosenScene = "";
  private isDue = false;
  /** Nobody has moved a device yet. */
  private isInvited = true;

  constructor() {
    this.hand = new Hand((tool, position) => moveDeviceRequest(this.model.scene, tool, position));
    this.stage = new Stage(element<HTMLCanvasElement>("canvas"), {
      onDrag: (tool, position) => {
        this.isInvited = false;
        this.hand.move(tool, position);
      },
      onChange: () => this.showSoon(),
    });
    this.panel = new Panel(() => this.show());
    this.picks = new Picks(this.stage, () => this.model, () => this.panel.chosen(this.model));
    this.listen();
    this.applyTheme(localStorage.getItem("theme") ?? preferredTheme());
    void this.follow();
  }

  /** State that tests query in addition to pixels. */
  readonly seen = {
    project: (at: Triple) => this.stage.project(at),
    devicePosition: () => this.panel.chosenTool(this.model)?.device.position,
    deviceLinks: () => this.panel.chosenTool(this.model)?.deviceLinks.map((pose) => pose.position),
    session: () => this.panel.chosen(this.model),
    replay: () => this.model.replay,
    force: () => Math.hypot(...(this.panel.chosenTool(this.model)?.force ?? [])),
    revisions: () => [...this.model.tissues.values()].map((t) => [t.geometryRevision, t.topologyRevision]),
    frames: () => this.model.frames,
    curve: () => this.panel.shownTicks(),
    towards: () => this.stage.towards(),
    drawNow: () => this.stage.drawNow(),
    takeAgain: () => this.retake(),
  };

  /** Repeats the page's work for a frame in which all vertices moved. */
  private retake(): void {
    for (const tissue of this.model.tissues.values()) tissue.surface.touch(seconds());
    this.show();
  }

  /** Connects, and reconnects after each end, until the page is closed. */
  private async follow(): Promise<void> {
    for (let tries = 0; ; ) {
      if (this.isPaused) await this.resumed();
      this.stream = new AbortController();
      const { signal } = this.stream;
      try {
        const request = watchRequest(this.chosenScene, RATE_HZ);
        const model = new Model();
        for await (const bytes of call("Watch", request, key(), signal)) {
          if (!model.take(readMessage(bytes), seconds())) continue;
          if (this.model !== model) this.replace(model);
          tries = 0;
          this.panel.take(model);
          this.frame();
        }
      } catch (error) {
        if (!signal.aborted) this.tellEnd(error);
        if (error instanceof CallError && !error.mayPass && !signal.aborted) {
          await new Promise<void>((again) => signal.addEventListener("abort", () => again(), { once: true }));
        }
      }
      // The user's new choice aborted the stream: connects again at once.
      if (signal.aborted) tries = 0;
      else await wait(RETRY_S[Math.min(tries++, RETRY_S.length - 1)]!, signal);
    }
  }

  private resumed(): Promise<void> {
    return new Promise((resume) => {
      document.addEventListener("palpate-resume", () => resume(), { once: true });
    });
  }

  private replace(model: Model): void {
    for (const tissue of model.tissues.values()) {
      const before = [...this.model.tissues.values()].find((other) => other.name === tissue.name);
      tissue.isShown = before?.isShown ?? true;
    }
    if (this.model.scene !== model.scene) this.panel.clear();
    this.stage.clear();
    if (this.model.scene === model.scene) this.picks.follow(model);
    this.model = model;
  }

  /** Draws the newest frame with the browser's next one: further frames until then are received but not drawn. */
  private frame(): void {
    this.setState("live", this.isReplay ? "Replay" : "Live");
    this.showSoon();
  }

  /** A recording is played: its devices cannot be moved. */
  private get isReplay(): boolean {
    return this.model.replay !== null;
  }

  private showSoon(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.show();
    });
  }

  private show(): void {
    const { model } = this;
    const now = seconds();
    const { colour, depthMax, hasWires } = this;
    this.stage.update(model, this.panel.chosen(model), { colour, depthMax, hasWires }, now);
    this.picks.show();
    if (this.panel.show(model, now)) this.picks.describe();
    this.timeline.show(model.replay, model.marks);
    this.stage.isMovable = !this.isReplay;
    this.showLegend();
    this.showLook();
    const isEmpty = model.scene === "" || model.tissues.size === 0;
    if (model.isQuarantined) {
      this.notice("The scene is quarantined", "Its writer failed several times in a row. It comes back once its index is rebuilt.");
    } else if (isEmpty && this.state === "live") {
      const words = model.scene === "" ? "It appears here as soon as a simulator makes one." : "It has no tissue yet.";
      this.notice(model.scene === "" ? "No scene yet" : `Scene ${model.scene}`, words);
    } else if (this.state === "live") {
      this.notice(null);
    }
    const scenes = model.scenes.map((id) => ({ value: id, text: id }));
    const first = model.scene !== "" && this.chosenScene === "" ? `First scene: ${model.scene}` : "First scene";
    const choice = element<HTMLSelectElement>("scene");
    setOptions(choice, [{ value: "", text: first }, ...scenes]);
    choice.title = model.scene;
    document.title = model.scene === "" ? "Palpate: live view" : `${model.scene} · Palpate`;
    const isHeld = model.sessions.some((session) => session.tools.length > 0);
    element("device-section").hidden = !isHeld || this.isReplay;
    document.documentElement.dataset["frame"] = String(model.frames);
    // At once: the browser shows the picture with the figures beside it.
    this.stage.drawNow();
  }

  private showLegend(): void {
    element("legend").hidden = this.colour === "plain" || this.colour === "normals";
    if (this.colour === "depth") {
      const displacements = [...this.model.tissues.values()].map((tissue) => tissue.surface.displacement);
      this.depthMax = Math.max(this.depthMax, niceAbove(Math.max(1e-3, ...displacements)));
      element("legend-from").textContent = "0";
      element("legend-to").textContent = `${1000 * this.depthMax} mm from first seen`;
    } else if (this.colour === "stiffness") {
      element("legend-from").textContent = `${STIFFNESS.min} N/m`;
      element("legend-to").textContent = `${STIFFNESS.max.toLocaleString("en")} N/m, or rigid`;
    } else {
      element("legend-from").textContent = `still for ${AGE_MAX_S} s`;
      element("legend-to").textContent = "moved now";
    }
  }

  /** Shows what depends on where the camera is. */
  private showLook(): void {
    this.showScale();
    this.showAxes();
    this.showInvitation();
  }

  /** Shows the scene's axes as they lie on the screen, the nearest in front. */
  private showAxes(): void {
    const axes = this.stage.axes().map((axis, at) => ({ axis, name: "xyz"[at]! }));
    axes.sort((a, b) => a.axis[2] - b.axis[2]);
    const drawn = axes.map(({ axis: [x, y], name }) => {
      const [toX, toY] = [AXIS_PX * x, -AXIS_PX * y].map((at) => at.toFixed(1));
      const [textX, textY] = [1.35 * AXIS_PX * x, -1.35 * AXIS_PX * y].map((at) => at.toFixed(1));
      return `<g class="${name}"><line x2="${toX}" y2="${toY}" /><text x="${textX}" y="${textY}">${name}</text></g>`;
    });
    element("axes").innerHTML = drawn.join("");
  }

  /** Says beside the ghost of a device that it can be dragged, until somebody has. */
  private showInvitation(): void {
    const tool = this.panel.chosenTool(this.model);
    const invitation = element("invitation");
    invitation.hidden = !this.isInvited || this.isReplay || this.state !== "live" || tool === undefined || !tool.isRendered;
    if (invitation.hidden) return;
    const [x, y] = this.stage.project(tool!.device.position);
    invitation.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
    invitation.classList.toggle("leftwards", x > 0.6 * element("canvas").clientWidth);
  }

  /** Shows a bar of a round length, about 120 pixels long at the camera's target. */
  private showScale(): void {
    const perPixel = this.stage.metresPerPixel();
    const length = niceAbove(60 * perPixel);
    element("scale-bar").style.width = `${length / perPixel}px`;
    element("scale-text").textContent = length < 0.1 ? `${+(1000 * length).toPrecision(1)} mm` : millimetres(length);
  }

  private state: State = "connecting";

  private setState(state: State, words: string): void {
    this.state = state;
    const shown = element("state");
    if (shown.dataset["state"] === state) return;
    shown.dataset["state"] = state;
    element("state-text").textContent = words;
  }

  private tellEnd(error: unknown): void {
    if (!(error instanceof CallError)) throw error;
    if (error.needsKey) {
      this.setState("refused", "Key needed");
      const isWrong = key() !== "";
      this.notice(isWrong ? "This key is not valid" : "This server asks for a key", "A read-only key is enough to look.", true);
    } else if (error.isNotFound) {
      this.setState("missing", "No such scene");
      this.notice(`Scene ${this.chosenScene} is not there`, "It comes back as soon as a simulator makes it.");
    } else if (!error.mayPass) {
      this.setState("refused", "Refused");
      this.notice("The server refuses", error.message);
    } else {
      this.setState("lost", "Connection lost");
      this.notice("Connection lost", `Trying again: ${error.message || "the server ended the stream"}.`);
    }
  }

  private notice(title: string | null, text = "", asksForKey = false): void {
    element("notice").hidden = title === null;
    element("notice-title").textContent = title;
    element("notice-text").textContent = text;
    const form = element("key-form");
    if (asksForKey && form.hidden) queueMicrotask(() => element("key").focus());
    form.hidden = !asksForKey;
  }

  private setPaused(isPaused: boolean): void {
    this.isPaused = isPaused;
    const button = element("pause");
    button.setAttribute("aria-pressed", String(isPaused));
    button.textContent = isPaused ? "Resume" : "Pause";
    if (isPaused) this.setState("paused", "Paused");
    else this.setState("connecting", "Connecting");
    this.stream.abort();
    document.dispatchEvent(new Event("palpate-resume"));
  }

  private listen(): void {
    element("pause").addEventListener("click", () => this.setPaused(!this.isPaused));
    element("show-help").addEventListener("click", () => element<HTMLDialogElement>("help").showModal());
    element("fit").addEventListener("click", () => this.stage.fit(this.model));
    element("picture").addEventListener("click", () => void this.savePicture());
    element("theme").addEventListener("click", () => {
      const theme = document.documentElement.dataset["theme"] === "light" ? "dark" : "light";
      localStorage.setItem("theme", theme);
      this.applyTheme(theme);
    });
    element<HTMLSelectElement>("scene").addEventListener("change", (event) => {
      this.chosenScene = (event.target as HTMLSelectElement).value;
      this.setPaused(false);
    });
    for (const input of document.querySelectorAll<HTMLInputElement>("input[name=colour]")) {
      input.addEventListener("change", () => {
        this.colour = input.value as TissueColour;
        this.show();
      });
    }
    element<HTMLInputElement>("wires").addEventListener("change", (event) => {
      this.hasWires = (event.target as HTMLInputElement).checked;
      this.show();
    });
    element<HTMLInputElement>("opened").addEventListener("change", (event) => {
      this.stage.open((event.target as HTMLInputElement).checked);
      this.show();
    });
    element("key-form").addEventListener("submit", (event) => {
      event.preventDefault();
      // Session storage: the key must not outlive this tab.
      sessionStorage.setItem("key", element<HTMLInputElement>("key").value.trim());
      this.setPaused(false);
    });
    for (const button of document.querySelectorAll<HTMLButtonElement>("[data-move]")) {
      button.addEventListener("click", () => this.nudge(button.dataset["move"]!));
    }
    document.addEventListener("keydown", (event) => this.shortcut(event));
  }

  private shortcut(event: KeyboardEvent): void {
    const isTyping = event.target instanceof HTMLInputElement && !["radio", "checkbox", "range"].includes(event.target.type);
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?") element<HTMLDialogElement>("help").showModal();
    if (this.timeline.shortcut(event.key)) return;
    if (event.key === "p") this.setPaused(!this.isPaused);
    if (event.key === "f") this.stage.fit(this.model);
    if (event.key === "w") element("wires").click();
    if (event.key === "x") element("opened").click();
    if (event.key === "Escape") this.nudge("release");
    if (event.target !== element("canvas")) return;
    if (this.look(event)) {
      event.preventDefault();
      return;
    }
    const moves: Record<string, string> = {
      ArrowLeft: "left",
      ArrowRight: "right",
      ArrowUp: "up",
      ArrowDown: "down",
      PageUp: "in",
      PageDown: "out",
    };
    const move = moves[event.key];
    if (move === undefined) return;
    event.preventDefault();
    this.nudge(move);
  }

  /** Moves the camera for a key; returns false for any other key. */
  private look({ key, shiftKey }: KeyboardEvent): boolean {
    const orbits: Record<string, [number, number]> = {
      ArrowLeft: [ORBIT_RAD, 0],
      ArrowRight: [-ORBIT_RAD, 0],
      ArrowUp: [0, ORBIT_RAD],
      ArrowDown: [0, -ORBIT_RAD],
    };
    const orbit = shiftKey ? orbits[key] : undefined;
    if (orbit !== undefined) this.stage.orbit(...orbit);
    // "=" is the key of "+" without Shift.
    else if (key === "+" || key === "=") this.stage.zoom(NEARER);
    else if (key === "-") this.stage.zoom(1 / NEARER);
    else return false;
    return true;
  }

  /** Moves the device along the axes of the screen. */
  private nudge(move: string): void {
    const tool = this.panel.chosenTool(this.model);
    if (tool === undefined || this.isReplay) return;
    this.isInvited = false;
    if (move === "release") {
      this.hand.move(tool.tool, null);
      return;
    }
    const axes: Record<string, Triple> = {
      left: [-1, 0, 0],
      right: [1, 0, 0],
      up: [0, 1, 0],
      down: [0, -1, 0],
      in: [0, 0, -1],
      out: [0, 0, 1],
    };
    const step = new Vector3(...axes[move]!).applyQuaternion(this.stage.camera.quaternion);
    const from = new Vector3(...(this.hand.held(tool.tool) ?? tool.device.position));
    this.hand.move(tool.tool, from.addScaledVector(step, NUDGE_M).toArray(), true);
  }

  private async savePicture(): Promise<void> {
    const blob = await this.stage.picture();
    if (blob === null) return;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `palpate-${this.model.scene || "scene"}-${this.model.frames}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  private applyTheme(theme: string): void {
    const root = document.documentElement;
    root.dataset["theme"] = theme;
    element("theme").textContent = theme === "light" ? "Dark" : "Light";
    const style = getComputedStyle(root);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    this.stage.theme = { force: colour("--force"), ghost: colour("--ghost"), contact: colour("--contact"), ink: colour("--ink") };
    this.panel.redraw();
  }
}

/** Holds a device for the page: one call in flight at a time, always with the newest position. */
class Hand {
  private wanted: { tool: number; position: Triple | null } | null = null;
  private isSending = false;
  private holding: { tool: number; position: Triple; timer: number } | null = null;

  constructor(private readonly request: (tool: number, position: Triple | null) => Uint8Array) {}

  held(tool: number): Triple | null {
    return this.holding?.tool === tool ? this.holding.position : null;
  }

  /** `position` null: releases the device. `isKept`: the device stays held at this position. */
  move(tool: number, position: Triple | null, isKept = position !== null): void {
    if (this.holding !== null) clearInterval(this.holding.timer);
    this.holding = null;
    if (position !== null && isKept) {
      const timer = window.setInterval(() => this.say(tool, position), HOLD_MS);
      this.holding = { tool, position, timer };
    }
    this.say(tool, position);
  }

  private say(tool: number, position: Triple | null): void {
    this.wanted = { tool, position };
    if (!this.isSending) void this.send();
  }

  private async send(): Promise<void> {
    this.isSending = true;
    while (this.wanted !== null) {
      const { tool, position } = this.wanted;
      this.wanted = null;
      let words = "";
      try {
        const signal = AbortSignal.timeout(2000);
        for await (const _ of call("MoveDevice", this.request(tool, position), key(), signal));
      } catch (error) {
        words = error instanceof CallError ? error.message : "the server does not answer";
      }
      element("device-note").textContent = words;
    }
    this.isSending = false;
  }
}

function key(): string {
  return sessionStorage.getItem("key") ?? "";
}

function preferredTheme(): string {
  return window.matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark";
}

function wait(forSeconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, 1000 * forSeconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), done()), { once: true });
  });
}

(globalThis as unknown as { palpate: View["seen"] }).palpate = new View().seen;
