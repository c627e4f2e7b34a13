/** Conditions that are added to every query of a dashboard: label, comparison, value. */
import { useState } from "preact/hooks";
import { sendJson } from "../../frame/api";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { SelectField } from "../../ui/field";
import { useUniqueId } from "../../ui/id";
import type { Filter, Variable } from "./model";
import { setVariable } from "./variables";

const EQUAL = ["=", "!=", "=~", "!~", "=|", "!=|"] as const;
const ORDERED = [...EQUAL, "<", ">", "<=", ">="] as const;

/** What conditions can compare by: attributes may be numbers, labels are texts. */
export function operatorsOf(type: string): readonly string[] {
  return type === "tempo" ? ORDERED : EQUAL;
}

/** A condition as it is typed: several values have commas between them. */
export function typed({ key, operator, value }: Filter): Filter {
  if (!operator.endsWith("|")) return { key, operator, value };
  const values = value
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
  return { key, operator, value: values[0] ?? "", values };
}

/** A condition as links have it; bars within are written so that they are no separators. */
export function written({ key, operator, value, values }: Filter): string {
  const all = (values?.length ? values : [value]).map(withoutBars);
  // The bar of `=|`, one of several, is written as it is.
  return [withoutBars(key), operator, ...all].join("|");
}

function withoutBars(part: string): string {
  return part.replaceAll("|", "__gfp__");
}

export function Filters({ variable }: { variable: Variable }) {
  const [draft, setDraft] = useState<Filter | undefined>(undefined);
  const set = (filters: readonly Filter[]) =>
    setVariable(variable.name, filters.length > 0 ? filters.map(written) : [""]);
  return (
    <span class="row adhoc">
      {variable.filters.map((filter, at) => (
        <span key={written(filter)} class="badge badge-accent">
          {filter.key} {filter.operator} {filter.values?.length ? filter.values.join(", ") : filter.value}
          <button
            type="button"
            class="badge-close"
            aria-label={`Remove ${filter.key}`}
            onClick={() => set(variable.filters.filter((_, other) => other !== at))}
          >
            ×
          </button>
        </span>
      ))}
      {draft ? (
        <FilterForm
          draft={draft}
          // A server that says none means the default one of old dashboards.
          type={variable.datasource?.type ?? "prometheus"}
          onChange={setDraft}
          onDone={(filter) => {
            setDraft(undefined);
            if (filter) set([...variable.filters, typed(filter)]);
          }}
        />
      ) : (
        <Button
          kind="quiet"
          icon="plus"
          label="Add a condition"
          onClick={() => setDraft({ key: "", operator: "=", value: "" })}
        />
      )}
    </span>
  );
}

interface FilterFormProps {
  draft: Filter;
  /** The kind of data source that is asked for labels and their values. */
  type: string;
  onChange: (filter: Filter) => void;
  onDone: (filter?: Filter) => void;
}

function FilterForm({ draft, type, onChange, onDone }: FilterFormProps) {
  const time = { from: Math.round(range.value.from), to: Math.round(range.value.to), type };
  const offered = (key: string | undefined) => (signal: AbortSignal) =>
    sendJson<{ values: string[] }>("POST", "/api/dashboards/adhoc", { ...time, key }, signal);
  const labels = useAsk(offered(undefined), []);
  const values = useAsk(draft.key === "" ? undefined : offered(draft.key), [draft.key]);
  const isReady = draft.key !== "" && typed(draft).value !== "";
  const isSeveral = draft.operator.endsWith("|");
  const error = labels.error ?? values.error;
  const id = useUniqueId();
  return (
    <span class="row">
      <input
        list={`${id}-labels`}
        aria-label="Label"
        placeholder="label"
        value={draft.key}
        onInput={(event) => onChange({ ...draft, key: event.currentTarget.value })}
      />
      <datalist id={`${id}-labels`}>
        {labels.data?.values.map((label) => (
          <option key={label} value={label} />
        ))}
      </datalist>
      <SelectField
        label="Comparison"
        hideLabel
        value={draft.operator}
        options={operatorsOf(type).map((one) => [one, one] as const)}
        onChange={(operator) => onChange({ ...draft, operator })}
      />
      <input
        list={`${id}-values`}
        aria-label="Value"
        placeholder={isSeveral ? "value, value" : "value"}
        value={draft.value}
        onInput={(event) => onChange({ ...draft, value: event.currentTarget.value })}
        onKeyDown={(event) => event.key === "Enter" && isReady && onDone(draft)}
      />
      <datalist id={`${id}-values`}>
        {values.data?.values.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
      <Button icon="check" label="Add" disabled={!isReady} onClick={() => onDone(draft)} />
      <Button kind="quiet" icon="close" label="Cancel" onClick={() => onDone()} />
      {error && (
        <span class="bad" role="alert">
          {error.message}
        </span>
      )}
    </span>
  );
}
