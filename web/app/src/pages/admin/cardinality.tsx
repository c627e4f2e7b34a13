/** Which metrics have most series, which labels and attributes most values. */
import { useState } from "preact/hooks";
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/field";
import { count, percent } from "../../ui/format";
import { Card, Figure } from "../../ui/page";
import { quote } from "../../ui/quote";
import { Answer, ErrorBox } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import type { CardinalityState, Counted } from "./types";

function columns(what: string, total: number, to?: (name: string) => string): Column<Counted>[] {
  return [
    {
      id: "name",
      title: what,
      width: "minmax(110px, 3fr)",
      value: (row) => row.name,
      render: (row) => (to ? <a href={to(row.name)}>{row.name}</a> : row.name),
    },
    {
      id: "count",
      title: "Count",
      width: "78px",
      align: "right",
      value: (row) => row.count,
      render: (row) => count(row.count),
    },
    {
      id: "part",
      title: "Part",
      width: "78px",
      align: "right",
      value: (row) => row.count,
      render: (row) => (total > 0 ? percent(row.count / total) : ""),
    },
  ];
}

export function Cardinality() {
  const asked = useAsk((signal) => getJson<CardinalityState>("/api/admin/cardinality", {}, signal), []);
  return <Answer of={asked}>{(state) => <Shown state={state} again={asked.again} />}</Answer>;
}

function Shown({ state, again }: { state: CardinalityState; again: () => void }) {
  const metric = (name: string) => href(link("/explore/metrics", { q: metricQuery(name) }));
  const by = { column: "count", descending: true };
  return (
    <div class="stack">
      <div class="row">
        <Figure label="Series of the last hour" value={count(state.series)} />
        <Button icon="refresh" onClick={again}>
          Count again
        </Button>
      </div>
      <div class="cards">
        <Card title="Metrics by series">
          <Table
            columns={columns("Metric", state.series, metric)}
            rows={state.metrics}
            label="Metrics by series"
            rowKey={(row) => row.name}
            sorting={by}
            height={360}
          />
        </Card>
        <Card title="Labels by values">
          <Table
            columns={columns("Label", 0).slice(0, 2)}
            rows={state.labels}
            label="Labels by values"
            rowKey={(row) => row.name}
            sorting={by}
            height={360}
          />
        </Card>
        <Card title="Labels with values, by series">
          <Table
            columns={columns("Label and value", state.series)}
            rows={state.pairs}
            label="Labels with values by series"
            rowKey={(row) => row.name}
            sorting={by}
            height={360}
          />
        </Card>
      </div>
      <Attributes state={state} />
    </div>
  );
}

/** The query of a metric; names with other characters than usual stand between quotes. */
export function metricQuery(name: string): string {
  return /^[A-Za-z_:][\w:]*$/.test(name) ? name : `{${quote(name)}}`;
}

interface Key {
  scope: string;
  key: string;
}

/** Keys of attributes of spans. Counting values is work, and done for those that are asked for. */
function Attributes({ state }: { state: CardinalityState }) {
  const [wanted, setWanted] = useState("");
  const [counts, setCounts] = useState<Readonly<Record<string, string>>>({});
  const [error, setError] = useState<Error>();
  const keys: Key[] = state.attributes.flatMap(({ scope, keys }) => keys.map((key) => ({ scope, key })));
  const shown = keys.filter(({ scope, key }) => `${scope}.${key}`.includes(wanted));
  const ask = async (name: string) => {
    setError(undefined);
    setCounts((before) => ({ ...before, [name]: "…" }));
    try {
      const answer = await getJson<{ values: number; is_more: boolean }>("/api/admin/cardinality", {
        attribute: name,
      });
      setCounts((before) => ({
        ...before,
        [name]: `${count(answer.values)}${answer.is_more ? " or more" : ""}`,
      }));
    } catch (failure) {
      setError(failure as Error);
      setCounts(({ [name]: _, ...others }) => others);
    }
  };
  const rows: Column<Key>[] = [
    { id: "scope", title: "Of", width: "140px", value: (row) => row.scope, render: (row) => row.scope },
    {
      id: "key",
      title: "Key",
      width: "minmax(200px, 3fr)",
      value: (row) => row.key,
      render: (row) => <code>{row.key}</code>,
    },
    {
      id: "values",
      title: "Values",
      width: "160px",
      align: "right",
      render: ({ scope, key }) => {
        const name = `${scope}.${key}`;
        return (
          counts[name] ?? (
            <Button kind="quiet" onClick={() => ask(name)}>
              Count
            </Button>
          )
        );
      },
    },
  ];
  return (
    <Card
      title={`Attributes of spans (${keys.length})`}
      actions={
        <TextField
          label="Find a key"
          hideLabel
          type="search"
          placeholder="Find a key"
          value={wanted}
          onChange={setWanted}
        />
      }
    >
      {error && <ErrorBox error={error} />}
      <Table
        columns={rows}
        rows={shown}
        label="Attributes of spans"
        rowKey={(row) => `${row.scope}.${row.key}`}
        rowHeight={32}
        height={420}
      />
    </Card>
  );
}
