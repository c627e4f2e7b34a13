/** The queries of a panel, each with the editor of its language. */
import { Button } from "../../../ui/button";
import { Editor } from "../../../ui/editor";
import { type QueryError, writtenPlace } from "../../../ui/editor/errors";
import { Check, SelectField, TextField } from "../../../ui/field";
import { emptyTarget, SOURCES, type Source } from "../create";
import type { PanelError, PanelState } from "../loader";
import type { Json } from "../model";
import { JsonField } from "./fields";

const FIRST_LETTER = 65;
const LETTERS = 26;

interface QueriesProps {
  panel: Json;
  /** What was answered last. */
  state?: Pick<PanelState, "errors" | "queries">;
  onChange: (panel: Json) => void;
  onRun: () => void;
}

/** The data source of a query: its own, or the panel's. */
export function sourceOf(target: Json, panel: Json): Source | undefined {
  const named = (of: unknown) =>
    typeof of === "string"
      ? { uid: of, type: "" }
      : (of as { uid?: string; type?: string } | null | undefined);
  for (const given of [named(target.datasource), named(panel.datasource)]) {
    const found =
      SOURCES.find(({ uid }) => uid === given?.uid) ?? SOURCES.find(({ type }) => type === given?.type);
    if (found) return found;
  }
  // A name or a variable: what is written tells the language.
  if (typeof target.rawSql === "string") return SOURCES[3];
  if (typeof target.expr === "string") return SOURCES[0];
  return typeof target.query === "string" ? SOURCES[1] : undefined;
}

/** What the server calls a query: by its place, if it has no letter of its own. */
export function letterOf({ refId }: Json, at: number): string {
  return typeof refId === "string" && refId !== ""
    ? refId
    : String.fromCharCode(FIRST_LETTER + (at % LETTERS));
}

/** The next letter that no query has. */
export function freeLetter(targets: readonly Json[]): string {
  const taken = new Set(targets.map(letterOf));
  for (let code = FIRST_LETTER; code < FIRST_LETTER + LETTERS; code += 1)
    if (!taken.has(String.fromCharCode(code))) return String.fromCharCode(code);
  return `Q${targets.length}`;
}

/** The forms of Tempo's search: conditions stand in the place of a query. */
function isForm({ queryType }: Json): boolean {
  return queryType === "traceqlSearch" || queryType === "nativeSearch";
}

/** What is written in a query; of a search by a form, the query that was made of it. */
export function textOf(target: Json, source: Source, asked = ""): string {
  return source.type === "tempo" && isForm(target) ? asked : String(target[source.member] ?? "");
}

/** A query that is typed: it goes before the form that it may have been made of. */
export function withText(target: Json, source: Source, text: string): Json {
  if (source.type !== "tempo" || !isForm(target)) return { ...target, [source.member]: text };
  const { filters: _, ...rest } = target;
  return { ...rest, queryType: "traceql", [source.member]: text };
}

export function isInstant({ instant, queryType }: Json): boolean {
  return instant === true || queryType === "instant";
}

/** A query that is asked of one moment, or of the time that is shown. With both, it would be asked twice. */
export function withInstant(target: Json, source: Source, isWanted: boolean): Json {
  if (source.type !== "loki") return { ...target, instant: isWanted, range: !isWanted };
  // Loki's say it in a word; those of old dashboards, in two switches.
  const { instant: _, range: __, ...rest } = target;
  return { ...rest, queryType: isWanted ? "instant" : "range" };
}

export function Queries({ panel, state, onChange, onRun }: QueriesProps) {
  const targets = Array.isArray(panel.targets) ? (panel.targets as Json[]) : [];
  const set = (next: Json[]) => onChange({ ...panel, targets: next });
  return (
    <div class="stack">
      {targets.map((target, at) => (
        <Query
          key={at}
          target={target}
          refId={letterOf(target, at)}
          panel={panel}
          error={state?.errors.find(({ refId }) => refId === letterOf(target, at))}
          asked={state?.queries?.find(({ refId }) => refId === letterOf(target, at))?.query}
          onChange={(next) => set(targets.map((one, index) => (index === at ? next : one)))}
          onRemove={() => set(targets.filter((_, index) => index !== at))}
          onRun={onRun}
        />
      ))}
      <div class="row">
        <Button
          icon="plus"
          onClick={() =>
            set([
              ...targets,
              emptyTarget(sourceOf(targets.at(-1) ?? {}, panel) ?? SOURCES[0], freeLetter(targets)),
            ])
          }
        >
          Add query
        </Button>
      </div>
    </div>
  );
}

interface QueryProps {
  target: Json;
  refId: string;
  panel: Json;
  error?: PanelError;
  /** The query as it was asked. */
  asked?: string;
  onChange: (target: Json) => void;
  onRemove: () => void;
  onRun: () => void;
}

function Query({ target, refId, panel, error, asked, onChange, onRemove, onRun }: QueryProps) {
  const source = sourceOf(target, panel);
  const set = (name: string, value: unknown) => onChange({ ...target, [name]: value });
  const text = source ? textOf(target, source, asked) : "";
  return (
    <div class="card stack">
      <div class="row">
        <b>{refId}</b>
        <SelectField
          label="Data source"
          hideLabel
          value={source?.uid ?? ""}
          options={[
            ...(source ? [] : [["", "Unknown"] as const]),
            ...SOURCES.map(({ uid, name }) => [uid, name] as const),
          ]}
          onChange={(uid) => {
            const next = SOURCES.find((one) => one.uid === uid);
            if (next) onChange({ ...emptyTarget(next, refId), [next.member]: text });
          }}
        />
        <Check label="Off" checked={target.hide === true} onChange={(hide) => set("hide", hide)} />
        <span class="grow" />
        <Button kind="quiet" icon="trash" label={`Remove query ${refId}`} onClick={onRemove} />
      </div>
      {source ? (
        <Editor
          language={source.language}
          label={`Query ${refId}`}
          lines={2}
          value={text}
          error={error && placedError(error, text)}
          onChange={(next) => onChange(withText(target, source, next))}
          onRun={onRun}
        />
      ) : (
        <JsonField
          label="Query as JSON"
          expected="object"
          value={target}
          onChange={(value) => onChange(value as Json)}
        />
      )}
      {source && <QueryOptions source={source} target={target} set={set} onChange={onChange} />}
    </div>
  );
}

/** An error is of the query as it was asked, with values in the places of variables. */
function placedError({ message, query, offset }: PanelError, written: string): QueryError | undefined {
  if (query === undefined || offset === undefined) return { message };
  const position = writtenPlace(written, query, offset);
  // What is written by now was not asked yet.
  return position === undefined ? undefined : { message, position };
}

const FORMATS = [
  ["time_series", "Series"],
  ["table", "Table"],
  ["heatmap", "Heat map"],
] as const;
const TABLES = [
  ["spans", "Spans"],
  ["traces", "Traces"],
  ["raw", "Raw"],
] as const;
const SQL_FORMATS = [
  ["table", "Table"],
  ["time_series", "Series"],
] as const;

function QueryOptions({
  source,
  target,
  set,
  onChange,
}: {
  source: Source;
  target: Json;
  set: (name: string, value: unknown) => void;
  onChange: (target: Json) => void;
}) {
  const text = (name: string) => String(target[name] ?? "");
  const whole = (name: string, label: string) => (
    <TextField
      label={label}
      type="number"
      width="90px"
      value={text(name)}
      onChange={(value) => set(name, value === "" ? undefined : Number(value))}
    />
  );
  return (
    <div class="row">
      {(source.type === "prometheus" || source.type === "loki") && (
        <>
          <TextField
            label="Legend"
            value={text("legendFormat")}
            placeholder="{{label}}"
            onChange={(value) => set("legendFormat", value)}
            width="180px"
          />
          <Check
            label="Instant"
            checked={isInstant(target)}
            onChange={(instant) => onChange(withInstant(target, source, instant))}
          />
        </>
      )}
      {source.type === "prometheus" && (
        <>
          <SelectField
            label="As"
            value={text("format") || "time_series"}
            options={FORMATS}
            onChange={(value) => set("format", value)}
          />
          <TextField
            label="Least step"
            value={text("interval")}
            placeholder="15s"
            onChange={(value) => set("interval", value)}
            width="80px"
          />
        </>
      )}
      {source.type === "tempo" && (
        <>
          <SelectField
            label="As"
            value={text("tableType") || "traces"}
            options={TABLES}
            onChange={(value) => set("tableType", value)}
          />
          {whole("limit", "Traces at most")}
          {whole("spss", "Spans of each")}
        </>
      )}
      {source.type === "postgres" && (
        <SelectField
          label="As"
          value={text("format") || "table"}
          options={SQL_FORMATS}
          onChange={(value) => set("format", value)}
        />
      )}
    </div>
  );
}
