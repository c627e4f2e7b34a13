/** What a search found: one row for each trace, or for each span that matched. */
import { useMemo } from "preact/hooks";
import { href } from "../../frame/base";
import { navigate, pageLink, param, setParams } from "../../frame/router";
import { Button } from "../../ui/button";
import { colorOf } from "../../ui/colors";
import { count, duration, fullTime, millisOf, time } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { type Column, type Sorting, Table } from "../../ui/table";
import { CutColumns, CutRows } from "./cutspans";
import { type FoundSpan, type FoundTrace, orderIn, tracePath, valueIn, valuesIn } from "./found";

interface ResultsProps {
  traces: readonly FoundTrace[];
  /** Attributes that are columns. */
  fields: readonly string[];
  kind: "traces" | "spans";
  /** How many spans were asked for of each trace. */
  spans: number;
  sorting: Sorting;
  onSort: (sorting: Sorting) => void;
}

interface SpanRow {
  trace: FoundTrace;
  span: FoundSpan;
}

export function Results(props: ResultsProps) {
  return props.kind === "spans" ? <SpanRows {...props} /> : <TraceRows {...props} />;
}

function Service({ name }: { name: string }) {
  return (
    <>
      <span class="swatch" style={{ background: colorOf(name) }} /> {name || "–"}
    </>
  );
}

/** Nanoseconds since 1970, as a text that sorts: a number would not hold all of their digits. */
function inOrder(nanos: string): string {
  return nanos.padStart(20, "0");
}

const SCOPE = /^(?:resource|span|event|link|instrumentation)\./;
/** Columns that are there without being chosen; an attribute may be called as one of them. */
const OWN = /^(?:pair|start|service|name|trace|status|spans|matched|errors|duration)$/;

/** A field as the head of its column: without its scope, unless another column would be called the same. */
function titleOf(field: string, fields: readonly string[]): string {
  const bare = field.replace(SCOPE, "");
  return fields.some((other) => other !== field && other.replace(SCOPE, "") === bare) ? field : bare;
}

function fieldColumn<Row>(
  field: string,
  fields: readonly string[],
  text: (row: Row) => string,
  spansOf: (row: Row) => readonly FoundSpan[],
): Column<Row> {
  return {
    id: OWN.test(field) ? `:${field}` : field,
    title: <span title={field}>{titleOf(field, fields)}</span>,
    width: "minmax(80px, 0.7fr)",
    render: (row) => <span title={text(row)}>{text(row)}</span>,
    value: (row) => orderIn(spansOf(row), field),
  };
}

function TraceRows({ traces, fields, spans, sorting, onSort }: ResultsProps) {
  const pair = [param("a"), param("b")].filter((id) => id !== undefined);
  const setPair = ([a, b]: readonly string[]) => setParams({ a, b }, { replace: true });
  const toggle = (id: string) =>
    setPair(pair.includes(id) ? pair.filter((one) => one !== id) : [...pair, id].slice(-2));
  const columns = useMemo<Column<FoundTrace>[]>(
    () => [
      {
        id: "pair",
        title: <span class="hidden">Compare</span>,
        width: "44px",
        render: ({ id, name }) => (
          <label class="mark-pair">
            <input
              type="checkbox"
              aria-label={`Compare ${name} ${id.slice(0, 8)}`}
              checked={pair.includes(id)}
              onChange={() => toggle(id)}
            />
            {pair.includes(id) && <b>{pair[0] === id ? "A" : "B"}</b>}
          </label>
        ),
      },
      {
        id: "start",
        title: "Start",
        width: "88px",
        render: ({ start }) => <span title={fullTime(millisOf(start))}>{time(millisOf(start))}</span>,
        value: ({ start }) => inOrder(start),
      },
      {
        id: "service",
        title: "Service",
        width: "minmax(90px, 0.6fr)",
        render: ({ service }) => <Service name={service} />,
        value: ({ service }) => service,
      },
      {
        id: "name",
        title: "Root span",
        width: "minmax(140px, 1.6fr)",
        render: ({ id, name }) => <a href={href(tracePath(id))}>{name || id}</a>,
        value: ({ name }) => name,
      },
      ...fields.map((field) =>
        fieldColumn<FoundTrace>(
          field,
          fields,
          (row) => valuesIn(row, field).join(", "),
          ({ spans }) => spans,
        ),
      ),
      {
        id: "spans",
        title: "Spans",
        width: "72px",
        align: "right",
        render: ({ spanCount }) => count(spanCount),
        value: ({ spanCount }) => spanCount,
      },
      {
        id: "matched",
        title: "Match",
        width: "72px",
        align: "right",
        render: ({ matched }) => count(matched),
        value: ({ matched }) => matched,
      },
      {
        id: "errors",
        title: "Errors",
        width: "78px",
        align: "right",
        render: ({ errorCount }) =>
          errorCount > 0 ? (
            <span class="badge badge-bad">
              <Icon name="error" size={11} />
              {count(errorCount)}
            </span>
          ) : (
            ""
          ),
        value: ({ errorCount }) => errorCount,
      },
      durationColumn<FoundTrace>(traces.reduce((most, trace) => Math.max(most, trace.durationNanos), 1)),
    ],
    [fields.join("\u0000"), pair.join(), traces],
  );
  return (
    <>
      {pair.length > 0 && (
        <div class="row">
          <Button
            kind="primary"
            icon="compare"
            disabled={pair.length < 2}
            onClick={() => navigate(pageLink("/compare", { a: pair[0], b: pair[1], refresh: undefined }))}
          >
            Compare A and B
          </Button>
          <span class="muted">{pair.length < 2 ? "choose a second trace" : ""}</span>
          <Button kind="quiet" onClick={() => setPair([])}>
            Choose none
          </Button>
        </div>
      )}
      {fields.length > 0 && <CutColumns traces={traces} spans={spans} />}
      <Table
        label="Traces"
        columns={columns}
        rows={traces}
        rowKey={({ id }) => id}
        sorting={sorting}
        onSort={onSort}
        isSelected={({ id }) => pair.includes(id)}
        onOpen={({ id }) => navigate(tracePath(id))}
      />
    </>
  );
}

function durationColumn<Row extends { durationNanos: number }>(most: number): Column<Row> {
  return {
    id: "duration",
    title: "Duration",
    width: "150px",
    align: "right",
    render: ({ durationNanos }) => (
      <span class="duration-cell">
        <span class="duration-bar" aria-hidden="true" style={{ width: `${(durationNanos / most) * 100}%` }} />
        <span class="duration-text">{duration(durationNanos)}</span>
      </span>
    ),
    value: ({ durationNanos }) => durationNanos,
  };
}

function SpanRows({ traces, fields, spans, sorting, onSort }: ResultsProps) {
  const rows = useMemo(
    () => traces.flatMap((trace) => trace.spans.map((span) => ({ trace, span }))),
    [traces],
  );
  const columns = useMemo<Column<SpanRow>[]>(() => {
    const most = rows.reduce((high, { span }) => Math.max(high, span.durationNanos), 1);
    const bar = durationColumn<FoundSpan>(most);
    return [
      {
        id: "start",
        title: "Start",
        width: "88px",
        render: ({ span }) => (
          <span title={fullTime(millisOf(span.start))}>{time(millisOf(span.start))}</span>
        ),
        value: ({ span }) => inOrder(span.start),
      },
      {
        id: "service",
        title: "Service",
        width: "minmax(90px, 0.6fr)",
        render: ({ span }) => <Service name={valueIn(span, "resource.service.name") ?? ""} />,
        value: ({ span }) => valueIn(span, "resource.service.name"),
      },
      {
        id: "name",
        title: "Span",
        width: "minmax(140px, 1.4fr)",
        render: ({ trace, span }) => <a href={href(tracePath(trace.id, span.id))}>{span.name || span.id}</a>,
        value: ({ span }) => span.name,
      },
      {
        id: "trace",
        title: "In",
        width: "minmax(120px, 0.8fr)",
        render: ({ trace }) => <span class="muted">{trace.name}</span>,
        value: ({ trace }) => trace.name,
      },
      {
        id: "status",
        title: "Status",
        width: "84px",
        render: ({ span }) =>
          valueIn(span, "status") === "error" ? (
            <span class="badge badge-bad">
              <Icon name="error" size={11} />
              error
            </span>
          ) : (
            valueIn(span, "status")
          ),
        value: ({ span }) => valueIn(span, "status"),
      },
      ...fields.map((field) =>
        fieldColumn<SpanRow>(
          field,
          fields,
          ({ span }) => valueIn(span, field) ?? "",
          ({ span }) => [span],
        ),
      ),
      { ...bar, render: (row, at) => bar.render(row.span, at), value: ({ span }) => span.durationNanos },
    ];
  }, [fields.join("\u0000"), rows]);
  return (
    <>
      <CutRows traces={traces} spans={spans} />
      <Table
        label="Spans"
        columns={columns}
        rows={rows}
        rowKey={({ trace, span }) => `${trace.id}/${span.id}`}
        sorting={sorting}
        onSort={onSort}
        onOpen={({ trace, span }) => navigate(tracePath(trace.id, span.id))}
      />
    </>
  );
}
