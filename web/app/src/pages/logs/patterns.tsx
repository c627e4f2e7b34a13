/** Patterns of lines: what is always the same, how often, and since when. */
import { getJson } from "../../frame/api";
import { range } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { queryError } from "../../ui/editor/errors";
import { count, time } from "../../ui/format";
import { addressSorting } from "../../ui/sorting";
import { Spark } from "../../ui/spark";
import { Answer, Empty } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { useReported } from "./reported";

interface Pattern {
  pattern: string;
  total: number;
  bars: number[];
  /** When it was first seen, in milliseconds. */
  first: number;
  isNew: boolean;
}

const BARS = 40;
/** A pattern that was first seen after this part of the time shown is called new. */
const NEW_AFTER = 0.25;

export function Patterns({
  query,
  onFilter,
  onError,
}: {
  query: string;
  onFilter: (pattern: string, isExcluded: boolean) => void;
  /** Told of what goes wrong: what is wrong with the query is shown where it is written. */
  onError: (error?: Error) => void;
}) {
  const shown = range.value;
  const asked = useAsk(
    async (signal) => {
      const params = { query, start: `${Math.floor(shown.from)}000000`, end: `${Math.ceil(shown.to)}000000` };
      const answer = await getJson<{ data: { pattern: string; samples: [number, number][] }[] }>(
        "/loki/api/v1/patterns",
        params,
        signal,
      );
      const oldest = answer.data.reduce(
        (least, { samples }) => samples.reduce((low, [seconds]) => Math.min(low, seconds * 1000), least),
        shown.to,
      );
      return answer.data.map(({ pattern, samples }) => patternOf(pattern, samples, shown, oldest));
    },
    [query, shown],
  );
  useReported(asked.error, onError);
  if (queryError(query, asked.error)) return null;
  return (
    <Answer of={asked}>
      {(patterns) =>
        patterns.length === 0 ? (
          <Empty title="No patterns in these lines" />
        ) : (
          <Table
            label="Patterns"
            columns={columns(onFilter)}
            rows={patterns}
            rowKey={({ pattern }) => pattern}
            {...addressSorting({ column: "total", descending: true })}
          />
        )
      }
    </Answer>
  );
}

function patternOf(
  pattern: string,
  samples: readonly [number, number][],
  shown: { from: number; to: number },
  oldest: number,
): Pattern {
  const bars = Array.from({ length: BARS }, () => 0);
  let [total, first] = [0, shown.to];
  for (const [seconds, lines] of samples) {
    if (lines <= 0) continue;
    const place = Math.floor(((seconds * 1000 - shown.from) / (shown.to - shown.from)) * BARS);
    bars[Math.max(0, Math.min(BARS - 1, place))]! += lines;
    total += lines;
    first = Math.min(first, seconds * 1000);
  }
  return { pattern, total, bars, first, isNew: first > oldest + (shown.to - oldest) * NEW_AFTER };
}

function columns(onFilter: (pattern: string, isExcluded: boolean) => void): Column<Pattern>[] {
  return [
    {
      id: "total",
      title: "Lines",
      width: "80px",
      align: "right",
      render: ({ total }) => count(total),
      value: ({ total }) => total,
    },
    {
      id: "when",
      title: "Over time",
      width: "150px",
      render: ({ bars, total }) => (
        <Spark values={bars} bars width={130} label={`${total} lines over time`} />
      ),
    },
    {
      id: "first",
      title: "First seen",
      width: "130px",
      render: ({ first, isNew }) => (
        <>
          {time(first)} {isNew && <span class="badge badge-accent">new</span>}
        </>
      ),
      value: ({ first }) => first,
    },
    {
      id: "pattern",
      title: "Pattern",
      width: "minmax(200px, 1fr)",
      render: ({ pattern }) => <code title={pattern}>{pattern}</code>,
      value: ({ pattern }) => pattern,
    },
    {
      id: "do",
      title: <span class="hidden">Filter</span>,
      width: "90px",
      render: ({ pattern }) => (
        <>
          <Button kind="quiet" icon="plus" label="Only such lines" onClick={() => onFilter(pattern, false)} />
          <Button
            kind="quiet"
            icon="minus"
            label="Without such lines"
            onClick={() => onFilter(pattern, true)}
          />
        </>
      ),
    },
  ];
}
