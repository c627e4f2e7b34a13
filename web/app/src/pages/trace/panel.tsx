/** What there is to know of the span that is looked at, beside the views. */
import { useMemo, useRef, useState } from "preact/hooks";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { offset } from "../../ui/canvas/ticks";
import { around } from "../../ui/canvas/window";
import { colorOf } from "../../ui/colors";
import { duration, percent } from "../../ui/format";
import { Answer } from "../../ui/states";
import { askDetails } from "./asked";
import { endOf, FLAG, has, nameOf, serviceOf, spanId, type Trace } from "./columns";
import { SpanParts } from "./spanparts";
import type { TraceState } from "./state";
import "./panel.css";

const WIDTH = "kymo.trace.panel";

export function SidePanel({ state, id }: { state: TraceState; id: string }) {
  const [width, setWidth] = useState(() => Number(localStorage.getItem(WIDTH)) || 400);
  const drag = useRef<{ x: number; width: number } | undefined>(undefined);
  const trace = state.trace.value;
  const row = state.selected.value;
  const asked = useAsk((signal) => askDetails(id, [row], signal), [id, row, trace.header.revision]);
  const resize = (x: number) => {
    if (!drag.current) return;
    const wanted = drag.current.width + drag.current.x - x;
    const next = Math.round(Math.max(300, Math.min(window.innerWidth * 0.6, wanted)));
    localStorage.setItem(WIDTH, String(next));
    setWidth(next);
  };
  return (
    <aside class="panel" style={{ width }} aria-label="Span">
      <div
        class="panel-edge"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.current = { x: event.clientX, width };
        }}
        onPointerMove={(event) => resize(event.clientX)}
        onPointerUp={() => {
          drag.current = undefined;
        }}
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
    <div class="panel-head">
      <div class="row panel-title">
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
      <h2 class="panel-name">{nameOf(trace, row) || "(no name)"}</h2>
    </div>
  );
}

/** How this span's duration stands among those of the same service and name: how many took no longer. */
export function rankAmongSame(trace: Trace, row: number): { same: number; noLonger: number } {
  const { name, service, duration: nanos, spans } = trace;
  const [ownName, ownService, own] = [name[row]!, service[row]!, nanos[row]!];
  let [same, noLonger] = [0, 0];
  for (let other = 0; other < spans; other += 1) {
    if (name[other] !== ownName || service[other] !== ownService) continue;
    same += 1;
    if (nanos[other]! <= own) noLonger += 1;
  }
  return { same, noLonger };
}

function Figures({ state, trace, row }: { state: TraceState; trace: Trace; row: number }) {
  const rank = useMemo(() => rankAmongSame(trace, row), [trace, row]);
  const nanos = trace.duration[row]!;
  const critical = trace.critical[row]!;
  const whole = trace.header.criticalPath.durationNanos;
  const [saving, slack] = [trace.saving[row]!, trace.slack[row]!];
  const isCritical = has(trace, row, FLAG.critical);
  const tenth = Math.max(0, nanos) / 10;
  return (
    <div class="panel-figures">
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
      <div class={isCritical ? "panel-critical" : "panel-slack"}>
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
            ) : (
              ", yet nothing would be won or lost if it ended earlier."
            )}
          </>
        )}
      </div>
    </div>
  );
}

function Pair({ name, value, hint }: { name: string; value: string; hint?: string }) {
  return (
    <div class="pair">
      <span class="muted">{name}</span>
      <b title={hint}>{value}</b>
    </div>
  );
}
