// Messages of the live view, as defined in proto/palpate/v1/watch.proto.

import { Reader, Writer } from "./protobuf";

export type Triple = [number, number, number];

export interface Pose {
  position: Triple;
  /** Quaternion x, y, z, w. */
  orientation: [number, number, number, number];
}

/** Changes to a surface's arrays. */
export interface SurfaceChange {
  isNew: boolean;
  vertices: number;
  triangleIds: number;
  firstVertex: number;
  moved: Uint32Array | null;
  positions: Float32Array | null;
  firstTriangle: number;
  corners: Uint32Array | null;
  removed: Uint32Array | null;
  firstStiff: number;
  /** Stiffness of consecutive vertices, N/m; 0: rigid. */
  stiffness: Float32Array | null;
}

export interface TissueChange {
  id: number;
  name: string;
  isForbidden: boolean;
  geometryRevision: number;
  topologyRevision: number;
  surface: SurfaceChange;
}

export interface ToolChange {
  id: number;
  name: string;
  link: number;
  linkName: string;
  /** Names of the tool's probes, in the first piece of its first link. */
  probeNames: string[];
  rest: Pose | null;
  surface: SurfaceChange;
}

export interface ToolPose {
  tool: number;
  device: Pose;
  deviceLinks: Pose[];
  links: Pose[];
  isRendered: boolean;
  force: Triple;
  state: number;
  isLimited: boolean;
  signedDistance: number;
  isLowerBound: boolean;
  feltTicks: FeltTicks;
  /** Signed distances of the tool's probes, metres, and whether each is only a lower bound. */
  probeDistances: Float64Array;
  areProbesBounds: number[];
}

/** Ticks of a rendered tool since the frame before, oldest first, as parallel arrays. */
export interface FeltTicks {
  /** Time from the answer to the frame, microseconds. */
  agesUs: number[];
  /** Newtons. */
  forces: Float32Array;
  /** Metres that the device has gone against the force since the tool was free. */
  pressed: Float32Array;
  states: number[];
  latenciesUs: number[];
}

export interface Figures {
  answered: number;
  coalesced: number;
  objectiveUs: number;
  p50Us: number | null;
  p99Us: number | null;
  p999Us: number | null;
  recentTicks: number;
  recentMissed: number;
  recentMissedByMachine: number | null;
  p50AllUs: number | null;
  p99AllUs: number | null;
  p999AllUs: number | null;
}

export interface Session {
  stream: number;
  sequence: number;
  ageUs: number;
  computeUs: number;
  tools: ToolPose[];
  contactTissues: number[];
  contactPositions: Float32Array;
  contactNormals: Float32Array;
  contactDistances: Float32Array;
  contactsTotal: number;
  forcePositions: Float32Array;
  forces: Float32Array;
  figures: Figures;
}

/** The recording that the server plays, as all viewers see it. */
export interface Replay {
  positionS: number;
  durationS: number;
  isPlaying: boolean;
  /** Recorded seconds in one second. */
  speed: number;
  repeats: boolean;
  /** The frame still shows the time before a seek. */
  isSeeking: boolean;
  /** Time up to which the recording has been played. */
  playedS: number;
  tick: number;
  ticks: number;
  /** Mark of the tick at the position, a key of MARKS. */
  mark: number;
  /** Null: they have not changed. */
  marks: ReplayMarks | null;
}

/** Marked ticks, as parallel arrays. */
export interface ReplayMarks {
  atS: Float64Array;
  marks: number[];
  late: number;
  refused: number;
  differing: number;
}

export const MARKS: Record<number, "late" | "refused" | "differs"> = { 1: "late", 2: "refused", 3: "differs" };

/** Change of the playback; a missing field changes nothing. */
export interface ReplayChange {
  isPlaying?: boolean;
  speed?: number;
  repeats?: boolean;
  seekS?: number;
  step?: number;
  jump?: number;
}

/** A frame or a part of one. */
export interface Message {
  frame: number;
  more: boolean;
  tissues: TissueChange[];
  tools: ToolChange[];
  scene: string;
  scenes: string[];
  tissueIds: number[];
  toolIds: number[];
  sessions: Session[];
  isQuarantined: boolean;
  /** Seconds of the server's clock. */
  serverSeconds: number;
  replay: Replay | null;
}

const NO_FLOATS = new Float32Array(0);

export function watchRequest(scene: string, rateHz: number): Uint8Array {
  return new Writer().string(1, scene).double(2, rateHz).done();
}

/** `position` null: the viewer releases the device. */
export function moveDeviceRequest(scene: string, tool: number, position: Triple | null): Uint8Array {
  const request = new Writer().string(1, scene).number(2, tool);
  if (position !== null) {
    const [x, y, z] = position;
    request.message(3, new Writer().double(1, x).double(2, y).double(3, z));
  }
  return request.done();
}

export function controlReplayRequest({ isPlaying, speed, repeats, seekS, step, jump }: ReplayChange): Uint8Array {
  const request = new Writer();
  if (isPlaying !== undefined) request.number(1, Number(isPlaying));
  if (speed !== undefined) request.double(2, speed);
  if (repeats !== undefined) request.number(3, Number(repeats));
  if (seekS !== undefined) request.double(4, seekS);
  if (step !== undefined) request.signed(5, step);
  if (jump !== undefined) request.signed(6, jump);
  return request.done();
}

export function readMessage(bytes: Uint8Array): Message {
  const message: Message = {
    frame: 0,
    more: false,
    tissues: [],
    tools: [],
    scene: "",
    scenes: [],
    tissueIds: [],
    toolIds: [],
    sessions: [],
    isQuarantined: false,
    serverSeconds: 0,
    replay: null,
  };
  const fields = new Reader(bytes);
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) message.frame = fields.uint();
    else if (field === 2) message.more = fields.bool();
    else if (field === 3) message.tissues.push(fields.message(readTissue));
    else if (field === 4) message.tools.push(fields.message(readTool));
    else if (field === 5) message.scene = fields.string();
    else if (field === 6) message.scenes.push(fields.string());
    else if (field === 7) fields.uints(message.tissueIds);
    else if (field === 8) fields.uints(message.toolIds);
    else if (field === 9) message.sessions.push(fields.message(readSession));
    else if (field === 11) message.serverSeconds = 1e-9 * fields.uint();
    else if (field === 12) message.isQuarantined = fields.bool();
    else if (field === 13) message.replay = fields.message(readReplay);
    else fields.skip();
  }
  return message;
}

export function noChange(): SurfaceChange {
  return {
    isNew: false,
    vertices: 0,
    triangleIds: 0,
    firstVertex: 0,
    moved: null,
    positions: null,
    firstTriangle: 0,
    corners: null,
    removed: null,
    firstStiff: 0,
    stiffness: null,
  };
}

function readSurface(fields: Reader): SurfaceChange {
  const surface = noChange();
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) surface.isNew = fields.bool();
    else if (field === 2) surface.vertices = fields.uint();
    else if (field === 3) surface.triangleIds = fields.uint();
    else if (field === 4) surface.firstVertex = fields.uint();
    else if (field === 5) surface.moved = fields.fixed32();
    else if (field === 6) surface.positions = fields.floats();
    else if (field === 7) surface.firstTriangle = fields.uint();
    else if (field === 8) surface.corners = fields.fixed32();
    else if (field === 9) surface.removed = fields.fixed32();
    else if (field === 10) surface.firstStiff = fields.uint();
    else if (field === 11) surface.stiffness = fields.floats();
    else fields.skip();
  }
  return surface;
}

function readTissue(fields: Reader): TissueChange {
  const tissue: TissueChange = {
    id: 0,
    name: "",
    isForbidden: false,
    geometryRevision: 0,
    topologyRevision: 0,
    surface: noChange(),
  };
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) tissue.id = fields.uint();
    else if (field === 2) tissue.name = fields.string();
    else if (field === 3) tissue.isForbidden = fields.uint() === 2;
    else if (field === 4) tissue.geometryRevision = fields.uint();
    else if (field === 5) tissue.topologyRevision = fields.uint();
    else if (field === 7) tissue.surface = fields.message(readSurface);
    else fields.skip();
  }
  return tissue;
}

function readTool(fields: Reader): ToolChange {
  const tool: ToolChange = { id: 0, name: "", link: 0, linkName: "", probeNames: [], rest: null, surface: noChange() };
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) tool.id = fields.uint();
    else if (field === 2) tool.name = fields.string();
    else if (field === 3) tool.link = fields.uint();
    else if (field === 4) tool.linkName = fields.string();
    else if (field === 5) tool.rest = fields.message(readPose);
    else if (field === 6) tool.surface = fields.message(readSurface);
    else if (field === 8) tool.probeNames.push(fields.string());
    else fields.skip();
  }
  return tool;
}

/** Reads doubles with field numbers 1 to the length of `into`. */
function readDoubles<T extends number[]>(fields: Reader, into: T): T {
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field <= into.length) into[field - 1] = fields.double();
    else fields.skip();
  }
  return into;
}

function readTriple(fields: Reader): Triple {
  return readDoubles<Triple>(fields, [0, 0, 0]);
}

function readPose(fields: Reader): Pose {
  const pose: Pose = { position: [0, 0, 0], orientation: [0, 0, 0, 1] };
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) pose.position = fields.message(readTriple);
    else if (field === 2) {
      // The wire format omits zeros: all four start as 0.
      const none: Pose["orientation"] = [0, 0, 0, 0];
      pose.orientation = fields.message((quaternion) => readDoubles(quaternion, none));
    } else fields.skip();
  }
  return pose;
}

function readToolPose(fields: Reader): ToolPose {
  const pose: ToolPose = {
    tool: 0,
    device: { position: [0, 0, 0], orientation: [0, 0, 0, 1] },
    deviceLinks: [],
    links: [],
    isRendered: false,
    force: [0, 0, 0],
    state: 0,
    isLimited: false,
    signedDistance: 0,
    isLowerBound: false,
    feltTicks: noTicks(),
    probeDistances: new Float64Array(0),
    areProbesBounds: [],
  };
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) pose.tool = fields.uint();
    else if (field === 2) pose.device = fields.message(readPose);
    else if (field === 3) pose.deviceLinks.push(fields.message(readPose));
    else if (field === 4) pose.links.push(fields.message(readPose));
    else if (field === 5) pose.isRendered = fields.bool();
    else if (field === 6) pose.force = fields.message(readTriple);
    else if (field === 8) pose.state = fields.uint();
    else if (field === 9) pose.isLimited = fields.bool();
    else if (field === 10) pose.signedDistance = fields.double();
    else if (field === 11) pose.isLowerBound = fields.bool();
    else if (field === 12) pose.feltTicks = fields.message(readFeltTicks);
    else if (field === 13) pose.probeDistances = fields.doubles();
    else if (field === 14) fields.uints(pose.areProbesBounds);
    else fields.skip();
  }
  return pose;
}

export function noTicks(): FeltTicks {
  return { agesUs: [], forces: NO_FLOATS, pressed: NO_FLOATS, states: [], latenciesUs: [] };
}

function readFeltTicks(fields: Reader): FeltTicks {
  const ticks = noTicks();
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) fields.uints(ticks.agesUs);
    else if (field === 2) ticks.forces = fields.floats();
    else if (field === 3) ticks.pressed = fields.floats();
    else if (field === 4) fields.uints(ticks.states);
    else if (field === 5) fields.uints(ticks.latenciesUs);
    else fields.skip();
  }
  return ticks;
}

function readFigures(fields: Reader): Figures {
  const figures = noFigures();
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) figures.answered = fields.uint();
    else if (field === 2) figures.coalesced = fields.uint();
    else if (field === 5) figures.objectiveUs = fields.uint();
    else if (field === 6) figures.p50Us = fields.double();
    else if (field === 7) figures.p99Us = fields.double();
    else if (field === 8) figures.p999Us = fields.double();
    else if (field === 9) figures.recentTicks = fields.uint();
    else if (field === 10) figures.recentMissed = fields.uint();
    else if (field === 11) figures.recentMissedByMachine = fields.uint();
    else if (field === 12) figures.p50AllUs = fields.double();
    else if (field === 13) figures.p99AllUs = fields.double();
    else if (field === 14) figures.p999AllUs = fields.double();
    else fields.skip();
  }
  return figures;
}

function noFigures(): Figures {
  return {
    answered: 0,
    coalesced: 0,
    objectiveUs: 1000,
    p50Us: null,
    p99Us: null,
    p999Us: null,
    recentTicks: 0,
    recentMissed: 0,
    recentMissedByMachine: null,
    p50AllUs: null,
    p99AllUs: null,
    p999AllUs: null,
  };
}

function readSession(fields: Reader): Session {
  const session: Session = {
    stream: 0,
    sequence: 0,
    ageUs: 0,
    computeUs: 0,
    tools: [],
    contactTissues: [],
    contactPositions: NO_FLOATS,
    contactNormals: NO_FLOATS,
    contactDistances: NO_FLOATS,
    contactsTotal: 0,
    forcePositions: NO_FLOATS,
    forces: NO_FLOATS,
    figures: noFigures(),
  };
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) session.stream = fields.uint();
    else if (field === 2) session.sequence = fields.uint();
    else if (field === 3) session.ageUs = fields.uint();
    else if (field === 4) session.computeUs = fields.double();
    else if (field === 6) session.tools.push(fields.message(readToolPose));
    else if (field === 7) fields.uints(session.contactTissues);
    else if (field === 8) session.contactPositions = fields.floats();
    else if (field === 9) session.contactNormals = fields.floats();
    else if (field === 10) session.contactDistances = fields.floats();
    else if (field === 11) session.forcePositions = fields.floats();
    else if (field === 12) session.forces = fields.floats();
    else if (field === 13) session.figures = fields.message(readFigures);
    else if (field === 14) session.contactsTotal = fields.uint();
    else fields.skip();
  }
  return session;
}

function readReplay(fields: Reader): Replay {
  const replay: Replay = {
    positionS: 0,
    durationS: 0,
    isPlaying: false,
    speed: 1,
    repeats: false,
    isSeeking: false,
    playedS: 0,
    tick: 0,
    ticks: 0,
    mark: 0,
    marks: null,
  };
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) replay.positionS = fields.double();
    else if (field === 2) replay.durationS = fields.double();
    else if (field === 3) replay.isPlaying = fields.bool();
    else if (field === 4) replay.speed = fields.double();
    else if (field === 5) replay.repeats = fields.bool();
    else if (field === 6) replay.isSeeking = fields.bool();
    else if (field === 7) replay.playedS = fields.double();
    else if (field === 8) replay.tick = fields.uint();
    else if (field === 9) replay.ticks = fields.uint();
    else if (field === 10) replay.mark = fields.uint();
    else if (field === 11) replay.marks = fields.message(readReplayMarks);
    else fields.skip();
  }
  return replay;
}

function readReplayMarks(fields: Reader): ReplayMarks {
  const marks: ReplayMarks = { atS: new Float64Array(0), marks: [], late: 0, refused: 0, differing: 0 };
  for (let field = fields.next(); field !== 0; field = fields.next()) {
    if (field === 1) marks.atS = fields.doubles();
    else if (field === 2) fields.uints(marks.marks);
    else if (field === 3) marks.late = fields.uint();
    else if (field === 4) marks.refused = fields.uint();
    else if (field === 5) marks.differing = fields.uint();
    else fields.skip();
  }
  return marks;
}
