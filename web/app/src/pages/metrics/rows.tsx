/** The rows of queries: the text, how series are called, whether they are shown. */
import { useEffect, useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { Editor } from "../../ui/editor";
import { queryError } from "../../ui/editor/errors";
import { QueryMenu } from "../../ui/editor/queries";
import { TextField } from "../../ui/field";
import { letter } from "./promql";
import type { MetricQuery } from "./state";

interface QueryRowProps {
  query: MetricQuery;
  index: number;
  error?: Error;
  /** What was asked, its intervals put in. */
  asked?: string;
  isOnly: boolean;
  onChange: (query: MetricQuery) => void;
  onRemove: () => void;
}

export function QueryRow(props: QueryRowProps) {
  const { query, index, error, onChange } = props;
  const [text, setText] = useState(query.text);
  const [legend, setLegend] = useState(query.legend);
  useEffect(() => setText(query.text), [query.text]);
  useEffect(() => setLegend(query.legend), [query.legend]);
  const run = (next = text) => onChange({ ...query, text: next.trim(), legend });
  const wrong = text === query.text ? queryError(query.text, error, props.asked) : undefined;
  return (
    <div class="metric-query">
      <button
        type="button"
        class="button metric-letter"
        aria-pressed={!query.isHidden}
        title={query.isHidden ? "Hidden: show it" : "Shown: hide it"}
        aria-label={`Query ${letter(index)} ${query.isHidden ? "is hidden" : "is shown"}`}
        onClick={() => onChange({ ...query, isHidden: !query.isHidden })}
      >
        {letter(index)}
      </button>
      <div class="grow">
        <Editor
          language="promql"
          label={`PromQL of ${letter(index)}`}
          value={text}
          placeholder="rate(http_requests_total[$__rate_interval])"
          onChange={setText}
          onRun={run}
          error={wrong}
        />
        {wrong && <p class="bad">{error?.message}</p>}
        {error && !wrong && text === query.text && <p class="bad">{error.message}</p>}
      </div>
      <TextField
        label={`Legend of ${letter(index)}`}
        hideLabel
        placeholder="legend, {{label}}"
        value={legend}
        onChange={setLegend}
        onEnter={() => run()}
        width="150px"
      />
      <QueryMenu language="promql" current={text} onPick={run} />
      <Button kind={props.isOnly ? "primary" : "plain"} onClick={() => run()} title="Run (Ctrl Enter)">
        Run
      </Button>
      {!props.isOnly && (
        <Button kind="quiet" icon="close" label={`Remove ${letter(index)}`} onClick={props.onRemove} />
      )}
    </div>
  );
}
