/** PromQL as the page writes and reads it: sensible queries for a metric, intervals, units. */

export type MetricType =
  | "counter"
  | "gauge"
  | "histogram"
  | "gaugehistogram"
  | "summary"
  | "info"
  | "stateset"
  | "unknown";

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

/** Seconds between points, so that there are no more of them than can be seen. */
export function stepFor(millis: number, pixels: number): number {
  const wanted = millis / 1000 / Math.max(20, pixels / 3);
  return STEPS.find((step) => step >= wanted) ?? Math.ceil(wanted / 86_400) * 86_400;
}

/** What is usually asked of a metric. `hasBuckets` tells classic histograms from native ones. */
export function usualQuery(name: string, type: MetricType, hasBuckets: boolean): string {
  switch (type) {
    case "counter":
      return `rate(${name}[$__rate_interval])`;
    case "histogram":
    case "gaugehistogram":
      return hasBuckets
        ? `histogram_quantile(0.95, sum by (le) (rate(${name}_bucket[$__rate_interval])))`
        : `histogram_quantile(0.95, sum(rate(${name}[$__rate_interval])))`;
    default:
      return name;
  }
}

/**
 * The query of a heat map of a histogram: what it counted in each step. Windows of rates are longer than
 * steps, so that they hold samples; an increase over them would count observations more than once.
 */
export function heatQuery(name: string, hasBuckets: boolean): string {
  const rates = hasBuckets
    ? `sum by (le) (rate(${name}_bucket[$__rate_interval]))`
    : `sum(rate(${name}[$__rate_interval]))`;
  return `${rates} * $__interval_ms / 1000`;
}

/** The type of a metric whose type nobody said. */
export function guessedType(name: string): MetricType {
  return /_(?:total|count|sum|bucket)$/.test(name) ? "counter" : "unknown";
}

/** A share is 0 to 1, percent are 0 to 100. */
export type Unit = "seconds" | "bytes" | "share" | "percent" | "number";

/** What the numbers of a query are, as far as names tell. */
export function unitOf(query: string): Unit {
  if (/_seconds_(?:total|count|sum)\b/.test(query)) return "number";
  if (
    /_(?:seconds|seconds_bucket)\b/.test(query) &&
    !/\b(?:count|increase)\s*\(|^\s*(?:sum|count)[^_]*rate\(/.test(query)
  )
    return "seconds";
  if (/_bytes(?:_total)?\b/.test(query)) return "bytes";
  if (/_percent(?:age)?\b/.test(query)) return "percent";
  if (/_ratio\b|utilization/.test(query)) return "share";
  return "number";
}

/** A query for the greatest series of another. */
export function topOf(query: string, most: number): string {
  return `topk(${most}, ${query})`;
}

/** The letter of a query: A, B, … */
export function letter(index: number): string {
  return String.fromCharCode(65 + (index % 26)) + (index >= 26 ? String(Math.floor(index / 26)) : "");
}
