/** Attributes as columns beside the names: which are chosen (`cols=` in the address), and their values. */
import { useEffect, useState } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { token } from "../../frame/token";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/field";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { Answer } from "../../ui/states";
import { type AttributeColumn, askColumn, askKeys, valueText } from "./asked";
import type { NameScene } from "./namerows";
import type { TraceState } from "./state";

export interface Columns {
  id: string;
  keys: readonly string[];
  shown: NameScene["columns"];
}

/** The keys in the address. */
export function chosenColumns(): string[] {
  return (param("cols") ?? "").split(",").filter(Boolean);
}

const NONE: NameScene["columns"] = [];

/** The chosen columns with their values, which come when they come. */
export function useColumns(state: TraceState, id: string): Columns {
  const text = param("cols") ?? "";
  const [answers, setAnswers] = useState<ReadonlyMap<string, AttributeColumn>>(new Map());
  const { revision } = state.trace.value.header;
  const keys = chosenColumns();
  useEffect(() => {
    const controller = new AbortController();
    for (const key of keys) {
      if (answers.get(key)?.revision === revision) continue;
      askColumn(id, key, controller.signal).then(
        (column) => setAnswers((before) => new Map(before).set(key, column)),
        () => undefined,
      );
    }
    return () => controller.abort();
  }, [id, text, revision, token.value]);
  const [shown, setShown] = useState(NONE);
  useEffect(() => {
    setShown(shownColumns(keys, answers, revision));
  }, [text, answers, revision]);
  return { id, keys, shown };
}

/** The columns of these keys. Rows of another revision are other spans, so its values are not shown. */
export function shownColumns(
  keys: readonly string[],
  answers: ReadonlyMap<string, AttributeColumn>,
  revision: string,
): NameScene["columns"] {
  if (keys.length === 0) return NONE;
  return keys.map((key) => {
    const answer = answers.get(key);
    return { key, value: columnValue(answer?.revision === revision ? answer : undefined) };
  });
}

function columnValue(column: AttributeColumn | undefined): (row: number) => string | undefined {
  return (row) => {
    const place = column?.rows[row] ?? -1;
    return place < 0 ? undefined : valueText(column!.values[place]);
  };
}

const setColumns = (keys: readonly string[]) => setParams({ cols: keys.length > 0 ? keys.join(",") : null });

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
        <div key={key} class="timeline-column">
          <span class="ellipsis" title={key}>
            {key.replace(/^(span|resource)\./, "")}
          </span>
          <Button
            kind="quiet"
            icon="close"
            label={`Take ${key} away`}
            onClick={() => setColumns(columns.keys.filter((one) => one !== key))}
          />
        </div>
      ))}
    </div>
  );
}

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
        {({ keys }) => (
          <div>
            {keys
              .filter(({ key }) => key.toLowerCase().includes(text.toLowerCase()))
              .slice(0, KEYS_SHOWN)
              .map(({ key, spans }) => {
                const isChosen = chosen.includes(key);
                return (
                  <button
                    key={key}
                    type="button"
                    class="menu-item"
                    role="menuitemcheckbox"
                    aria-checked={isChosen}
                    onClick={() =>
                      setColumns(isChosen ? chosen.filter((one) => one !== key) : [...chosen, key])
                    }
                  >
                    <span class="grow ellipsis">{key}</span>
                    <span class="muted">{spans}</span>
                  </button>
                );
              })}
          </div>
        )}
      </Answer>
    </div>
  );
}
