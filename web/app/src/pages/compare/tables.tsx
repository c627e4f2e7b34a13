/** Tables of a comparison: operations, single spans, spans of one side, attributes. */
import { href } from "../../frame/base";
import { link, navigate } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { colorOf } from "../../ui/colors";
import { count, duration } from "../../ui/format";
import { addressSorting } from "../../ui/sorting";
import { Answer, Empty, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { askDetails, type SpanDetails, valueText } from "../trace/asked";
import type { AttributeDelta, Comparison, OneSided, OperationDelta, SpanDelta } from "./asked";
import { Delta } from "./delta";

function Operation({ service, name }: { service: string; name: string }) {
  return (
    <span class="row compare-name">
      <span class="swatch" style={{ background: colorOf(service) }} />
      <span class="muted">{service}</span>
      <span class="ellipsis">{name || "(no name)"}</span>
    </span>
  );
}

const nanosColumn = <Row,>(id: string, title: string, value: (row: Row) => number): Column<Row> => ({
  id,
  title,
  width: "110px",
  align: "right",
  value,
  render: (row) => duration(value(row)),
});

export function OperationTable({ operations }: { operations: readonly OperationDelta[] }) {
  const columns: Column<OperationDelta>[] = [
    {
      id: "name",
      title: "Operation",
      width: "minmax(260px, 1fr)",
      value: ({ service, name }) => `${service} ${name}`,
      render: (one) => <Operation {...one} />,
    },
    {
      id: "count",
      title: "Spans A / B",
      width: "120px",
      align: "right",
      value: ({ a, b }) => b.count - a.count,
      render: ({ a, b }) => `${count(a.count)} / ${count(b.count)}`,
    },
    nanosColumn("selfA", "Self A", ({ a }) => a.selfNanos),
    nanosColumn("selfB", "Self B", ({ b }) => b.selfNanos),
    {
      id: "self",
      title: "Self, difference",
      width: "180px",
      align: "right",
      value: ({ deltaSelfNanos }) => Math.abs(deltaSelfNanos),
      render: ({ deltaSelfNanos, a }) => <Delta nanos={deltaSelfNanos} of={a.selfNanos} />,
    },
    {
      id: "total",
      title: "Total, difference",
      width: "180px",
      align: "right",
      value: ({ deltaTotalNanos }) => Math.abs(deltaTotalNanos),
      render: ({ deltaTotalNanos, a }) => <Delta nanos={deltaTotalNanos} of={a.totalNanos} />,
    },
    {
      id: "errors",
      title: "Errors A / B",
      width: "110px",
      align: "right",
      value: ({ a, b }) => b.errors - a.errors,
      render: ({ a, b }) => `${a.errors} / ${b.errors}`,
    },
  ];
  return (
    <Table
      label="Operations of both traces"
      columns={columns}
      rows={operations}
      rowKey={({ service, name }) => `${service}\u0001${name}`}
      {...addressSorting()}
    />
  );
}

const spanPath = (id: string, span: string) => link(`/trace/${encodeURIComponent(id)}`, { span });

export function SpanTable({ comparison, a, b }: { comparison: Comparison; a: string; b: string }) {
  const columns: Column<SpanDelta>[] = [
    {
      id: "name",
      title: "Span",
      width: "minmax(260px, 1fr)",
      value: ({ service, name }) => `${service} ${name}`,
      render: (one) => <Operation {...one} />,
    },
    nanosColumn("a", "A", ({ aNanos }) => aNanos),
    nanosColumn("b", "B", ({ bNanos }) => bNanos),
    {
      id: "delta",
      title: "Difference",
      width: "190px",
      align: "right",
      value: ({ deltaNanos }) => Math.abs(deltaNanos),
      render: ({ deltaNanos, aNanos }) => <Delta nanos={deltaNanos} of={aNanos} />,
    },
    {
      id: "open",
      title: "Open",
      width: "100px",
      render: ({ aId, bId }) => (
        <span class="row">
          <a href={href(spanPath(a, aId))}>A</a>
          <a href={href(spanPath(b, bId))}>B</a>
        </span>
      ),
    },
  ];
  return (
    <>
      {comparison.spans.length < comparison.paired && (
        <Warning>
          The {count(comparison.spans.length)} of {count(comparison.paired)} spans that differ most.
        </Warning>
      )}
      <Table
        label="Spans of both traces"
        columns={columns}
        rows={comparison.spans}
        rowKey={({ bRow }) => bRow}
        {...addressSorting()}
        onOpen={({ bId }) => navigate(spanPath(b, bId))}
      />
    </>
  );
}

const SPANS_ASKED = 200;

export function OneSidedTable({ id, side, only }: { id: string; side: "A" | "B"; only: OneSided }) {
  // Several spans may have the same id, of which the first is told.
  const ids = [...new Set(only.ids)].slice(0, SPANS_ASKED);
  const question = (signal: AbortSignal) => askDetails(id, { ids }, signal);
  const asked = useAsk(ids.length > 0 ? question : undefined, [id, only]);
  if (only.total === 0) return <Empty title={`Every span of ${side} has its like in the other trace`} />;
  const resources = asked.data?.resources ?? [];
  const serviceOf = ({ resource }: SpanDetails) =>
    valueText(resources[resource]?.attributes.find(({ key }) => key === "service.name")?.value);
  const columns: Column<SpanDetails>[] = [
    {
      id: "name",
      title: "Span",
      width: "minmax(260px, 1fr)",
      value: ({ name }) => name,
      render: (span) => <Operation service={serviceOf(span)} name={span.name} />,
    },
    nanosColumn("duration", "Duration", ({ durationNanos }) => durationNanos),
    nanosColumn("self", "Self", ({ selfNanos }) => selfNanos),
    { id: "kind", title: "Kind", width: "100px", render: ({ kind }) => kind },
    {
      id: "status",
      title: "Status",
      width: "90px",
      render: ({ status }) => (status.code === "error" ? <span class="bad">✖ error</span> : status.code),
    },
    {
      id: "id",
      title: "Span id",
      width: "150px",
      render: (span) => (
        <a class="mono" href={href(spanPath(id, span.id))}>
          {span.id}
        </a>
      ),
    },
  ];
  return (
    <Answer of={asked}>
      {({ spans }) => (
        <>
          {only.total > spans.length && (
            <Warning>
              The longest {count(spans.length)} of {count(only.total)}.
            </Warning>
          )}
          <Table
            label={`Spans that only ${side} has`}
            columns={columns}
            rows={spans}
            rowKey={({ row }) => row}
            {...addressSorting()}
          />
        </>
      )}
    </Answer>
  );
}

export function AttributeTable({ attributes }: { attributes: readonly AttributeDelta[] }) {
  if (attributes.length === 0)
    return <Empty title="The first spans and their resources have the same attributes" />;
  const shown = (value: unknown) =>
    value === null || value === undefined ? <span class="muted">not there</span> : valueText(value);
  const columns: Column<AttributeDelta>[] = [
    {
      id: "key",
      title: "Attribute",
      width: "minmax(200px, 320px)",
      value: ({ key }) => key,
      render: ({ key }) => key,
    },
    { id: "a", title: "A", render: ({ a }) => <span class="mono">{shown(a)}</span> },
    { id: "b", title: "B", render: ({ b }) => <span class="mono">{shown(b)}</span> },
  ];
  return (
    <Table
      label="Attributes that differ"
      columns={columns}
      rows={attributes}
      rowKey={({ key }) => key}
      {...addressSorting()}
    />
  );
}
