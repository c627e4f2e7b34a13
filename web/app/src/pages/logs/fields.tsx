/** Labels and fields of the lines, with their most frequent values: to filter by, leave out, or count by. */
import { useState } from "preact/hooks";
import { getJson } from "../../frame/api";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { count } from "../../ui/format";
import { Answer } from "../../ui/states";
import { valueCounts } from "./ask";
import type { LineActions } from "./list";

interface Field {
  name: string;
  hint: string;
}

/** Fields that are different for every line. */
const LEFT_OUT = new Set(["span_id", "trace_id", "observed_timestamp", "flags"]);

/** Values that are shown, and at each wish for more. */
const SHOWN = [12, 50, 200] as const;

export function Fields({ query, streamLabels, onFilter, onGroup }: LineActions & { query: string }) {
  const shown = range.value;
  const [wanted, setWanted] = useState("");
  const asked = useAsk(
    async (signal): Promise<Field[]> => {
      const params = { query, start: `${Math.floor(shown.from)}000000`, end: `${Math.ceil(shown.to)}000000` };
      const answer = await getJson<{
        fields?: { label: string; cardinality: number; parsers: string[] | null }[];
      }>("/loki/api/v1/detected_fields", params, signal);
      const fields = (answer.fields ?? [])
        // What only a parser finds is not there for a query without it.
        .filter(
          ({ label, parsers }) => !LEFT_OUT.has(label) && !parsers?.length && !streamLabels.includes(label),
        )
        .map(({ label, cardinality }) => ({ name: label, hint: count(cardinality) }));
      const labels = streamLabels.toSorted(
        (a, b) => Number(b === "service_name") - Number(a === "service_name"),
      );
      return [...labels.map((name) => ({ name, hint: "label" })), ...fields];
    },
    [query, shown, streamLabels.join()],
  );
  return (
    <aside class="facets" aria-label="Labels and fields">
      <input
        type="search"
        aria-label="Find a field"
        placeholder="find a field"
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
      <Answer of={asked} lines={8}>
        {(fields) =>
          fields
            .filter(({ name }) => name.toLowerCase().includes(wanted.toLowerCase()))
            .map((field, index) => (
              <FieldFacet
                key={field.name}
                field={field}
                query={query}
                isFirst={index < 2}
                onFilter={onFilter}
                onGroup={onGroup}
              />
            ))
        }
      </Answer>
    </aside>
  );
}

type ValueActions = Pick<LineActions, "onFilter" | "onGroup">;

function FieldFacet(props: ValueActions & { field: Field; query: string; isFirst: boolean }) {
  const { field, query, onFilter, onGroup } = props;
  const [isOpen, setOpen] = useState(props.isFirst || field.name === "severity_text");
  return (
    <details class="facet" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary title={field.name}>
        {field.name} <span class="muted">{field.hint}</span>
      </summary>
      {isOpen && <FieldValues name={field.name} query={query} onFilter={onFilter} onGroup={onGroup} />}
    </details>
  );
}

function FieldValues({ name, query, onFilter, onGroup }: ValueActions & { name: string; query: string }) {
  const shown = range.value;
  const [at, setAt] = useState(0);
  const most = SHOWN[at] ?? SHOWN[0];
  const asked = useAsk((signal) => valueCounts(query, name, most, shown, signal), [query, name, most, shown]);
  return (
    <Answer of={asked} lines={2}>
      {({ values, hasMore }) => (
        <>
          {values.map(({ value, lines }) => (
            <div key={value} class="facet-value">
              <span
                class="facet-bar"
                aria-hidden="true"
                style={{ width: `${(lines / values[0]!.lines) * 100}%` }}
              />
              <button
                type="button"
                class="facet-name ellipsis"
                title={`Only ${name} = ${value}`}
                onClick={() => onFilter(name, "=", value)}
              >
                {value}
              </button>
              <span class="muted">{count(lines)}</span>
              <Button
                kind="quiet"
                icon="minus"
                label={`Without ${name} = ${value}`}
                onClick={() => onFilter(name, "!=", value)}
              />
            </div>
          ))}
          <div class="row">
            {values.length > 0 && (
              <button type="button" class="text-button" onClick={() => onGroup(name)}>
                count over time
              </button>
            )}
            {hasMore && at + 1 < SHOWN.length && (
              <button type="button" class="text-button" onClick={() => setAt(at + 1)}>
                more values
              </button>
            )}
            {hasMore && at + 1 === SHOWN.length && (
              <span class="muted">the {most} most frequent; there are more</span>
            )}
          </div>
        </>
      )}
    </Answer>
  );
}
