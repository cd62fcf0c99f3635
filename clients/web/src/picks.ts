// What the pointer points at, told beside it; and points of tissue that the user has picked, which move with the tissue.

import { Vector3 } from "three";

import type { Session, Triple } from "./frames";
import type { Model } from "./model";
import { element, millimetres } from "./panel";
import type { Stage, TissuePoint } from "./stage";

/** Distance from a contact's or a force's point within which the pointer points at it, pixels. */
const NEAR_PX = 9;
/** Motion of a pressed pointer from which on it is a drag and not a click, pixels. */
const DRAG_PX = 4;
/** Time between two readings under a pointer that rests, seconds: tissue moves under it. */
const READING_S = 0.1;

export class Picks {
  /** Position of the pointer in the canvas, pixels. */
  private pointer: [number, number] | null = null;
  private pressedAt: [number, number] = [0, 0];
  private isDue = false;
  private readAt = 0;
  /** At most two, the newest last. */
  private points: TissuePoint[] = [];

  constructor(
    private readonly stage: Stage,
    private readonly model: () => Model,
    private readonly session: () => Session | undefined,
  ) {
    const canvas = element("canvas");
    canvas.addEventListener("pointermove", (event) => {
      this.pointer = event.buttons === 0 && event.pointerType !== "touch" ? [event.offsetX, event.offsetY] : null;
      this.read();
    });
    canvas.addEventListener("pointerleave", () => {
      this.pointer = null;
      this.read();
    });
    canvas.addEventListener("pointerdown", ({ offsetX, offsetY }) => (this.pressedAt = [offsetX, offsetY]), { capture: true });
    canvas.addEventListener("click", ({ offsetX, offsetY }) => {
      const [x, y] = this.pressedAt;
      if (Math.hypot(offsetX - x, offsetY - y) < DRAG_PX) this.pick([offsetX, offsetY]);
    });
    canvas.addEventListener("keydown", ({ key }) => {
      if (key === "Enter") this.pick([canvas.clientWidth / 2, canvas.clientHeight / 2]);
    });
    element("clear-picked").addEventListener("click", () => this.clear());
  }

  /** Picks the tissue at a position in the canvas; nowhere: forgets the picked points. */
  private pick(at: [number, number]): void {
    const hit = this.stage.hit(at);
    if (hit === null) this.points = [];
    else if ("weights" in hit) this.points = [...this.points.slice(-1), hit];
    this.show();
    this.stage.draw();
  }

  private clear(): void {
    this.points = [];
    this.show();
    this.stage.draw();
  }

  /** Shows the picked points where they are now, and from time to time what is under the pointer. */
  show(): void {
    const { tissues } = this.model();
    const isThere = (point: TissuePoint) => tissues.get(point.tissue.id) === point.tissue && point.tissue.surface.has(point.triangle);
    this.points = this.points.filter(isThere);
    const places = this.points.map(({ tissue, triangle, weights }) => tissue.surface.at(triangle, weights));
    this.stage.showPicked(places.map(({ position }) => position));
    element("picked").hidden = places.length === 0;
    const [newest, place] = [this.points.at(-1), places.at(-1)];
    if (newest !== undefined && place !== undefined) {
      element("picked-tissue").textContent = newest.tissue.name;
      element("picked-triangle").textContent = `${newest.triangle.toLocaleString("en")} · r${newest.tissue.geometryRevision}`;
      element("picked-position").textContent = `${place.position.map((x) => (1000 * x).toFixed(1)).join(", ")} mm`;
      element("picked-normal").textContent = place.normal.map((x) => x.toFixed(2)).join(", ");
      element("picked-displacement").textContent = millimetres(place.displacement);
      const [from, to] = places;
      element("picked-distance").textContent = to === undefined ? "pick another" : millimetres(distance(from!.position, to.position));
    }
    if (this.pointer !== null && performance.now() - this.readAt > 1000 * READING_S) this.read();
  }

  /** Reads what is under the pointer, once for each of the browser's frames. */
  private read(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      this.readAt = performance.now();
      const words = this.pointer === null ? null : (this.mark(this.pointer) ?? this.surface(this.pointer));
      const tip = element("tip");
      tip.hidden = words === null;
      if (words === null) return;
      const [x, y] = this.pointer!;
      tip.firstElementChild!.textContent = words;
      tip.style.transform = `translate(${x}px, ${y}px)`;
      tip.classList.toggle("leftwards", x > 0.6 * element("canvas").clientWidth);
    });
  }

  /** Tells the nearest contact or force near the pointer. */
  private mark([x, y]: [number, number]): string | null {
    const session = this.session();
    if (session === undefined) return null;
    const { contactPositions, contactDistances, contactTissues, forcePositions, forces } = session;
    let [least, words] = [NEAR_PX, null as string | null];
    const offer = (positions: Float32Array, at: number, tell: () => string) => {
      const [atX, atY] = this.stage.project([...positions.subarray(3 * at, 3 * at + 3)] as Triple);
      const away = Math.hypot(atX - x, atY - y);
      if (away < least) [least, words] = [away, tell()];
    };
    for (let at = 0; 3 * at < forcePositions.length; at++) {
      offer(forcePositions, at, () => `force · ${Math.hypot(...forces.subarray(3 * at, 3 * at + 3)).toFixed(2)} N`);
    }
    for (let at = 0; 3 * at < contactPositions.length; at++) {
      const tissue = this.model().tissues.get(contactTissues[at]!)?.name ?? "tissue";
      offer(contactPositions, at, () => `contact with ${tissue} · ${millimetres(contactDistances[at]!)}`);
    }
    return words;
  }

  /** Tells the surface under the pointer. */
  private surface(pointer: [number, number]): string | null {
    const hit = this.stage.hit(pointer);
    if (hit === null) return null;
    if ("link" in hit) return [hit.tool.name, hit.link.name].filter((name) => name !== "").join(" · ");
    const { displacement } = hit.tissue.surface.at(hit.triangle, hit.weights);
    const moved = displacement === 0 ? "" : ` · displaced ${millimetres(displacement)}`;
    return `${hit.tissue.name} · triangle ${hit.triangle.toLocaleString("en")}${moved}`;
  }
}

function distance(a: Triple, b: Triple): number {
  return new Vector3(...a).distanceTo(new Vector3(...b));
}
