// The figures next to the picture.

import { Curve, type Sample } from "./curve";
import { noTicks, type Session, type ToolPose } from "./frames";
import type { Model, Tissue } from "./model";
import { setOptions } from "./options";

export function element<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no #${id}`);
  return found as T;
}

const STATES: Record<number, [string, string]> = {
  0: ["not rendered", "idle"],
  1: ["free", "idle"],
  2: ["touching", "touch"],
  3: ["embedded", "bad"],
  4: ["squeezed", "bad"],
  5: ["late", "bad"],
};

/** State of rendering in a tick whose deadline passed before the proxy arrived. */
const LATE = 5;

/** Minimum time over which rates are counted, seconds. */
const RATE_SPAN_S = 1;

export class Panel {
  private readonly curve = new Curve({
    canvas: element("curve"),
    span: element("curve-span"),
    hold: element("curve-hold"),
    overDepth: element("over-depth"),
    reading: element("reading"),
  });
  private readonly sessions = element<HTMLSelectElement>("session");
  private counted = { stream: 0, seconds: 0, answered: 0 };
  private rate = "–";
  private drawn = -1;
  /** Loop and tool that the curve shows. */
  private source = "";
  /** Stream that the user chose. */
  private asked: number | null = null;
  private readonly bars: HTMLElement[];
  private tissues: Model["tissues"] = new Map();

  constructor(private readonly onChoice: () => void) {
    const bars = [50, 99, 99.9].map((percentile) => {
      const bar = document.createElement("div");
      bar.className = "bar";
      bar.innerHTML = `<span class="name">p${percentile}</span><span class="track"><i></i><b></b></span><span class="value">–</span><span class="all">–</span>`;
      return bar;
    });
    element("latency").append(...bars);
    this.bars = bars;
    this.sessions.addEventListener("change", () => {
      this.asked = Number(this.sessions.value);
      this.onChoice();
    });
  }

  /** Returns the haptic loop whose figures, contacts and forces are shown. */
  chosen(model: Model): Session | undefined {
    const asked = model.sessions.find((session) => session.stream === this.asked);
    const felt = model.sessions.find((session) => session.tools.some((tool) => tool.isRendered));
    return asked ?? felt ?? model.sessions[0];
  }

  /** Returns the tool of that loop; of several tools, a rendered one. */
  chosenTool(model: Model): ToolPose | undefined {
    const tools = this.chosen(model)?.tools ?? [];
    return tools.find((tool) => tool.isRendered) ?? tools[0];
  }

  /** Adds the ticks of the newest frame to the curve. Frames need not be shown for that. */
  take(model: Model): void {
    const [session, tool] = [this.chosen(model), this.chosenTool(model)];
    const { agesUs, forces, pressed, states, latenciesUs } = tool?.feltTicks ?? noTicks();
    const samples = agesUs.map((ageUs, at) => ({
      seconds: model.serverSeconds - 1e-6 * ageUs,
      newtons: forces[at]!,
      pressed: pressed[at]!,
      latencyUs: latenciesUs[at]!,
      isLate: states[at] === LATE || latenciesUs[at]! > session!.figures.objectiveUs,
    }));
    // Without a loop its curve moves on until it is empty.
    const source = tool === undefined ? this.source : `${model.scene} ${session!.stream} ${tool.tool}`;
    this.source = source;
    this.curve.add(source, samples, model.serverSeconds);
  }

  /** Shows the newest frame; returns false if only little of it, as most figures change ten times a second at most. */
  show(model: Model, seconds: number): boolean {
    this.tissues = model.tissues;
    this.showSessions(model);
    const session = this.chosen(model);
    const tool = this.chosenTool(model);
    const force = Math.hypot(...(tool?.force ?? [0, 0, 0]));
    // Text is updated ten times a second: figures that change sixty times a second are illegible. A new state is shown
    // at once with its force, as in the picture.
    const isNew = this.showState(model, session, tool);
    if (Math.floor(seconds * 10) === this.drawn && !isNew) return false;
    this.drawn = Math.floor(seconds * 10);
    element("force").textContent = force.toFixed(2);
    this.showContact(session, tool);
    this.showProbes(model, tool);
    this.showTimes(session, model.serverSeconds);
    this.showTissues(model);
    this.curve.draw();
    element("frames").textContent = `frame ${model.frames.toLocaleString("en")}`;
    return true;
  }

  /** Ticks that the curve shows, oldest first. */
  shownTicks(): Sample[] {
    return this.curve.shown();
  }

  redraw(): void {
    this.curve.draw();
  }

  clear(): void {
    this.counted = { stream: 0, seconds: 0, answered: 0 };
  }

  private showSessions(model: Model): void {
    const names = model.sessions.map((session) => {
      const tools = session.tools.map((tool) => model.tools.get(tool.tool)?.name ?? `tool ${tool.tool}`);
      return { value: String(session.stream), text: `${tools.join(", ") || "no tool"} · ${session.stream}` };
    });
    element("session-field").hidden = names.length < 2;
    setOptions(this.sessions, names);
    const chosen = String(this.chosen(model)?.stream ?? "");
    if (this.sessions.value !== chosen) this.sessions.value = chosen;
  }

  /** Returns true if the state is another. */
  private showState({ replay }: Model, session: Session | undefined, tool: ToolPose | undefined): boolean {
    const chip = element("render-state");
    const isStale = session !== undefined && session.ageUs > 500_000 && replay?.isSeeking !== true;
    let [words, tone] = tool === undefined ? ["no instrument", "idle"] : (STATES[tool.isRendered ? tool.state : 0] ?? STATES[0]!);
    if (isStale) [words, tone] = ["no ticks", "bad"];
    if (tool?.isLimited === true && !isStale) words += ", limited";
    if (chip.textContent === words) return false;
    chip.textContent = words!;
    chip.dataset["tone"] = tone!;
    return true;
  }

  private showContact(session: Session | undefined, tool: ToolPose | undefined): void {
    const distance = element("distance");
    if (tool === undefined || session === undefined) {
      for (const id of ["distance", "contacts", "lag"]) element(id).textContent = "–";
      return;
    }
    distance.textContent = `${tool.isLowerBound ? "≥ " : ""}${millimetres(tool.signedDistance)}`;
    const deepest = session.contactDistances.reduce((least, d) => Math.min(least, d), 0);
    const depth = deepest < -5e-6 ? `, deepest ${millimetres(-deepest)}` : "";
    element("contacts").textContent = `${session.contactsTotal}${depth}`;
    const [seen, device] = [tool.links[0], tool.deviceLinks[0]];
    const isDrawn = tool.isRendered && seen !== undefined && device !== undefined;
    const lag = isDrawn ? Math.hypot(...[0, 1, 2].map((k) => seen.position[k]! - device.position[k]!)) : 0;
    element("lag").textContent = tool.isRendered ? millimetres(lag) : "–";
  }

  /** Lists the tool's probes with their distance. */
  private showProbes(model: Model, tool: ToolPose | undefined): void {
    const names = (tool && model.tools.get(tool.tool)?.probeNames) ?? [];
    const list = element("probes");
    const key = names.join("\n");
    if (list.dataset["key"] !== key) {
      list.dataset["key"] = key;
      list.replaceChildren(
        ...names.map((name) => {
          const [row, term] = [document.createElement("div"), document.createElement("dt")];
          term.textContent = `Probe ${name}`;
          row.append(term, document.createElement("dd"));
          return row;
        }),
      );
    }
    [...list.children].forEach((row, at) => {
      const distance = tool!.probeDistances[at];
      const isBound = tool!.areProbesBounds[at] === 1;
      // A bound below zero says nothing: the probe was not searched to the end.
      const isUnknown = distance === undefined || (isBound && distance < 0);
      row.lastElementChild!.textContent = isUnknown ? "–" : `${isBound ? "≥ " : ""}${millimetres(distance)}`;
    });
  }

  /** `seconds`: time of the frame by the server's clock. */
  private showTimes(session: Session | undefined, seconds: number): void {
    const figures = session?.figures;
    const objective = figures?.objectiveUs ?? 1000;
    const said = (us: number | null) => (us === null ? "–" : duration(us));
    const times = [figures?.p50Us, figures?.p99Us, figures?.p999Us];
    const all = [figures?.p50AllUs, figures?.p99AllUs, figures?.p999AllUs];
    this.bars.forEach((bar, at) => {
      const us = times[at] ?? null;
      bar.querySelector(".all")!.textContent = said(all[at] ?? null);
      const fill = bar.querySelector("i")!;
      // The objective is at two thirds of the bar.
      fill.style.width = `${us === null ? 0 : Math.min(100, (us / objective) * 66.667)}%`;
      fill.className = us !== null && us > objective ? "late" : "";
      bar.querySelector(".value")!.textContent = said(us);
    });
    const missed = element("missed");
    const { recentTicks = 0, recentMissed = 0, recentMissedByMachine: byMachine = null } = figures ?? {};
    const percent = (ticks: number) => {
      const share = (100 * ticks) / recentTicks;
      return `${share.toFixed(share < 10 ? 2 : 0)} %`;
    };
    missed.textContent = recentTicks === 0 ? "–" : `${percent(recentMissed)} over ${objective / 1000} ms`;
    const isKnown = recentTicks > 0 && byMachine !== null;
    element("missed-by").textContent = isKnown ? `${percent(byMachine)}, ${percent(recentMissed - byMachine)}` : "–";
    missed.className = recentMissed > 0.01 * recentTicks ? "bad" : "";
    this.showRate(session, seconds);
  }

  private showRate(session: Session | undefined, seconds: number): void {
    const answered = session?.figures.answered ?? 0;
    const since = seconds - this.counted.seconds;
    // A replay that goes back counts again.
    if (session === undefined || session.stream !== this.counted.stream || since < 0) {
      this.counted = { stream: session?.stream ?? 0, seconds, answered };
      this.rate = "–";
    } else if (since >= RATE_SPAN_S) {
      this.rate = `${Math.round((answered - this.counted.answered) / since).toLocaleString("en")} Hz`;
      this.counted = { stream: session.stream, seconds, answered };
    }
    element("rate").textContent = this.rate;
  }

  private showTissues(model: Model): void {
    const list = element("tissues");
    const key = [...model.tissues.values()].map((tissue) => `${tissue.id} ${tissue.name}`).join("\n");
    if (list.dataset["key"] !== key) {
      list.dataset["key"] = key;
      list.replaceChildren(...[...model.tissues.values()].map((tissue) => this.tissueRow(tissue)));
    }
    [...model.tissues.values()].forEach((tissue, at) => {
      const row = list.children[at];
      row!.querySelector("input")!.checked = tissue.isShown;
      const cuts = tissue.topologyRevision > 0 ? ` · ${tissue.topologyRevision} cuts` : "";
      const text = `${tissue.surface.present.toLocaleString("en")} △ · r${tissue.geometryRevision}${cuts}`;
      row!.querySelector(".detail")!.textContent = text;
    });
  }

  private tissueRow(tissue: Tissue): HTMLLIElement {
    const [row, label, box] = [document.createElement("li"), document.createElement("label"), document.createElement("input")];
    box.type = "checkbox";
    box.checked = tissue.isShown;
    box.addEventListener("change", () => {
      // The row outlives its tissue: each stream of frames creates tissues of its own.
      const shown = this.tissues.get(tissue.id);
      if (shown !== undefined) shown.isShown = box.checked;
      this.onChoice();
    });
    const [name, detail] = [document.createElement("span"), document.createElement("span")];
    [name.className, detail.className] = ["name", "detail"];
    name.textContent = tissue.isForbidden ? `${tissue.name} (keep out)` : tissue.name;
    label.append(box, name, detail);
    row.append(label);
    return row;
  }
}

function duration(us: number): string {
  return us < 9_999.5 ? `${Math.round(us).toLocaleString("en")} µs` : `${(us / 1000).toFixed(us < 99_950 ? 1 : 0)} ms`;
}

export function millimetres(metres: number): string {
  const mm = 1000 * metres;
  const digits = Math.abs(mm) < 10 ? 2 : 1;
  return `${(Math.abs(mm) < 0.005 ? 0 : mm).toFixed(digits).replace("-", "−")} mm`;
}
