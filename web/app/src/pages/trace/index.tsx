/**
 * One trace. It is read once as columns; what is drawn, folded and filtered is computed from them, and
 * details are asked for as they are looked at. A trace that still runs is read again in live mode.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../frame/api";
import { param } from "../../frame/router";
import { liveMillis, refreshes } from "../../frame/time";
import { type Asked, useAsk } from "../../frame/useask";
import { PageBody } from "../../ui/page";
import { ErrorBox, Skeleton } from "../../ui/states";
import { Tabs } from "../../ui/tabs";
import type { PageProps } from "..";
import { askTrace } from "./asked";
import type { Trace } from "./columns";
import { CriticalView } from "./critical";
import { Filters } from "./filters";
import { FindBox } from "./find";
import { FlameView } from "./flame";
import { GraphView } from "./graph";
import { HeadActions, HeadFacts, titleOf, Warnings } from "./head";
import { useTraceKeys } from "./keys";
import { LogsView } from "./logs";
import { EmptyTrace, UnknownTrace } from "./missing";
import { SidePanel } from "./panel";
import { TraceState } from "./state";
import { StatisticsView } from "./stats";
import { TableView } from "./table";
import { Timeline } from "./timeline";
import type { TimelineView } from "./timelineview";
import { currentView, LABELS, setView, VIEWS, type ViewName } from "./views";
import "./trace.css";
import "./views.css";

export default function TracePage({ params }: PageProps) {
  const id = params.id!;
  // Only a refresh that somebody asked for, live mode, or an answer about a newer version reads the trace again.
  const asked = useAsk((signal) => askTrace(id, signal), [id, refreshes.value]);
  const state = useTraceState(asked, id);
  const isUnknown = asked.error instanceof ApiError && [400, 404].includes(asked.error.status);
  if (isUnknown && !state) return <UnknownTrace id={id} />;
  if (!state) {
    return (
      <PageBody title={`Trace ${id.slice(0, 16)}`} wide>
        {asked.error ? <ErrorBox error={asked.error} again={asked.again} /> : <Skeleton lines={12} />}
      </PageBody>
    );
  }
  if (state.trace.value.spans === 0) return <EmptyTrace id={id} />;
  return <ShownTrace state={state} id={id} asked={asked} />;
}

/** What is shown of the newest answer; kept when a newer one comes. */
function useTraceState(asked: Asked<Trace>, id: string): TraceState | undefined {
  const [held, setHeld] = useState<{ id: string; state: TraceState }>();
  const { data } = asked;
  useEffect(() => {
    if (!data) return;
    if (held?.id !== id) setHeld({ id, state: new TraceState(data) });
    else if (held.state.trace.peek().header.revision !== data.header.revision) held.state.take(data);
  }, [data, id]);
  useEffect(() => () => held?.state.close(), [held]);
  return held?.id === id ? held.state : undefined;
}

function ShownTrace({ state, id, asked }: { state: TraceState; id: string; asked: Asked<Trace> }) {
  const handle = useRef<TimelineView | undefined>(undefined);
  const trace = state.trace.value;
  const view = currentView();
  const read = ["zoom", "span", "area", "folded"].map((name) => param(name));
  useEffect(() => state.readAddress(), [state, ...read]);
  const filters = [param("only"), param("root"), param("service")].join("\u0001");
  useEffect(() => state.applyFilters(), [state, filters, state.matches.value]);
  useEffect(() => {
    if (state.selected.value >= 0) handle.current?.showRow(state.selected.value);
  }, [state, state.selected.value]);
  useTraceKeys(state, handle, id);
  const isPanelOpen = state.selected.value >= 0 && param("panel") !== "0";
  return (
    <PageBody title={titleOf(trace)} wide actions={<HeadActions id={id} trace={trace} />}>
      <div class="trace">
        <HeadFacts trace={trace} isLive={liveMillis.value > 0} />
        {asked.error && <ErrorBox error={asked.error} again={asked.again} />}
        <Warnings state={state} />
        <div class="trace-bar">
          <Tabs
            tabs={VIEWS.map((name) => ({ id: name, label: LABELS[name] }))}
            current={view}
            onChange={(name) => setView(name as ViewName)}
            label="Views"
          />
          <FindBox state={state} id={id} />
          <Filters state={state} />
        </div>
        <div class="trace-body">
          <div class="trace-view">{viewOf(view, state, id, handle)}</div>
          {isPanelOpen && <SidePanel state={state} id={id} />}
        </div>
      </div>
    </PageBody>
  );
}

function viewOf(
  view: ViewName,
  state: TraceState,
  id: string,
  handle: { current: TimelineView | undefined },
) {
  switch (view) {
    case "timeline":
      return <Timeline state={state} handle={handle} id={id} />;
    case "flame":
      return <FlameView state={state} id={id} />;
    case "graph":
      return <GraphView state={state} />;
    case "table":
      return <TableView state={state} />;
    case "logs":
      return <LogsView state={state} id={id} />;
    case "stats":
      return <StatisticsView state={state} id={id} />;
    case "critical":
      return <CriticalView state={state} />;
  }
}
