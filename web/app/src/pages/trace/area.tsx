/** What ran in a stretch that was marked among the bars (shift and drag): spans, errors, and whose time it was. */
import { useEffect, useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { offset } from "../../ui/canvas/ticks";
import type { Window } from "../../ui/canvas/window";
import { colorOf } from "../../ui/colors";
import { count, duration } from "../../ui/format";
import { FLAG, type Trace } from "./columns";
import type { TraceState } from "./state";

/** Of a stretch: how many spans touch it, and the time that each service's spans have in it. */
export interface AreaTotals {
  spans: number;
  errors: number;
  services: { name: string; spans: number; nanos: number }[];
}

/** Adds up what lies in a stretch. */
export function areaTotals(trace: Trace, { from, to }: Window): AreaTotals {
  const { start, duration: length, service, flags, spans } = trace;
  const nanos = new Float64Array(trace.header.services.length);
  const counts = new Uint32Array(trace.header.services.length);
  let [total, errors] = [0, 0];
  for (let row = 0; row < spans; row += 1) {
    const begin = start[row]!;
    const end = begin + Math.max(0, length[row]!);
    if (begin > to || end < from) continue;
    total += 1;
    if ((flags[row]! & FLAG.error) !== 0) errors += 1;
    nanos[service[row]!]! += Math.min(end, to) - Math.max(begin, from);
    counts[service[row]!]! += 1;
  }
  const services = trace.header.services
    .map(({ name }, at) => ({ name, spans: counts[at]!, nanos: nanos[at]! }))
    .filter((one) => one.spans > 0)
    .sort((a, b) => b.nanos - a.nanos);
  return { spans: total, errors, services };
}

const SETTLED_MILLIS = 120;
const SERVICES_SHOWN = 6;

export function AreaSummary({ state }: { state: TraceState }) {
  const area = state.area.value;
  const trace = state.trace.value;
  const [totals, setTotals] = useState<AreaTotals>();
  useEffect(() => {
    if (!area) return setTotals(undefined);
    const timer = setTimeout(() => setTotals(areaTotals(trace, area)), SETTLED_MILLIS);
    return () => clearTimeout(timer);
  }, [trace, area?.from, area?.to]);
  if (!area || !totals) return null;
  const step = (area.to - area.from) / 100;
  const clear = () => state.mark(undefined);
  return (
    <div class="area-summary" role="status">
      <b>{duration(area.to - area.from)}</b>
      <span class="muted">
        {offset(Math.round(area.from), step)} to {offset(Math.round(area.to), step)}
      </span>
      <span>
        {count(totals.spans)} spans
        {totals.errors > 0 && <span class="bad"> · ✖ {count(totals.errors)} errors</span>}
      </span>
      {totals.services.slice(0, SERVICES_SHOWN).map((one) => (
        <span key={one.name} class="row area-service" title={`${one.spans} spans, time inside the area`}>
          <span class="swatch" style={{ background: colorOf(one.name) }} />
          <span class="ellipsis">{one.name || "(no service)"}</span>
          <span class="muted">{duration(one.nanos)}</span>
        </span>
      ))}
      <span class="page-actions">
        <Button
          onClick={() => {
            clear();
            state.look(area);
          }}
        >
          Zoom
        </Button>
        <Button kind="quiet" icon="close" label="Forget the area" onClick={clear} />
      </span>
    </div>
  );
}
