/**
 * What was said during the trace: log records that belong to it and events of its spans, in order of time. A
 * line opens below the list (`line=` in the address): whole, and with all that belongs to it.
 */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { href } from "../../frame/base";
import { link, param, setParams } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { offset } from "../../ui/canvas/ticks";
import { colorOf } from "../../ui/colors";
import { TextField } from "../../ui/field";
import { count, millisOf } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { quote } from "../../ui/quote";
import { Empty, ErrorBox, Skeleton, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { isUpload } from "./asked";
import type { Trace } from "./columns";
import { askCorrelated, type LogRecord } from "./correlated";
import type { OfTrace } from "./oftrace";
import { inOrder, type Said } from "./said";
import { SaidDetail } from "./saiddetail";
import { sortingBy } from "./sorting";
import type { TraceState } from "./state";
import { cutText, type TraceEvents, useEvents } from "./traceevents";

const ROW_HEIGHT = 24;
/** What letters of a line the list has: more than fit. */
const LETTERS = 500;
const MARKS: Record<string, string> = { error: "✖", fatal: "✖", critical: "✖", warn: "⚠", warning: "⚠" };

export function LogsView({ state, id }: { state: TraceState; id: string }) {
  const trace = state.trace.value;
  const { header } = trace;
  const events = useEvents(state, id);
  const logs = useAsk(
    (signal) => askCorrelated(header.traceId, "logs", signal),
    [header.traceId, header.revision],
  );
  const said = useSaid(trace, events, logs.data?.logs);
  const filter = param("said") ?? "";
  const shown = useMemo(
    () =>
      said.filter(({ text, service }) => `${service} ${text}`.toLowerCase().includes(filter.toLowerCase())),
    [said, filter],
  );
  const key = param("line");
  const open = useMemo(() => (key ? said.find((one) => one.key === key) : undefined), [said, key]);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // The list became lower: the line stays in sight.
    list.current?.querySelector(".said-open")?.scrollIntoView({ block: "nearest" });
  }, [open?.key]);
  const close = () => setParams({ line: null }, { replace: true });
  const columns = useMemo(() => columnsFor(trace, open?.key), [trace, open?.key]);
  const areEventsAwaited = events.data
    ? !events.isOfTrace && said.length === 0
    : events.loading && header.totals.events > 0;
  const isLoading = areEventsAwaited || (logs.loading && !logs.data);
  const from = millisOf(header.t0);
  const explore = link("/explore/logs", {
    q: `{service_name=~".+"} | trace_id=${quote(header.traceId)}`,
    from: Math.floor(from - 60_000),
    to: Math.ceil(from + header.durationNanos / 1e6 + 60_000),
  });
  return (
    <div ref={list} class={open ? "view-scroll stack said-list" : "view-scroll stack"}>
      <div class="row">
        <TextField
          label="Filter lines"
          hideLabel
          type="search"
          placeholder="Filter lines"
          value={filter}
          onChange={(text) => setParams({ said: text || null }, { replace: true })}
        />
        <span class="muted" role="status">
          {count(shown.length)} of {count(said.length)}: {count(logs.data?.logs.length ?? 0)} log records,{" "}
          {count(events.data?.events.length ?? 0)} events
        </span>
        <a href={href(explore)}>Open in logs</a>
      </div>
      {events.error && <ErrorBox error={events.error} again={events.again} />}
      {logs.error && <ErrorBox error={logs.error} again={logs.again} />}
      {events.data && cutText(events.data) && <Warning>Of events, {cutText(events.data)} are shown.</Warning>}
      {logs.data?.truncated.includes("logs") && (
        <Warning>
          The first {count(logs.data.logs.length)} log records are shown; <a href={href(explore)}>logs</a> has
          all of them.
        </Warning>
      )}
      {isLoading ? (
        <Skeleton />
      ) : said.length === 0 ? (
        <Empty title="Nothing was said">
          <p>
            No span has an event, and no log record {isUpload(id) && "that is stored here "}names this trace.
          </p>
        </Empty>
      ) : (
        <Table
          label="Log records and events"
          columns={columns}
          rows={shown}
          rowKey={(one) => one.key}
          rowHeight={ROW_HEIGHT}
          // Of a line that is open the rest has to be in sight too.
          height={open && `min(${shown.length * ROW_HEIGHT}px, 40vh)`}
          {...sortingBy("logsSort")}
          onOpen={(one) => {
            if (one.row >= 0) state.select(one.row);
            setParams({ line: one.key === open?.key ? null : one.key }, { replace: true });
          }}
          isSelected={({ row }) => row >= 0 && row === state.selected.value}
          rowClass={(one) => (one.key === open?.key ? "said-open" : undefined)}
        />
      )}
      {open && <SaidDetail said={open} state={state} onClose={close} />}
    </div>
  );
}

const NO_RECORDS: readonly LogRecord[] = [];

/** All lines. Until the events of a newer trace have come those from before stay, but lead to no span. */
function useSaid(
  trace: Trace,
  { data, isOfTrace }: OfTrace<TraceEvents>,
  records = NO_RECORDS,
): readonly Said[] {
  const before = useRef<readonly Said[]>([]);
  const said = useMemo(
    () =>
      data && !isOfTrace
        ? before.current.map((one) => ({ ...one, row: -1 }))
        : inOrder(trace, data?.events ?? [], records),
    [trace, data, records],
  );
  before.current = said;
  return said;
}

function columnsFor(trace: Trace, open: string | undefined): Column<Said>[] {
  const step = Math.max(1, trace.header.durationNanos / 1e5);
  return [
    {
      id: "at",
      title: "Time",
      width: "130px",
      align: "right",
      value: ({ at }) => at,
      render: ({ at, key }) => (
        <span class="mono">
          <Icon name={key === open ? "down" : "right"} size={11} /> {offset(at, step)}
        </span>
      ),
    },
    {
      id: "level",
      title: "Level",
      width: "90px",
      value: ({ level }) => level,
      render: ({ level, isEvent }) => (
        <span class={MARKS[level] === "✖" ? "bad" : MARKS[level] ? "warn" : "muted"}>
          {MARKS[level]} {level || (isEvent ? "event" : "")}
        </span>
      ),
    },
    {
      id: "service",
      title: "Service",
      width: "150px",
      value: ({ service }) => service,
      render: ({ service }) => (
        <>
          <span class="swatch" style={{ background: colorOf(service) }} /> {service}
        </>
      ),
    },
    {
      id: "text",
      title: "Text",
      width: "minmax(300px, 1fr)",
      render: ({ text }) => (
        <span class="mono" title={text.slice(0, 1000)}>
          {text.slice(0, LETTERS)}
        </span>
      ),
    },
  ];
}
