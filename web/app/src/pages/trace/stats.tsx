/** Where the time of a trace went: spans in groups, with counts, sums and quantiles. */
import { param, setParams } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { colorOf } from "../../ui/colors";
import { count, duration, percent } from "../../ui/format";
import { Answer, Empty, Warning } from "../../ui/states";
import { Suggest } from "../../ui/suggest";
import { type Column, Table } from "../../ui/table";
import { askKeys, askStatistics, type Group } from "./asked";
import { useOfTrace } from "./oftrace";
import { sortingBy } from "./sorting";
import type { TraceState } from "./state";

const GROUPINGS: readonly (readonly [string, string])[] = [
  ["operation", "Service and name"],
  ["service", "Service"],
  ["name", "Name"],
  ["kind", "Kind"],
];

/** What is written into the address for what was typed; `null` for what needs no words. */
export function groupingOf(text: string): string | null {
  const wanted = text.trim();
  const known = GROUPINGS.find(([, label]) => label.toLowerCase() === wanted.toLowerCase());
  const by = known?.[0] ?? wanted;
  return by === "operation" || by === "" ? null : by;
}

function columnsFor(total: number, path: number): Column<Group>[] {
  const nanos = (id: keyof Group, title: string): Column<Group> => ({
    id,
    title,
    width: "80px",
    align: "right",
    value: (group) => group[id] as number,
    render: (group) => duration(group[id] as number),
  });
  return [
    {
      id: "name",
      title: "Group",
      width: "minmax(220px, 1fr)",
      value: ({ service, name }) => `${service ?? ""} ${name ?? ""}`,
      render: ({ service, name }) => (
        <span class="row stats-name">
          {service !== undefined && <span class="swatch" style={{ background: colorOf(service) }} />}
          {service !== undefined && <span class="muted ellipsis">{service || "(no service)"}</span>}
          <span class="ellipsis">{name ?? (service === undefined ? "(none)" : "")}</span>
        </span>
      ),
    },
    {
      id: "count",
      title: "Spans",
      width: "64px",
      align: "right",
      value: (group) => group.count,
      render: (group) => count(group.count),
    },
    {
      id: "errors",
      title: "Errors",
      width: "64px",
      align: "right",
      value: ({ errors }) => errors,
      render: ({ errors }) => (errors > 0 ? <span class="bad">✖ {count(errors)}</span> : "0"),
    },
    {
      id: "selfShare",
      title: "Self",
      width: "140px",
      value: ({ selfNanos }) => selfNanos,
      render: ({ selfNanos }) => <Share value={selfNanos} of={total} />,
    },
    {
      id: "criticalNanos",
      title: "Critical path",
      width: "140px",
      value: ({ criticalNanos }) => criticalNanos,
      render: ({ criticalNanos }) => <Share value={criticalNanos} of={path} isCritical />,
    },
    nanos("totalNanos", "Total"),
    nanos("meanNanos", "Mean"),
    nanos("p50Nanos", "p50"),
    nanos("p95Nanos", "p95"),
    nanos("p99Nanos", "p99"),
    nanos("minNanos", "Min"),
    nanos("maxNanos", "Max"),
  ];
}

function Share({ value, of, isCritical }: { value: number; of: number; isCritical?: boolean }) {
  const part = of > 0 ? value / of : 0;
  return (
    <span class="share" title={percent(part)}>
      <span class="share-bar">
        <span
          class={isCritical ? "share-fill share-critical" : "share-fill"}
          style={{ width: `${Math.min(100, part * 100)}%` }}
        />
      </span>
      {duration(value)}
    </span>
  );
}

export function StatisticsView({ state, id }: { state: TraceState; id: string }) {
  const by = param("by") ?? "operation";
  const { header } = state.trace.value;
  const asked = useOfTrace(
    state,
    useAsk((signal) => askStatistics(id, by, signal), [id, by, header.revision]),
  );
  const suggestions = async () => {
    const { keys } = await askKeys(id);
    return [...GROUPINGS.map(([, label]) => label), ...keys.map(({ key }) => key)];
  };
  return (
    <div class="view-scroll stack stats-view">
      <Suggest
        label="Group by"
        value={GROUPINGS.find(([value]) => value === by)?.[1] ?? by}
        suggestions={suggestions}
        placeholder="Service and name"
        width="260px"
        onChange={(text) => setParams({ by: groupingOf(text) }, { replace: true })}
      />
      <Answer of={asked}>
        {({ groups, total, truncated }) => {
          const selfNanos = groups.reduce((sum, group) => sum + group.selfNanos, 0);
          return (
            <>
              {truncated && (
                <Warning>
                  {count(groups.length)} of {count(total)} groups, those that took longest
                </Warning>
              )}
              {groups.length === 0 ? (
                <Empty title="No spans" />
              ) : (
                <Table
                  label="Groups of spans"
                  columns={columnsFor(selfNanos, header.criticalPath.durationNanos)}
                  rows={groups}
                  rowKey={({ service, name }) => `${service ?? ""}\u0001${name ?? "\u0002"}`}
                  {...sortingBy("statsSort", { column: "selfShare", descending: true })}
                  onOpen={({ longestRow }) => asked.isOfTrace && state.select(longestRow)}
                />
              )}
            </>
          );
        }}
      </Answer>
    </div>
  );
}
