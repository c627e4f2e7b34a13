/** Values that the spans of a query have, with counts; a click keeps or leaves out what has one. */
import { useState } from "preact/hooks";
import { getJson } from "../../frame/api";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { count } from "../../ui/format";
import { Answer } from "../../ui/states";
import { askTotals } from "./ask";
import { byField, compared, type Difference, literal } from "./difference";
import { withCondition } from "./query";

interface FacetsProps {
  filter: string;
  query: string;
  onQuery: (query: string) => void;
}

const VALUES = 8;
/** What people look for first. */
const FIRST = ["resource.service.name", "name", "status", "kind", "statusMessage"];
/** What is no use as a facet: it says the same as another, or is different for every span. */
const LEFT_OUT = /^(?:rootName|rootServiceName|span:childCount|instrumentation:name|nestedSet)/;

export function Facets({ filter, query, onQuery }: FacetsProps) {
  const shown = range.value;
  const [wanted, setWanted] = useState("");
  // Nothing is selected, so that all spans are "the rest", counted by the values of every attribute.
  const asked = useAsk(
    async (signal) => {
      const series = await askTotals(`${filter} | compare({ duration < 0ns }, ${VALUES})`, shown, signal);
      return ordered(byField(compared(series).differences));
    },
    [filter, shown],
  );
  return (
    <aside class="facets" aria-label="Facets">
      <input
        type="search"
        aria-label="Find an attribute"
        placeholder="find an attribute"
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
      <Answer of={asked} lines={14}>
        {(fields) =>
          fields
            .filter(({ field }) => field.toLowerCase().includes(wanted.toLowerCase()))
            .map(({ field, values }, index) => (
              <Facet
                key={field}
                field={field}
                values={values}
                filter={filter}
                isOpen={index < 7 || wanted !== ""}
                onFilter={(one, operator) =>
                  onQuery(withCondition(query, { field, operator, value: literal(one) }))
                }
              />
            ))
        }
      </Answer>
    </aside>
  );
}

type Field = { field: string; values: Difference[] };

function ordered(fields: readonly Field[]): Field[] {
  const rank = ({ field }: Field) => {
    const at = FIRST.indexOf(field);
    return at < 0 ? (field.startsWith("span.") ? FIRST.length : FIRST.length + 1) : at;
  };
  return fields
    .filter(({ field }) => !LEFT_OUT.test(field))
    .map(({ field, values }) => ({
      field,
      values: values.filter(({ rest }) => rest > 0).sort((a, b) => b.rest - a.rest),
    }))
    .filter(({ values }) => values.length > 0 && !(values.length === 1 && values[0]!.value === "nil"))
    .sort((a, b) => rank(a) - rank(b) || a.field.localeCompare(b.field));
}

function Facet(props: {
  field: string;
  values: readonly Difference[];
  filter: string;
  isOpen: boolean;
  onFilter: (one: Value, operator: "=" | "!=") => void;
}) {
  const { field, values, filter, onFilter } = props;
  const [isAll, setAll] = useState(false);
  return (
    <details class="facet" open={props.isOpen}>
      <summary title={field}>
        <span class="ellipsis">{field}</span>{" "}
        <span class="muted">
          {values.length}
          {values.length >= VALUES ? "+" : ""}
        </span>
      </summary>
      {isAll ? (
        <MoreValues field={field} filter={filter} onFilter={onFilter} />
      ) : (
        <Values field={field} values={values} onFilter={onFilter} />
      )}
      {!isAll && values.length >= VALUES && (
        <button type="button" class="text-button" onClick={() => setAll(true)}>
          more values
        </button>
      )}
    </details>
  );
}

/** A value with the number of spans that have it. */
type Value = Pick<Difference, "field" | "value" | "isText" | "rest">;

interface ValuesProps {
  field: string;
  values: readonly Value[];
  onFilter: (one: Value, operator: "=" | "!=") => void;
}

function Values({ field, values, onFilter }: ValuesProps) {
  const most = Math.max(...values.map(({ rest }) => rest), 1);
  return (
    <>
      {values.map((one) => (
        <div key={`${one.isText} ${one.value}`} class="facet-value">
          <span class="facet-bar" aria-hidden="true" style={{ width: `${(one.rest / most) * 100}%` }} />
          <button
            type="button"
            class="facet-name ellipsis"
            title={`Only ${field} = ${one.value}`}
            onClick={() => onFilter(one, "=")}
          >
            {one.value === "" ? "(empty)" : one.value}
          </button>
          <span class="muted facet-count">{count(one.rest)}</span>
          <Button
            kind="quiet"
            icon="minus"
            label={`Without ${field} = ${one.value}`}
            onClick={() => onFilter(one, "!=")}
          />
        </div>
      ))}
    </>
  );
}

interface FacetAnswer {
  facets: { values: { type: string; value: unknown; count: number }[]; truncated: boolean }[];
}

/** All values of one field, as far as the server tells them. */
function MoreValues({ field, filter, onFilter }: Omit<ValuesProps, "values"> & { filter: string }) {
  const shown = range.value;
  const asked = useAsk(
    async (signal) => {
      const params = { q: filter, keys: field, start: Math.floor(shown.from), end: Math.ceil(shown.to) };
      const [facet] = (await getJson<FacetAnswer>("/api/traces/facets", params, signal)).facets;
      const values = (facet?.values ?? []).map(({ type, value, count: rest }) => ({
        field,
        value: value === null ? "nil" : String(value),
        isText: type === "string",
        rest,
      }));
      return { values, isCut: facet?.truncated ?? false };
    },
    [field, filter, shown],
  );
  return (
    <Answer of={asked} lines={4}>
      {({ values, isCut }) => (
        <>
          <Values field={field} values={values} onFilter={onFilter} />
          {isCut && <p class="muted">and others that are less frequent</p>}
        </>
      )}
    </Answer>
  );
}
