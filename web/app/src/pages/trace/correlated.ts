/** What else there is of a trace: log records, machines (docs/correlation.md). */
import { getJson } from "../../frame/api";
import { bytes, count, percent } from "../../ui/format";
import { isUpload } from "./asked";
import type { Header } from "./columns";

export interface Machine {
  of: "host" | "gpu";
  name: string;
  unit: string;
  query: string;
  /** Seconds from one point to the next: a point stands for so long. */
  step: number;
  series: { labels: Record<string, string>; points: [number, number][] }[];
}

export interface LogRecord {
  timeUnixNano: string;
  line: string;
  labels: Record<string, string>;
}

export interface Correlated {
  logs: LogRecord[];
  hosts: string[];
  machines: Machine[];
  truncated: string[];
}

/** Log records that are asked for of a trace. */
const MOST_RECORDS = 5000;
/** Hosts that the server tells of at once. */
export const MOST_HOSTS = 32;

/** Some of what belongs to a trace that is stored: `logs`, `host`, `gpu`. */
export function askCorrelated(traceId: string, parts: string, signal: AbortSignal): Promise<Correlated> {
  return getJson("/api/correlate", { trace: traceId, with: parts, logs: MOST_RECORDS }, signal);
}

/** What its machines did while a trace ran. One of a file need not be stored: its hosts and its time are known. */
export function askMachines(
  id: string,
  header: Pick<Header, "traceId" | "hosts" | "t0" | "durationNanos">,
  signal: AbortSignal,
): Promise<Correlated> {
  if (!isUpload(id)) return askCorrelated(header.traceId, "host,gpu", signal);
  const from = BigInt(header.t0);
  const to = from + BigInt(Math.ceil(header.durationNanos));
  const time = { start: secondsText(from), end: secondsText(to) };
  const hosts = header.hosts.slice(0, MOST_HOSTS);
  return getJson("/api/correlate", { hosts, ...time, with: "host,gpu" }, signal);
}

/** Nanoseconds as seconds with a fraction: a file may have times of which nobody could tell the unit. */
function secondsText(nanos: bigint): string {
  return `${nanos / 1_000_000_000n}.${String(nanos % 1_000_000_000n).padStart(9, "0")}`;
}

/** A line over time that is drawn below the waterfall. */
export interface Strip {
  key: string;
  /** Whose it is: a host, a GPU. */
  owner: string;
  /** The host, if it is known; of a GPU the one that has it. */
  host: string;
  of: "host" | "gpu";
  name: string;
  unit: string;
  /** Nanoseconds since the first start. */
  times: Float64Array;
  values: Float64Array;
  /** Nanoseconds that a value stands for. */
  step: number;
  least: number;
  most: number;
}

/** Names of labels that say which host or GPU a series is of, the best first. */
const HOST_LABELS = ["Hostname", "hostname", "host_name", "instance", "node"];
const GPU_LABELS = ["gpu", "GPU", "device", "UUID"];

/** The strips of an answer, those of the chosen host first. */
export function stripsOf(machines: readonly Machine[], t0: string, host: string | undefined): Strip[] {
  const base = Number(BigInt(t0) / 1000n) / 1e6;
  const strips = machines.flatMap(({ of, name, unit, step, series }) =>
    series
      .filter(({ points }) => points.length > 0)
      .map(({ labels, points }, at): Strip => {
        const values = Float64Array.from(points, ([, value]) => value);
        return {
          key: `${of} ${name} ${at}`,
          owner: ownerOf(of, labels),
          host: hostOfLabels(labels),
          of,
          name,
          unit,
          times: Float64Array.from(points, ([seconds]) => (seconds - base) * 1e9),
          values,
          step: step * 1e9,
          least: values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY),
          most: values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY),
        };
      }),
  );
  const isOfHost = (strip: Strip) => (isOf(strip, host) ? 0 : 1);
  return strips.sort(
    (a, b) => isOfHost(a) - isOfHost(b) || a.owner.localeCompare(b.owner) || a.of.localeCompare(b.of),
  );
}

/** The line of a strip: its points, of a single one the stretch that it stands for. */
export function lineOf({ times, values, step }: Strip): [time: number, value: number][] {
  const points = Array.from(times, (time, at): [number, number] => [time, values[at]!]);
  const [only] = points;
  if (points.length === 1 && only) points.push([only[0] + step, only[1]]);
  return points;
}

/** Whether a strip is of a host, which metrics may call by its whole name and spans by the first part, or so about. */
export function isOf({ host: known }: Strip, host: string | undefined): boolean {
  if (host === undefined || known === "") return false;
  return known === host || known.startsWith(`${host}.`) || host.startsWith(`${known}.`);
}

function pick(labels: Record<string, string>, names: readonly string[]): string | undefined {
  return names.map((name) => labels[name]).find(Boolean);
}

function hostOfLabels(labels: Record<string, string>): string {
  return (pick(labels, HOST_LABELS) ?? "").replace(/:\d+$/, "");
}

function ownerOf(of: string, labels: Record<string, string>): string {
  const gpu = of === "gpu" ? pick(labels, GPU_LABELS) : undefined;
  return [hostOfLabels(labels), gpu === undefined ? undefined : `GPU ${gpu}`].filter(Boolean).join(" ") || of;
}

/** What is all there can be, in units that have such. */
export const WHOLE: Readonly<Record<string, number>> = { percent: 100, ratio: 1 };

/** A value in its unit. */
export function unitText(value: number, unit: string): string {
  const short = () => count(Number(value.toPrecision(3)));
  switch (unit) {
    case "ratio":
      return percent(value);
    case "percent":
      return percent(value / 100);
    case "bytes":
      return bytes(Math.round(value));
    case "bytes/s":
      return `${bytes(Math.round(value))}/s`;
    case "MiB":
      return bytes(value * 1024 * 1024);
    default:
      return `${short()} ${unit}`;
  }
}
