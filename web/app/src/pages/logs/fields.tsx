/** Labels and fields of the lines, with their most frequent values: to filter by, or to leave out. */
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

export function Fields({ query, streamLabels, onFilter }: LineActions & { query: string }) {
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
              />
            ))
        }
      </Answer>
    </aside>
  );
}

function FieldFacet(props: {
  field: Field;
  query: string;
  isFirst: boolean;
  onFilter: LineActions["onFilter"];
}) {
  const [isOpen, setOpen] = useState(props.isFirst || props.field.name === "severity_text");
  return (
    <details class="facet" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary title={props.field.name}>
        {props.field.name} <span class="muted">{props.field.hint}</span>
      </summary>
      {isOpen && <FieldValues name={props.field.name} query={props.query} onFilter={props.onFilter} />}
    </details>
  );
}

function FieldValues({
  name,
  query,
  onFilter,
}: {
  name: string;
  query: string;
  onFilter: LineActions["onFilter"];
}) {
  const shown = range.value;
  const asked = useAsk((signal) => valueCounts(query, name, shown, signal), [query, name, shown]);
  return (
    <Answer of={asked} lines={2}>
      {(values) =>
        values.map(({ value, lines }) => (
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
        ))
      }
    </Answer>
  );
}
