// Curve of a force with its controls: each tick of the last ten seconds over time, or over the distance that the device
// was pressed in.

import { setOptions } from "./options";

/** Times that can be shown, seconds, the longest first. All samples of the longest are kept. */
const SPANS_S = [10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05];
/** Ticks farther apart than this are not joined by a line, seconds. */
const GAP_S = 0.05;
const [LEFT, TOP, BOTTOM] = [24, 6, 15];

export interface Sample {
  /** Time of the answer, by the clock of the page. */
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
  /** Says what the pointer points at, or how many ticks were late. */
  reading: HTMLElement;
}

export class Curve {
  /** Oldest first; those before `first` are older than the kept time. */
  private samples: Sample[] = [];
  private first = 0;
  /** Samples on display while the curve is held; null: the newest are shown. */
  private held: Sample[] | null = null;
  private span = SPANS_S[0]!;
  private now = 0;
  /** Time at which the curve was held, and that at its right edge meanwhile. */
  private heldAt = 0;
  private end = 0;
  private isOverDepth = false;
  /** Position of the pointer in the canvas, pixels. */
  private pointer: [number, number] | null = null;

  private readonly canvas: HTMLCanvasElement;

  constructor(private readonly controls: CurveControls) {
    const { canvas, span, hold, overDepth } = controls;
    this.canvas = canvas;
    setOptions(span, SPANS_S.map((s) => ({ value: String(s), text: duration(s) })));
    span.addEventListener("change", () => this.zoom(Number(span.value)));
    hold.addEventListener("click", () => this.hold(this.held === null));
    overDepth.addEventListener("change", () => {
      this.isOverDepth = overDepth.checked;
      this.draw();
    });
    canvas.addEventListener("pointermove", ({ offsetX, offsetY }) => this.point([offsetX, offsetY]));
    canvas.addEventListener("pointerleave", () => this.point(null));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const to = SPANS_S.indexOf(this.span) + (event.deltaY < 0 ? 1 : -1);
      this.zoom(SPANS_S[to] ?? this.span, event.offsetX);
    });
  }

  /** Adds samples, oldest first, received at `now`. After a new connection some of them are there already. */
  add(samples: Sample[], now: number): void {
    const last = this.samples.at(-1)?.seconds ?? -Infinity;
    this.samples.push(...samples.filter((sample) => sample.seconds > last));
    this.now = now;
    while (this.first < this.samples.length && this.samples[this.first]!.seconds < now - SPANS_S[0]!) this.first++;
    if (2 * this.first > this.samples.length) {
      this.samples = this.samples.slice(this.first);
      this.first = 0;
    }
  }

  clear(): void {
    [this.samples, this.first] = [[], 0];
    this.hold(false);
  }

  /** Greatest force of the samples on display, newtons. */
  peak(): number {
    return this.shown().reduce((peak, sample) => Math.max(peak, sample.newtons), 0);
  }

  /** Samples on display, oldest first. */
  shown(): Sample[] {
    const all = this.held ?? this.samples;
    const end = this.rightEdge();
    let from = this.held === null ? this.first : 0;
    while (from < all.length && all[from]!.seconds < end - this.span) from++;
    let to = all.length;
    while (to > from && all[to - 1]!.seconds > end) to--;
    return all.slice(from, to);
  }

  draw(): void {
    const { canvas } = this;
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
    const end = this.rightEdge();
    const share = (sample: Sample) =>
      this.isOverDepth ? Math.max(0, sample.pressed) / right : (sample.seconds - end + this.span) / this.span;
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
      context.fillText(String(newtons), LEFT - 6, y(newtons));
    }
    context.textBaseline = "alphabetic";
    const ends = this.isOverDepth ? ["0", `${+(1000 * right).toPrecision(3)} mm pressed in, N`] : this.timeEnds();
    context.fillText(ends[1]!, width, height - 2);
    context.textAlign = "left";
    context.fillText(ends[0]!, LEFT, height - 2);

    const late = this.isOverDepth ? [] : samples.filter((sample) => sample.isLate);
    this.drawLate(context, late.map(x), bottom, colour("--bad"));
    context.beginPath();
    let before: Sample | undefined;
    for (const sample of samples) {
      if (before === undefined || sample.seconds - before.seconds > GAP_S) context.moveTo(x(sample), y(sample.newtons));
      else context.lineTo(x(sample), y(sample.newtons));
      before = sample;
    }
    context.strokeStyle = colour("--force");
    context.lineWidth = this.isOverDepth ? 1 : 1.5;
    context.lineJoin = "round";
    context.stroke();
    const pointed = this.nearest(samples, x, (sample) => y(sample.newtons));
    this.controls.reading.textContent = pointed === null ? told(samples) : this.reading(pointed);
    if (pointed === null) return;
    context.beginPath();
    context.arc(x(pointed), y(pointed.newtons), 3.5, 0, 2 * Math.PI);
    context.fillStyle = colour("--ink");
    context.fill();
  }

  /** Marks late ticks along the axis. */
  private drawLate(context: CanvasRenderingContext2D, late: number[], bottom: number, colour: string): void {
    context.fillStyle = colour;
    for (const x of late) context.fillRect(x - 0.5, bottom - 4, 1, 4);
  }

  private timeEnds(): [string, string] {
    if (this.held === null) return [`${duration(this.span)} ago`, "now, N"];
    const before = this.heldAt - this.end;
    return [`${duration(before + this.span)} before`, before < 1e-6 ? "held, N" : `${duration(before)} before, N`];
  }

  private reading({ seconds, newtons, pressed, latencyUs, isLate }: Sample): string {
    const [since, word] = this.held === null ? [this.now, "ago"] : [this.heldAt, "before"];
    const before = `${duration(since - seconds)} ${word}`;
    const late = isLate ? ` · late, ${(latencyUs / 1000).toFixed(1)} ms` : "";
    return `${before} · ${newtons.toFixed(2)} N · ${(1000 * pressed).toFixed(1)} mm${late}`;
  }

  private nearest(samples: Sample[], x: (sample: Sample) => number, y: (sample: Sample) => number): Sample | null {
    if (this.pointer === null) return null;
    const [atX, atY] = this.pointer;
    let [nearest, least] = [null as Sample | null, Infinity];
    for (const sample of samples) {
      const away = this.isOverDepth ? Math.hypot(x(sample) - atX, y(sample) - atY) : Math.abs(x(sample) - atX);
      if (away < least) [nearest, least] = [sample, away];
    }
    return nearest;
  }

  /** Keeps what is shown, to be looked at, while ticks go on. */
  private hold(isHeld: boolean): void {
    this.held = isHeld ? this.samples.slice(this.first) : null;
    this.heldAt = this.end = this.now;
    this.controls.hold.setAttribute("aria-pressed", String(isHeld));
    this.draw();
  }

  /** Shows so many seconds; while the curve is held, the time at `x` stays where it is. */
  private zoom(span: number, x = this.canvas.clientWidth): void {
    this.controls.span.value = String(span);
    if (this.held !== null && !this.isOverDepth) {
      const rest = 1 - (x - LEFT) / (this.canvas.clientWidth - LEFT);
      this.end = Math.min(this.heldAt, this.end + (span - this.span) * rest);
    }
    this.span = span;
    this.draw();
  }

  private point(pointer: [number, number] | null): void {
    this.pointer = pointer;
    this.draw();
  }

  private rightEdge(): number {
    return this.held === null ? this.now : this.end;
  }
}

function told(samples: Sample[]): string {
  const late = samples.filter((sample) => sample.isLate).length;
  return samples.length === 0 ? "no force is rendered" : `${late.toLocaleString("en")} of ${samples.length.toLocaleString("en")} ticks late`;
}

function duration(seconds: number): string {
  return seconds < 1 ? `${Math.round(1000 * seconds)} ms` : `${+seconds.toPrecision(3)} s`;
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
export function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value * 0.999)!;
}
