/** What comes in, by protocol and tenant; what is refused, why, and what to do about it. */
import { useEffect, useRef } from "preact/hooks";
import { getJson } from "../../frame/api";
import { bytes, count, duration } from "../../ui/format";
import { Card, Figure } from "../../ui/page";
import { Answer, Empty, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import type { IngestState, Sample } from "./types";
import { useEvery } from "./useevery";

/** What one sender kind of one tenant sent. */
export interface Flow {
  key: string;
  tenant: string;
  signal: string;
  protocol: string;
  requests: number;
  bytes: number;
  /** Requests a second since the answer before; nothing before there are two. */
  rate?: number;
}

const keyOf = ({ tenant, signal, protocol }: Sample) => [tenant, signal, protocol].join("/");

/** The answer before, if it can be counted from: a server that was started anew began at zero. */
export function countedFrom(state: IngestState, before?: IngestState): IngestState | undefined {
  return before?.started_millis === state.started_millis ? before : undefined;
}

/** Flows of an answer, with rates against the one before. */
export function flows(state: IngestState, before?: IngestState): Flow[] {
  const sizes = new Map(state.bytes.map((sample) => [keyOf(sample), sample.count]));
  const earlier = new Map(before?.requests.map((sample) => [keyOf(sample), sample.count]));
  const seconds = before ? (state.now_millis - before.now_millis) / 1000 : 0;
  return state.requests.map((sample) => {
    const key = keyOf(sample);
    const rate = seconds > 0 ? (sample.count - (earlier.get(key) ?? 0)) / seconds : undefined;
    return {
      key,
      tenant: sample.tenant,
      signal: sample.signal,
      protocol: sample.protocol ?? "",
      requests: sample.count,
      bytes: sizes.get(key) ?? 0,
      rate,
    };
  });
}

const FLOWS: Column<Flow>[] = [
  { id: "tenant", title: "Tenant", value: (row) => row.tenant, render: (row) => row.tenant },
  { id: "signal", title: "Signal", width: "90px", value: (row) => row.signal, render: (row) => row.signal },
  {
    id: "protocol",
    title: "Protocol",
    value: (row) => row.protocol,
    render: (row) => row.protocol.replaceAll("_", " "),
  },
  {
    id: "rate",
    title: "Requests /s",
    align: "right",
    value: (row) => row.rate,
    render: (row) => (row.rate === undefined ? "…" : row.rate.toFixed(1)),
  },
  {
    id: "requests",
    title: "Requests",
    align: "right",
    value: (row) => row.requests,
    render: (row) => count(row.requests),
  },
  {
    id: "bytes",
    title: "Bytes",
    align: "right",
    value: (row) => row.bytes,
    render: (row) => bytes(row.bytes),
  },
];

const REASONS: Column<Sample & { what: string }>[] = [
  { id: "what", title: "What happened", width: "150px", render: (row) => row.what },
  {
    id: "reason",
    title: "Reason",
    width: "180px",
    value: (row) => row.reason,
    render: (row) => <code>{row.reason ?? row.rule}</code>,
  },
  { id: "of", title: "Of", width: "140px", render: (row) => `${row.signal}, ${row.tenant}` },
  {
    id: "count",
    title: "Count",
    width: "90px",
    align: "right",
    value: (row) => row.count,
    render: (row) => count(row.count),
  },
  {
    id: "means",
    title: "What it means, what to do",
    width: "minmax(320px, 3fr)",
    render: (row) => (
      <span title={[row.means, row.advice].filter(Boolean).join(" → ")}>
        {row.means ?? ""}
        {row.advice && <b> → {row.advice}</b>}
      </span>
    ),
  },
];

export function Ingest() {
  const asked = useEvery(3, (signal) => getJson<IngestState>("/api/admin/ingest", {}, signal));
  const before = useRef<IngestState | undefined>(undefined);
  const last = useRef<IngestState | undefined>(undefined);
  useEffect(() => {
    if (asked.data === last.current) return;
    before.current = last.current;
    last.current = asked.data;
  }, [asked.data]);
  const earlier = asked.data === last.current ? before.current : last.current;
  return (
    <Answer of={asked}>{(state) => <Shown state={state} before={countedFrom(state, earlier)} />}</Answer>
  );
}

const total = (samples: readonly Sample[]) => samples.reduce((all, { count }) => all + count, 0);

function Shown({ state, before }: { state: IngestState; before?: IngestState }) {
  const seconds = before ? (state.now_millis - before.now_millis) / 1000 : 0;
  const rate = (of: (state: IngestState) => number) =>
    before && seconds > 0 ? `${count(Math.round((of(state) - of(before)) / seconds))} /s` : "…";
  const of = (signal: string) => (one: IngestState) =>
    total(one.records.filter((sample) => sample.signal === signal));
  const marked = (samples: readonly Sample[], what: string) => samples.map((sample) => ({ ...sample, what }));
  const reasons = [
    ...marked(state.refused_requests, "requests refused"),
    ...marked(state.refused_records, "records refused"),
    ...marked(state.dropped_records, "left out by a rule"),
    ...marked(state.changed_records, "records changed"),
  ];
  return (
    <div class="stack">
      {!state.recording && (
        <Warning>
          Nothing is recorded: <code>recording.enabled</code> is false.
        </Warning>
      )}
      <div class="figures">
        <Figure label="Spans" value={rate(of("traces"))} hint={`${count(of("traces")(state))} in all`} />
        <Figure label="Points" value={rate(of("metrics"))} hint={`${count(of("metrics")(state))} in all`} />
        <Figure label="Log records" value={rate(of("logs"))} hint={`${count(of("logs")(state))} in all`} />
        <Figure
          label="Bytes as they came"
          value={bytes(total(state.bytes))}
          hint={`${rate((one) => total(one.requests))} requests`}
        />
        <Figure
          label="Refused"
          value={count(total(state.refused_requests) + total(state.refused_records))}
          tone={total(state.refused_requests) + total(state.refused_records) > 0 ? "bad" : undefined}
          hint={`in ${duration((state.now_millis - state.started_millis) * 1e6)}`}
        />
        <Figure
          label="Not in memory yet"
          value={bytes(state.lag.unapplied_bytes)}
          hint={`${bytes(state.lag.unflushed_bytes)} not in blocks`}
        />
        {total(state.duplicates) > 0 && (
          <Figure label="Sent twice" value={count(total(state.duplicates))} hint="kept once" />
        )}
        {total(state.deduplicated_records) > 0 && (
          <Figure
            label="Logged twice"
            value={count(total(state.deduplicated_records))}
            hint="copies of log records, left out"
          />
        )}
      </div>
      <Card title="Senders">
        {state.requests.length === 0 ? (
          <Empty title="Nothing has come since the server was started" />
        ) : (
          <Table columns={FLOWS} rows={flows(state, before)} label="Senders" rowKey={(row) => row.key} />
        )}
      </Card>
      <Card title="Refused, left out, changed">
        {reasons.length === 0 ? (
          <Empty title="Everything that came was kept as it was" />
        ) : (
          <Table
            columns={REASONS}
            rows={reasons}
            label="Refused, left out, changed"
            rowKey={(row) => [row.what, row.reason ?? row.rule, row.signal, row.tenant].join("/")}
            sorting={{ column: "count", descending: true }}
          />
        )}
      </Card>
    </div>
  );
}
