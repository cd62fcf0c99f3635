// Describes what is under the pointer, and keeps picked points of tissue, which move with their tissue.

import { Vector3 } from "three";

import type { Session, Triple } from "./frames";
import type { Model } from "./model";
import { element, millimetres } from "./panel";
import type { Stage, TissuePoint } from "./stage";

/** Distance from a contact's or a force's point within which the pointer points at it, pixels. */
const NEAR_PX = 9;
/** Motion of a pressed pointer from which on it is a drag and not a click, pixels. */
const DRAG_PX = 4;
/** Maximum share of the page's time that is spent on finding the surface under the pointer. */
const HIT_SHARE = 0.2;
/** Least distance from the top of the picture at which words fit above the pointer, pixels. */
const ABOVE_PX = 44;

export class Picks {
  /** Position of the pointer in the canvas, pixels; null: elsewhere, or pressed. */
  private pointer: [number, number] | null = null;
  private pressedAt: [number, number] = [0, 0];
  private isDue = false;
  private hitAt = 0;
  /** Duration of the last search for the surface under the pointer, milliseconds. */
  private hitTook = 0;
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
      if (Math.hypot(offsetX - x, offsetY - y) < DRAG_PX && !this.pick([offsetX, offsetY])) this.clear();
    });
    canvas.addEventListener("keydown", ({ key, repeat }) => {
      if (key !== "Enter" || repeat) return;
      const isPicked = this.pick([canvas.clientWidth / 2, canvas.clientHeight / 2]);
      if (!isPicked) element("picked-status").textContent = "No tissue is in the middle";
    });
    element("clear-picked").addEventListener("click", () => {
      this.clear();
      // The button is hidden with its section.
      canvas.focus();
    });
  }

  /** Keeps the points in another model of the same scene. */
  follow(model: Model): void {
    const rebound = this.points.map((point) => {
      const tissue = [...model.tissues.values()].find((other) => other.name === point.tissue.name);
      return tissue === undefined ? null : { ...point, tissue };
    });
    this.points = rebound.filter((point) => point !== null);
  }

  /** Marks the picked points where they are now. */
  show(): void {
    // A replay that goes back makes its tissues again.
    this.follow(this.model());
    const { tissues } = this.model();
    const isThere = ({ tissue, triangle }: TissuePoint) => tissues.get(tissue.id) === tissue && tissue.surface.hasTriangle(triangle);
    this.points = this.points.filter(isThere);
    this.stage.showPicked(this.points.map((point) => place(point).position));
    element("picked").hidden = this.points.length === 0;
  }

  /** Describes the picked points, and what is under a pointer that rests: tissue moves under it. */
  describe(): void {
    if (this.pointer !== null) this.read();
    const [newest, places] = [this.points.at(-1), this.points.map(place)];
    const [from, to] = places;
    if (newest === undefined || from === undefined) return;
    const { position, normal, displacement } = to ?? from;
    element("picked-tissue").textContent = newest.tissue.name;
    element("picked-triangle").textContent = `${newest.triangle.toLocaleString("en")} · r${newest.tissue.geometryRevision}`;
    element("picked-position").textContent = `${position.map((x) => (1000 * x).toFixed(1)).join(", ")} mm`;
    element("picked-normal").textContent = normal.map((x) => x.toFixed(2)).join(", ");
    element("picked-displacement").textContent = millimetres(displacement);
    const apart = to === undefined ? null : new Vector3(...from.position).distanceTo(new Vector3(...to.position));
    element("picked-distance").textContent = apart === null ? "pick another" : millimetres(apart);
  }

  /** Picks the tissue at a position in the canvas; returns false if nothing is there. An instrument is not picked. */
  private pick(at: [number, number]): boolean {
    const hit = this.stage.hit(at);
    if (hit === null) return false;
    if ("link" in hit) return true;
    this.points = [...this.points.slice(-1), hit];
    this.show();
    this.describe();
    this.stage.draw();
    const distance = element("picked-distance").textContent;
    element("picked-status").textContent = `A point of ${hit.tissue.name} is picked; distance to the point before: ${distance}`;
    return true;
  }

  private clear(): void {
    this.points = [];
    this.show();
    this.stage.draw();
  }

  /** Reads what is under the pointer with the browser's next frame, once for any number of calls. */
  private read(): void {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => {
      this.isDue = false;
      const tip = element("tip");
      const words = this.pointer === null ? null : (this.mark(this.pointer) ?? this.surface(this.pointer));
      // Undefined: it is not known yet.
      if (words === undefined) return this.read();
      tip.hidden = words === null;
      if (words === null) return;
      const [x, y] = this.pointer!;
      tip.firstElementChild!.textContent = words;
      tip.style.transform = `translate(${x}px, ${y}px)`;
      tip.classList.toggle("leftwards", x > 0.6 * element("canvas").clientWidth);
      tip.classList.toggle("below", y < ABOVE_PX);
    });
  }

  /** Describes the contact and the force that are nearest to the pointer, if they are near. */
  private mark(pointer: [number, number]): string | null {
    const session = this.session();
    if (session === undefined) return null;
    const { contactPositions, contactDistances, contactTissues, forcePositions, forces } = session;
    const words: string[] = [];
    const contact = this.nearest(contactPositions, pointer);
    if (contact !== null) {
      const tissue = this.model().tissues.get(contactTissues[contact]!)?.name ?? "tissue";
      words.push(`contact with ${tissue} · ${millimetres(contactDistances[contact]!)}`);
    }
    const force = this.nearest(forcePositions, pointer);
    if (force !== null) words.push(`force · ${Math.hypot(...forces.subarray(3 * force, 3 * force + 3)).toFixed(2)} N`);
    return words.length === 0 ? null : words.join(" · ");
  }

  /** Returns the index of the position that is nearest to the pointer; null: none is near. */
  private nearest(positions: Float32Array, [x, y]: [number, number]): number | null {
    let [least, nearest] = [NEAR_PX, null as number | null];
    for (let at = 0; 3 * at < positions.length; at++) {
      const position = [...positions.subarray(3 * at, 3 * at + 3)] as Triple;
      if (!this.stage.isInFront(position)) continue;
      const [atX, atY] = this.stage.project(position);
      const away = Math.hypot(atX - x, atY - y);
      if (away < least) [least, nearest] = [away, at];
    }
    return nearest;
  }

  /** Describes the surface under the pointer; null: there is none; undefined: it is too early to search again. */
  private surface(pointer: [number, number]): string | null | undefined {
    const began = performance.now();
    if (began - this.hitAt < this.hitTook / HIT_SHARE) return undefined;
    const hit = this.stage.hit(pointer);
    this.hitAt = performance.now();
    this.hitTook = this.hitAt - began;
    if (hit === null) return null;
    if ("link" in hit) return [hit.tool.name, hit.link.name].filter((name) => name !== "").join(" · ");
    const { displacement, stiffness } = place(hit);
    const felt = stiffness === null ? "" : ` · ${Number.isFinite(stiffness) ? `${(+stiffness.toPrecision(3)).toLocaleString("en")} N/m` : "rigid"}`;
    const moved = displacement === 0 ? "" : ` · displaced ${millimetres(displacement)}`;
    return `${hit.tissue.name} · triangle ${hit.triangle.toLocaleString("en")}${felt}${moved}`;
  }
}

function place({ tissue, triangle, weights }: TissuePoint): ReturnType<TissuePoint["tissue"]["surface"]["pointOn"]> {
  return tissue.surface.pointOn(triangle, weights);
}
