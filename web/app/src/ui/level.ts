/** How bad a line of a log is. */

export type Level = "critical" | "error" | "warn" | "info" | "debug" | "trace" | "unknown";

/** From bad to worse, as they are stacked and listed. */
export const LEVELS: readonly Level[] = ["unknown", "trace", "debug", "info", "warn", "error", "critical"];

/** Labels that say how bad a line is, the surest first: as the server has them. */
export const LEVEL_LABELS: readonly string[] = [
  "detected_level",
  "level",
  "severity_text",
  "severity",
  "lvl",
];

/**
 * How a level is said, as expressions of which any language of queries makes conditions: what names of it
 * begin with, and its numbers of OTLP.
 */
export const SIGNS: Record<Exclude<Level, "unknown">, { names: string; numbers: string }> = {
  critical: { names: "crit|fatal|emerg|alert|panic", numbers: "2[1-9]|[3-9][0-9]|[1-9][0-9]{2,}" },
  error: { names: "err", numbers: "1[7-9]|20" },
  warn: { names: "warn", numbers: "1[3-6]" },
  info: { names: "info|notice", numbers: "9|1[0-2]" },
  debug: { names: "debug", numbers: "[5-8]" },
  trace: { names: "trace", numbers: "[1-4]" },
};

const KNOWN = (Object.keys(SIGNS) as (keyof typeof SIGNS)[]).map((level) => ({
  level,
  name: new RegExp(`^(?:${SIGNS[level].names})`),
  number: new RegExp(`^(?:${SIGNS[level].numbers})$`),
}));

/** The level of a name such as `WARNING` or `Err`. */
export function levelNamed(name: string): Level {
  const lower = name.trim().toLowerCase();
  return KNOWN.find((known) => known.name.test(lower))?.level ?? "unknown";
}

/** How bad a line is, by its labels. A filter of lines by level is made to say the same: `levelFilter`. */
export function levelOf(labels: Readonly<Record<string, string>>): Level {
  for (const label of LEVEL_LABELS) {
    const found = labels[label] === undefined ? "unknown" : levelNamed(labels[label]);
    if (found !== "unknown") return found;
  }
  return KNOWN.find((known) => known.number.test(labels.severity_number ?? ""))?.level ?? "unknown";
}
