/**
 * Attributes as columns beside the names: which are chosen (`cols=` in the address), their values, and what is
 * wrong with them where something is.
 */
import { useEffect, useState } from "preact/hooks";
import { ApiError } from "../../frame/api";
import { returns } from "../../frame/connection";
import { param, setParams } from "../../frame/router";
import { token } from "../../frame/token";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/field";
import { count } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { quote, unquote } from "../../ui/quote";
import { Answer } from "../../ui/states";
import { fieldsOf } from "../traces/query";
import { type AttributeColumn, askColumn, askKeys, type FoundKey, valueText } from "./asked";
import type { NameScene } from "./namerows";
import type { TraceState } from "./state";

/** What was answered for a key; an error leaves the values that were known before. */
export interface AnsweredColumn {
  column?: AttributeColumn;
  error?: Error;
}

export interface Columns {
  id: string;
  keys: readonly string[];
  shown: NameScene["columns"];
  answers: ReadonlyMap<string, AnsweredColumn>;
  /** Asks again for those that failed. */
  again: () => void;
}

const SCOPED = /^(\w+\.)?(".*")$/s;

/** Keys as they are written in the address: with commas between, those that have one in quotes as in TraceQL. */
export function writeKeys(keys: readonly string[]): string {
  const written = keys.map((key) => {
    if (!/[",\\]|^\s|\s$/.test(key)) return key;
    const scope = /^\w+\./.exec(key)?.[0] ?? "";
    return scope + quote(key.slice(scope.length));
  });
  return written.join(",");
}

/** The keys of an address. */
export function readKeys(text: string): string[] {
  return fieldsOf(text).map((field) => {
    const [, scope = "", quoted] = SCOPED.exec(field) ?? [];
    return quoted === undefined ? field : scope + unquote(quoted);
  });
}

/** The keys in the address. */
export function chosenColumns(): string[] {
  return readKeys(param("cols") ?? "");
}

/** Chooses columns. */
export function chooseColumns(keys: readonly string[], also: { view?: null } = {}): void {
  setParams({ cols: keys.length > 0 ? writeKeys(keys) : null, ...also });
}

const NONE: NameScene["columns"] = [];

/** The chosen columns with their values, which come when they come. */
export function useColumns(state: TraceState, id: string): Columns {
  const text = param("cols") ?? "";
  const [answers, setAnswers] = useState<ReadonlyMap<string, AnsweredColumn>>(new Map());
  const [turn, setTurn] = useState(0);
  const { revision } = state.trace.value.header;
  const keys = chosenColumns();
  useEffect(() => {
    const controller = new AbortController();
    const answered = (key: string, answer: AnsweredColumn) =>
      setAnswers((before) => new Map(before).set(key, { ...before.get(key), error: undefined, ...answer }));
    for (const key of keys) {
      const { column, error } = answers.get(key) ?? {};
      if (column?.revision === revision && !error) continue;
      askColumn(id, key, controller.signal).then(
        (found) => {
          answered(key, { column: found });
          state.meet(found.revision);
        },
        (failure: Error) => {
          // That the server is gone is said by the frame; it is asked again when it is back.
          const isGone = failure instanceof ApiError && failure.status === 0;
          if (failure.name !== "AbortError" && !isGone) answered(key, { error: failure });
        },
      );
    }
    return () => controller.abort();
  }, [id, text, revision, turn, returns.value, token.value]);
  const [shown, setShown] = useState(NONE);
  useEffect(() => {
    setShown(shownColumns(keys, answers, revision));
  }, [text, answers, revision]);
  return { id, keys, shown, answers, again: () => setTurn(turn + 1) };
}

/** The columns of these keys. Rows of another revision are other spans, so its values are not shown. */
export function shownColumns(
  keys: readonly string[],
  answers: ReadonlyMap<string, AnsweredColumn>,
  revision: string,
): NameScene["columns"] {
  if (keys.length === 0) return NONE;
  return keys.map((key) => {
    const column = answers.get(key)?.column;
    return { key, value: columnValue(column?.revision === revision ? column : undefined) };
  });
}

function columnValue(column: AttributeColumn | undefined): (row: number) => string | undefined {
  return (row) => {
    const place = column?.rows[row] ?? -1;
    return place < 0 ? undefined : valueText(column!.values[place]);
  };
}

/** What stands above the names: folding, the columns' names, and the choice of more. */
export function ColumnHeads({
  columns,
  state,
  width,
}: {
  columns: Columns;
  state: TraceState;
  width: number;
}) {
  return (
    <div class="timeline-heads">
      <div class="timeline-title" style={{ width }}>
        <b>Service and name</b>
        <span class="page-actions">
          <Button
            kind="quiet"
            icon="plus"
            label="Unfold all"
            onClick={() => state.fold((rows) => rows.foldAll(false))}
          />
          <Button
            kind="quiet"
            icon="minus"
            label="Fold all"
            onClick={() => state.fold((rows) => rows.foldAll(true))}
          />
          <Popover label="Columns" kind="quiet" align="right" button={<Icon name="columns" />}>
            {() => <ColumnChoice id={columns.id} chosen={columns.keys} />}
          </Popover>
        </span>
      </div>
      {columns.keys.map((key) => (
        <ColumnHead key={key} name={key} columns={columns} />
      ))}
    </div>
  );
}

function ColumnHead({ name, columns }: { name: string; columns: Columns }) {
  const { column, error } = columns.answers.get(name) ?? {};
  return (
    <div class="timeline-column">
      <span class={error ? "ellipsis bad" : "ellipsis"} title={name}>
        {name.replace(/^(span|resource)\./, "")}
      </span>
      {column?.truncated && (
        <span class="warn" role="img" aria-label={CUT} title={CUT}>
          <Icon name="warning" size={13} />
        </span>
      )}
      {error && (
        <Button
          kind="quiet"
          icon="error"
          label={`${name} was not answered: ${error.message}. Ask again`}
          onClick={columns.again}
        />
      )}
      <Button
        kind="quiet"
        icon="close"
        label={`Take ${name} away`}
        onClick={() => chooseColumns(columns.keys.filter((one) => one !== name))}
      />
    </div>
  );
}

/** What is said of a column that is not whole. */
const CUT = "Some values are too large to be shown together, and are left out";
const KEYS_SHOWN = 200;

function ColumnChoice({ id, chosen }: { id: string; chosen: readonly string[] }) {
  const [text, setText] = useState("");
  const asked = useAsk((signal) => askKeys(id, signal), [id]);
  return (
    <div class="stack column-choice">
      <TextField
        label="Attribute"
        hideLabel
        value={text}
        onChange={setText}
        placeholder="Attribute"
        type="search"
      />
      <Answer of={asked} lines={4}>
        {({ keys }) => <Keys keys={keys} text={text} chosen={chosen} />}
      </Answer>
    </div>
  );
}

function Keys({
  keys,
  text,
  chosen,
}: {
  keys: readonly FoundKey[];
  text: string;
  chosen: readonly string[];
}) {
  const found = keys.filter(({ key }) => key.toLowerCase().includes(text.toLowerCase()));
  const toggle = (key: string) =>
    chooseColumns(chosen.includes(key) ? chosen.filter((one) => one !== key) : [...chosen, key]);
  return (
    <div>
      {found.length === 0 && <p class="muted">No attribute is called so.</p>}
      {found.slice(0, KEYS_SHOWN).map(({ key, spans }) => (
        <button
          key={key}
          type="button"
          class="menu-item"
          role="menuitemcheckbox"
          aria-checked={chosen.includes(key)}
          onClick={() => toggle(key)}
        >
          <span class="grow ellipsis">{key}</span>
          <span class="muted">{spans}</span>
        </button>
      ))}
      {found.length > KEYS_SHOWN && (
        <p class="muted">
          {KEYS_SHOWN} of {count(found.length)}: type to find others
        </p>
      )}
    </div>
  );
}
