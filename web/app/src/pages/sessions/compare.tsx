/** Two sessions beside each other: figures, tasks by name, how fast they went, what nodes did. */
import { useState } from "preact/hooks";
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { link, param, setParams } from "../../frame/router";
import { refreshes } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { colorAt } from "../../ui/colors";
import { SelectField } from "../../ui/field";
import { count, percent } from "../../ui/format";
import { Card, PageBody } from "../../ui/page";
import { addressSorting } from "../../ui/sorting";
import { Answer, Empty, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { seconds } from "../ci/bits";
import { figure, words } from "../ci/columns";
import { Beside } from "./beside";
import { perSecond } from "./bits";
import "./sessions.css";
import type { Compared, ComparedSide, Sessions } from "./types";

type Figure = NonNullable<Compared["figures"]>["figures"][number];
type Pair = Compared["names"][number];

const COLORS = { a: colorAt(0), b: colorAt(1) } as const;

function shown(value: number | null | undefined, unit: string): string {
  if (value === null || value === undefined) return "–";
  switch (unit) {
    case "seconds":
      return seconds(value);
    case "percent":
      return `${count(value)} %`;
    case "share":
      return percent(value);
    case "per_second":
      return perSecond(value);
    default:
      return count(value);
  }
}

function Change({ value }: { value: number | null | undefined }) {
  if (value === null || value === undefined) return <span class="muted">–</span>;
  if (Math.abs(value) < 0.005) return <span class="muted">±0 %</span>;
  return (
    <span>
      {value > 0 ? "+" : "−"}
      {percent(Math.abs(value))}
    </span>
  );
}

const FIGURES: Column<Figure>[] = [
  { id: "name", title: "Figure", width: "minmax(160px, 1fr)", render: (row) => row.name },
  { id: "a", title: "A", width: "130px", align: "right", render: (row) => shown(row.values[0], row.unit) },
  { id: "b", title: "B", width: "130px", align: "right", render: (row) => shown(row.values[1], row.unit) },
  {
    id: "change",
    title: "Change",
    width: "100px",
    align: "right",
    render: (row) => <Change value={row.changes[1]} />,
  },
];

function side(which: "a" | "b"): Column<Pair>[] {
  const title = which.toUpperCase();
  return [
    figure(`${which}-tasks`, `${title} tasks`, (row) => row[which]?.tasks ?? null, count, "92px"),
    figure(`${which}-p50`, `${title} median`, (row) => row[which]?.p50_seconds ?? null, seconds),
    figure(`${which}-p95`, `${title} p95`, (row) => row[which]?.p95_seconds ?? null, seconds),
    {
      id: `${which}-failed`,
      title: `${title} failed`,
      width: "84px",
      align: "right",
      value: (row) => row[which]?.failed,
      render: (row) => <span class={row[which]?.failed ? "bad" : "muted"}>{row[which]?.failed ?? "–"}</span>,
    },
  ];
}

const NAMES: Column<Pair>[] = [
  words("name", "Tasks", "minmax(140px, 1fr)", (row) => row.name),
  ...side("a"),
  ...side("b"),
  {
    id: "change",
    title: "Median",
    width: "90px",
    align: "right",
    value: (row) => row.change ?? undefined,
    render: (row) => <Change value={row.change} />,
  },
];

/** Which sessions: one of the last 30 days for each. */
function Choose() {
  const [a, setA] = useState(param("a") ?? "");
  const [b, setB] = useState(param("b") ?? "");
  const asked = useAsk(
    (signal) => getJson<Sessions>("/api/sessions", { since: "30d", limit: 200 }, signal),
    [],
  );
  const options = (chosen: string) => {
    const known = (asked.data?.sessions ?? []).map((one) => [one.id, `${one.name} (${one.id})`] as const);
    const isKnown = chosen === "" || known.some(([id]) => id === chosen);
    return [["", "Choose a session"] as const, ...(isKnown ? [] : [[chosen, chosen] as const]), ...known];
  };
  return (
    <Empty title="Which sessions?">
      <div class="row session-choose">
        <SelectField label="A" value={a} options={options(a)} onChange={setA} />
        <SelectField label="B" value={b} options={options(b)} onChange={setB} />
        <Button kind="primary" disabled={!a || !b} onClick={() => setParams({ a, b })}>
          Compare
        </Button>
      </div>
    </Empty>
  );
}

function Nodes({ name, of }: { name: string; of: ComparedSide }) {
  const part = (value: number | null) => (value === null ? "–" : `${Math.round(value)} %`);
  return (
    <Card title={`${name}: nodes`}>
      {of.nodes.length === 0 ? (
        <p class="muted callout-none">Nothing is known of its nodes.</p>
      ) : (
        <Table
          label={`Nodes of ${name}`}
          rows={of.nodes}
          rowKey={(row) => row.node}
          columns={[
            { id: "node", title: "Node", render: (row) => row.node },
            {
              id: "cpu",
              title: "CPU",
              width: "70px",
              align: "right",
              render: (row) => part(row.cpu_percent),
            },
            {
              id: "memory",
              title: "Memory",
              width: "80px",
              align: "right",
              render: (row) => part(row.memory_percent),
            },
            {
              id: "gpu",
              title: "GPUs",
              width: "110px",
              align: "right",
              render: (row) => `${row.gpus || ""} ${part(row.gpu_percent)}`,
            },
          ]}
        />
      )}
    </Card>
  );
}

function Parts({ told }: { told: Compared }) {
  const throughput = (which: "a" | "b") => ({
    label: `${which.toUpperCase()} ${told[which].name}`,
    color: COLORS[which],
    dash: which === "b" ? "6 3" : undefined,
    points: told[which].throughput.bins.map(
      (bin) => [bin.at_seconds, bin.completed / Math.max(told[which].throughput.bin_seconds, 1e-9)] as const,
    ),
  });
  const running = (which: "a" | "b") => ({
    ...throughput(which),
    points: told[which].concurrency.map((point) => [point.at_seconds, point.mean] as const),
  });
  return (
    <div class="stack">
      <p class="session-facts">
        {(["a", "b"] as const).map((which) => (
          <span key={which}>
            <i class="swatch" style={{ background: COLORS[which] }} /> {which.toUpperCase()}{" "}
            <a class="told-link" href={href(link(`/session/${encodeURIComponent(told[which].id)}`))}>
              {told[which].name}
            </a>{" "}
            <span class="muted">
              {told[which].id} · {told[which].state} · {seconds(told[which].seconds)}
            </span>
          </span>
        ))}
      </p>
      <div class="session-charts">
        <Card title="Tasks completed">
          <Beside
            lines={[throughput("a"), throughput("b")]}
            label="Tasks completed per second"
            format={perSecond}
          />
        </Card>
        <Card title="Tasks that run">
          <Beside lines={[running("a"), running("b")]} label="Tasks that run at once" format={count} />
        </Card>
      </div>
      {told.figures && (
        <Card title="Figures">
          <Table
            columns={FIGURES}
            rows={told.figures.figures}
            label="Figures of both"
            rowKey={(row) => row.name}
            {...addressSorting(undefined, "sort.figures")}
          />
        </Card>
      )}
      <Card title="Tasks by name">
        {told.is_truncated && (
          <Warning>
            The {count(told.names.length)} names that took the most time are listed; there are more.
          </Warning>
        )}
        <Table
          columns={NAMES}
          rows={told.names}
          label="Tasks by name"
          rowKey={(row) => row.name}
          {...addressSorting()}
        />
      </Card>
      <div class="session-charts">
        <Nodes name="A" of={told.a} />
        <Nodes name="B" of={told.b} />
      </div>
    </div>
  );
}

export default function Page() {
  const [a, b] = [param("a"), param("b")];
  const isChosen = Boolean(a && b);
  const asked = useAsk(
    isChosen ? (signal) => getJson<Compared>("/api/board/compare", { a, b }, signal) : undefined,
    [a, b, refreshes.value],
  );
  return (
    <PageBody
      title="Compare sessions"
      actions={
        isChosen && (
          <>
            <Button icon="compare" onClick={() => setParams({ a: b, b: a })}>
              Swap
            </Button>
            <Button icon="close" onClick={() => setParams({ b: undefined })}>
              Choose others
            </Button>
          </>
        )
      }
    >
      {isChosen ? <Answer of={asked}>{(told) => <Parts told={told} />}</Answer> : <Choose />}
    </PageBody>
  );
}
