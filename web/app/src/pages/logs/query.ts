/**
 * LogQL as the page writes it: what was typed, with a text to find and levels added, and filters of values
 * put in where they belong.
 */
import { lastSelector } from "../../ui/editor/logqlplace";
import { LEVEL_LABELS, LEVELS, type Level, SIGNS } from "../../ui/level";
import { quote } from "../../ui/quote";

/** Whether a query answers numbers rather than lines. */
export function isNumbers(query: string): boolean {
  return !query.trim().startsWith("{");
}

/** The selector of a query. */
export function selectorOf(query: string): string {
  return lastSelector(query) ?? "{}";
}

/** What is asked: the query, the text that lines contain in any case, and levels. */
export function asked(query: string, text: string, levels: readonly Level[]): string {
  if (isNumbers(query)) return query;
  let whole = query.trim();
  if (text.trim() !== "") whole += ` |~ ${quote(`(?i)${escapeExpression(text.trim())}`)}`;
  if (levels.length > 0) whole += ` | ${levelFilter(levels)}`;
  return whole;
}

/** A text as a regular expression that matches it alone. */
function escapeExpression(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/**
 * The condition for lines that are shown as of these levels: as `levelOf` reads them, the first label counts
 * that names a level, and the number of the severity where none does.
 */
function levelFilter(levels: readonly Level[]): string {
  const wanted = LEVELS.flatMap((level) => (level !== "unknown" && levels.includes(level) ? [level] : []));
  const named = (of: readonly (keyof typeof SIGNS)[]) =>
    quote(`(?is)\\s*(?:${of.map((level) => SIGNS[level].names).join("|")}).*`);
  const [isWanted, isAny] = [named(wanted), named(Object.keys(SIGNS) as (keyof typeof SIGNS)[])];
  const number = `severity_number=~${quote(wanted.map((level) => SIGNS[level].numbers).join("|"))}`;
  return LEVEL_LABELS.reduceRight(
    (otherwise, label) => `${label}=~${isWanted} or ${label}!~${isAny} and (${otherwise})`,
    number,
  );
}

/** A query with one more condition on a label. Labels of streams go into the selector, others behind it. */
export function withLabel(
  query: string,
  label: string,
  operator: "=" | "!=",
  value: string,
  isOfStream: boolean,
): string {
  if (!isOfStream) return `${query.trim()} | ${label}${operator}${quote(value)}`;
  const selector = selectorOf(query);
  const inside = matchers(selector).filter((one) => !isLoose(one, label, operator, value));
  const made = `{${[...inside, `${label}${operator}${quote(value)}`].join(", ")}}`;
  return query.replace(selector, () => made);
}

/** The matchers of a selector. */
export function matchers(selector: string): string[] {
  const inside = selector.slice(1, -1);
  const found: string[] = [];
  let start = 0;
  for (const match of inside.matchAll(/"(?:[^"\\]|\\.)*"?|`[^`]*`?|,/g)) {
    if (match[0] !== ",") continue;
    found.push(inside.slice(start, match.index));
    start = match.index + 1;
  }
  found.push(inside.slice(start));
  return found.map((one) => one.trim()).filter(Boolean);
}

/** Whether a matcher says no more than the new one, or the opposite of it. */
function isLoose(matcher: string, label: string, operator: string, value: string): boolean {
  const match = /^([A-Za-z_]\w*)\s*(=~|!~|!=|=)\s*(.*)$/.exec(matcher);
  if (match?.[1] !== label) return false;
  if (match[3] === quote(value)) return true;
  return operator === "=" && (match[2] === "=" || (match[2] === "=~" && match[3] === '".+"'));
}

/** A query of the lines that a pattern stands for, or of the others. */
export function withPattern(query: string, pattern: string, isExcluded: boolean): string {
  return `${query.trim()} ${isExcluded ? "!>" : "|>"} ${quote(pattern)}`;
}

/** The count of lines in steps, by what says how bad they are. */
export function volumeQuery(query: string, step: string): string {
  return `sum by (${[...LEVEL_LABELS, "severity_number"].join(", ")}) (count_over_time(${query} [${step}]))`;
}

/** The number of lines by the values of a label or field, of a length of time. */
export function countBy(query: string, label: string, length: string): string {
  return `sum by (${label}) (count_over_time(${query} | ${label}!="" [${length}]))`;
}

/** The selector of all streams, by labels that there are. */
export function allStreams(labels: readonly string[]): string {
  const known = ["service_name", "job", "app", "container", "host", "filename"];
  const label = known.find((one) => labels.includes(one)) ?? labels[0] ?? "service_name";
  return `{${label}=~".+"}`;
}
