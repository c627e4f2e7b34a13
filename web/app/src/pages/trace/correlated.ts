/** What else there is of a trace: log records, machines (docs/correlation.md). */
import { getJson } from "../../frame/api";
import { bytes, count, percent } from "../../ui/format";

export interface Machine {
  of: "host" | "gpu";
  name: string;
  unit: string;
  query: string;
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

/** Some of what belongs to a trace: `logs`, `host`, `gpu`. */
export function askCorrelated(traceId: string, parts: string, signal: AbortSignal): Promise<Correlated> {
  return getJson("/api/correlate", { trace: traceId, with: parts, logs: 5000 }, signal);
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
  least: number;
  most: number;
}

/** Names of labels that say which host or GPU a series is of, the best first. */
const HOST_LABELS = ["Hostname", "hostname", "host_name", "instance", "node"];
const GPU_LABELS = ["gpu", "GPU", "device", "UUID"];

/** The strips of an answer, those of the chosen host first. */
export function stripsOf(machines: readonly Machine[], t0: string, host: string | undefined): Strip[] {
  const base = Number(BigInt(t0) / 1000n) / 1e6;
  const strips = machines.flatMap(({ of, name, unit, series }) =>
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
