/** What was said during the trace: log records that belong to it and events of its spans, in order of time. */
import { useMemo } from "preact/hooks";
import { href } from "../../frame/base";
import { link, param, setParams } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { offset } from "../../ui/canvas/ticks";
import { colorOf } from "../../ui/colors";
import { TextField } from "../../ui/field";
import { count, millisOf } from "../../ui/format";
import { Empty, ErrorBox, Skeleton, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { isUpload, valueText } from "./asked";
import { rowsOfSpans, serviceOf, type Trace } from "./columns";
import { askCorrelated, type LogRecord } from "./correlated";
import { exceptionTitle } from "./eventlist";
import { sortingBy } from "./sorting";
import type { TraceState } from "./state";
import { cutText, type TraceEvent, useEvents } from "./traceevents";

/** A line of the view: a record, or an event. */
export interface Said {
  /** Nanoseconds since the first start. */
  at: number;
  row: number;
  isEvent: boolean;
  level: string;
  service: string;
  text: string;
}

function ofEvent(trace: Trace, event: TraceEvent, t0: bigint): Said {
  const isException = event.name === "exception";
  const words = event.attributes.map(({ key, value }) => `${key}=${valueText(value)}`).join(" ");
  return {
    at: Number(BigInt(event.time) - t0),
    row: event.row,
    isEvent: true,
    level: isException ? "error" : "event",
    service: serviceOf(trace, event.row),
    text: isException ? exceptionTitle(event.attributes) : `${event.name} ${words}`.trim(),
  };
}

function ofRecord(
  { timeUnixNano, line, labels }: LogRecord,
  t0: bigint,
  rows: ReadonlyMap<string, number>,
): Said {
  return {
    at: Number(BigInt(timeUnixNano) - t0),
    row: rows.get(labels.span_id ?? "") ?? -1,
    isEvent: false,
    level: (
      labels.detected_level ??
      labels.level ??
      labels.severity_text ??
      labels.severity ??
      ""
    ).toLowerCase(),
    service: labels.service_name ?? "",
    text: line,
  };
}

/** Both in order of time. */
export function inOrder(trace: Trace, events: readonly TraceEvent[], records: readonly LogRecord[]): Said[] {
  const t0 = BigInt(trace.header.t0);
  const rows = rowsOfSpans(
    trace,
    records.map(({ labels }) => labels.span_id ?? ""),
  );
  const all = [
    ...events.map((event) => ofEvent(trace, event, t0)),
    ...records.map((record) => ofRecord(record, t0, rows)),
  ];
  return all.sort((a, b) => a.at - b.at);
}

const MARKS: Record<string, string> = { error: "✖", fatal: "✖", critical: "✖", warn: "⚠", warning: "⚠" };

export function LogsView({ state, id }: { state: TraceState; id: string }) {
  const trace = state.trace.value;
  const { header } = trace;
  const events = useEvents(state, id);
  const logs = useAsk(
    (signal) => askCorrelated(header.traceId, "logs", signal),
    [header.traceId, header.revision],
  );
  const said = useMemo(
    () => inOrder(trace, events.data?.events ?? [], logs.data?.logs ?? []),
    [trace, events.data, logs.data],
  );
  const filter = param("said") ?? "";
  const shown = useMemo(
    () =>
      said.filter(({ text, service }) => `${service} ${text}`.toLowerCase().includes(filter.toLowerCase())),
    [said, filter],
  );
  const columns = useMemo(() => columnsFor(trace), [trace]);
  const isLoading =
    (events.loading && !events.data && header.totals.events > 0) || (logs.loading && !logs.data);
  const from = millisOf(header.t0);
  const explore = link("/explore/logs", {
    q: `{service_name=~".+"} | trace_id=${JSON.stringify(header.traceId)}`,
    from: Math.floor(from - 60_000),
    to: Math.ceil(from + header.durationNanos / 1e6 + 60_000),
  });
  return (
    <div class="view-scroll stack">
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
          rowKey={(_, index) => index}
          rowHeight={24}
          {...sortingBy("logsSort")}
          onOpen={({ row }) => row >= 0 && state.select(row)}
          isSelected={({ row }) => row >= 0 && row === state.selected.value}
        />
      )}
    </div>
  );
}

function columnsFor(trace: Trace): Column<Said>[] {
  const step = Math.max(1, trace.header.durationNanos / 1e5);
  return [
    {
      id: "at",
      title: "Time",
      width: "130px",
      align: "right",
      value: ({ at }) => at,
      render: ({ at }) => <span class="mono">{offset(at, step)}</span>,
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
          {text.slice(0, 500)}
        </span>
      ),
    },
  ];
}
