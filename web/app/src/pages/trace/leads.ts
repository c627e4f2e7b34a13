/** Where a span leads: its logs, its host and GPU, others like it, the session or CI run it belongs to. */
import { link } from "../../frame/router";
import { millisOf } from "../../ui/format";
import type { IconName } from "../../ui/icon";
import { quote } from "../../ui/quote";
import { durationText } from "../traces/query";
import { type Attribute, isUpload, type Owner, type SpanDetails, valueText } from "./asked";
import type { Header } from "./columns";
import { DAY_MILLIS, operationQuery } from "./usual";

export interface Lead {
  label: string;
  path: string;
  icon: IconName;
}

function text(list: readonly Attribute[], ...keys: string[]): string | undefined {
  for (const key of keys) {
    const found = list.find((attribute) => attribute.key === key);
    if (found) return valueText(found.value) || undefined;
  }
  return undefined;
}

const LEAST_ROOM_MILLIS = 60_000;
/** Attributes that name a host, the best first: as the server has them. */
export const HOST_KEYS: readonly string[] = ["host.name", "k8s.node.name", "node_id"];

/** Milliseconds since 1970. */
export interface Stretch {
  from: number;
  to: number;
}

/** The time of a span, or of a trace, with some room around it. */
function timeOf(start: string, durationNanos: number): Stretch {
  const begin = millisOf(start);
  const length = Math.max(0, durationNanos) / 1e6;
  const room = Math.max(LEAST_ROOM_MILLIS, length * 0.1);
  return { from: Math.floor(begin - room), to: Math.ceil(begin + length + room) };
}

/** Where others like it are looked for: its time and the day before, which shows what is usual. */
export function dayOf(start: string, durationNanos: number): Stretch {
  const from = Math.max(0, Math.floor(millisOf(start) - DAY_MILLIS));
  return { from, to: timeOf(start, durationNanos).to };
}

/** Everything that a span leads to; times are those of the span with some room around it. */
export function leadsOf(
  span: SpanDetails,
  resource: Owner | undefined,
  { trace, traceId }: Pick<Header, "trace" | "traceId">,
  service: string,
): Lead[] {
  const own = [...span.attributes, ...(resource?.attributes ?? [])];
  const window = timeOf(span.start, span.durationNanos);
  const day = dayOf(span.start, span.durationNanos);
  const traces = (further?: string) =>
    link("/traces", { q: operationQuery(service, span.name, further), ...day });
  const everyStream = '{service_name=~".+"}';
  const ownStream = service === "" ? everyStream : `{service_name=${quote(service)}}`;
  const logs = (stream: string, filter: string) =>
    link("/explore/logs", { q: `${stream} | ${filter}`, ...window });
  const leads: Lead[] = [
    { label: "Logs of this span", icon: "logs", path: logs(ownStream, `span_id=${quote(span.id)}`) },
    { label: "Logs of the trace", icon: "logs", path: logs(everyStream, `trace_id=${quote(traceId)}`) },
    { label: "Same operation", icon: "traces", path: traces() },
  ];
  if (span.durationNanos > 0)
    leads.push({
      label: "Same operation, slower",
      icon: "traces",
      path: traces(`duration > ${durationText(span.durationNanos)}`),
    });
  const host = text(own, ...HOST_KEYS);
  // The page of a host has its GPUs.
  const hasGpus = own.some(({ key }) => /gpu|cuda|device\.id/i.test(key));
  if (host)
    leads.push({
      label: hasGpus ? `Host ${host}, GPUs` : `Host ${host}`,
      icon: "hosts",
      path: link(`/host/${encodeURIComponent(host)}`, { ...window }),
    });
  const session = text(own, "session_id", "session.id", "kymo.session.id", "session");
  if (session)
    leads.push({
      label: `Session ${session}`,
      icon: "live",
      path: link(`/session/${encodeURIComponent(session)}`),
    });
  // The page of a run shows what is stored, which the trace of a file need not be.
  if (!isUpload(trace) && own.some(({ key }) => /^(cicd|ci|github|gitlab|buildkite)\./.test(key))) {
    leads.push({ label: "CI run", icon: "ci", path: link(`/ci/run/${encodeURIComponent(traceId)}`) });
  }
  const workflow = text(own, "ci.workflow", "cicd.pipeline.name");
  if (workflow) {
    const repository = text(own, "ci.repository", "git.repository");
    leads.push({
      label: `Last runs of ${workflow}`,
      icon: "ci",
      path: link("/ci/pipeline", { workflow, repository }),
    });
  }
  return leads;
}
