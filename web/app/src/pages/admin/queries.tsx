/** Queries that run, which can be ended, and those that were slow. */
import { useState } from "preact/hooks";
import { getJson, sendJson } from "../../frame/api";
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { Button } from "../../ui/button";
import { ago, bytes, count, duration } from "../../ui/format";
import { Card, Figure } from "../../ui/page";
import { Answer, Empty, ErrorBox } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import type { QueriesState, ShownQuery } from "./types";
import { useEvery } from "./useevery";

/** Where a query can be asked again, if there is such a page and all of it is known. */
export function pageOf({ kind, text, is_cut }: ShownQuery): string | undefined {
  if (is_cut) return undefined;
  switch (kind) {
    case "traceql":
      return text.startsWith("{") || text.startsWith("(") ? link("/traces", { q: text }) : undefined;
    case "promql":
      return text === "names and labels" ? undefined : link("/explore/metrics", { q: text });
    case "logql":
      return text === "streams and labels" ? undefined : link("/explore/logs", { q: text });
    case "sql":
      return link("/explore/sql", { q: text });
    case "trace":
      return link(`/trace/${encodeURIComponent(text)}`);
    default:
      return undefined;
  }
}

const COLUMNS: Column<ShownQuery>[] = [
  { id: "kind", title: "Language", width: "90px", value: (row) => row.kind, render: (row) => row.kind },
  {
    id: "text",
    title: "Query",
    width: "minmax(260px, 4fr)",
    value: (row) => row.text,
    render: (row) => {
      const page = pageOf(row);
      return page ? (
        <a class="mono" href={href(page)} title={row.text}>
          {row.text}
        </a>
      ) : (
        <span class="mono" title={row.text}>
          {row.text}
        </span>
      );
    },
  },
  {
    id: "tenants",
    title: "Tenants",
    width: "120px",
    value: (row) => row.tenants,
    render: (row) => row.tenants,
  },
  {
    id: "seconds",
    title: "Took",
    width: "90px",
    align: "right",
    value: (row) => row.seconds,
    render: (row) => duration(row.seconds * 1e9),
  },
  {
    id: "rows",
    title: "Rows read",
    width: "90px",
    align: "right",
    value: (row) => row.rows_scanned,
    render: (row) => count(row.rows_scanned),
  },
];

const WHEN: Column<ShownQuery>[] = [
  {
    id: "outcome",
    title: "Ended",
    width: "90px",
    value: (row) => row.outcome,
    render: (row) => <span class={row.outcome === "timeout" ? "bad" : ""}>{row.outcome}</span>,
  },
  {
    id: "when",
    title: "Begun",
    width: "110px",
    value: (row) => row.began_millis,
    render: (row) => ago(row.began_millis),
  },
];

export function Queries() {
  const asked = useEvery(2, (signal) => getJson<QueriesState>("/api/admin/queries", {}, signal));
  const [error, setError] = useState<Error>();
  const end = (id: string) => {
    setError(undefined);
    sendJson("POST", `/api/admin/queries/${encodeURIComponent(id)}/cancel`).then(asked.again, setError);
  };
  const ending: Column<ShownQuery> = {
    id: "end",
    title: "",
    width: "100px",
    align: "right",
    render: (row) => (
      <Button kind="danger" disabled={row.is_ending} onClick={() => end(row.id)}>
        {row.is_ending ? "Ending" : "End"}
      </Button>
    ),
  };
  return (
    <Answer of={asked}>
      {(state) => (
        <div class="stack">
          {error && <ErrorBox error={error} />}
          <div class="figures">
            <Figure label="Running" value={state.running.length} hint={`${state.waiting} wait`} />
            <Figure label="Memory of queries" value={bytes(state.memory_bytes)} />
            <Figure
              label="Answered"
              value={count(state.finished)}
              hint={`${count(state.rows_answered)} rows`}
            />
            <Figure label="Rows read" value={count(state.rows_scanned)} />
            <Figure
              label="Failed"
              value={count(state.failed.reduce((all, one) => all + one.count, 0))}
              hint={
                state.failed
                  .filter((one) => one.count > 0)
                  .map((one) => `${one.count} ${one.kind}`)
                  .join(", ") || "none"
              }
            />
          </div>
          <Card title="Running now">
            {state.running.length === 0 ? (
              <Empty title="No query runs" />
            ) : (
              <Table
                columns={[...COLUMNS, ending]}
                rows={state.running}
                label="Queries that run"
                rowKey={(row) => row.id}
                rowHeight={34}
              />
            )}
          </Card>
          <Card title="Slow lately">
            {state.slow.length === 0 ? (
              <Empty title="No query took longer than half a second" />
            ) : (
              <Table
                columns={[...COLUMNS, ...WHEN]}
                rows={state.slow}
                label="Slow queries"
                rowKey={(row) => row.id}
              />
            )}
          </Card>
        </div>
      )}
    </Answer>
  );
}
