// The page's model of a scene: surfaces by id, and the newest frame.

import type { Message, Pose, Replay, ReplayMarks, Session } from "./frames";
import { Surface } from "./surface";

export interface Tissue {
  id: number;
  name: string;
  isForbidden: boolean;
  isShown: boolean;
  geometryRevision: number;
  topologyRevision: number;
  surface: Surface;
}

export interface Link {
  name: string;
  rest: Pose | null;
  surface: Surface;
}

export interface Tool {
  id: number;
  name: string;
  probeNames: string[];
  links: Map<number, Link>;
}

/** Model of one stream of frames; starts empty. */
export class Model {
  readonly tissues = new Map<number, Tissue>();
  readonly tools = new Map<number, Tool>();
  scene = "";
  scenes: string[] = [];
  sessions: Session[] = [];
  isQuarantined = false;
  frames = 0;
  /** Time of the newest frame, by the server's clock. */
  serverSeconds = 0;
  /** The recording that the server plays, and its marked ticks. */
  replay: Replay | null = null;
  marks: ReplayMarks | null = null;

  /** Applies a message; returns true if it completes a frame. */
  take(message: Message, seconds: number): boolean {
    for (const change of message.tissues) {
      let tissue = this.tissues.get(change.id);
      if (tissue === undefined || change.surface.isNew) {
        // A scene that was made again has other tissues of the same ids.
        tissue?.surface.dispose();
        const surface = new Surface(false);
        const { id, name, isForbidden } = change;
        const revisions = { geometryRevision: 0, topologyRevision: 0 };
        tissue = { id, name, isForbidden, isShown: tissue?.isShown ?? true, ...revisions, surface };
        this.tissues.set(id, tissue);
      }
      tissue.geometryRevision = change.geometryRevision;
      tissue.topologyRevision = change.topologyRevision;
      tissue.surface.take(change.surface, seconds);
    }
    for (const change of message.tools) {
      const tool = this.tools.get(change.id) ?? { id: change.id, name: "", probeNames: [], links: new Map() };
      this.tools.set(change.id, tool);
      if (change.link === 0 && change.name !== "") [tool.name, tool.probeNames] = [change.name, change.probeNames];
      const link = tool.links.get(change.link) ?? { name: change.linkName, rest: null, surface: new Surface(true) };
      tool.links.set(change.link, link);
      link.rest ??= change.rest;
      link.surface.take(change.surface, seconds);
    }
    if (message.more) return false;
    this.keepOnly(this.tissues, message.tissueIds, (tissue) => tissue.surface.dispose());
    this.keepOnly(this.tools, message.toolIds, (tool) => {
      for (const link of tool.links.values()) link.surface.dispose();
    });
    this.scene = message.scene;
    this.scenes = message.scenes;
    this.sessions = message.sessions;
    this.isQuarantined = message.isQuarantined;
    this.frames = message.frame;
    this.serverSeconds = message.serverSeconds;
    this.replay = message.replay;
    this.marks = message.replay?.marks ?? this.marks;
    return true;
  }

  private keepOnly<T>(all: Map<number, T>, ids: number[], drop: (gone: T) => void): void {
    for (const [id, gone] of all) {
      if (ids.includes(id)) continue;
      drop(gone);
      all.delete(id);
    }
  }
}
