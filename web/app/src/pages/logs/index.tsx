/**
 * Logs: a text to find, levels and LogQL; how many lines there are over time; the lines themselves, as they
 * are stored or as they come; patterns of them. What is asked is in the address.
 */
import { useEffect, useState } from "preact/hooks";
import { ran } from "../../frame/recents";
import { param, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { Editor } from "../../ui/editor";
import { queryError } from "../../ui/editor/errors";
import { QueryMenu, useQueryKeys } from "../../ui/editor/queries";
import { Check, TextField } from "../../ui/field";
import { LEVELS, type Level } from "../../ui/level";
import { PageBody } from "../../ui/page";
import { Skeleton } from "../../ui/states";
import { Tabs } from "../../ui/tabs";
import { labelNames, numbersStep } from "./ask";
import { Fields } from "./fields";
import { Numbers } from "./numbers";
import { Patterns } from "./patterns";
import { allStreams, asked, countBy, isNumbers, withLabel, withPattern } from "./query";
import { Stored, Tailed } from "./views";
import { Volume } from "./volume";
import "../traces/traces.css";
import "./logs.css";

const CHOSEN = LEVELS.filter((level) => level !== "unknown").toReversed();

function levelsOf(text: string | undefined): Level[] {
  const wanted = (text ?? "").split(",");
  return CHOSEN.filter((level) => wanted.includes(level));
}

export default function LogsPage() {
  const shown = range.value;
  const labels = useAsk((signal) => labelNames(shown, signal), [shown]);
  const query = param("q") ?? (labels.data || labels.error ? allStreams(labels.data ?? []) : undefined);
  if (query === undefined) {
    return (
      <PageBody title="Logs">
        <Skeleton lines={12} />
      </PageBody>
    );
  }
  // Labels that could not be asked for do not say that there are no logs.
  const hasLogs = labels.data === undefined || labels.data.length > 0;
  return <Logs query={query} streamLabels={labels.data ?? []} hasLogs={hasLogs} />;
}

function Logs(props: { query: string; streamLabels: readonly string[]; hasLogs: boolean }) {
  const { query, streamLabels, hasLogs } = props;
  const levels = levelsOf(param("level"));
  const view = param("view") === "patterns" ? "patterns" : "lines";
  const isLive = param("live") === "1";
  const isWrapped = param("wrap") === "1";
  const whole = asked(query, param("text") ?? "", levels);
  const [failure, setFailure] = useState<Error>();
  const isWrong = queryError(whole, failure) !== undefined;
  const set = (q: string) => setParams({ q });
  const filter = (label: string, operator: "=" | "!=", value: string) =>
    set(withLabel(query, label, operator, value, streamLabels.includes(label)));
  // Text and levels go into the query: they are no part of one that asks for numbers.
  const group = (label: string) =>
    setParams({
      q: countBy(whole, label, `${numbersStep(range.peek())}s`),
      text: undefined,
      level: undefined,
      live: undefined,
    });
  useQueryKeys("Logs", "logql", query, set);
  useEffect(() => setFailure(undefined), [whole]);
  return (
    <PageBody
      title="Logs"
      actions={
        <Button
          icon={isLive ? "pause" : "play"}
          pressed={isLive}
          onClick={() => setParams({ live: !isLive || undefined })}
        >
          Live tail
        </Button>
      }
    >
      <QueryBar query={query} whole={whole} levels={levels} error={failure} />
      {isNumbers(query) ? (
        <Numbers query={query} onError={setFailure} />
      ) : (
        <div class="traces-body">
          <div class="traces-main">
            {!isLive && !isWrong && (
              <section class="card">
                <Volume query={whole} onLevel={(level) => setParams({ level })} />
              </section>
            )}
            <div class="traces-status">
              <Tabs
                label="What is shown"
                current={view}
                tabs={[
                  { id: "lines", label: "Lines" },
                  { id: "patterns", label: "Patterns" },
                ]}
                onChange={(id) => setParams({ view: id === "lines" ? undefined : id })}
              />
              <span class="page-actions">
                <Check
                  label="Wrap lines"
                  checked={isWrapped}
                  onChange={(wrap) => setParams({ wrap: wrap || undefined }, { replace: true })}
                />
              </span>
            </div>
            {view === "patterns" ? (
              <Patterns
                query={whole}
                onFilter={(pattern, isExcluded) => {
                  setParams({ q: withPattern(query, pattern, isExcluded), view: undefined });
                }}
                onError={setFailure}
              />
            ) : isLive ? (
              <Tailed
                query={whole}
                isWrapped={isWrapped}
                streamLabels={streamLabels}
                onFilter={filter}
                onGroup={group}
                onError={setFailure}
              />
            ) : (
              <Stored
                query={whole}
                isWrapped={isWrapped}
                streamLabels={streamLabels}
                onFilter={filter}
                onGroup={group}
                onError={setFailure}
                hasLogs={hasLogs}
              />
            )}
          </div>
          {!isWrong && <Fields query={whole} streamLabels={streamLabels} onFilter={filter} onGroup={group} />}
        </div>
      )}
    </PageBody>
  );
}

function QueryBar(props: { query: string; whole: string; levels: readonly Level[]; error?: Error }) {
  const { query, whole, levels, error } = props;
  const [draft, setDraft] = useState(query);
  const [text, setText] = useState(param("text") ?? "");
  useEffect(() => setDraft(query), [query]);
  useEffect(() => setText(param("text") ?? ""), [param("text")]);
  const run = (next = draft) => {
    ran("logql", next);
    setParams({ q: next.trim(), text: text.trim() || undefined });
  };
  // What is underlined is in what was typed; a text and levels stand behind it.
  const wrong = draft === query ? queryError(whole, error) : undefined;
  return (
    <section class="card query-card" aria-label="Query">
      <div class="logs-search">
        <TextField
          label="Find in lines"
          hideLabel
          type="search"
          placeholder="find in lines"
          value={text}
          onChange={setText}
          onEnter={() => run()}
          width="100%"
        />
        <span class="logs-levels" role="group" aria-label="Levels">
          {CHOSEN.map((level) => (
            <Button
              key={level}
              pressed={levels.includes(level)}
              onClick={() => {
                const next = levels.includes(level)
                  ? levels.filter((one) => one !== level)
                  : [...levels, level];
                setParams({ level: next.join(",") || undefined });
              }}
            >
              <span class={`swatch level-${level}`} /> {level}
            </Button>
          ))}
        </span>
        <QueryMenu language="logql" current={draft} onPick={run} />
        <Button kind="primary" onClick={() => run()} title="Run (Ctrl Enter)">
          Run
        </Button>
      </div>
      <Editor
        language="logql"
        label="LogQL"
        value={draft}
        placeholder='{service_name="…"} |= "…"'
        onChange={setDraft}
        onRun={run}
        error={wrong && { ...wrong, position: wrong.position && Math.min(wrong.position, query.length) }}
      />
      {wrong && <p class="bad">{wrong.message}</p>}
    </section>
  );
}
