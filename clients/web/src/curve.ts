// Curve of a force over the last ten seconds.

const SPAN_S = 10;

export class Curve {
  private readonly samples: { seconds: number; newtons: number }[] = [];

  constructor(private readonly canvas: HTMLCanvasElement) {}

  add(seconds: number, newtons: number): void {
    this.samples.push({ seconds, newtons });
    while (this.samples.length > 0 && this.samples[0]!.seconds < seconds - SPAN_S) this.samples.shift();
  }

  clear(): void {
    this.samples.length = 0;
  }

  /** Greatest force shown, newtons. */
  peak(): number {
    return this.samples.reduce((peak, sample) => Math.max(peak, sample.newtons), 0);
  }

  draw(now: number): void {
    const { canvas } = this;
    const scale = window.devicePixelRatio;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
    if (canvas.height !== Math.round(height * scale)) canvas.height = Math.round(height * scale);
    const context = canvas.getContext("2d")!;
    const style = getComputedStyle(canvas);
    const colour = (name: string) => style.getPropertyValue(name);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    const [left, bottom] = [24, height - 15];
    const top = niceAbove(Math.max(1, this.peak()));
    const x = (seconds: number) => left + ((seconds - now + SPAN_S) / SPAN_S) * (width - left);
    const y = (newtons: number) => bottom - (newtons / top) * (bottom - 6);
    context.font = `11px ${style.fontFamily}`;
    context.fillStyle = colour("--dim");
    context.strokeStyle = colour("--line");
    context.lineWidth = 1;
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const newtons of [0, top / 2, top]) {
      context.beginPath();
      context.moveTo(left, Math.round(y(newtons)) + 0.5);
      context.lineTo(width, Math.round(y(newtons)) + 0.5);
      context.stroke();
      context.fillText(String(newtons), left - 6, y(newtons));
    }
    context.textBaseline = "alphabetic";
    context.textAlign = "left";
    context.fillText("10 s ago", left, height - 2);
    context.textAlign = "right";
    context.fillText("now, N", width, height - 2);
    if (this.samples.length < 2) return;
    context.beginPath();
    for (const { seconds, newtons } of this.samples) context.lineTo(Math.max(left, x(seconds)), y(newtons));
    context.strokeStyle = colour("--force");
    context.lineWidth = 1.75;
    context.lineJoin = "round";
    context.stroke();
    context.lineTo(x(this.samples.at(-1)!.seconds), bottom);
    context.lineTo(Math.max(left, x(this.samples[0]!.seconds)), bottom);
    context.globalAlpha = 0.14;
    context.fillStyle = colour("--force");
    context.fill();
    context.globalAlpha = 1;
  }
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
export function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value * 0.999)!;
}
