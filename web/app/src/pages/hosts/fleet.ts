/** Hosts and GPUs as the server tells of them, and how figures of them are shown. */
import { bytes, count, duration, percent } from "../../ui/format";

export interface Gpu {
  gpu: string;
  uuid: string;
  model: string;
  figures: Record<string, number>;
}

export interface Host {
  name: string;
  instances: string[];
  system?: string;
  figures: Record<string, number>;
  gpus: Gpu[];
}

export interface Fleet {
  hosts: Host[];
  truncated: boolean;
  at: number;
}

export interface Measure {
  of: "host" | "gpu";
  name: string;
  unit: string;
  query: string;
  series: { label: string; values: (number | null)[] }[];
}

export interface History {
  name: string;
  times: number[];
  measures: Measure[];
}

/** What a fleet can be coloured by: a name, a label, and how full it is, from 0 to 1. */
export interface Shade<T> {
  id: string;
  label: string;
  part: (one: T) => number | undefined;
  text: (one: T) => string;
  /** Whether much of it is bad: a GPU is there to be used, a file system is not there to be full. */
  isWarning: boolean;
}

const of = (figures: Record<string, number>, name: string) => figures[name];

function shade<T extends { figures: Record<string, number> }>(
  id: string,
  label: string,
  most: number,
  text: (value: number) => string,
  isWarning = true,
): Shade<T> {
  return {
    id,
    label,
    isWarning,
    part: (one) => {
      const value = of(one.figures, id);
      return value === undefined ? undefined : Math.max(0, Math.min(1, value / most));
    },
    text: (one) => {
      const value = of(one.figures, id);
      return value === undefined ? "no value" : text(value);
    },
  };
}

export const HOST_SHADES: readonly Shade<Host>[] = [
  shade("cpu", "CPU", 1, percent),
  shade("memory", "Memory", 1, percent),
  {
    id: "load",
    label: "Load per core",
    isWarning: true,
    part: (host) => {
      const [load, cores] = [host.figures.load, host.figures.cores];
      return load === undefined || !cores ? undefined : Math.min(1, load / cores / 1.5);
    },
    text: (host) => (host.figures.load === undefined ? "no value" : count(host.figures.load)),
  },
  shade("filesystem", "Fullest file system", 1, percent),
];

/** How much of a GPU's memory is used. */
export function memoryPart({ figures }: Gpu): number | undefined {
  const [used, free] = [figures.memory_used, figures.memory_free];
  return used === undefined || free === undefined ? undefined : used / Math.max(1, used + free);
}

/** GPUs tell of their memory in these. */
export const MIB = 1 << 20;

export const GPU_SHADES: readonly Shade<Gpu>[] = [
  shade("utilisation", "Utilisation", 100, (value) => `${count(value)} %`, false),
  {
    id: "memory",
    label: "Memory",
    isWarning: false,
    part: memoryPart,
    text: (gpu) =>
      gpu.figures.memory_used === undefined ? "no value" : bytes(gpu.figures.memory_used * MIB),
  },
  shade("power", "Power", 700, (value) => `${count(Math.round(value))} W`, false),
  shade("temperature", "Temperature", 95, (value) => `${count(value)} °C`),
  {
    id: "ecc",
    label: "ECC errors",
    isWarning: true,
    // One that could not be corrected has cost somebody something; those that were are a sign.
    part: ({ figures }) => {
      const [lost, corrected] = [figures.ecc_uncorrected, figures.ecc_corrected];
      if (lost === undefined && corrected === undefined) return undefined;
      return lost ? 1 : corrected ? 0.7 : 0;
    },
    text: ({ figures }) => {
      const [lost, corrected] = [figures.ecc_uncorrected, figures.ecc_corrected];
      if (lost === undefined && corrected === undefined) return "no value";
      return `${count(lost ?? 0)} not corrected, ${count(corrected ?? 0)} corrected`;
    },
  },
  {
    id: "throttling",
    label: "Throttling",
    isWarning: true,
    part: ({ figures }) => {
      if (figures.throttling === undefined) return undefined;
      if (throttleReasons(figures.throttling & ~POWER_CAP).length > 0) return 1;
      return throttleReasons(figures.throttling).length > 0 ? 0.7 : 0;
    },
    text: ({ figures }) =>
      figures.throttling === undefined
        ? "no value"
        : throttleReasons(figures.throttling).join(", ") || "none",
  },
];

/** What is wrong with a GPU, in words. */
export function gpuFaults({ figures }: Gpu): string[] {
  const faults: string[] = [];
  if (figures.xid) faults.push(`XID ${figures.xid}`);
  if (figures.ecc_uncorrected) faults.push(`ECC errors not corrected: ${count(figures.ecc_uncorrected)}`);
  const reasons = throttleReasons((figures.throttling ?? 0) & ~POWER_CAP);
  if (reasons.length > 0) faults.push(`throttled: ${reasons.join(", ")}`);
  if ((figures.temperature ?? 0) >= 85) faults.push(`${figures.temperature} °C`);
  return faults;
}

/**
 * Bits of the driver that say why a GPU is slower than it could be. Others tell of an idle GPU, or of a
 * setting. A GPU with much to do may reach the power that it is allowed, which is no fault.
 */
const POWER_CAP = 0x04;
const REASONS: readonly (readonly [number, string])[] = [
  [POWER_CAP, "power cap"],
  [0x08, "hardware slowdown"],
  [0x20, "heat"],
  [0x40, "heat (hardware)"],
  [0x80, "power brake"],
];

/** Why a GPU is throttled, in words; nothing if it is not. */
export function throttleReasons(bits: number): string[] {
  return REASONS.filter(([bit]) => (bits & bit) !== 0).map(([, word]) => word);
}

/** When a GPU reported an error: the moments at which the number of its last one becomes another. */
export function errorMoments(
  times: readonly number[],
  measures: readonly Measure[],
): { time: number; at: number; gpu: string; xid: number }[] {
  const found: { time: number; at: number; gpu: string; xid: number }[] = [];
  for (const { label, values } of measures.find(({ name }) => name === "xid")?.series ?? []) {
    let before: number | undefined;
    values.forEach((value, at) => {
      if (value === null) return;
      // What was there at first came before the time that is shown.
      if (before !== undefined && value !== before && value !== 0)
        found.push({ time: times[at]!, at, gpu: label, xid: value });
      before = value;
    });
  }
  return found;
}

/** A value of a measure, by its unit. */
export function measured(unit: string): (value: number) => string {
  switch (unit) {
    case "percentunit":
      return percent;
    case "percent":
      return (value) => `${count(value)} %`;
    case "bytes":
      return bytes;
    case "decmbytes":
      return (value) => bytes(value * MIB);
    case "Bps":
      return (value) => `${bytes(value)}/s`;
    case "watt":
      return (value) => `${count(Math.round(value))} W`;
    case "celsius":
      return (value) => `${count(value)} °C`;
    case "hertz":
      return (value) => `${count(value)}Hz`;
    default:
      return count;
  }
}

/** How long a host has been up. */
export function upFor(host: Host, now: number): string {
  const booted = host.figures.booted;
  return booted === undefined ? "–" : duration((now / 1000 - booted) * 1e9);
}
