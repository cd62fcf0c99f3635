// The bar of a recording that the server plays: its time with the marked ticks, and the controls of its playback.

import { controlReplayRequest, MARKS, type Replay, type ReplayChange, type ReplayMarks } from "./frames";
import { call, CallError } from "./grpc_web";
import { setOptions } from "./options";
import { element } from "./panel";

/** Recorded seconds in one second that can be chosen. */
const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];
/** Seeks that take longer are reported, milliseconds. */
const SEEK_MS = 300;
/** Length of the bar, and lanes of the marks across it, in units of their drawing. */
const LENGTH = 1000;
const LANES = { late: [7, 10], refused: [3.5, 6.5], differs: [0, 3] };

export class Timeline {
  private readonly position = element<HTMLInputElement>("position");
  private readonly speed = element<HTMLSelectElement>("speed");
  private readonly repeat = element<HTMLInputElement>("repeat");
  private replay: Replay | null = null;
  private marks: ReplayMarks | null = null;
  private isDragged = false;
  private isSending = false;
  private readonly waiting: ReplayChange[] = [];
  private soughtSince = 0;

  constructor(private readonly key: () => string) {
    const { position, speed, repeat } = this;
    position.addEventListener("input", () => this.seek(Number(position.value)));
    for (const event of ["pointerdown", "pointerup", "pointercancel"]) {
      position.addEventListener(event, () => (this.isDragged = event === "pointerdown"));
    }
    position.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      this.change({ step });
    });
    speed.addEventListener("change", () => this.change({ speed: Number(speed.value) }));
    repeat.addEventListener("change", () => this.change({ repeats: repeat.checked }));
    element("play").addEventListener("click", () => this.playOrPause());
    for (const button of document.querySelectorAll<HTMLButtonElement>("[data-step], [data-jump]")) {
      const [step, jump] = [button.dataset["step"], button.dataset["jump"]];
      const change = step === undefined ? { jump: Number(jump) } : { step: Number(step) };
      button.addEventListener("click", () => this.change(change));
    }
  }

  /** Shows the recording of the newest frame; null: the server plays none. */
  show(replay: Replay | null, marks: ReplayMarks | null): void {
    this.replay = replay;
    element("timeline").hidden = replay === null;
    document.documentElement.classList.toggle("replay", replay !== null);
    if (replay === null) return;
    const { position, speed, repeat } = this;
    const { positionS, durationS, isPlaying, isSeeking } = replay;
    position.max = String(durationS);
    const isOwn = this.isDragged || this.isSending;
    if (!isOwn) position.value = String(positionS);
    const shown = isOwn ? Number(position.value) : positionS;
    position.style.setProperty("--played", `${durationS === 0 ? 0 : (100 * shown) / durationS}%`);
    const time = `${clock(shown)} / ${clock(durationS)}`;
    element("replay-time").textContent = time;
    position.setAttribute("aria-valuetext", time);
    const play = element("play");
    play.setAttribute("aria-label", isPlaying ? "Pause" : "Play");
    play.title = isPlaying ? "Pause (p)" : "Play (p)";
    play.classList.toggle("playing", isPlaying);
    const speeds = [...new Set([...SPEEDS, replay.speed])].sort((a, b) => a - b);
    setOptions(speed, speeds.map((times) => ({ value: String(times), text: `${times}×` })));
    if (!isOwn) {
      speed.value = String(replay.speed);
      repeat.checked = replay.repeats;
    }
    if (!isSeeking) this.soughtSince = performance.now();
    const isSlow = performance.now() - this.soughtSince > SEEK_MS;
    const at = `tick ${replay.tick.toLocaleString("en")} of ${replay.ticks.toLocaleString("en")}`;
    element("replay-tick").textContent = isSlow ? `at ${clock(replay.playedS)}` : at;
    const words = isSlow ? "seeking" : ((isPlaying ? undefined : MARKS[replay.mark]) ?? "");
    const state = element("replay-state");
    if (state.textContent !== words) state.textContent = words;
    state.className = words;
    if (marks !== this.marks) this.showMarks(marks, durationS);
  }

  /** Acts on a key of the page; returns false if the key is another. */
  shortcut(key: string): boolean {
    if (this.replay === null) return false;
    const changes: Record<string, ReplayChange> = {
      ",": { step: -1 },
      ".": { step: 1 },
      n: { jump: 1 },
      N: { jump: -1 },
      l: { repeats: !this.replay.repeats },
    };
    if (key === "p") this.playOrPause();
    else if (changes[key] !== undefined) this.change(changes[key]);
    else return false;
    return true;
  }

  private playOrPause(): void {
    if (this.replay !== null) this.change({ isPlaying: !this.replay.isPlaying });
  }

  private seek(seconds: number): void {
    // Of all positions that the pointer passes, the newest counts.
    const last = this.waiting.at(-1);
    if (last?.seekS !== undefined) this.waiting.pop();
    this.change({ seekS: Math.min(seconds, this.replay?.durationS ?? 0) });
  }

  private change(change: ReplayChange): void {
    this.waiting.push(change);
    if (!this.isSending) void this.send();
  }

  /** Sends all changes, one call after another. */
  private async send(): Promise<void> {
    this.isSending = true;
    let words = "";
    for (let change = this.waiting.shift(); change !== undefined; change = this.waiting.shift()) {
      try {
        const signal = AbortSignal.timeout(5000);
        for await (const _ of call("ControlReplay", controlReplayRequest(change), this.key(), signal));
      } catch (error) {
        words = error instanceof CallError ? error.message : "the server does not answer";
      }
    }
    element("replay-note").textContent = words;
    this.isSending = false;
  }

  /** Draws the marks of each kind in a lane of its own, and their numbers. */
  private showMarks(marks: ReplayMarks | null, durationS: number): void {
    this.marks = marks;
    const numbers = { late: marks?.late ?? 0, refused: marks?.refused ?? 0, differs: marks?.differing ?? 0 };
    for (const name of Object.values(MARKS)) {
      const [top, bottom] = LANES[name];
      const at = [...(marks?.atS ?? [])].filter((_, i) => MARKS[marks!.marks[i]!] === name);
      const lines = at.map((s) => `M${((LENGTH * s) / (durationS || 1)).toFixed(2)} ${top}V${bottom}`);
      document.querySelector(`#marks .${name}`)!.setAttribute("d", lines.join(""));
      document.querySelector(`#mark-counts .${name} b`)!.textContent = numbers[name].toLocaleString("en");
    }
  }
}

function clock(seconds: number): string {
  const ms = Math.round(1000 * seconds);
  const rest = ((ms % 60_000) / 1000).toFixed(3).padStart(6, "0");
  return `${Math.floor(ms / 60_000)}:${rest}`;
}
