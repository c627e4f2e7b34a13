/**
 * Who fills the store: spans and log records of a day by service. Blocks do not say whose bytes they hold, so
 * records are counted, when somebody asks for it, and their size is estimated.
 */
import { useState } from "preact/hooks";
import { sendJson } from "../../frame/api";
import { tenant } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { bytes, count, percent } from "../../ui/format";
import { Card } from "../../ui/page";
import { Answer, Empty } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import type { Partition, StorageState } from "./types";

/** What is counted: a day is read quickly, and tells who sends most. */
const HOURS = 24;
const MOST_SERVICES = 50;
const TABLES = [
  { signal: "traces", table: "spans", time: "start_time" },
  { signal: "logs", table: "logs", time: "time" },
] as const;

export interface ServiceRow {
  service: string;
  signal: string;
  records: number;
  /** The part of all records of the signal that were counted. */
  part: number;
  /** As many rows of mean size; nothing where no block tells how large rows are. */
  bytes?: number;
}

/** The mean size of a row of a signal in blocks, of one tenant or of all. */
export function rowBytes(
  partitions: readonly Partition[],
  signal: string,
  ofTenant?: string,
): number | undefined {
  const own = partitions.filter((one) => one.signal === signal && (!ofTenant || one.tenant === ofTenant));
  const rows = own.reduce((sum, one) => sum + one.rows, 0);
  return rows > 0 ? own.reduce((sum, one) => sum + one.bytes, 0) / rows : undefined;
}

/** Counts of services, the most first, with what they come to. */
export function serviceRows(
  signal: string,
  counts: readonly (readonly [string | null, number])[],
  each: number | undefined,
): ServiceRow[] {
  const all = counts.reduce((sum, [, records]) => sum + records, 0);
  return counts.map(([service, records]) => ({
    service: service ?? "without a name",
    signal,
    records,
    part: all > 0 ? records / all : 0,
    bytes: each === undefined ? undefined : records * each,
  }));
}

async function countedIn(table: string, time: string, signal: AbortSignal) {
  const query =
    `select cast("resource.service.name" as varchar) as service, count(*) as records from ${table} ` +
    `where ${time} > now() - interval '${HOURS} hours' group by 1 order by 2 desc`;
  return (await sendJson<{ rows: [string | null, number][] }>("POST", "/api/sql", { query }, signal)).rows;
}

const COLUMNS: Column<ServiceRow>[] = [
  {
    id: "service",
    title: "Service",
    width: "minmax(160px, 3fr)",
    value: (row) => row.service,
    render: (row) => row.service,
  },
  { id: "signal", title: "Signal", width: "90px", value: (row) => row.signal, render: (row) => row.signal },
  number("records", "Records", (row) => row.records, count),
  number("part", "Part", (row) => row.part, percent),
  number(
    "bytes",
    "Size, about",
    (row) => row.bytes,
    (size) => bytes(Math.round(size)),
  ),
];

function number(
  id: string,
  title: string,
  value: (row: ServiceRow) => number | undefined,
  show: (value: number) => string,
): Column<ServiceRow> {
  const render = (row: ServiceRow) => {
    const known = value(row);
    return known === undefined ? "–" : show(known);
  };
  return { id, title, width: "110px", align: "right", value, render };
}

export function ByService({ state }: { state: StorageState }) {
  const [isAsked, setAsked] = useState(false);
  return (
    <Card
      title={`By service, the last ${HOURS} hours`}
      actions={!isAsked && <Button onClick={() => setAsked(true)}>Count</Button>}
    >
      {isAsked ? (
        <Counted state={state} />
      ) : (
        <p class="muted">Counting reads a day of spans and log records.</p>
      )}
    </Card>
  );
}

function Counted({ state }: { state: StorageState }) {
  const asked = useAsk(
    (signal) => Promise.all(TABLES.map(({ table, time }) => countedIn(table, time, signal))),
    [tenant.value],
  );
  return (
    <Answer of={asked} lines={4}>
      {(counts) => {
        const rows = TABLES.flatMap(({ signal }, at) =>
          serviceRows(signal, counts[at]!, rowBytes(state.partitions, signal, tenant.value)),
        ).sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0) || b.records - a.records);
        if (rows.length === 0)
          return <Empty title={`No span and no log record is of the last ${HOURS} hours`} />;
        return (
          <>
            <Table
              columns={COLUMNS}
              rows={rows.slice(0, MOST_SERVICES)}
              label="Records by service"
              rowKey={(row) => `${row.signal}/${row.service}`}
            />
            <p class="muted">
              Sizes are estimated: records times the mean size of a row of the signal in blocks.
              {rows.length > MOST_SERVICES &&
                ` The ${MOST_SERVICES} first of ${count(rows.length)} are shown.`}
            </p>
            <Button icon="refresh" onClick={asked.again}>
              Count again
            </Button>
          </>
        );
      }}
    </Answer>
  );
}
