// The 3D picture: tissue, instruments, device ghosts, contacts and forces, with a camera that orbits.

import {
  BufferAttribute,
  BufferGeometry,
  DirectionalLight,
  Group,
  HemisphereLight,
  Line,
  LineBasicMaterial,
  LineDashedMaterial,
  LineSegments,
  Matrix4,
  Mesh,
  type Material,
  PerspectiveCamera,
  Plane,
  Quaternion,
  Raycaster,
  Scene,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

import { Arrows, Dots } from "./arrows";
import type { Pose, Session, ToolPose, Triple } from "./frames";
import { cutMaterial, ghostMaterial, instrumentMaterial, TissueMaterial, wireMaterial, type TissueColour } from "./materials";
import type { Link, Model, Tissue, Tool } from "./model";

/** Options of the picture in addition to the model. */
export interface StageOptions {
  colour: TissueColour;
  depthMax: number;
  /** The edges of all triangles are drawn. */
  hasWires: boolean;
}

/** A point of a tissue: it moves with its triangle. */
export interface TissuePoint {
  tissue: Tissue;
  triangle: number;
  /** Barycentric weights of the triangle's corners. */
  weights: Triple;
}

/** A link of a tool, under the pointer. */
export interface LinkHit {
  tool: Tool;
  link: Link;
}

export interface StageEvents {
  /** The user drags a tool's device to this position, or (null) releases it. */
  onDrag(tool: number, position: Triple | null): void;
  /** The picture is to be drawn again, for example because the camera moved. */
  onChange(): void;
}

const AXES: Triple[] = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
];
const LAMPS: [string, number, Triple][] = [
  ["#fff3e6", 2.2, [-0.7, 1, 0.9]],
  ["#d5e6ff", 0.8, [1, -0.3, 0.6]],
];

/** Distance of a fitted camera, in those at which the sphere about all tissues touches the edge of the view. */
const FIT_MARGIN = 1.04;

export class Stage {
  readonly camera = new PerspectiveCamera(32, 1, 0.001, 100);
  private readonly renderer: WebGLRenderer;
  private controls: OrbitControls;
  private readonly scene = new Scene();
  private readonly tissues = new Map<number, TissueGroup>();
  private readonly tools = new Map<number, ToolGroups>();
  private readonly forces = new Arrows("#ffb02e");
  private readonly contacts = new Dots("#ffffff");
  private readonly normals = new Arrows("#ffffff");
  private readonly picked = new Dots("#ffffff");
  private readonly between = new Line(segment(), new LineBasicMaterial({ depthTest: false, transparent: true }));
  private readonly cut = cutMaterial();
  private readonly wires = wireMaterial();
  private readonly instrument = instrumentMaterial();
  private readonly ghost = ghostMaterial();
  private readonly springMaterial = new LineDashedMaterial({
    color: "#37b3cc",
    dashSize: 0.002,
    gapSize: 0.0015,
    depthTest: false,
    transparent: true,
  });
  private fitted = "";
  private size = 0.2;
  /** Radius of the sphere about all tissues, metres. */
  private radius = 0.1;
  /** The camera is where the last fit put it. */
  private isFit = false;
  private isOpened = false;
  private section: Plane[] = [];
  /** A device can be dragged. */
  isMovable = true;
  private drag: { tool: number; plane: Plane; offset: Vector3 } | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly events: StageEvents,
  ) {
    // Needed for pictures: without this option a picture taken after the drawing is empty.
    this.renderer = new WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true, alpha: true, stencil: true });
    this.renderer.localClippingEnabled = true;
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
    // A lamp at the viewer's left shoulder: it moves with the camera and points at the camera's target.
    for (const [colour, strength, from] of LAMPS) {
      const lamp = new DirectionalLight(colour, strength);
      lamp.position.set(...from);
      this.camera.add(lamp, lamp.target);
    }
    this.scene.add(this.camera, new HemisphereLight("#f4f7ff", "#7a625c", 0.95));
    // A group of their own: a ghost, which is a group too, would tint what is drawn before it.
    const marks = new Group().add(this.forces, this.contacts, this.normals, this.picked, this.between);
    this.between.frustumCulled = this.between.visible = false;
    marks.renderOrder = 10;
    this.scene.add(marks);
    this.controls = this.newControls();
    canvas.addEventListener("pointerdown", (event) => this.pointerDown(event), { capture: true });
    canvas.addEventListener("pointermove", (event) => this.pointerMove(event));
    for (const end of ["pointerup", "pointercancel"] as const) {
      canvas.addEventListener(end, () => this.pointerUp());
    }
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  /** Takes in the model with all its tools, and the contacts and forces of `session`, for the next drawing. `seconds`:
   * time by the clock of the surfaces' changes. */
  update(model: Model, session: Session | undefined, options: StageOptions, seconds: number): void {
    this.showTissues(model, options, seconds);
    this.showTools(model);
    this.showContacts(session);
    this.fitOnce(model);
  }

  clear(): void {
    for (const group of this.tissues.values()) this.scene.remove(group);
    this.tissues.clear();
    for (const groups of this.tools.values()) groups.remove();
    this.tools.clear();
    this.forces.count = this.contacts.count = this.normals.count = 0;
    this.draw();
  }

  /** Fits all tissues into view. */
  fit(model: Model): void {
    this.fitted = "";
    this.fitOnce(model);
    this.draw();
  }

  /** Orbits the camera about its target, to the left and up, radians. */
  orbit(left: number, up: number): void {
    this.isFit = false;
    this.controls.rotateLeft(left);
    this.controls.rotateUp(up);
  }

  /** Multiplies the distance from the camera to its target by `factor`. */
  zoom(factor: number): void {
    this.isFit = false;
    this.controls.dollyIn(factor);
  }

  /** Cuts the picture open: tissue in front of a plane across the view through its middle is not drawn. */
  open(isOpened: boolean): void {
    this.isOpened = isOpened;
    const towards = this.camera.getWorldDirection(new Vector3());
    const plane = new Plane().setFromNormalAndCoplanarPoint(towards, this.controls.target);
    this.section = isOpened ? [plane] : [];
    this.cut.clippingPlanes = this.wires.clippingPlanes = this.section;
    for (const { material } of this.tissues.values()) material.clippingPlanes = this.section;
  }

  /** Returns the nearest tissue or instrument at a position in the canvas, in pixels. */
  hit(at: [number, number]): TissuePoint | LinkHit | null {
    const ray = this.ray(at);
    const meshes = [...this.tissues.values()].filter((group) => group.visible).map((group) => group.surface);
    const isDrawn = ({ point }: { point: Vector3 }) => this.section.every((plane) => plane.distanceToPoint(point) >= 0);
    const tissue = ray.intersectObjects(meshes, false).find(isDrawn);
    const tool = ray.intersectObjects([...this.tools.values()].flatMap((groups) => groups.pickable()), false)[0];
    if (tool !== undefined && tool.distance < (tissue?.distance ?? Infinity)) {
      const groups = [...this.tools.values()].find((groups) => groups.pickable().includes(tool.object as Mesh))!;
      return { tool: groups.tool, link: groups.linkOf(tool.object as Mesh) };
    }
    if (tissue === undefined) return null;
    const group = [...this.tissues.values()].find(({ surface }) => surface === tissue.object)!;
    return { tissue: group.tissue, triangle: tissue.faceIndex!, weights: tissue.barycoord!.toArray() };
  }

  /** Marks picked points, and the line between two of them, in the next drawing. */
  showPicked(positions: Triple[]): void {
    this.picked.show(new Float32Array(positions.flat()), 0.006 * this.size);
    const ends = this.between.geometry.getAttribute("position") as BufferAttribute;
    this.between.visible = positions.length === 2;
    if (this.between.visible) positions.forEach((position, at) => ends.setXYZ(at, ...position));
    ends.needsUpdate = true;
  }

  set theme(theme: { force: string; ghost: string; contact: string; ink: string }) {
    this.picked.colour = theme.ink;
    this.between.material.color.set(theme.ink);
    this.forces.colour = theme.force;
    this.contacts.colour = this.normals.colour = theme.contact;
    this.ghost.color.set(theme.ghost);
    this.springMaterial.color.set(theme.ghost);
    this.draw();
  }

  /** Projects a position to CSS pixels of the canvas. */
  project(position: Triple): [number, number] {
    this.camera.updateMatrixWorld();
    const at = new Vector3(...position).project(this.camera);
    return [(0.5 + 0.5 * at.x) * this.canvas.clientWidth, (0.5 - 0.5 * at.y) * this.canvas.clientHeight];
  }

  /** Returns true if a position is in front of the camera. */
  isInFront(position: Triple): boolean {
    return new Vector3(...position).sub(this.camera.position).dot(this.camera.getWorldDirection(new Vector3())) > 0;
  }

  /** Returns the directions of the scene's axes on the screen: to the right, up, and towards the viewer. */
  axes(): Triple[] {
    const toScreen = this.camera.quaternion.clone().invert();
    return AXES.map((axis) => new Vector3(...axis).applyQuaternion(toScreen).toArray());
  }

  /** Direction from the camera's target to the camera. */
  towards(): Triple {
    return this.camera.position.clone().sub(this.controls.target).normalize().toArray();
  }

  /** Width of a pixel at the camera's target, metres. */
  metresPerPixel(): number {
    const distance = this.camera.position.distanceTo(this.controls.target);
    return (2 * distance * Math.tan((0.5 * this.camera.fov * Math.PI) / 180)) / this.canvas.clientHeight;
  }

  picture(): Promise<Blob | null> {
    this.drawNow();
    return new Promise((done) => this.canvas.toBlob(done, "image/png"));
  }

  /** Draws with the browser's next frame. */
  draw(): void {
    this.events.onChange();
  }

  drawNow(): void {
    this.renderer.render(this.scene, this.camera);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (this.isFit) this.fitDistance();
    this.drawNow();
  }

  private showTissues(model: Model, options: StageOptions, seconds: number): void {
    for (const [id, group] of this.tissues) {
      if (model.tissues.get(id)?.surface === group.tissue.surface) continue;
      this.scene.remove(group);
      group.material.dispose();
      this.tissues.delete(id);
    }
    for (const tissue of model.tissues.values()) {
      tissue.surface.update();
      let group = this.tissues.get(tissue.id);
      if (group === undefined) {
        group = new TissueGroup(tissue, this.cut, this.wires);
        this.tissues.set(tissue.id, group);
        this.scene.add(group);
      }
      group.visible = tissue.isShown;
      group.wires.visible = options.hasWires;
      group.material.mode = options.colour;
      group.material.depthMax = options.depthMax;
      group.material.seconds = seconds;
      group.material.clippingPlanes = this.section;
    }
  }

  private showTools(model: Model): void {
    for (const [id, groups] of this.tools) {
      if (model.tools.get(id) === groups.tool) continue;
      groups.remove();
      this.tools.delete(id);
    }
    const poses = new Map<number, ToolPose>();
    for (const session of model.sessions) for (const pose of session.tools) poses.set(pose.tool, pose);
    for (const tool of model.tools.values()) {
      for (const link of tool.links.values()) link.surface.update();
      let groups = this.tools.get(tool.id);
      if (groups === undefined) {
        groups = new ToolGroups(tool, this.scene, this.instrument, this.ghost, this.springMaterial);
        this.tools.set(tool.id, groups);
      }
      groups.place(poses.get(tool.id));
    }
  }

  private showContacts(session: Session | undefined): void {
    const none = new Float32Array(0);
    const positions = session?.contactPositions ?? none;
    this.contacts.show(positions, 0.0045 * this.size);
    const forces = session?.forces ?? none;
    let greatest = 0;
    for (let i = 0; i < forces.length; i += 3) {
      greatest = Math.max(greatest, Math.hypot(forces[i]!, forces[i + 1]!, forces[i + 2]!));
    }
    // For forces of one contact up to three newtons, or of many contacts that share them: the longest arrow is at most
    // a sixth of the organ.
    const scale = (0.16 * this.size) / Math.max(1.5, greatest);
    this.forces.show(session?.forcePositions ?? none, forces, scale, 0.13 * this.size);
    // For contacts without a force, for example of a tool that is not rendered, arrows show the direction in which
    // tissue would push it.
    const normals = forces.length === 0 ? (session?.contactNormals ?? none) : none;
    this.normals.show(normals.length === 0 ? none : positions, normals, 0.08 * this.size, 0.08 * this.size);
  }

  private fitOnce(model: Model): void {
    const key = `${model.scene}:${[...model.tissues.keys()].join()}`;
    if (model.tissues.size === 0 || key === this.fitted) return;
    this.fitted = key;
    const [min, max] = [new Vector3().setScalar(Infinity), new Vector3().setScalar(-Infinity)];
    for (const tissue of model.tissues.values()) {
      const [low, high] = tissue.surface.box();
      min.min(low);
      max.max(high);
    }
    const centre = min.clone().add(max).multiplyScalar(0.5);
    const radii = [...model.tissues.values()].map((tissue) => tissue.surface.radiusAbout(centre));
    const extent = max.sub(min);
    this.size = Math.max(extent.x, extent.y, extent.z, 1e-3);
    this.radius = Math.max(...radii, 0.5e-3);
    // Organs lie flat: the shortest extent is up, the longest goes across.
    const sides = [extent.x, extent.y, extent.z];
    const axis = (at: number) => new Vector3().setComponent(at, 1);
    const up = axis(sides.indexOf(Math.min(...sides)));
    const across = axis(sides.lastIndexOf(Math.max(...sides)));
    const towards = across.clone().cross(up);
    this.camera.up.copy(up);
    this.camera.near = 0.02 * this.size;
    this.camera.far = 60 * this.size;
    this.camera.updateProjectionMatrix();
    const from = towards.addScaledVector(up, 1.15).addScaledVector(across, 0.3).normalize();
    // OrbitControls keep the up direction that they were created with.
    this.controls.dispose();
    this.controls = this.newControls();
    this.controls.target.copy(centre);
    this.camera.position.copy(centre).add(from);
    this.controls.minDistance = 0.15 * this.size;
    this.controls.maxDistance = 20 * this.size;
    this.springMaterial.dashSize = 0.012 * this.size;
    this.springMaterial.gapSize = 0.008 * this.size;
    this.isFit = true;
    this.fitDistance();
    // The section goes through the middle of what is seen now.
    this.open(this.isOpened);
  }

  /** Moves the camera along its direction to where the sphere about all tissues fills the narrower side of the view. */
  private fitDistance(): void {
    const halfHeight = Math.tan((0.5 * this.camera.fov * Math.PI) / 180);
    const narrower = Math.atan(halfHeight * Math.min(1, this.camera.aspect));
    const { target } = this.controls;
    const from = this.camera.position.clone().sub(target).normalize();
    this.camera.position.copy(target).addScaledVector(from, (FIT_MARGIN * this.radius) / Math.sin(narrower));
    this.controls.update();
  }

  private newControls(): OrbitControls {
    const controls = new OrbitControls(this.camera, this.canvas);
    // They leave a cursor behind that hides the one of the style sheet.
    this.canvas.style.cursor = "";
    // The user looks from elsewhere: a new size of the window no longer moves the camera.
    controls.addEventListener("start", () => (this.isFit = false));
    controls.addEventListener("change", () => this.draw());
    return controls;
  }

  private ray([x, y]: [number, number]): Raycaster {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    const ray = new Raycaster();
    ray.setFromCamera(new Vector2((2 * x) / width - 1, 1 - (2 * y) / height), this.camera);
    return ray;
  }

  /** Ray through a pointer that may have left the canvas. */
  private rayOf({ clientX, clientY }: PointerEvent): Raycaster {
    const { left, top } = this.canvas.getBoundingClientRect();
    return this.ray([clientX - left, clientY - top]);
  }

  private pointerDown(event: PointerEvent): void {
    if (event.button !== 0 || !this.isMovable) return;
    const ray = this.rayOf(event);
    for (const groups of this.tools.values()) {
      const hit = ray.intersectObjects(groups.pickable(), true)[0];
      if (hit === undefined) continue;
      // The device moves in the plane of the screen through the grabbed point: the hand follows the pointer.
      const towards = this.camera.getWorldDirection(new Vector3());
      const origin = groups.devicePosition();
      const offset = origin.clone().sub(hit.point);
      this.drag = {
        tool: groups.tool.id,
        plane: new Plane().setFromNormalAndCoplanarPoint(towards, hit.point),
        offset,
      };
      this.controls.enabled = false;
      this.canvas.setPointerCapture(event.pointerId);
      this.canvas.dataset["drag"] = "yes";
      event.stopImmediatePropagation();
      this.pointerMove(event);
      return;
    }
  }

  private pointerMove(event: PointerEvent): void {
    if (this.drag === null) {
      const over = [...this.tools.values()].flatMap((groups) => groups.pickable());
      const isOver = this.isMovable && event.buttons === 0 && this.rayOf(event).intersectObjects(over, true).length > 0;
      this.canvas.classList.toggle("over-tool", isOver);
      return;
    }
    const to = this.rayOf(event).ray.intersectPlane(this.drag.plane, new Vector3());
    if (to === null) return;
    this.events.onDrag(this.drag.tool, to.add(this.drag.offset).toArray());
  }

  private pointerUp(): void {
    if (this.drag === null) return;
    this.events.onDrag(this.drag.tool, null);
    this.drag = null;
    this.controls.enabled = true;
    delete this.canvas.dataset["drag"];
  }
}

/** A tissue with the edges of its cuts, and on request those of its triangles. */
class TissueGroup extends Group {
  readonly material: TissueMaterial;
  readonly surface: Mesh;
  readonly wires: Mesh;

  constructor(
    readonly tissue: Tissue,
    cut: Material,
    wires: Material,
  ) {
    super();
    const { surface } = tissue;
    this.material = new TissueMaterial(tissue.isForbidden);
    this.wires = new Mesh(surface.geometry, wires);
    const edges = new LineSegments(surface.cutEdges, cut);
    edges.frustumCulled = false;
    this.surface = new Mesh(surface.geometry, this.material);
    this.add(this.surface, this.wires, edges);
  }
}

/** A tool at its proxy's pose, its ghost at the hand's pose, and the spring between both. */
class ToolGroups {
  private readonly seen = new Group();
  private readonly device = new Group();
  private readonly spring: Line;
  private readonly devicePose = new Matrix4();

  constructor(
    readonly tool: Tool,
    private readonly scene: Scene,
    private readonly instrument: Material,
    private readonly ghost: Material,
    springMaterial: LineDashedMaterial,
  ) {
    this.spring = new Line(segment(), springMaterial);
    this.spring.frustumCulled = false;
    this.spring.renderOrder = 9;
    this.device.renderOrder = 5;
    scene.add(this.seen, this.device, this.spring);
  }

  place(pose: ToolPose | undefined): void {
    for (const link of this.tool.links.values()) {
      if (this.seen.children.some((mesh) => (mesh as Mesh).geometry === link.surface.geometry)) continue;
      const [seen, device] = [this.instrument, this.ghost].map((m) => new Mesh(link.surface.geometry, m));
      for (const mesh of [seen!, device!]) mesh.matrixAutoUpdate = false;
      this.seen.add(seen!);
      this.device.add(device!);
    }
    const isPosed = pose !== undefined;
    this.seen.visible = isPosed;
    this.device.visible = this.spring.visible = isPosed && pose.isRendered;
    if (!isPosed) return;
    this.devicePose.copy(matrix(pose.device));
    [...this.tool.links.keys()].forEach((link, at) => {
      const [seen, device] = [pose.links[link], pose.deviceLinks[link]];
      if (seen !== undefined) set(this.seen.children[at]!, seen);
      if (device !== undefined) set(this.device.children[at]!, device);
    });
    this.placeSpring();
  }

  pickable(): Mesh[] {
    const groups = [this.device, this.seen].filter((group) => group.visible);
    return groups.flatMap((group) => group.children as Mesh[]);
  }

  linkOf(mesh: Mesh): Link {
    return [...this.tool.links.values()].find((link) => link.surface.geometry === mesh.geometry)!;
  }

  devicePosition(): Vector3 {
    return new Vector3().setFromMatrixPosition(this.devicePose);
  }

  remove(): void {
    this.scene.remove(this.seen, this.device, this.spring);
    this.spring.geometry.dispose();
  }

  /** Connects equal points of both: the middle of the first link. */
  private placeSpring(): void {
    const first = this.tool.links.get(0);
    if (first === undefined || this.seen.children.length === 0) return;
    const middle = first.surface.bounds().center;
    const ends = this.spring.geometry.getAttribute("position") as BufferAttribute;
    [this.seen, this.device].forEach((group, at) => {
      const end = middle.clone().applyMatrix4(group.children[0]!.matrix);
      ends.setXYZ(at, end.x, end.y, end.z);
    });
    ends.needsUpdate = true;
    this.spring.computeLineDistances();
  }
}

function segment(): BufferGeometry {
  return new BufferGeometry().setAttribute("position", new BufferAttribute(new Float32Array(6), 3));
}

function matrix(pose: Pose): Matrix4 {
  const turn = new Quaternion(...pose.orientation);
  return new Matrix4().compose(new Vector3(...pose.position), turn, new Vector3(1, 1, 1));
}

function set(object: { matrix: Matrix4; matrixWorldNeedsUpdate: boolean }, pose: Pose): void {
  object.matrix.copy(matrix(pose));
  object.matrixWorldNeedsUpdate = true;
}
