/** What ran on a host in the time that is shown, the newest first: traces, and the sessions they are of. */
import { href } from "../../frame/base";
import { link, navigate } from "../../frame/router";
import { range, rangeText } from "../../frame/time";
import { colorOf } from "../../ui/colors";
import { duration, fullTime, millisOf, time } from "../../ui/format";
import { Card } from "../../ui/page";
import { Empty, ErrorBox, Skeleton } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { type FoundTrace, tracePath, valuesIn } from "../traces/found";
import { useSearch } from "../traces/search";

const MOST_TRACES = 6;
const SESSION = "resource.session_id";

const COLUMNS: readonly Column<FoundTrace>[] = [
  {
    id: "start",
    title: "Start",
    width: "88px",
    render: ({ start }) => <span title={fullTime(millisOf(start))}>{time(millisOf(start))}</span>,
  },
  {
    id: "service",
    title: "Service",
    width: "minmax(90px, 0.6fr)",
    render: ({ service }) => (
      <>
        <span class="swatch" style={{ background: colorOf(service) }} /> {service || "–"}
      </>
    ),
  },
  {
    id: "name",
    title: "Trace",
    width: "minmax(140px, 1.6fr)",
    render: ({ id, name }) => <a href={href(tracePath(id))}>{name || id}</a>,
  },
  {
    id: "session",
    title: "Session",
    width: "minmax(100px, 1fr)",
    render: (trace) =>
      valuesIn(trace, SESSION).map((id) => (
        <a key={id} class="ellipsis" href={href(link(`/session/${encodeURIComponent(id)}`))}>
          {id}
        </a>
      )),
  },
  {
    id: "duration",
    title: "Duration",
    width: "110px",
    align: "right",
    render: ({ durationNanos }) => duration(durationNanos),
  },
];

export function RanHere({ query }: { query: string }) {
  const found = useSearch({
    query,
    select: SESSION,
    within: range.value,
    limit: MOST_TRACES,
    order: "newest",
  });
  const all = link("/traces", { q: query, from: rangeText.value.from, to: rangeText.value.to });
  return (
    <Card title="What ran here" actions={<a href={href(all)}>All of it</a>}>
      {found.error && <ErrorBox error={found.error} again={found.again} />}
      {found.traces.length > 0 ? (
        <Table
          label="Traces of the host, the newest first"
          columns={COLUMNS}
          rows={found.traces}
          rowKey={({ id }) => id}
          height={Math.min(320, 30 + found.traces.length * 28)}
          onOpen={({ id }) => navigate(tracePath(id))}
        />
      ) : found.isRunning ? (
        <Skeleton lines={4} />
      ) : (
        !found.error && <Empty title="No spans of this host in this time" />
      )}
    </Card>
  );
}
