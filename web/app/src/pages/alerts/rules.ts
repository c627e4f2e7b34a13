/** Rules and targets, as Prometheus' API tells them. */

export type AlertState = "firing" | "pending" | "inactive";

export interface Alert {
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  state: AlertState;
  activeAt?: string;
  value: string;
}

export interface Rule {
  type: "alerting" | "recording";
  name: string;
  query: string;
  health: string;
  lastError?: string;
  lastEvaluation?: string;
  evaluationTime?: number;
  labels?: Readonly<Record<string, string>>;
  annotations?: Readonly<Record<string, string>>;
  duration?: number;
  state?: AlertState;
  alerts?: readonly Alert[];
}

export interface RuleGroup {
  name: string;
  file: string;
  interval: number;
  rules: readonly Rule[];
}

/** A rule with its group, worst first when sorted by `rank`. */
export interface GroupedRule extends Rule {
  group: string;
  file: string;
}

export function grouped(groups: readonly RuleGroup[]): GroupedRule[] {
  return groups.flatMap(({ name, file, rules }) => rules.map((rule) => ({ ...rule, group: name, file })));
}

/** What needs a look first. */
export function rank(rule: Rule): number {
  if (rule.health === "err") return 4;
  if (rule.state === "firing") return 3;
  if (rule.state === "pending") return 2;
  return rule.type === "alerting" ? 1 : 0;
}

export interface Target {
  scrapePool: string;
  scrapeUrl: string;
  labels: Readonly<Record<string, string>>;
  discoveredLabels: Readonly<Record<string, string>>;
  health: "up" | "down" | "unknown";
  lastError: string;
  lastScrape: string;
  lastScrapeDuration: number;
  scrapeInterval: string;
}

/** Milliseconds of a time of Go; `undefined` for its zero, which stands for never. */
export function momentOf(text: string | undefined): number | undefined {
  if (!text || text.startsWith("0001-")) return undefined;
  const millis = Date.parse(text);
  return Number.isNaN(millis) ? undefined : millis;
}

/** A value as Prometheus writes it, which is not how JavaScript writes infinity. */
export function numberOf(text: string): number {
  return Number(text.replace(/^([+-])Inf$/, "$1Infinity"));
}
