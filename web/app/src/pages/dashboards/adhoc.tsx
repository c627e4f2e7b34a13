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

const OPERATORS = ["=", "!=", "=~", "!~"] as const;

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
          onChange={setDraft}
          onDone={(filter) => {
            setDraft(undefined);
            if (filter) set([...variable.filters, filter]);
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
  onChange: (filter: Filter) => void;
  onDone: (filter?: Filter) => void;
}

function FilterForm({ draft, onChange, onDone }: FilterFormProps) {
  const time = { from: Math.round(range.value.from), to: Math.round(range.value.to), type: "prometheus" };
  const offered = (key: string | undefined) => (signal: AbortSignal) =>
    sendJson<{ values: string[] }>("POST", "/api/dashboards/adhoc", { ...time, key }, signal);
  const labels = useAsk(offered(undefined), []);
  const values = useAsk(draft.key === "" ? undefined : offered(draft.key), [draft.key]);
  const isReady = draft.key !== "" && draft.value !== "";
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
        options={OPERATORS.map((one) => [one, one] as const)}
        onChange={(operator) => onChange({ ...draft, operator })}
      />
      <input
        list={`${id}-values`}
        aria-label="Value"
        placeholder="value"
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
    </span>
  );
}
