/**
 * Search for traces. The query, what is shown of its answer, and what is selected in it are in the address;
 * the builder and the editor are two ways to write the same query.
 */
import { useEffect, useState } from "preact/hooks";
import { href } from "../../frame/base";
import { ran } from "../../frame/recents";
import { pageLink, param, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { Button } from "../../ui/button";
import { Editor } from "../../ui/editor";
import { queryError } from "../../ui/editor/errors";
import { QueryMenu, useQueryKeys } from "../../ui/editor/queries";
import { SelectField } from "../../ui/field";
import { count } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { PageBody } from "../../ui/page";
import { addressSorting } from "../../ui/sorting";
import { ErrorBox, Skeleton } from "../../ui/states";
import type { Sorting } from "../../ui/table";
import { Tabs } from "../../ui/tabs";
import { tracesPanel } from "../metrics/aspanel";
import { ToDashboard } from "../metrics/todashboard";
import { UploadTrace } from "../trace/upload";
import { Builder } from "./builder";
import { Charts } from "./charts";
import { ColumnPicker } from "./columns";
import { DifferenceExplorer } from "./explorer";
import { Facets } from "./facets";
import { Nothing } from "./nothing";
import { Numbers } from "./numbers";
import { fieldsOf, filterOf, metricsFunction, parse } from "./query";
import { Results } from "./results";
import { lookedInto, type Search, spansOf, useSearch } from "./search";
import "./traces.css";

const DEFAULT_LIMIT = 100;
const MOST_TRACES = 10_000;
/** What rows of spans show besides chosen attributes. */
const SPAN_FIELDS = ["status", "resource.service.name"];

const NEWEST_FIRST: Sorting = { column: "start", descending: true };

type Order = "newest" | "duration" | "spans";

/** Which traces are found, where there are more than are asked for. */
const FIRST_FOUND: Record<Order, (traces: string) => string> = {
  newest: (traces) => `the newest ${traces}`,
  duration: (traces) => `the longest ${traces}`,
  spans: (traces) => `the ${traces} with most matches`,
};

/** The longest are looked for as such: the longest of the newest would be others. */
function orderOf({ column, descending }: Sorting): Order {
  if (!descending) return "newest";
  return column === "duration" ? "duration" : column === "matched" ? "spans" : "newest";
}

function search(q: string, also: Record<string, string | undefined> = {}): void {
  ran("traceql", q);
  setParams({ q, ...also });
}

export default function TracesPage() {
  const query = param("q") ?? "{}";
  const kind = param("rows") === "spans" ? "spans" : "traces";
  const fields = fieldsOf(param("cols") ?? "");
  const limit = Math.max(1, Math.min(MOST_TRACES, Number(param("limit")) || DEFAULT_LIMIT));
  const spans = spansOf(param("spans"));
  const { sorting = NEWEST_FIRST, onSort } = addressSorting(NEWEST_FIRST);
  const metrics = metricsFunction(query);
  const asked = metrics ? filterOf(query) : query;
  const order = orderOf(sorting);
  const selected = kind === "spans" ? [...SPAN_FIELDS, ...fields] : fields;
  const found = useSearch({
    query: asked,
    select: selected.join(","),
    within: range.value,
    limit,
    spans,
    order,
  });
  // What is wrong with the numbers that a query asks for.
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const filter = filterOf(query);
  const isWrong = queryError(query, found.error) !== undefined;
  useQueryKeys("Traces", "traceql", query, (q) => setParams({ q }));
  return (
    <PageBody
      title="Traces"
      actions={
        <>
          <Button icon="compare" onClick={() => setParams({ sel: "{ status = error }", box: undefined })}>
            Errors against the rest
          </Button>
          {metrics !== "compare" && (
            <ToDashboard panel={() => tracesPanel(query, metrics !== undefined, kind)} />
          )}
          <a class="button button-plain" href={href(pageLink("/traces/flame", { q: asked }))}>
            Flame
          </a>
          <UploadTrace />
        </>
      }
    >
      <QueryBar query={query} error={found.error ?? failure} />
      {metrics && metrics !== "compare" && <Numbers query={query} onError={setFailure} />}
      {found.error && !isWrong && <ErrorBox error={found.error} again={found.again} />}
      {(!found.error || (found.traces.length > 0 && !isWrong)) && (
        <div class="traces-body">
          <div class="traces-main">
            {(found.traces.length > 0 || found.isRunning) && <Charts filter={filter} traces={found.traces} />}
            <DifferenceExplorer
              filter={filter}
              query={query}
              traces={found.traces}
              onQuery={search}
              onError={setFailure}
            />
            <div class="traces-status">
              <Status found={found} limit={limit} order={order} />
              <span class="page-actions">
                <SelectField
                  label="Rows"
                  hideLabel
                  value={kind}
                  options={[
                    ["traces", "Traces"],
                    ["spans", "Spans"],
                  ]}
                  onChange={(rows) => setParams({ rows: rows === "spans" ? rows : undefined })}
                />
                <ColumnPicker
                  chosen={fields}
                  onChange={(cols) => setParams({ cols: cols.join(",") || undefined }, { replace: true })}
                />
              </span>
            </div>
            <Found found={found} query={query}>
              <Results
                traces={found.traces}
                fields={fields}
                kind={kind}
                spans={spans}
                sorting={sorting}
                onSort={onSort}
              />
            </Found>
          </div>
          <Facets filter={filter} query={query} onQuery={search} />
        </div>
      )}
    </PageBody>
  );
}

function Found({
  found,
  query,
  children,
}: {
  found: Search;
  query: string;
  children: preact.ComponentChildren;
}) {
  if (found.traces.length > 0)
    return <div class={found.isRunning ? "answer dimmed" : "answer"}>{children}</div>;
  if (found.isRunning) return <Skeleton lines={10} />;
  return <Nothing query={query} onQuery={search} />;
}

function Status({ found, limit, order }: { found: Search; limit: number; order: Order }) {
  const more = Math.min(MOST_TRACES, limit * 5);
  const words = [`${count(found.traces.length)} traces`, lookedInto(found)];
  return (
    <span class="row" role="status">
      <span>{words.filter(Boolean).join(" · ")}</span>
      {found.isRunning && (
        <Button icon="close" onClick={found.stop}>
          Stop, keep what is found
        </Button>
      )}
      {found.isStopped && <span class="badge badge-warn">stopped: not all</span>}
      {found.damagedBlocks > 0 && (
        <span class="badge badge-bad">{count(found.damagedBlocks)} damaged blocks were left out</span>
      )}
      {found.isTruncated && (
        <span class="badge badge-warn">
          <Icon name="warning" size={11} /> {FIRST_FOUND[order](count(limit))}
          {more > limit && (
            <button
              type="button"
              class="text-button"
              onClick={() => setParams({ limit: more }, { replace: true })}
            >
              up to {count(more)}
            </button>
          )}
        </span>
      )}
    </span>
  );
}

function QueryBar({ query, error }: { query: string; error?: Error }) {
  const [draft, setDraft] = useState(query);
  useEffect(() => setDraft(query), [query]);
  const built = parse(draft);
  const wanted = param("mode") === "code" ? "code" : "builder";
  const wrong = draft === query ? queryError(query, error) : undefined;
  // What was run tells how it is shown: the editor stays while somebody types in it.
  const isCode = wanted === "code" || !built || !parse(query) || queryError(query, error) !== undefined;
  const mode = isCode ? "code" : "builder";
  const run = (text = draft) =>
    search(text.trim() || "{}", { box: undefined, sel: undefined, mode: isCode ? "code" : undefined });
  return (
    <section class="card query-card" aria-label="Query">
      <div class="query-head">
        <Tabs
          label="How the query is written"
          current={mode}
          tabs={[
            { id: "builder", label: "Builder" },
            { id: "code", label: "TraceQL" },
          ]}
          onChange={(id) => setParams({ mode: id === "code" ? id : undefined }, { replace: true })}
        />
        {!built && wanted === "builder" && (
          <span class="muted">This query is more than the builder shows.</span>
        )}
        <span class="page-actions">
          <QueryMenu language="traceql" current={draft} onPick={(picked) => run(picked)} />
          <Button kind="primary" onClick={() => run()} title="Run (Ctrl Enter)">
            Run
          </Button>
        </span>
      </div>
      {mode === "builder" && built && (
        <Builder
          built={built}
          onRun={() => run()}
          onChange={(text) => {
            setDraft(text);
            run(text);
          }}
        />
      )}
      {mode === "code" ? (
        <Editor
          language="traceql"
          label="TraceQL"
          value={draft}
          placeholder='{ resource.service.name = "…" && duration > 1s }'
          onChange={setDraft}
          onRun={run}
          error={wrong}
        />
      ) : (
        <code class="query-text">{draft}</code>
      )}
      {wrong && <p class="bad">{wrong.message}</p>}
    </section>
  );
}
