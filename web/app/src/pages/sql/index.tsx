/** SQL over all that is stored: a query, its rows as a table or over time, and as a file. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { eachPiece } from "../../frame/api";
import { href } from "../../frame/base";
import { ran } from "../../frame/recents";
import { link, param, setParams } from "../../frame/router";
import { range, rangeLabel, rangeText, refresh, refreshes, setRange, widenRange } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { colorAt } from "../../ui/colors";
import { Editor } from "../../ui/editor";
import { queryError } from "../../ui/editor/errors";
import { QueryMenu, useQueryKeys } from "../../ui/editor/queries";
import { sqlColumns } from "../../ui/editor/sql";
import { nameOf } from "../../ui/editor/sqlnames";
import { FileButton } from "../../ui/file";
import { count, fullTime } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Card, PageBody } from "../../ui/page";
import { addressSorting } from "../../ui/sorting";
import { Answer, Empty, ErrorBox, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { TimeChart } from "../../ui/timechart";
import {
  type Cell,
  isNumber,
  MOST_ROWS,
  plotted,
  RowReader,
  type SqlAnswer,
  type SqlColumnType,
  withTime,
} from "./rows";
import "../traces/traces.css";
import "./sql.css";

const EXAMPLES: readonly (readonly [string, string])[] = [
  [
    "Slowest operations",
    "select root_service, name, count(*) as spans, avg(duration_nanos) / 1e6 as mean_ms, max(duration_nanos) / 1e6 as max_ms\nfrom spans\nwhere start_time between $from and $to\ngroup by root_service, name\norder by mean_ms desc\nlimit 50",
  ],
  [
    "Errors over time",
    "select date_bin(interval '1 minute', start_time) as minute, count(*) as errors\nfrom spans\nwhere status = 'error' and start_time between $from and $to\ngroup by minute\norder by minute",
  ],
  ["Newest lines of logs", "select time, severity, body\nfrom logs\norder by time desc\nlimit 100"],
];

function posted(query: string, accept: string): RequestInit {
  const body = JSON.stringify({ query: withTime(query, range.peek()) });
  return { method: "POST", body, headers: { "Content-Type": "application/json", Accept: accept } };
}

interface Outcome extends SqlAnswer {
  millis: number;
  /** Whether somebody ended it: the rows are those that had come. */
  isStopped: boolean;
}

async function rowsOf(query: string, signal: AbortSignal, stop: AbortSignal): Promise<Outcome> {
  const began = performance.now();
  const reader = new RowReader();
  const ended = new AbortController();
  for (const one of [signal, stop]) one.addEventListener("abort", () => ended.abort(), { once: true });
  const init = { ...posted(query, "application/json"), signal: ended.signal };
  try {
    await eachPiece("/api/sql", init, (piece) => reader.take(piece));
  } catch (error) {
    if (!stop.aborted) throw error;
  }
  const isStopped = stop.aborted;
  return { ...reader.end(isStopped), millis: performance.now() - began, isStopped };
}

export default function SqlPage() {
  const query = param("q") ?? "";
  const shown = range.value;
  // A query that does not name the time shown does not change with it, but is asked again with all else.
  const time = namesTime(query) ? `${shown.from} ${shown.to}` : "";
  const stopping = useRef(new AbortController());
  const ask = (signal: AbortSignal) => {
    stopping.current = new AbortController();
    return rowsOf(query, signal, stopping.current.signal);
  };
  const asked = useAsk(query === "" ? undefined : ask, [query, time, refreshes.value]);
  const stop = query !== "" && asked.loading ? () => stopping.current.abort() : undefined;
  useQueryKeys("SQL", "sql", query, (q) => setParams({ q }));
  const wrong = asked.error && queryError(query, asked.error);
  return (
    <PageBody title="SQL">
      <div class="traces-body">
        <div class="traces-main">
          <QueryBox query={query} error={asked.error} stop={stop} />
          {asked.error && !wrong && <ErrorBox error={asked.error} again={asked.again} />}
          {query === "" ? (
            <Examples />
          ) : (
            !asked.error && <Answer of={asked}>{(answer) => <Rows answer={answer} query={query} />}</Answer>
          )}
        </div>
        <Tables />
      </div>
    </PageBody>
  );
}

/** `stop` ends what runs. */
function QueryBox({ query, error, stop }: { query: string; error?: Error; stop?: () => void }) {
  const [draft, setDraft] = useState(query);
  useEffect(() => setDraft(query), [query]);
  const run = (text = draft) => {
    ran("sql", text);
    if (text.trim() === query) refresh();
    // The columns of another query have an order of their own.
    else setParams({ q: text.trim(), sort: undefined });
  };
  const wrong = draft === query ? queryError(query, error, withTime(query, range.peek())) : undefined;
  return (
    <section class="card query-card" aria-label="Query">
      <Editor
        language="sql"
        label="SQL"
        value={draft}
        lines={5}
        placeholder="select … from spans where start_time between $from and $to"
        onChange={setDraft}
        onRun={run}
        error={wrong}
      />
      {wrong && <p class="bad">{wrong.message}</p>}
      <div class="row">
        <Button kind="primary" onClick={() => run()} title="Run (Ctrl Enter)">
          Run
        </Button>
        {stop && (
          <Button icon="close" onClick={stop}>
            Stop
          </Button>
        )}
        <QueryMenu language="sql" current={draft} onPick={run} />
        <span class="muted">
          <code>$from</code> and <code>$to</code> are the time shown
        </span>
      </div>
    </section>
  );
}

function Examples() {
  return (
    <Empty title="No query yet">
      {EXAMPLES.map(([title, text]) => (
        <Button key={title} onClick={() => setParams({ q: text })}>
          {title}
        </Button>
      ))}
    </Empty>
  );
}

function Rows({ answer, query }: { answer: Outcome; query: string }) {
  const columns = useMemo(() => columnsOf(answer.columns), [answer]);
  const chart = useMemo(() => plotted(answer), [answer]);
  return (
    <div class="stack">
      <div class="traces-status">
        <span role="status">
          {count(answer.rows.length)} rows · {(answer.millis / 1000).toFixed(2)} s
        </span>
        <span class="page-actions">
          <FileButton path="/api/sql" name="rows.csv" init={() => posted(query, "text/csv")}>
            <Icon name="download" /> CSV
          </FileButton>
        </span>
      </div>
      {answer.isStopped && (
        <Warning>
          The query was stopped: {answer.rows.length === 0 ? "no row had come" : "these rows had come"} until
          then.
        </Warning>
      )}
      {answer.isCut && <Warning>The first {count(MOST_ROWS)} rows are shown; the file has all.</Warning>}
      {chart && (
        <Card>
          <TimeChart
            times={chart.times}
            lines={chart.lines.map((line, at) => ({ ...line, color: colorAt(at) }))}
            height={200}
            label="Rows over time"
            onZoom={setRange}
          />
        </Card>
      )}
      {answer.rows.length > 0 ? (
        <Table
          label="Rows"
          columns={columns}
          rows={answer.rows}
          rowKey={(_, at) => at}
          {...addressSorting()}
        />
      ) : (
        !answer.isStopped && <NoRows query={query} />
      )}
    </div>
  );
}

/** Whether a query asks for the time shown. */
function namesTime(query: string): boolean {
  return /\$(?:from|to)\b/.test(query);
}

function NoRows({ query }: { query: string }) {
  if (!namesTime(query)) return <Empty title="No row fits the query" />;
  return (
    <Empty title="No row fits the query in the time shown">
      <p>That is: {rangeLabel(rangeText.value)}.</p>
      <Button onClick={widenRange}>Ask for twice as much time</Button>
    </Empty>
  );
}

function columnsOf(types: readonly SqlColumnType[]): Column<Cell[]>[] {
  return types.map((column, at) => ({
    id: `${at} ${column.name}`,
    title: <span title={column.type}>{column.name}</span>,
    width: isNumber(column) ? "minmax(90px, 0.6fr)" : "minmax(110px, 1fr)",
    align: isNumber(column) ? "right" : "left",
    render: (row) => <CellText cell={row[at] ?? null} column={column} />,
    value: (row) => {
      const cell = row[at];
      return cell === null || cell === undefined
        ? undefined
        : typeof cell === "boolean"
          ? Number(cell)
          : cell;
    },
  }));
}

function CellText({ cell, column }: { cell: Cell; column: SqlColumnType }) {
  if (cell === null) return <span class="muted">null</span>;
  const text = String(cell);
  if (column.type.startsWith("timestamp")) return <span title={text}>{fullTime(Date.parse(text))}</span>;
  if (column.name === "trace_id" && /^[0-9a-f]{16,32}$/.test(text)) {
    return (
      <a class="mono" href={href(link(`/trace/${text}`))}>
        {text}
      </a>
    );
  }
  return (
    <span class={typeof cell === "string" ? "" : "mono"} title={text}>
      {typeof cell === "number" && !Number.isInteger(cell) ? Number(cell.toPrecision(8)) : text}
    </span>
  );
}

function Tables() {
  const asked = useAsk(async () => {
    const tables = new Map<string, { column: string; type: string }[]>();
    for (const { table, column, type } of await sqlColumns()) {
      tables.set(table, [...(tables.get(table) ?? []), { column, type }]);
    }
    return tables;
  }, []);
  return (
    <aside class="facets" aria-label="Tables">
      <h2>Tables</h2>
      <Answer of={asked} lines={6}>
        {(tables) =>
          tables.size === 0 ? (
            <p class="muted">The server did not say which tables there are.</p>
          ) : (
            [...tables].map(([table, columns]) => (
              <details key={table} class="facet">
                <summary>
                  {table} <span class="muted">{columns.length}</span>
                </summary>
                <Button
                  kind="quiet"
                  onClick={() => setParams({ q: `select * from ${nameOf(table)} limit 100` })}
                >
                  100 rows
                </Button>
                {columns.map(({ column, type }) => (
                  <div key={column} class="sql-column">
                    <code class="ellipsis">{column}</code>
                    <span class="muted ellipsis">{type}</span>
                  </div>
                ))}
              </details>
            ))
          )
        }
      </Answer>
    </aside>
  );
}
