/**
 * One trace in a panel: its spans as a tree, each with its bar in the time of the trace. What more there is
 * to see of it is on its own page, where the links lead.
 */
import { useMemo } from "preact/hooks";
import { href } from "../frame/base";
import { link } from "../frame/router";
import { ticks } from "../ui/canvas/ticks";
import { colorOf } from "../ui/colors";
import { duration } from "../ui/format";
import { Icon } from "../ui/icon";
import { type Column, Table } from "../ui/table";
import { placeOf, type SpanTree, type TreeSpan } from "./spantree";

interface OneTraceProps {
  tree: SpanTree;
  title: string;
  width: number;
  height: number;
}

/** Of the line above the spans, and of the heads of their columns. */
const HEAD_PIXELS = 62;
/** How far a span is moved in for each that it is within, up to a depth that leaves room for names. */
const INDENT_PIXELS = 12;
const MOST_INDENTS = 12;

export function OneTrace({ tree, title, width, height }: OneTraceProps) {
  const columns = useMemo(() => columnsOf(tree, width), [tree, width]);
  const { spans, services, errors } = tree;
  const facts = [
    `${spans.length} ${spans.length === 1 ? "span" : "spans"}`,
    `${services} ${services === 1 ? "service" : "services"}`,
    duration(tree.nanos),
    ...(errors > 0 ? [`${errors} with errors`] : []),
  ];
  return (
    <div class="table-panel one-trace">
      <p class="row one-trace-head">
        <a href={addressOf(tree)}>Open the trace</a>
        <span class="muted ellipsis">{facts.join(", ")}</span>
      </p>
      <Table
        label={title || "Spans of the trace"}
        columns={columns}
        rows={spans}
        rowKey={({ id }, index) => `${id} ${index}`}
        height={Math.max(60, height - HEAD_PIXELS)}
      />
    </div>
  );
}

function addressOf({ traceId }: SpanTree, span?: TreeSpan): string {
  return href(link(`/trace/${encodeURIComponent(traceId)}`, { span: span?.id }));
}

function columnsOf(tree: SpanTree, width: number): Column<TreeSpan>[] {
  return [
    {
      id: "name",
      title: "Span",
      width: "minmax(140px, 2fr)",
      render: (span) => <Name tree={tree} span={span} />,
    },
    {
      id: "bar",
      title: <Axis nanos={tree.nanos} marks={Math.max(1, Math.floor(width / 260))} />,
      width: "minmax(120px, 3fr)",
      render: (span) => <Bar span={span} whole={tree.nanos} />,
    },
    {
      id: "duration",
      title: "Duration",
      width: "90px",
      align: "right",
      render: ({ nanos }) => duration(nanos),
    },
  ];
}

function Name({ tree, span }: { tree: SpanTree; span: TreeSpan }) {
  return (
    <span
      class="one-trace-name"
      style={{ paddingLeft: Math.min(span.depth, MOST_INDENTS) * INDENT_PIXELS }}
      title={`${span.service}: ${span.name}`}
    >
      <i class="swatch" style={{ background: colorOf(span.service) }} />
      {span.isError && (
        <span class="bad">
          <Icon name="error" size={12} />
          <span class="hidden">error</span>
        </span>
      )}
      <span class="ellipsis">
        <span class="muted">{span.service}</span> <a href={addressOf(tree, span)}>{span.name}</a>
      </span>
    </span>
  );
}

/** The time since the trace began. */
function Axis({ nanos, marks }: { nanos: number; marks: number }) {
  return (
    <span class="one-trace-axis">
      {ticks(0, nanos, marks)
        .filter(({ at }) => at < nanos * 0.95)
        .map(({ at, label }) => (
          <span key={at} style={{ left: `${(at / Math.max(1, nanos)) * 100}%` }}>
            {label}
          </span>
        ))}
    </span>
  );
}

function Bar({ span, whole }: { span: TreeSpan; whole: number }) {
  const { from, length } = placeOf(span, whole);
  return (
    <span class="one-trace-track">
      <span
        class="one-trace-bar"
        style={{
          left: `${from * 100}%`,
          width: `max(2px, ${length * 100}%)`,
          background: colorOf(span.service),
        }}
      />
    </span>
  );
}
