/** What there is to know of the span that is looked at, beside the views. */
import { useMemo, useState } from "preact/hooks";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { offset } from "../../ui/canvas/ticks";
import { around } from "../../ui/canvas/window";
import { colorOf } from "../../ui/colors";
import { duration, percent } from "../../ui/format";
import { keptWidth, Separator } from "../../ui/separator";
import { Answer } from "../../ui/states";
import { askSpan } from "./asked";
import { endOf, FLAG, has, nameOf, serviceOf, spanId, type Trace } from "./columns";
import { SpanParts } from "./spanparts";
import type { TraceState } from "./state";
import { timesText, type Usual, useUsual } from "./usual";
import "./panel.css";

const WIDTH = "kymo.trace.panel";
const LEAST_WIDTH = 300;
/** What part of the window it takes at most. */
const MOST = 0.6;
const USUAL_WIDTH = 400;

export function SidePanel({ state, id }: { state: TraceState; id: string }) {
  const [width, setWidth] = useState(() => keptWidth(WIDTH, USUAL_WIDTH));
  const trace = state.trace.value;
  const row = state.selected.value;
  const asked = useAsk((signal) => askSpan(id, trace, row, signal), [id, row, trace.header.revision]);
  return (
    <aside class="span-panel" style={{ width }} aria-label="Span">
      <Separator
        label="Width of the details"
        class="span-panel-edge"
        name={WIDTH}
        width={width}
        least={LEAST_WIDTH}
        most={MOST}
        isRight
        onChange={setWidth}
      />
      <PanelHead state={state} trace={trace} row={row} />
      <Figures state={state} trace={trace} row={row} />
      <Answer of={asked} lines={10}>
        {(details) => <SpanParts details={details} trace={trace} row={row} />}
      </Answer>
    </aside>
  );
}

function PanelHead({ state, trace, row }: { state: TraceState; trace: Trace; row: number }) {
  const service = serviceOf(trace, row);
  const parent = trace.parent[row]!;
  return (
    <div class="span-panel-head">
      <div class="row span-panel-title">
        <span class="swatch" style={{ background: colorOf(service) }} />
        <span class="muted ellipsis">{service || "(no service)"}</span>
        <span class="page-actions">
          {parent >= 0 && (
            <Button kind="quiet" icon="up" label="Its parent" onClick={() => state.select(parent)} />
          )}
          <Button
            kind="quiet"
            icon="search"
            label="Zoom to it"
            onClick={() => state.look(around(trace.start[row]!, endOf(trace, row), state.length))}
          />
          <Button
            kind="quiet"
            icon="filter"
            label="Only what is below it (x)"
            onClick={() => state.filter({ root: spanId(trace, row) })}
          />
          <Button kind="quiet" icon="close" label="Close (Esc)" onClick={() => state.select(-1)} />
        </span>
      </div>
      <h2 class="span-panel-name">{nameOf(trace, row) || "(no name)"}</h2>
    </div>
  );
}

/**
 * How this span's duration stands among those of the same service and name: how many took no longer. Others
 * that still run are left out: nobody knows how long they take.
 */
export function rankAmongSame(trace: Trace, row: number): { same: number; noLonger: number } {
  const { name, service, duration: nanos, spans } = trace;
  const [ownName, ownService, own] = [name[row]!, service[row]!, nanos[row]!];
  let [same, noLonger] = [0, 0];
  for (let other = 0; other < spans; other += 1) {
    if (name[other] !== ownName || service[other] !== ownService) continue;
    if (other !== row && has(trace, other, FLAG.running)) continue;
    same += 1;
    if (nanos[other]! <= own) noLonger += 1;
  }
  return { same, noLonger };
}

function Figures({ state, trace, row }: { state: TraceState; trace: Trace; row: number }) {
  const rank = useMemo(() => rankAmongSame(trace, row), [trace, row]);
  const service = serviceOf(trace, row);
  const usual = useUsual(service, nameOf(trace, row), trace.header.t0);
  const nanos = trace.duration[row]!;
  const critical = trace.critical[row]!;
  const whole = trace.header.criticalPath.durationNanos;
  const [saving, slack] = [trace.saving[row]!, trace.slack[row]!];
  const isCritical = has(trace, row, FLAG.critical);
  const isOutside = has(trace, row, FLAG.outlasts | FLAG.skewed);
  const tenth = Math.max(0, nanos) / 10;
  return (
    <div class="span-panel-figures">
      <Pair name="Duration" value={duration(nanos)} hint={`${nanos} ns`} />
      <Pair
        name="Self"
        value={duration(trace.self[row]!)}
        hint={nanos > 0 ? percent(trace.self[row]! / nanos) : ""}
      />
      <Pair name="Start" value={`+${offset(trace.start[row]!, Math.max(1, state.length / 1e6))}`} />
      {rank.same > 1 && (
        <Pair
          name="Among its kind"
          value={`p${Math.round((rank.noLonger / rank.same) * 100)}`}
          hint={`of ${rank.same} in this trace`}
        />
      )}
      {service !== "" && <UsualPair usual={usual} nanos={nanos} />}
      <div class={isCritical ? "span-panel-critical" : "span-panel-slack"}>
        {isCritical ? (
          <>
            <span class="span-critical" aria-hidden="true">
              ⚑
            </span>{" "}
            {percent(whole > 0 ? critical / whole : 0)} of the critical path.{" "}
            {saving > 0 && (
              <>
                {duration(tenth)} faster saves <b>{duration(Math.min(tenth, saving))}</b>, at most{" "}
                {duration(saving)} can be saved.
              </>
            )}
          </>
        ) : (
          <>
            Not on the critical path
            {slack > 0 ? (
              <>
                : it could end <b>{duration(slack)}</b> later.
              </>
            ) : isOutside ? (
              ", which does not count what ran outside its parent."
            ) : (
              ", yet nothing would be won or lost if it ended earlier."
            )}
          </>
        )}
      </div>
    </div>
  );
}

/** How the span stands to those of its kind in the day before; the place is kept while nothing is known. */
function UsualPair({ usual, nanos }: { usual: Usual | undefined; nanos: number }) {
  const { p50Nanos, p95Nanos } = usual ?? {};
  if (p50Nanos === undefined || p95Nanos === undefined) {
    const hint = usual ? "There were none in the 24 hours before the trace" : "";
    return <Pair name="p95 of its kind" value="–" hint={hint} />;
  }
  const times = nanos > 0 && p95Nanos > 0 ? ` (${timesText(nanos, p95Nanos)})` : "";
  return (
    <Pair
      name="p95 of its kind"
      value={`${duration(p95Nanos)}${times}`}
      hint={`In the 24 hours before the trace; half took no longer than ${duration(p50Nanos)}`}
    />
  );
}

function Pair({ name, value, hint }: { name: string; value: string; hint?: string }) {
  return (
    <div class="figure-pair">
      <span class="muted">{name}</span>
      <b title={hint}>{value}</b>
    </div>
  );
}
