/** What was said during a trace: log records that belong to it and events of its spans, as lines of one list. */
import { link } from "../../frame/router";
import { millisOf } from "../../ui/format";
import { quote } from "../../ui/quote";
import { type Attribute, valueText } from "./asked";
import { rowsOfSpans, serviceOf, type Trace } from "./columns";
import type { LogRecord } from "./correlated";
import { exceptionTitle } from "./eventlist";
import type { TraceEvent } from "./traceevents";

/** A line of the view: a record, or an event. */
export interface Said {
  /** Different for each, and the same when the trace is read again: its time, and a number if others have that. */
  key: string;
  /** Nanoseconds since 1970, as text. */
  time: string;
  /** Nanoseconds since the first start. */
  at: number;
  row: number;
  isEvent: boolean;
  level: string;
  service: string;
  text: string;
  /** What an event has. */
  attributes?: readonly Attribute[];
  /** Labels and fields of a record. */
  labels?: Readonly<Record<string, string>>;
}

type Unnamed = Omit<Said, "key">;

function ofEvent(trace: Trace, event: TraceEvent, t0: bigint): Unnamed {
  const isException = event.name === "exception";
  const words = event.attributes.map(({ key, value }) => `${key}=${valueText(value)}`).join(" ");
  return {
    time: event.time,
    at: Number(BigInt(event.time) - t0),
    row: event.row,
    isEvent: true,
    level: isException ? "error" : "event",
    service: serviceOf(trace, event.row),
    text: isException ? exceptionTitle(event.attributes) : `${event.name} ${words}`.trim(),
    attributes: event.attributes,
  };
}

function ofRecord(
  { timeUnixNano, line, labels }: LogRecord,
  t0: bigint,
  rows: ReadonlyMap<string, number>,
): Unnamed {
  return {
    time: timeUnixNano,
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
    // Events of sessions and the like have a name and no text.
    text: line || (labels.event_name ?? ""),
    labels,
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
  const seen = new Map<string, number>();
  return all
    .sort((a, b) => a.at - b.at)
    .map((one) => {
      const before = seen.get(one.time) ?? 0;
      seen.set(one.time, before + 1);
      return { ...one, key: before === 0 ? one.time : `${one.time}.${before}` };
    });
}

const ROOM_MILLIS = 60_000;

/** Where the logs of its service are, around its time. */
export function logsAround({ time, service }: Pick<Said, "time" | "service">): string {
  const stream = service === "" ? '=~".+"' : `=${quote(service)}`;
  const millis = millisOf(time);
  return link("/explore/logs", {
    q: `{service_name${stream}}`,
    from: Math.floor(millis - ROOM_MILLIS),
    to: Math.ceil(millis + ROOM_MILLIS),
  });
}
