/**
 * Metrics: one or several queries, their answers as a chart, heat map, table or as they came, and a finder
 * of metrics. Queries and how they are shown are in the address.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../frame/api";
import { href } from "../../frame/base";
import { ran } from "../../frame/recents";
import { link, param, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { useQueryKeys } from "../../ui/editor/queries";
import { Check, SelectField } from "../../ui/field";
import { PageBody } from "../../ui/page";
import { Answer, Empty } from "../../ui/states";
import { Tabs } from "../../ui/tabs";
import { askExemplars, askRange, filled } from "./ask";
import { metricsPanel } from "./aspanel";
import type { Answered } from "./chart";
import { Finder } from "./finder";
import { letter, stepFor } from "./promql";
import { QueryRow } from "./rows";
import { type MetricQuery, MOST_QUERIES, queriesOfAddress, setQueries } from "./state";
import { ToDashboard } from "./todashboard";
import { Shown, type View, viewOf } from "./views";
import "../traces/traces.css";
import "./metrics.css";

interface Outcome {
  answered: Answered[];
  errors: (Error | undefined)[];
  /** What was asked for each query, its intervals put in. */
  texts: string[];
}

/** Asks all queries that are shown; one that fails leaves the others as they are. */
async function askAll(
  list: readonly MetricQuery[],
  step: number,
  wantsExemplars: boolean,
  signal: AbortSignal,
): Promise<Outcome> {
  const shown = range.peek();
  const outcome: Outcome = { answered: [], errors: [], texts: [] };
  const asked = list.map(async (query, at) => {
    if (query.isHidden || query.text === "") return;
    try {
      const text = await filled(query.text, shown, step, signal);
      outcome.texts[at] = text;
      const answer = await askRange(text, shown, step, signal);
      // A query without exemplars is no error of the query.
      const exemplars = wantsExemplars ? await askExemplars(text, shown, signal).catch(() => []) : [];
      outcome.answered[at] = { query, text, letter: letter(at), answer, exemplars };
    } catch (error) {
      // Of a server that is gone, what it said last stays: the frame says that it is.
      const isGone = error instanceof ApiError && error.status === 0;
      if (isGone || (error as Error).name === "AbortError") throw error;
      outcome.errors[at] = error as Error;
    }
  });
  await Promise.all(asked);
  return { ...outcome, answered: outcome.answered.filter(Boolean) };
}

export default function MetricsPage() {
  const list = queriesOfAddress();
  const view = viewOf(param("view"));
  const wantsExemplars = param("exemplars") !== "0";
  const wantsFinder = param("find") !== undefined || list.every(({ text }) => text === "");
  const isFinding = param("finder") === undefined ? wantsFinder : param("finder") === "1";
  const body = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(1000);
  useEffect(() => setWidth(body.current?.clientWidth ?? 1000), [isFinding]);
  const shown = range.value;
  // Cells of a heat map need room to be seen.
  const step = stepFor(shown.to - shown.from, view === "heat" ? width / 3 : width);
  const about = JSON.stringify(list);
  const asked = useAsk(
    (signal) => askAll(list, step, wantsExemplars && view === "chart", signal),
    [about, step, shown, wantsExemplars && view === "chart"],
  );
  const put = (at: number, next: MetricQuery) =>
    setQueries(list.map((one, index) => (index === at ? next : one)));
  const change = (at: number, next: MetricQuery) => {
    ran("promql", next.text);
    put(at, next);
  };
  const add = (text: string, isHeat = false) => {
    const empty = list.findIndex((one) => one.text === "");
    const made = { text, legend: "", isHidden: false };
    ran("promql", text);
    setQueries(
      empty < 0 || text === "" ? [...list, made] : list.map((one, at) => (at === empty ? made : one)),
    );
    if (isHeat) setParams({ view: "heat" }, { replace: true });
    else if (view === "heat" && text !== "") setParams({ view: undefined }, { replace: true });
  };
  // Who walks through earlier queries leaves them in their order.
  useQueryKeys("Metrics", "promql", list[0]!.text, (text) => put(0, { ...list[0]!, text }));
  return (
    <PageBody
      title="Metrics"
      actions={
        <>
          <a class="button button-plain" href={href(link("/alerts"))}>
            Alerts
          </a>
          <a class="button button-plain" href={href(link("/explore/sql"))}>
            SQL
          </a>
          {list.some(({ text }) => text !== "") && (
            <ToDashboard panel={() => metricsPanel(list, param("shape"))} />
          )}
          <Button
            icon="search"
            pressed={isFinding}
            onClick={() => setParams({ finder: isFinding ? "0" : "1" }, { replace: true })}
          >
            Find metrics
          </Button>
        </>
      }
    >
      <div class={isFinding ? "traces-body metrics-body" : "metrics-alone"}>
        <div class="traces-main" ref={body}>
          <section class="card query-card" aria-label="Queries">
            {list.map((query, at) => (
              <QueryRow
                key={at}
                query={query}
                index={at}
                error={asked.data?.errors[at]}
                asked={asked.data?.texts[at]}
                isOnly={list.length === 1}
                onChange={(next) => change(at, next)}
                onRemove={() => setQueries(list.filter((_, index) => index !== at))}
              />
            ))}
            <div class="row">
              <Button icon="plus" disabled={list.length >= MOST_QUERIES} onClick={() => add("")}>
                Query
              </Button>
              <span class="muted">a point every {step} s</span>
            </div>
          </section>
          <Bar view={view} wantsExemplars={wantsExemplars} />
          {list.every(({ text }) => text === "") ? (
            <Empty title="No query yet">
              <p>Choose a metric, or write PromQL.</p>
            </Empty>
          ) : (
            <Answer of={asked}>
              {({ answered }) => (
                <Shown
                  answered={answered}
                  view={view}
                  step={step}
                  onTop={(index, text) => change(index, { ...list[index]!, text })}
                />
              )}
            </Answer>
          )}
        </div>
        {isFinding && <Finder onPick={add} />}
      </div>
    </PageBody>
  );
}

function Bar({ view, wantsExemplars }: { view: View; wantsExemplars: boolean }) {
  return (
    <div class="traces-status">
      <Tabs
        label="How answers are shown"
        current={view}
        tabs={[
          { id: "chart", label: "Chart" },
          { id: "heat", label: "Heat map" },
          { id: "table", label: "Table" },
          { id: "raw", label: "Raw" },
        ]}
        onChange={(id) => setParams({ view: id === "chart" ? undefined : id })}
      />
      {view === "chart" && (
        <span class="page-actions">
          <Check
            label="Exemplars"
            checked={wantsExemplars}
            onChange={(wanted) => setParams({ exemplars: wanted ? undefined : "0" }, { replace: true })}
          />
          <SelectField
            label="Draw"
            hideLabel
            value={param("shape") ?? "lines"}
            options={[
              ["lines", "Lines"],
              ["stacked", "Stacked"],
              ["bars", "Bars"],
            ]}
            onChange={(shape) =>
              setParams({ shape: shape === "lines" ? undefined : shape }, { replace: true })
            }
          />
        </span>
      )}
    </div>
  );
}
