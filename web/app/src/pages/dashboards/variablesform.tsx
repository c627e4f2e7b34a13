/** Variables of a dashboard as a form; what the form does not know stays as it is written. */
import { useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { Check, SelectField, TextField } from "../../ui/field";
import { SOURCES } from "./create";
import { JsonField } from "./edit/fields";
import type { Json } from "./model";
import { refreshOf, withChange } from "./variablechange";

const [METRICS] = SOURCES;

const TYPES = [
  ["query", "Query"],
  ["custom", "Custom list"],
  ["interval", "Interval"],
  ["datasource", "Data source"],
  ["textbox", "Text"],
  ["constant", "Constant"],
  ["adhoc", "Conditions"],
] as const;

const HIDE = [
  ["0", "Shown with label"],
  ["1", "Shown without label"],
  ["2", "Hidden"],
] as const;

const SORT = [
  ["0", "As found"],
  ["1", "By name"],
  ["2", "By name, descending"],
  ["3", "By number"],
  ["4", "By number, descending"],
] as const;

const REFRESH = [
  ["0", "Not again, if its values are stored"],
  ["1", "When opened"],
  ["2", "With the time"],
] as const;

interface VariablesFormProps {
  list: readonly Json[];
  onChange: (list: Json[]) => void;
}

export function VariablesForm({ list, onChange }: VariablesFormProps) {
  const [open, setOpen] = useState<number | undefined>(undefined);
  const change = (at: number, next: Json) => onChange(list.map((one, index) => (index === at ? next : one)));
  const swap = (at: number, by: number) => {
    const next = [...list];
    [next[at], next[at + by]] = [next[at + by]!, next[at]!];
    onChange(next);
    setOpen(undefined);
  };
  return (
    <div class="stack">
      {list.map((variable, at) => (
        <div key={at} class="card">
          <div class="row">
            <button
              type="button"
              class="menu-item grow"
              aria-expanded={open === at}
              onClick={() => setOpen(open === at ? undefined : at)}
            >
              <b>{String(variable.name ?? "")}</b> <span class="badge">{String(variable.type ?? "")}</span>
            </button>
            <Button kind="quiet" icon="up" label="Earlier" disabled={at === 0} onClick={() => swap(at, -1)} />
            <Button
              kind="quiet"
              icon="down"
              label="Later"
              disabled={at === list.length - 1}
              onClick={() => swap(at, 1)}
            />
            <Button
              kind="quiet"
              icon="trash"
              label={`Remove ${variable.name}`}
              onClick={() => onChange(list.filter((_, index) => index !== at))}
            />
          </div>
          {open === at && <VariableForm variable={variable} onChange={(next) => change(at, next)} />}
        </div>
      ))}
      <div class="row">
        <Button
          icon="plus"
          onClick={() => {
            onChange([
              ...list,
              {
                name: `variable${list.length + 1}`,
                type: "query",
                query: "",
                refresh: 1,
                sort: 1,
                multi: true,
                includeAll: true,
                datasource: { type: METRICS.type, uid: METRICS.uid },
              },
            ]);
            setOpen(list.length);
          }}
        >
          Add variable
        </Button>
      </div>
    </div>
  );
}

function VariableForm({ variable, onChange }: { variable: Json; onChange: (variable: Json) => void }) {
  const change = (members: Json) => onChange(withChange(variable, members));
  const set = (name: string, value: unknown) => change({ [name]: value });
  const text = (name: string) => String(variable[name] ?? "");
  const type = text("type");
  const isList = type === "query" || type === "custom" || type === "datasource";
  return (
    <div class="form stack">
      <TextField label="Name" value={text("name")} onChange={(value) => set("name", value)} />
      <TextField label="Label" value={text("label")} onChange={(value) => set("label", value)} />
      <SelectField label="Kind" value={type} options={TYPES} onChange={(value) => set("type", value)} />
      <SelectField
        label="Shown"
        value={text("hide") || "0"}
        options={HIDE}
        onChange={(value) => set("hide", Number(value))}
      />
      {type === "query" && <QueryPart variable={variable} onChange={change} />}
      {type !== "query" && type !== "adhoc" && (
        <TextField
          label={QUERY_LABELS[type] ?? "Value"}
          value={text("query")}
          onChange={(value) => set("query", value)}
        />
      )}
      {isList && (
        <TextField
          label="Regular expression"
          value={text("regex")}
          onChange={(value) => set("regex", value)}
        />
      )}
      {type === "query" && (
        <SelectField
          label="Order"
          value={text("sort") || "0"}
          options={SORT}
          onChange={(value) => set("sort", Number(value))}
        />
      )}
      {type === "query" && (
        <SelectField
          label="Asked"
          value={refreshOf(variable)}
          options={REFRESH}
          onChange={(value) => set("refresh", Number(value))}
        />
      )}
      {isList && (
        <Check
          label="Several values"
          checked={variable.multi === true}
          onChange={(value) => set("multi", value)}
        />
      )}
      {isList && (
        <Check
          label="All"
          checked={variable.includeAll === true}
          onChange={(value) => set("includeAll", value)}
        />
      )}
      {isList && variable.includeAll === true && (
        <TextField
          label="Value of All, if not each"
          value={text("allValue")}
          onChange={(value) => set("allValue", value || undefined)}
        />
      )}
    </div>
  );
}

const QUERY_LABELS: Record<string, string> = {
  custom: "Values, with commas",
  interval: "Intervals, with commas",
  datasource: "Kind of data source",
  textbox: "Default",
  constant: "Value",
};

/** What a query variable asks: a text, or an object that is edited as JSON. Tells the members that change. */
function QueryPart({ variable, onChange }: { variable: Json; onChange: (members: Json) => void }) {
  const source = (variable.datasource as Json | undefined)?.uid;
  const query = variable.query;
  const isText = typeof query === "string" || query === undefined;
  const inner = !isText && typeof (query as Json | null)?.query === "string" ? (query as Json) : undefined;
  return (
    <>
      <SelectField
        label="Data source"
        value={SOURCES.some(({ uid }) => uid === source) ? String(source) : ""}
        options={[["", "As written"], ...SOURCES.map(({ uid, name }) => [uid, name] as const)]}
        onChange={(uid) => {
          const found = SOURCES.find((one) => one.uid === uid);
          if (found) onChange({ datasource: { type: found.type, uid } });
        }}
      />
      {isText || inner ? (
        <TextField
          label="Query, as label_values(metric, label)"
          value={String(inner ? inner.query : (query ?? ""))}
          onChange={(value) =>
            onChange({ query: inner ? { ...inner, query: value } : value, definition: value })
          }
        />
      ) : (
        <JsonField label="Query" value={query} onChange={(value) => onChange({ query: value })} />
      )}
    </>
  );
}
