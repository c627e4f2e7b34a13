/** How much is stored: by tenant, signal and day; what is in memory, in the journal, and given up when. */
import { getJson } from "../../frame/api";
import { ago, bytes, count, duration, millisOf, time } from "../../ui/format";
import { Card, Figure } from "../../ui/page";
import { Answer, Empty, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { ByService } from "./byservice";
import type { Partition, StorageState } from "./types";
import { useEvery } from "./useevery";

const DAY_MILLIS = 86_400_000;

/** `2026-11-18` of days since 1970. */
export function dayName(day: number): string {
  const date = new Date(day * DAY_MILLIS);
  return Number.isNaN(date.getTime()) || day < 0 ? "late" : date.toISOString().slice(0, 10);
}

const COLUMNS: Column<Partition>[] = [
  {
    id: "day",
    title: "Day (UTC)",
    width: "110px",
    value: (row) => row.day,
    render: (row) => dayName(row.day),
  },
  { id: "tenant", title: "Tenant", value: (row) => row.tenant, render: (row) => row.tenant },
  { id: "signal", title: "Signal", width: "90px", value: (row) => row.signal, render: (row) => row.signal },
  number("rows", "Rows", (row) => row.rows, count),
  number("bytes", "Size", (row) => row.bytes, bytes),
  number(
    "each",
    "A row",
    (row) => (row.rows > 0 ? row.bytes / row.rows : 0),
    (each) => `${each.toFixed(1)} B`,
  ),
  number("blocks", "Blocks", (row) => row.blocks, count),
  number("open", "To be joined", (row) => row.blocks - row.compacted, count),
  {
    id: "time",
    title: "From, to",
    width: "minmax(200px, 1.5fr)",
    render: (row) => `${time(millisOf(row.from_nanos))} – ${time(millisOf(row.to_nanos))}`,
  },
];

function number(
  id: string,
  title: string,
  value: (row: Partition) => number,
  show: (value: number) => string,
): Column<Partition> {
  return { id, title, width: "100px", align: "right", value, render: (row) => show(value(row)) };
}

export function Storage() {
  const asked = useEvery(10, (signal) => getJson<StorageState>("/api/admin/storage", {}, signal));
  return <Answer of={asked}>{(state) => <Shown state={state} />}</Answer>;
}

function Shown({ state }: { state: StorageState }) {
  const { journal, compaction, totals } = state;
  const inMemory = state.heads.reduce((all, head) => all + head.bytes, 0);
  return (
    <div class="stack">
      {state.blocks_damaged > 0 && (
        <Warning>
          {state.blocks_damaged} blocks are damaged and left out of answers: <code>kymo store check</code>{" "}
          tells which.
        </Warning>
      )}
      {state.flushes_failed > 0 && (
        <Warning>{state.flushes_failed} flushes failed and were tried again.</Warning>
      )}
      <div class="figures">
        <Figure label="In blocks" value={bytes(totals.bytes)} hint={`${count(totals.rows)} rows`} />
        <Figure label="Blocks" value={count(totals.blocks)} hint={state.data} />
        <Figure
          label="In memory"
          value={bytes(inMemory)}
          hint={state.heads.map(({ signal, rows }) => `${count(rows)} ${signal}`).join(", ")}
        />
        <Figure
          label="Journal ahead of blocks"
          value={bytes(journal.lag_bytes)}
          hint={state.flushed_nanos ? `flushed ${ago(millisOf(state.flushed_nanos))}` : "never flushed"}
        />
        <Figure
          label="Compaction"
          value={compaction.enabled ? count(compaction.compactions) : "off"}
          hint={`${count(compaction.blocks_joined)} blocks became ${count(compaction.blocks_written)}`}
        />
        {state.deletions_pending > 0 && (
          <Figure label="Deletions under way" value={state.deletions_pending} tone="warn" />
        )}
      </div>
      <Card title="Blocks by day">
        {state.partitions.length === 0 ? (
          <Empty title="Nothing is in blocks yet: what came lately is in memory and in the journal" />
        ) : (
          <Table
            columns={COLUMNS}
            rows={state.partitions}
            label="Blocks by day"
            rowKey={(row) => `${row.tenant}/${row.signal}/${row.day}`}
            sorting={{ column: "day", descending: true }}
          />
        )}
        {state.partitions_left_out > 0 && (
          <Warning>
            {count(state.partitions_left_out)} rows of earlier days are left out; the sums above have them.
          </Warning>
        )}
      </Card>
      <ByService state={state} />
      <Retention state={state} />
      <Card title="Journal">
        <p>
          {count(journal.records)} requests, {bytes(journal.bytes)} and {count(journal.syncs)} syncs since the
          start; {bytes(journal.unapplied_bytes)} not yet in memory
          {journal.failed_segments > 0 && (
            <span class="bad">; {journal.failed_segments} segments failed</span>
          )}
          {journal.quarantined_bytes > 0 && (
            <span class="bad">; {bytes(journal.quarantined_bytes)} were damaged and set aside</span>
          )}
          .
        </p>
      </Card>
    </div>
  );
}

function Retention({ state }: { state: StorageState }) {
  const limited = state.retention.filter((one) => one.max_age_seconds !== null || one.max_bytes !== null);
  return (
    <Card title="Retention">
      {limited.length === 0 ? (
        <p class="muted">
          Everything is kept. <code>store.retention</code> sets an age or a size after which it is not.
        </p>
      ) : (
        <ul class="admin-list">
          {limited.map((one) => (
            <li key={`${one.tenant}/${one.signal}`}>
              {one.signal} of {one.tenant}:{" "}
              {[
                one.max_age_seconds !== null && duration(one.max_age_seconds * 1e9),
                one.max_bytes !== null && bytes(one.max_bytes),
              ]
                .filter(Boolean)
                .join(", at most ")}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
