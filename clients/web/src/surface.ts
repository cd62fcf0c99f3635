// A surface of the server, ready to be drawn: growable arrays, smooth normals, and for each vertex its distance from
// its first position, the time at which it last moved, and how stiff it is.

import { BufferAttribute, BufferGeometry, DynamicDrawUsage, Sphere, Vector3 } from "three";

import { noChange, type SurfaceChange, type Triple } from "./frames";

/** Vertices of an edge as one number; there are fewer than 2^26 vertices. */
const EDGE_BASE = 2 ** 26;
/** Maximum share of the page's time that is spent on finding open edges. */
const EDGES_SHARE = 0.1;
/** Range of the colours of stiffness, N/m; a rigid vertex has the upper one's. */
export const STIFFNESS = { min: 10, max: 10_000 } as const;

export class Surface {
  readonly geometry = new BufferGeometry();
  /** The open edges that cuts have made, as lines between this surface's vertices. */
  readonly cutEdges = new BufferGeometry();
  vertices = 0;
  /** Triangle ids, with those that a cut removed, and triangles that are there. */
  triangles = 0;
  present = 0;
  /** Maximum distance of a vertex from its first position, metres. */
  displacement = 0;

  private positions = new Float32Array(0);
  private normals = new Float32Array(0);
  private first = new Float32Array(0);
  /** For each vertex: distance from its first position in metres, time in seconds at which it last moved, stiffness as a
   * share of the range of colours. */
  private history = new Float32Array(0);
  /** Stiffness of the materials at each vertex, N/m, 0 if rigid; empty for a tissue without materials. */
  private stiffness = new Float32Array(0);
  private corners = new Uint32Array(0);
  private isChanged = false;
  private isCut = false;
  /** Open edges before the first cut that the page saw; null: nothing was cut yet. */
  private uncut: Set<number> | null = null;
  private areEdgesDue = false;
  /** Time at which the open edges were found, and the duration of that, milliseconds. */
  private edgesAt = 0;
  private edgesTook = 0;

  constructor(private readonly isRigid: boolean) {}

  /** Applies a change; `seconds`: current time by any clock. */
  take(change: SurfaceChange, seconds: number): void {
    if (change.isNew) this.forget();
    if (change.removed !== null && this.uncut === null) this.uncut = this.openEdges();
    this.grow(change.vertices, change.triangleIds);
    const { positions, moved, corners, removed } = change;
    if (positions !== null && moved !== null) {
      for (let i = 0; i < moved.length; i++) this.move(moved[i]!, positions, 3 * i, seconds);
    } else if (positions !== null) {
      const n = positions.length / 3;
      for (let i = 0; i < n; i++) this.move(change.firstVertex + i, positions, 3 * i, seconds);
    }
    if (change.stiffness !== null) {
      this.stiffness = grown(this.stiffness, this.vertices);
      this.stiffness.set(change.stiffness, change.firstStiff);
    }
    for (const [i, stiffness] of change.stiffness?.entries() ?? []) {
      this.history[3 * (change.firstStiff + i) + 2] = stiffness === 0 ? 1 : shareOf(stiffness);
    }
    if (corners !== null) this.corners.set(corners, 3 * change.firstTriangle);
    this.isCut ||= corners !== null || removed !== null;
    this.areEdgesDue ||= this.isCut && this.uncut !== null;
    // A graphics card does not draw a triangle with three equal corners.
    for (const triangle of removed ?? []) this.corners.fill(0, 3 * triangle, 3 * triangle + 3);
    this.isChanged = true;
  }

  /** Marks all vertices as moved, with their positions unchanged. */
  touch(seconds: number): void {
    const positions = this.positions.slice(0, 3 * this.vertices);
    this.positions.fill(Infinity, 0, 3 * this.vertices);
    this.take({ ...noChange(), vertices: this.vertices, triangleIds: this.triangles, positions }, seconds);
  }

  /** Updates the drawn arrays after changes. */
  update(): void {
    if (this.areEdgesDue) this.findCutEdges();
    if (!this.isChanged) return;
    this.isChanged = false;
    this.computeNormals();
    if (this.isCut) {
      this.count();
      this.geometry.index!.needsUpdate = true;
    }
    if (!this.isRigid) {
      let displacement = 0;
      for (let i = 0; i < 3 * this.vertices; i += 3) {
        displacement = Math.max(displacement, this.history[i]!);
      }
      this.displacement = displacement;
    }
    for (const name of ["position", "normal", "history"]) {
      const attribute = this.geometry.getAttribute(name) as BufferAttribute | undefined;
      if (attribute !== undefined) attribute.needsUpdate = true;
    }
    this.geometry.setDrawRange(0, 3 * this.triangles);
    this.geometry.boundingSphere = this.bounds();
  }

  /** Bounding sphere of all vertices; radius 0 if there are none. */
  bounds(): Sphere {
    const [min, max] = this.box();
    const centre = min.clone().add(max).multiplyScalar(0.5);
    return new Sphere(centre, this.vertices === 0 ? 0 : 0.5 * min.distanceTo(max));
  }

  box(): [Vector3, Vector3] {
    const p = this.positions;
    let [x0, y0, z0, x1, y1, z1] = [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];
    for (let i = 0; i < 3 * this.vertices; i += 3) {
      const x = p[i]!;
      const y = p[i + 1]!;
      const z = p[i + 2]!;
      if (x < x0) x0 = x;
      if (x > x1) x1 = x;
      if (y < y0) y0 = y;
      if (y > y1) y1 = y;
      if (z < z0) z0 = z;
      if (z > z1) z1 = z;
    }
    if (this.vertices === 0) return [new Vector3(), new Vector3()];
    return [new Vector3(x0, y0, z0), new Vector3(x1, y1, z1)];
  }

  /** Distance of the farthest vertex from a point, metres. */
  radiusAbout({ x, y, z }: Vector3): number {
    const p = this.positions;
    let squared = 0;
    for (let i = 0; i < 3 * this.vertices; i += 3) {
      squared = Math.max(squared, (p[i]! - x) ** 2 + (p[i + 1]! - y) ** 2 + (p[i + 2]! - z) ** 2 || 0);
    }
    return Math.sqrt(squared);
  }

  /** Returns true if the triangle is there, not cut away. */
  hasTriangle(triangle: number): boolean {
    return triangle < this.triangles && this.corners[3 * triangle] !== this.corners[3 * triangle + 1];
  }

  /** A point of a triangle with these barycentric weights: its position, the triangle's normal, and the displacement and
   * the stiffness of the corners by weight, as the colours show them. Stiffness in N/m, infinite if a corner is rigid;
   * null: the tissue has no materials. */
  pointOn(triangle: number, weights: Triple): { position: Triple; normal: Triple; displacement: number; stiffness: number | null } {
    const corners = [0, 1, 2].map((k) => this.corners[3 * triangle + k]!);
    const [a, b, c] = corners.map((v) => new Vector3().fromArray(this.positions, 3 * v)) as [Vector3, Vector3, Vector3];
    const normal = b.clone().sub(a).cross(c.clone().sub(a)).normalize();
    const [u, v, w] = weights;
    const position = a.multiplyScalar(u).addScaledVector(b, v).addScaledVector(c, w);
    const displacement = corners.reduce((sum, vertex, k) => sum + weights[k]! * this.history[3 * vertex]!, 0);
    const stiffnesses = corners.map((vertex) => this.stiffness[vertex] || Infinity);
    const stiffness = this.stiffness.length === 0 ? null : stiffnesses.reduce((sum, at, k) => sum + weights[k]! * at, 0);
    return { position: position.toArray(), normal: normal.toArray(), displacement, stiffness };
  }

  dispose(): void {
    this.geometry.dispose();
    this.cutEdges.dispose();
  }

  private forget(): void {
    this.stiffness = new Float32Array(0);
    this.vertices = this.triangles = 0;
    this.uncut = null;
    this.areEdgesDue = false;
    this.cutEdges.setIndex([]);
  }

  private findCutEdges(): void {
    const began = performance.now();
    if (began - this.edgesAt < this.edgesTook / EDGES_SHARE) return;
    this.areEdgesDue = false;
    const edges: number[] = [];
    for (const edge of this.openEdges()) {
      if (!this.uncut!.has(edge)) edges.push(Math.floor(edge / EDGE_BASE), edge % EDGE_BASE);
    }
    this.cutEdges.setIndex(edges);
    this.edgesAt = performance.now();
    this.edgesTook = this.edgesAt - began;
  }

  /** Edges of an odd number of triangles. */
  private openEdges(): Set<number> {
    const open = new Set<number>();
    const { corners } = this;
    for (let i = 0; i < 3 * this.triangles; i += 3) {
      if (corners[i] === corners[i + 1]) continue;
      for (let k = 0; k < 3; k++) {
        const a = corners[i + k]!;
        const b = corners[i + ((k + 1) % 3)]!;
        const edge = a < b ? a * EDGE_BASE + b : b * EDGE_BASE + a;
        if (!open.delete(edge)) open.add(edge);
      }
    }
    return open;
  }

  private move(v: number, positions: Float32Array, from: number, seconds: number): void {
    const at = 3 * v;
    const x = positions[from]!;
    const y = positions[from + 1]!;
    const z = positions[from + 2]!;
    const wasX = this.positions[at]!;
    // If most of a tissue moved, the server sends all positions.
    if (x === wasX && y === this.positions[at + 1]! && z === this.positions[at + 2]!) return;
    const isFirst = Number.isNaN(wasX);
    this.positions[at] = x;
    this.positions[at + 1] = y;
    this.positions[at + 2] = z;
    if (this.isRigid) return;
    if (isFirst) {
      this.first[at] = x;
      this.first[at + 1] = y;
      this.first[at + 2] = z;
      this.history[3 * v] = 0;
      this.history[3 * v + 1] = -1e9;
      this.history[3 * v + 2] = 1;
      return;
    }
    const dx = x - this.first[at]!;
    const dy = y - this.first[at + 1]!;
    const dz = z - this.first[at + 2]!;
    this.history[3 * v] = Math.sqrt(dx * dx + dy * dy + dz * dz);
    this.history[3 * v + 1] = seconds;
  }

  private grow(vertices: number, triangles: number): void {
    if (3 * vertices > this.positions.length || 3 * triangles > this.corners.length) {
      // A cut adds a few vertices at a time: 1.5 times the size makes copies rare.
      const roomFor = (n: number) => (this.isRigid || this.vertices === 0 ? n : Math.ceil(1.5 * n));
      const [v, t] = [roomFor(vertices), roomFor(triangles)];
      this.positions = grown(this.positions, 3 * v);
      this.normals = grown(this.normals, 3 * v);
      this.corners = grown(this.corners, 3 * t);
      this.attribute("position", this.positions, 3);
      this.attribute("normal", this.normals, 3);
      this.geometry.setIndex(new BufferAttribute(this.corners, 1));
      // The lines move with the surface until they are found anew.
      this.cutEdges.setAttribute("position", this.geometry.getAttribute("position"));
      this.areEdgesDue ||= this.uncut !== null;
      if (!this.isRigid) {
        this.first = grown(this.first, 3 * v);
        this.history = grown(this.history, 3 * v);
        this.attribute("history", this.history, 3);
      }
    }
    // Positions not received yet are NaN: the first one received is the vertex's first position.
    this.positions.fill(NaN, 3 * this.vertices, 3 * vertices);
    [this.vertices, this.triangles] = [vertices, triangles];
  }

  private attribute(name: string, array: Float32Array, size: number): void {
    // A graphics card needs a new buffer for another size.
    const old = this.geometry.getAttribute(name);
    if (old !== undefined) this.geometry.dispose();
    const attribute = new BufferAttribute(array, size);
    if (!this.isRigid) attribute.setUsage(DynamicDrawUsage);
    this.geometry.setAttribute(name, attribute);
  }

  private count(): void {
    this.isCut = false;
    this.present = 0;
    const { corners } = this;
    for (let i = 0; i < 3 * this.triangles; i += 3) if (corners[i] !== corners[i + 1]) this.present++;
  }

  /** Computes vertex normals weighted by area. */
  // These loops allocate no arrays, however short: they run over a hundred thousand triangles, sixty times a second.
  private computeNormals(): void {
    const { positions: p, normals: n, corners } = this;
    n.fill(0, 0, 3 * this.vertices);
    for (let i = 0; i < 3 * this.triangles; i += 3) {
      const a = 3 * corners[i]!;
      const b = 3 * corners[i + 1]!;
      const c = 3 * corners[i + 2]!;
      const ax = p[a]!;
      const ay = p[a + 1]!;
      const az = p[a + 2]!;
      const ux = p[b]! - ax;
      const uy = p[b + 1]! - ay;
      const uz = p[b + 2]! - az;
      const vx = p[c]! - ax;
      const vy = p[c + 1]! - ay;
      const vz = p[c + 2]! - az;
      const x = uy * vz - uz * vy;
      const y = uz * vx - ux * vz;
      const z = ux * vy - uy * vx;
      n[a]! += x;
      n[a + 1]! += y;
      n[a + 2]! += z;
      n[b]! += x;
      n[b + 1]! += y;
      n[b + 2]! += z;
      n[c]! += x;
      n[c + 1]! += y;
      n[c + 2]! += z;
    }
    for (let i = 0; i < 3 * this.vertices; i += 3) {
      const x = n[i]!;
      const y = n[i + 1]!;
      const z = n[i + 2]!;
      const length = Math.sqrt(x * x + y * y + z * z) || 1;
      n[i] = x / length;
      n[i + 1] = y / length;
      n[i + 2] = z / length;
    }
  }
}

/** Place of a stiffness in the range of colours, by its logarithm. */
function shareOf(stiffness: number): number {
  return Math.log(stiffness / STIFFNESS.min) / Math.log(STIFFNESS.max / STIFFNESS.min);
}

function grown<T extends Float32Array | Uint32Array>(array: T, length: number): T {
  const Kind = array.constructor as new (length: number) => T;
  const larger = new Kind(length);
  larger.set(array);
  return larger;
}
