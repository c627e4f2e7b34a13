/**
 * What hosts and GPUs did while the trace ran, below the waterfall on the same axis of time. Who does not
 * want them closes them (`strips=0` in the address), and nothing is asked for.
 */
import { effect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { href } from "../../frame/base";
import { link, param, setParams } from "../../frame/router";
import { theme } from "../../frame/theme";
import { useAsk } from "../../frame/useask";
import { paint } from "../../ui/canvas/paint";
import { Frames, Surface } from "../../ui/canvas/surface";
import { colorOf } from "../../ui/colors";
import { count, millisOf } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { faded } from "../../ui/shades";
import { Answer } from "../../ui/states";
import { isUpload } from "./asked";
import { hostOf } from "./columns";
import {
  askMachines,
  type Correlated,
  isOf,
  lineOf,
  MOST_HOSTS,
  type Strip,
  stripsOf,
  unitText,
  WHOLE,
} from "./correlated";
import type { TraceState } from "./state";

const STRIP_HEIGHT = 30;

export function Strips({ state, id }: { state: TraceState; id: string }) {
  const isOpen = param("strips") !== "0";
  const { header } = state.trace.value;
  // A file may have no times, and then nothing else happened meanwhile.
  const hasHosts = header.totals.hosts > 0 && header.t0 !== "0";
  const asked = useAsk(isOpen && hasHosts ? (signal) => askMachines(id, header, signal) : undefined, [
    id,
    header.revision,
    isOpen,
    hasHosts,
  ]);
  if (!hasHosts) return null;
  return (
    <section class="strips" aria-label="Hosts and GPUs">
      <button
        type="button"
        class="strips-head"
        aria-expanded={isOpen}
        onClick={() => setParams({ strips: isOpen ? "0" : null }, { replace: true })}
      >
        <Icon name={isOpen ? "down" : "right"} size={12} /> Hosts and GPUs
        <span class="muted">
          {header.hosts.slice(0, 3).join(", ")}
          {header.hosts.length > 3 && ` and ${header.hosts.length - 3} more`}
        </span>
      </button>
      {isOpen && (
        <Answer of={asked} lines={2}>
          {(found) => <StripList state={state} found={found} isOfFile={isUpload(id)} />}
        </Answer>
      )}
    </section>
  );
}

interface StripListProps {
  state: TraceState;
  found: Correlated;
  /** Whether the trace was opened from a file: its hosts may be unknown here. */
  isOfFile: boolean;
}

function StripList({ state, found, isOfFile }: StripListProps) {
  const { machines } = found;
  const trace = state.trace.value;
  const row = state.selected.value;
  const host = row >= 0 ? hostOf(trace, row) : undefined;
  const strips = useMemo(() => stripsOf(machines, trace.header.t0, host), [machines, trace, host]);
  // Of a single host nothing stands out.
  const hasOthers = strips.some((strip) => !isOf(strip, host));
  if (strips.length === 0) {
    return (
      <p class="strips-none muted">
        {isOfFile && "This trace is of a file. "}No metrics of {trace.header.hosts.slice(0, 3).join(", ")}{" "}
        {isOfFile && "are stored here "}at that time. <a href={href(link("/hosts"))}>Which hosts send some</a>
      </p>
    );
  }
  const hosts = trace.header.totals.hosts;
  return (
    <>
      {hosts > MOST_HOSTS && (
        <p class="strips-none muted" role="status">
          What {count(found.hosts.length)} of {count(hosts)} hosts did; no more are asked about at once.
        </p>
      )}
      <div class="strips-list" tabIndex={0} role="group" aria-label="Strips">
        {strips.map((strip) => (
          <StripRow key={strip.key} strip={strip} state={state} isChosen={hasOthers && isOf(strip, host)} />
        ))}
      </div>
    </>
  );
}

function StripRow({ strip, state, isChosen }: { strip: Strip; state: TraceState; isChosen: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const frames = new Frames(() => drawStrip(surface, strip, state));
    const surface = new Surface(canvas.current!, frames.ask);
    const end = effect(() => {
      state.window.value;
      theme.value;
      frames.ask();
    });
    return () => {
      end();
      frames.stop();
      surface.close();
    };
  }, [strip, state]);
  const { t0, durationNanos } = state.trace.value.header;
  const from = millisOf(t0);
  const room = Math.max(60_000, durationNanos / 1e6);
  const target = link(`/host/${encodeURIComponent(strip.host)}`, {
    from: Math.round(from - room * 0.2),
    to: Math.round(from + durationNanos / 1e6 + room * 0.2),
  });
  const most = unitText(strip.most, strip.unit);
  return (
    <div class={isChosen ? "strip strip-chosen" : "strip"}>
      <div class="strip-label">
        {strip.host === "" ? (
          <span class="ellipsis">{strip.owner}</span>
        ) : (
          <a href={href(target)} class="ellipsis" title={strip.owner}>
            {strip.owner}
          </a>
        )}
        <span class="ellipsis">{strip.name}</span>
        <span class="muted strip-most">{most}</span>
      </div>
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${strip.owner} ${strip.name}: between ${unitText(strip.least, strip.unit)} and ${most}`}
      />
    </div>
  );
}

function drawStrip(surface: Surface, strip: Strip, state: TraceState): void {
  const context = surface.clear();
  const { width } = surface;
  const { from, to } = state.window.peek();
  const colors = paint();
  const color = colorOf(strip.name);
  const top = Math.max(strip.most, WHOLE[strip.unit] ?? 0) || 1;
  const x = (time: number) => ((time - from) / (to - from)) * width;
  const y = (value: number) => STRIP_HEIGHT - 3 - (Math.max(0, value) / top) * (STRIP_HEIGHT - 6);
  context.fillStyle = colors.grid;
  context.fillRect(0, STRIP_HEIGHT - 1, width, 1);
  const line = lineOf(strip);
  context.beginPath();
  context.moveTo(x(line[0]![0]), STRIP_HEIGHT - 2);
  for (const [time, value] of line) context.lineTo(x(time), y(value));
  context.lineTo(x(line.at(-1)![0]), STRIP_HEIGHT - 2);
  context.fillStyle = faded(color, 0.25);
  context.fill();
  context.beginPath();
  for (const [time, value] of line) context.lineTo(x(time), y(value));
  context.strokeStyle = color;
  context.lineWidth = 1.3;
  context.stroke();
}
