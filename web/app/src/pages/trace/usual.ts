/** How long spans of the same service and name took in the day before a trace: what is usual for a span. */
import { useAsk } from "../../frame/useask";
import { millisOf } from "../../ui/format";
import { quote } from "../../ui/quote";
import { askTotals } from "../traces/ask";
import { labelOf } from "../traces/overtime";

export const DAY_MILLIS = 86_400_000;
/** Who walks from span to span asks about none of them. */
const ASK_AFTER_MILLIS = 700;

export interface Usual {
  /** Spans that took part, as a query finds them. */
  of: string;
  /** Not there if there were none. */
  p50Nanos?: number;
  p95Nanos?: number;
}

/** The query for spans of a service and a name, and of a further condition. */
export function operationQuery(service: string, name: string, further = ""): string {
  const conditions = [`resource.service.name = ${quote(service)}`, `name = ${quote(name)}`, further];
  return `{ ${conditions.filter(Boolean).join(" && ")} }`;
}

/** Asks about the day before a time. */
export async function askUsual(of: string, beforeMillis: number, signal?: AbortSignal): Promise<Usual> {
  const series = await askTotals(
    `${of} | quantile_over_time(duration, .5, .95)`,
    { from: beforeMillis - DAY_MILLIS, to: beforeMillis },
    signal,
  );
  const at = (quantile: number) => {
    const found = series.find((one) => Number(labelOf(one, "p")) === quantile);
    const seconds = found?.samples[0]?.value;
    return seconds === undefined ? undefined : seconds * 1e9;
  };
  return { of, p50Nanos: at(0.5), p95Nanos: at(0.95) };
}

/** What is usual for spans of a service and name before a trace; nothing until it is known. */
export function useUsual(service: string, name: string, t0: string): Usual | undefined {
  // Whole seconds, so that the trace itself is not among them.
  const before = Math.floor(millisOf(t0) / 1000) * 1000;
  const of = operationQuery(service, name);
  const canAsk = service !== "" && before > DAY_MILLIS;
  const asked = useAsk(
    canAsk
      ? async (signal) => {
          await pause(ASK_AFTER_MILLIS, signal);
          return askUsual(of, before, signal);
        }
      : undefined,
    [of, before],
  );
  // The answer about the span before is kept until the next comes.
  return asked.data?.of === of ? asked.data : undefined;
}

/** Waits, unless it is told to end. */
function pause(millis: number, signal: AbortSignal): Promise<void> {
  return new Promise((done, end) => {
    const timer = setTimeout(done, millis);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      end(signal.reason);
    });
  });
}

/** `×1.2`: how many times as long as usual. */
export function timesText(nanos: number, usualNanos: number): string {
  return `×${Number((nanos / usualNanos).toPrecision(2))}`;
}
