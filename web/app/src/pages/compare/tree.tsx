/** Paths of both traces as one tree, with what differs at each; what is quiet is folded at first. */
import { useMemo } from "preact/hooks";
import { param, setParams } from "../../frame/router";
import { Button } from "../../ui/button";
import type { FlameAnswer, FlameNode } from "../../ui/canvas/flamenodes";
import { colorOf } from "../../ui/colors";
import { Check } from "../../ui/field";
import { count, duration } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { openNodes, quietNodes } from "./asked";
import { Delta } from "./delta";
import { useFolds } from "./folds";

/** A part of the whole below which a difference is not shown at first. */
const QUIET_PART = 0.005;
const INDENT = 14;

export function DeltaTree({ flame }: { flame: FlameAnswer }) {
  const { nodes } = flame;
  const whole = nodes.reduce(
    (sum, { parent, a, b }) => (parent < 0 ? sum + a.weightNanos + (b?.weightNanos ?? 0) : sum),
    0,
  );
  const quiet = useMemo(() => quietNodes(nodes, whole * QUIET_PART), [nodes]);
  const { folded, toggle, begin } = useFolds(nodes, quiet);
  const isOnlyChanged = param("changed") === "1";
  const rows = useMemo(() => {
    const open = openNodes(nodes, folded);
    return isOnlyChanged
      ? open.filter((at) => (nodes[at]!.b?.weightNanos ?? 0) !== nodes[at]!.a.weightNanos)
      : open;
  }, [nodes, folded, isOnlyChanged]);
  const columns = columnsFor(nodes, folded, toggle);
  return (
    <div class="stack">
      <div class="row">
        <Check
          label="Only what differs"
          checked={isOnlyChanged}
          onChange={(changed) => setParams({ changed }, { replace: true })}
        />
        <Button onClick={() => begin("none")}>Unfold all</Button>
        <Button onClick={() => begin("quiet")}>Fold what is quiet</Button>
        <span class="muted">
          {count(rows.length)} paths shown of {count(nodes.length)}
        </span>
      </div>
      {flame.truncated && <Warning>There are more paths; their time is that of the path above.</Warning>}
      <Table label="Paths of both traces" columns={columns} rows={rows} rowKey={(at) => at} onOpen={toggle} />
    </div>
  );
}

function onlyIn({ a, b }: FlameNode): string | undefined {
  if (a.count === 0) return "only in B";
  return (b?.count ?? 0) === 0 ? "only in A" : undefined;
}

function columnsFor(
  nodes: readonly FlameNode[],
  folded: ReadonlySet<number>,
  toggle: (at: number) => void,
): Column<number>[] {
  const node = (at: number) => nodes[at]!;
  const hasChildren = (at: number) => nodes[at + 1]?.parent === at;
  return [
    {
      id: "name",
      title: "Path",
      width: "minmax(300px, 1fr)",
      render: (at) => (
        <span class="row compare-name" style={{ paddingLeft: Math.min(node(at).depth * INDENT, 280) }}>
          {hasChildren(at) ? (
            <button
              type="button"
              class="compare-fold"
              aria-expanded={!folded.has(at)}
              aria-label={folded.has(at) ? "Unfold" : "Fold"}
              onClick={() => toggle(at)}
            >
              <Icon name={folded.has(at) ? "right" : "down"} size={12} />
            </button>
          ) : (
            <span class="compare-leaf" />
          )}
          <span class="swatch" style={{ background: colorOf(node(at).service) }} />
          <span class="muted">{node(at).service}</span>
          <span class="ellipsis">{node(at).name || "(no name)"}</span>
          {onlyIn(node(at)) && <span class="badge">{onlyIn(node(at))}</span>}
        </span>
      ),
    },
    {
      id: "count",
      title: "Spans A / B",
      width: "110px",
      align: "right",
      render: (at) => `${count(node(at).a.count)} / ${count(node(at).b?.count ?? 0)}`,
    },
    {
      id: "a",
      title: <span title="Of its spans and all below, added up">A</span>,
      width: "100px",
      align: "right",
      render: (at) => (node(at).a.count === 0 ? "–" : duration(node(at).a.weightNanos)),
    },
    {
      id: "b",
      title: <span title="Of its spans and all below, added up">B</span>,
      width: "100px",
      align: "right",
      render: (at) => ((node(at).b?.count ?? 0) === 0 ? "–" : duration(node(at).b!.weightNanos)),
    },
    {
      id: "delta",
      title: "Difference",
      width: "180px",
      align: "right",
      render: (at) => (
        <Delta nanos={(node(at).b?.weightNanos ?? 0) - node(at).a.weightNanos} of={node(at).a.weightNanos} />
      ),
    },
    {
      id: "self",
      title: "By itself",
      width: "150px",
      align: "right",
      render: (at) => <Delta nanos={(node(at).b?.selfNanos ?? 0) - node(at).a.selfNanos} />,
    },
    {
      id: "errors",
      title: "Errors A / B",
      width: "110px",
      align: "right",
      render: (at) => {
        const { a, b } = node(at);
        const errors = `${a.errors} / ${b?.errors ?? 0}`;
        return a.errors + (b?.errors ?? 0) > 0 ? <span class="bad">✖ {errors}</span> : errors;
      },
    },
  ];
}
