/** The paths of a flame as a table: how often, how long for each trace, and how much that changed. */
import { useMemo } from "preact/hooks";
import type { FlameNode } from "../../ui/canvas/flamenodes";
import { colorOf } from "../../ui/colors";
import { count, duration } from "../../ui/format";
import { addressSorting } from "../../ui/sorting";
import { type Column, Table } from "../../ui/table";
import { Delta } from "../compare/delta";
import "../compare/compare.css";

interface FlamePathsProps {
  nodes: readonly FlameNode[];
  /** Traces of either side. */
  traces: readonly number[];
  hasOther: boolean;
  selected?: number;
  onSelect: (node: number) => void;
}

interface PathRow {
  at: number;
  node: FlameNode;
  /** Nanoseconds for each trace of a side. */
  a: number;
  b: number;
  selfA: number;
  selfB: number;
}

/** Names that are told of a path, the last ones, and how much of each: both may be of any length. */
const NAMES_TOLD = 8;
const NAME_LENGTH = 200;

/** Names on the way down to a node. */
export function pathOf(nodes: readonly FlameNode[], at: number): string {
  const names: string[] = [];
  let node = at;
  for (; node >= 0 && names.length < NAMES_TOLD; node = nodes[node]!.parent) {
    const { name } = nodes[node]!;
    names.push(name.length > NAME_LENGTH ? `${name.slice(0, NAME_LENGTH)}…` : name);
  }
  if (node >= 0) names.push("…");
  return names.reverse().join(" / ");
}

export function FlamePaths({ nodes, traces, hasOther, selected, onSelect }: FlamePathsProps) {
  const rows = useMemo(
    () =>
      nodes.map((node, at): PathRow => {
        const [tracesA, tracesB] = [Math.max(1, traces[0] ?? 1), Math.max(1, traces[1] ?? 1)];
        return {
          at,
          node,
          a: node.a.totalNanos / tracesA,
          b: (node.b?.totalNanos ?? 0) / tracesB,
          selfA: node.a.selfNanos / tracesA,
          selfB: (node.b?.selfNanos ?? 0) / tracesB,
        };
      }),
    [nodes, traces],
  );
  const columns = useMemo(() => columnsOf(nodes, hasOther), [nodes, hasOther]);
  return (
    <Table
      label="Paths"
      columns={columns}
      rows={rows}
      rowKey={({ at }) => at}
      {...addressSorting({ column: hasOther ? "change" : "self", descending: true })}
      isSelected={({ at }) => at === selected}
      onOpen={({ at }) => onSelect(at)}
    />
  );
}

function columnsOf(nodes: readonly FlameNode[], hasOther: boolean): Column<PathRow>[] {
  const path: Column<PathRow> = {
    id: "path",
    title: "Path",
    width: "minmax(240px, 1fr)",
    render: ({ node, at }) => {
      const text = pathOf(nodes, at);
      return (
        <span title={text}>
          <span class="swatch" style={{ background: colorOf(node.service) }} /> {text}
        </span>
      );
    },
    // As in the flame: each below the one that it is of.
    value: ({ at }) => at,
  };
  const number = (
    id: string,
    title: string,
    text: (row: PathRow) => string,
    value: (row: PathRow) => number,
  ): Column<PathRow> => ({
    id,
    title,
    width: "110px",
    align: "right",
    render: text,
    value,
  });
  if (!hasOther) {
    return [
      path,
      number(
        "count",
        "Spans",
        ({ node }) => count(node.a.count),
        ({ node }) => node.a.count,
      ),
      number(
        "errors",
        "Errors",
        ({ node }) => (node.a.errors > 0 ? count(node.a.errors) : ""),
        ({ node }) => node.a.errors,
      ),
      number(
        "total",
        "For a trace",
        ({ a }) => duration(a),
        ({ a }) => a,
      ),
      number(
        "self",
        "Own time",
        ({ selfA }) => duration(selfA),
        ({ selfA }) => selfA,
      ),
    ];
  }
  return [
    path,
    number(
      "count",
      "Spans A, B",
      ({ node }) => `${count(node.a.count)}, ${count(node.b?.count ?? 0)}`,
      ({ node }) => node.a.count,
    ),
    number(
      "a",
      "A, a trace",
      ({ a }) => duration(a),
      ({ a }) => a,
    ),
    number(
      "b",
      "B, a trace",
      ({ b }) => duration(b),
      ({ b }) => b,
    ),
    {
      ...number(
        "change",
        "Change",
        () => "",
        ({ a, b }) => Math.abs(b - a),
      ),
      render: ({ a, b }) => <Delta nanos={b - a} />,
    },
    {
      id: "only",
      title: "Only in",
      width: "80px",
      render: ({ node }) => (node.a.count === 0 ? "B" : (node.b?.count ?? 0) === 0 ? "A" : ""),
    },
  ];
}
