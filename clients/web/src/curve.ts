// Curve of a force with its controls: each tick of the last ten seconds over time, or over the distance that the device
// was pressed in.

import { setOptions } from "./options";

/** Times that can be shown, seconds, the longest first. All samples of the longest are kept. */
const SPANS_S = [10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05];
/** Maximum samples that are kept. */
const SAMPLES_MAX = 16_384;
/** Samples farther apart than this are not joined by a line, seconds. */
const GAP_S = 0.05;
/** Way of the wheel that changes the shown time by one step, pixels. */
const WHEEL_STEP = 60;
const [LEFT, TOP, BOTTOM] = [30, 6, 15];

/** A tick. */
export interface Sample {
  /** Time of the answer, by the server's clock. */
  seconds: number;
  newtons: number;
  /** Metres that the device has gone against the force since the tool was free. */
  pressed: number;
  latencyUs: number;
  /** Later than its deadline, or than the objective. */
  isLate: boolean;
}

export interface CurveControls {
  canvas: HTMLCanvasElement;
  /** Chooses the time that is shown. */
  span: HTMLSelectElement;
  /** Holds the curve. */
  hold: HTMLButtonElement;
  /** Draws over depth. */
  overDepth: HTMLInputElement;
  /** Describes the tick that is read, or counts late ticks. */
  reading: HTMLElement;
}

export class Curve {
  /** Oldest first. */
  private samples: Sample[] = [];
  /** Loop and tool that the samples belong to. */
  private source = "";
  /** Samples on display while the curve is held; null: the newest are shown. */
  private held: Sample[] | null = null;
  /** Time of the newest frame. */
  private now = 0;
  /** Time at which the curve was held. */
  private heldAt = 0;
  /** Time at the right edge while the curve is held. */
  private end = 0;
  /** Position of the pointer in the canvas, pixels. */
  private pointer: [number, number] | null = null;
  /** The tick that the arrow keys read. */
  private read: Sample | null = null;
  private wheel = 0;
  private isDue = false;

  constructor(private readonly controls: CurveControls) {
    const { canvas, span, hold, overDepth } = controls;
    setOptions(span, SPANS_S.map((s) => ({ value: String(s), text: duration(s) })));
    span.addEventListener("change", () => this.zoom(Number(span.value), this.span));
    hold.addEventListener("click", () => this.hold(this.held === null));
    overDepth.addEventListener("change", () => this.draw());
    canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => this.point([offsetX, offsetY]));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("blur", () => this.point(null));
    canvas.addEventListener("wheel", (event) => this.turn(event));
    canvas.addEventListener("keydown", (event) => this.step(event));
  }

  /** Adds samples of a loop and tool, oldest first, received with a frame of time `now`. Samples that the curve has
   * already are skipped. */
  add(source: string, samples: Sample[], now: number): void {
    // Another tool, or a server that has started again.
    if (source !== this.source || now < this.now) this.clear();
    [this.source, this.now] = [source, now];
    const last = this.samples.at(-1)?.seconds ?? -Infinity;
    this.samples.push(...samples.filter((sample) => sample.seconds > last));
    const old = Math.max(first(this.samples, now - SPANS_S[0]!), this.samples.length - SAMPLES_MAX);
    // Seldom, because it moves all others.
    if (old > 1000 || old === this.samples.length) this.samples.splice(0, old);
  }

  private clear(): void {
    this.samples = [];
    this.hold(false);
  }

  /** Returns the samples on display, oldest first. */
  shown(): Sample[] {
    const all = this.held ?? this.samples;
    const end = this.held === null ? this.now : this.end;
    return all.slice(first(all, end - this.span), first(all, end + 1e-9));
  }

  draw(): void {
    const { canvas, overDepth, reading } = this.controls;
    const scale = window.devicePixelRatio;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d")!;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const style = getComputedStyle(canvas);
    const colour = (name: string) => style.getPropertyValue(name);
    const samples = this.shown();
    const peak = samples.reduce((greatest, sample) => Math.max(greatest, sample.newtons), 0);
    const deepest = samples.reduce((greatest, sample) => Math.max(greatest, sample.pressed), 0);
    const [top, right] = [niceAbove(Math.max(1, peak)), niceAbove(Math.max(1e-3, deepest))];
    const start = (this.held === null ? this.now : this.end) - this.span;
    const share = (sample: Sample) =>
      overDepth.checked ? Math.max(0, sample.pressed) / right : (sample.seconds - start) / this.span;
    const x = (sample: Sample) => LEFT + share(sample) * (width - LEFT);
    const bottom = height - BOTTOM;
    const y = (newtons: number) => bottom - (newtons / top) * (bottom - TOP);

    context.font = `11px ${style.fontFamily}`;
    context.fillStyle = colour("--dim");
    context.strokeStyle = colour("--line");
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const newtons of [0, top / 2, top]) {
      context.beginPath();
      context.moveTo(LEFT, Math.round(y(newtons)) + 0.5);
      context.lineTo(width, Math.round(y(newtons)) + 0.5);
      context.stroke();
      context.fillText(newtons === top ? `${top} N` : String(newtons), LEFT - 5, y(newtons));
    }
    context.textBaseline = "alphabetic";
    const ends = overDepth.checked ? ["0", `${+(1000 * right).toPrecision(3)} mm pressed in`] : this.timeEnds();
    context.fillText(ends[1]!, width, height - 2);
    context.textAlign = "left";
    context.fillText(ends[0]!, LEFT, height - 2);

    // Late ticks are marked along the axis of time.
    context.fillStyle = colour("--bad");
    for (const sample of overDepth.checked ? [] : samples) {
      if (sample.isLate) context.fillRect(x(sample) - 0.5, bottom - 4, 1, 4);
    }
    context.beginPath();
    let before: Sample | undefined;
    for (const sample of samples) {
      if (before === undefined || sample.seconds - before.seconds > GAP_S) context.moveTo(x(sample), y(sample.newtons));
      else context.lineTo(x(sample), y(sample.newtons));
      before = sample;
    }
    context.strokeStyle = colour("--force");
    context.lineWidth = overDepth.checked ? 1 : 1.5;
    context.lineJoin = "round";
    context.stroke();

    const read = this.read ?? this.pointed(samples, x, (sample) => y(sample.newtons));
    reading.textContent = read === null ? lateSummary(samples) : this.describe(read);
    const label = read === null ? `at most ${peak.toFixed(1)} newtons` : this.describe(read);
    canvas.setAttribute("aria-label", `Force: ${label}. Left and right read its ticks.`);
    if (read === null) return;
    context.beginPath();
    context.arc(x(read), y(read.newtons), 3.5, 0, 2 * Math.PI);
    context.fillStyle = colour("--ink");
    context.fill();
  }

  private get span(): number {
    return Number(this.controls.span.value);
  }

  private timeEnds(): [string, string] {
    if (this.held === null) return [`${duration(this.span)} ago`, "now"];
    const toHold = this.heldAt - this.end;
    return [`${duration(toHold + this.span)} before hold`, toHold < 1e-6 ? "hold" : `${duration(toHold)} before hold`];
  }

  private describe({ seconds, newtons, pressed, latencyUs, isLate }: Sample): string {
    const when = this.held === null ? `${duration(this.now - seconds)} ago` : `${duration(this.heldAt - seconds)} before hold`;
    const late = isLate ? ` · late, ${(latencyUs / 1000).toFixed(1)} ms` : "";
    return `${when} · ${newtons.toFixed(2)} N · ${(1000 * pressed).toFixed(1)} mm${late}`;
  }

  /** Returns the sample nearest to the pointer. */
  private pointed(samples: Sample[], x: (sample: Sample) => number, y: (sample: Sample) => number): Sample | null {
    if (this.pointer === null) return null;
    const [atX, atY] = this.pointer;
    const isOverDepth = this.controls.overDepth.checked;
    let [nearest, least] = [null as Sample | null, Infinity];
    for (const sample of samples) {
      const away = isOverDepth ? Math.hypot(x(sample) - atX, y(sample) - atY) : Math.abs(x(sample) - atX);
      if (away < least) [nearest, least] = [sample, away];
    }
    return nearest;
  }

  /** Keeps what is shown, to be looked at, or shows the newest samples again. Samples are added all the same. */
  private hold(isHeld: boolean): void {
    this.held = isHeld ? [...this.samples] : null;
    this.heldAt = this.end = this.now;
    this.read = null;
    this.controls.hold.setAttribute("aria-pressed", String(isHeld));
    this.drawSoon();
  }

  private turn(event: WheelEvent): void {
    if (event.deltaY === 0 || event.ctrlKey) return;
    const step = event.deltaY < 0 ? 1 : -1;
    const before = this.span;
    const to = SPANS_S[SPANS_S.indexOf(before) + step];
    // At either end the wheel scrolls the page.
    if (to === undefined) return;
    event.preventDefault();
    this.wheel = Math.sign(this.wheel) === Math.sign(event.deltaY) ? this.wheel + event.deltaY : event.deltaY;
    if (Math.abs(this.wheel) < WHEEL_STEP) return;
    this.wheel = 0;
    this.controls.span.value = String(to);
    this.zoom(to, before, event.offsetX);
  }

  /** Shows `span` instead of `before` seconds. While the curve is held, the time at `x` stays where it is. */
  private zoom(span: number, before: number, x = this.controls.canvas.clientWidth): void {
    if (this.held !== null && !this.controls.overDepth.checked) {
      const rest = 1 - (x - LEFT) / (this.controls.canvas.clientWidth - LEFT);
      const oldest = this.heldAt - SPANS_S[0]!;
      this.end = Math.min(this.heldAt, Math.max(oldest + span, this.end + (span - before) * rest));
    }
    this.drawSoon();
  }

  private point(pointer: [number, number] | null): void {
    [this.pointer, this.read] = [pointer, null];
    this.drawSoon();
  }

  /** Reads the next tick for an arrow key, and holds the curve for that. */
  private step(event: KeyboardEvent): void {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    if (this.held === null) this.hold(true);
    const samples = this.shown();
    const at = this.read === null ? samples.length : samples.indexOf(this.read) + by;
    this.read = samples[Math.min(samples.length - 1, Math.max(0, at))] ?? null;
    this.drawSoon();
  }

  /** Draws with the browser's next frame, once for any number of calls. */
  private drawSoon(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.draw();
    });
  }
}

/** Returns the index of the first sample that is not before `seconds`. */
function first(samples: Sample[], seconds: number): number {
  let [from, to] = [0, samples.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (samples[middle]!.seconds < seconds) from = middle + 1;
    else to = middle;
  }
  return from;
}

function lateSummary(samples: Sample[]): string {
  const late = samples.filter((sample) => sample.isLate).length;
  return samples.length === 0 ? "no rendered ticks" : `${late.toLocaleString("en")} of ${samples.length.toLocaleString("en")} ticks late`;
}

function duration(seconds: number): string {
  return seconds < 0.9995 ? `${Math.round(1000 * seconds)} ms` : `${+seconds.toPrecision(3)} s`;
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
export function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value * 0.999)!;
}
