/**
 * TraceQL as the builder sees it: one filter of conditions joined by `&&`, and stages behind it that stay as
 * they are. What cannot be read so is left to the editor.
 */
import { COMPARISONS, type Token, tokens } from "../../ui/editor/traceqltokens";
import { quote, unquote } from "../../ui/quote";

export interface Condition {
  field: string;
  operator: string;
  /** As it is written in the query: texts with their quotes. */
  value: string;
}

export interface Built {
  conditions: Condition[];
  /** What stands behind the filter, with its `|`. */
  stages: string;
}

/** A query as conditions; `undefined` if it is more than that. */
export function parse(text: string): Built | undefined {
  if (text.trim() === "") return { conditions: [], stages: "" };
  const all = tokens(text);
  if (all[0]?.text !== "{") return undefined;
  const close = all.findIndex((token) => token.text === "}");
  if (close < 0) return undefined;
  const behind = all[close + 1];
  if (behind && behind.text !== "|") return undefined;
  const conditions = conditionsOf(all.slice(1, close));
  if (!conditions) return undefined;
  return { conditions, stages: behind ? text.slice(behind.from).trim() : "" };
}

function conditionsOf(inside: readonly Token[]): Condition[] | undefined {
  const found: Condition[] = [];
  for (let at = 0; at < inside.length; at += 4) {
    const [field, operator, value, join] = inside.slice(at, at + 4);
    if (field?.kind !== "word" || !operator || !COMPARISONS.includes(operator.text)) return undefined;
    if (!value || !["text", "number", "word"].includes(value.kind)) return undefined;
    // A field on the right side is more than the builder shows.
    if (value.kind === "word" && /[.:]/.test(value.text)) return undefined;
    const isLast = at + 3 >= inside.length;
    if (isLast !== (join === undefined) || (join && join.text !== "&&")) return undefined;
    if (join && at + 4 >= inside.length) return undefined;
    found.push({ field: field.text, operator: operator.text, value: value.text });
  }
  return found;
}

/** The query of conditions. */
export function write({ conditions, stages }: Built): string {
  const inside = conditions.map(({ field, operator, value }) => `${field} ${operator} ${value}`).join(" && ");
  const filter = inside === "" ? "{}" : `{ ${inside} }`;
  return stages === "" ? filter : `${filter} ${stages}`;
}

/** A query without its stages: what metrics can be made of. */
export function filterOf(text: string): string {
  return split(text).filter;
}

/** A query cut at its first `|` outside of brackets. */
export function split(text: string): { filter: string; stages: string } {
  let depth = 0;
  for (const token of tokens(text)) {
    if (token.text === "{" || token.text === "(") depth += 1;
    else if (token.text === "}" || token.text === ")") depth -= 1;
    else if (token.text === "|" && depth === 0) {
      return { filter: text.slice(0, token.from).trim() || "{}", stages: text.slice(token.from).trim() };
    }
  }
  return { filter: text.trim() || "{}", stages: "" };
}

const OPPOSITES: Readonly<Record<string, string>> = { "=": "!=", "!=": "=", "=~": "!~", "!~": "=~" };

/** A query with one more condition; an opposite one or one of the same is replaced. */
export function withCondition(text: string, condition: Condition): string {
  const replaced = [condition.operator, OPPOSITES[condition.operator]];
  const built = parse(text);
  if (built) {
    const rest = built.conditions.filter(
      ({ field, operator, value }) =>
        field !== condition.field || value !== condition.value || !replaced.includes(operator),
    );
    return write({ ...built, conditions: [...rest, condition] });
  }
  const { filter, stages } = split(text);
  const joined = narrowed(filter, `${condition.field} ${condition.operator} ${condition.value}`);
  return stages === "" ? joined : `${joined} ${stages}`;
}

/** Those spans of a filter that meet a condition too: `&&` between spansets would be the spans of both. */
function narrowed(filter: string, condition: string): string {
  const all = tokens(filter);
  const close = all.findIndex((token) => token.text === "}");
  if (all[0]?.text !== "{" || close !== all.length - 1) return `(${filter} | { ${condition} })`;
  if (close === 1) return `{ ${condition} }`;
  const inside = filter.slice(all[0].to, all[close]!.from).trim();
  const isEither = hasOutside(all.slice(1, close), "||");
  return `{ ${isEither ? `(${inside})` : inside} && ${condition} }`;
}

/** Whether a sign stands outside of parentheses. */
function hasOutside(all: readonly Token[], sign: string): boolean {
  let depth = 0;
  return all.some(({ text }) => {
    if (text === "(") depth += 1;
    else if (text === ")") depth -= 1;
    return depth === 0 && text === sign;
  });
}

const METRICS = /^(?:rate|compare|\w+_over_time)$/;

/** The function by which a query asks for numbers over time rather than for traces, such as `rate`. */
export function metricsFunction(text: string): string | undefined {
  const all = tokens(text);
  const at = all.findIndex(
    ({ text: word }, index) =>
      METRICS.test(word) && all[index - 1]?.text === "|" && all[index + 1]?.text === "(",
  );
  return all[at]?.text;
}

/** The selection that a query compares with the rest, as it is written: `{ status = error }`. */
export function comparedIn(text: string): string | undefined {
  if (metricsFunction(text) !== "compare") return undefined;
  const all = tokens(text);
  const at = all.findIndex(
    (token, index) =>
      token.text === "compare" && all[index - 1]?.text === "|" && all[index + 1]?.text === "(",
  );
  const inside = all.slice(at + 2);
  const close = inside.findIndex(({ text: word }) => word === "}");
  const [open, end] = [inside[0], inside[close]];
  // One that is not complete is for the server to say so.
  return open?.text === "{" && end ? text.slice(open.from, end.to) : "";
}

const PLAIN = /^(?:true|false|nil|error|ok|unset|server|client|internal|producer|consumer|unspecified)$/;
const NUMBER = /^-?\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h)?$|^(?:\d+(?:\.\d+)?(?:h|m|s|ms))+$/;

/** One text with its quotes, and nothing behind it. */
const QUOTED = /^(?:"(?:[^"\\]|\\[\s\S])*"|`[^`]*`)$/;

/** A value as it is written in a query: numbers and words of the language plain, others in quotes. */
export function writtenValue(field: string, typed: string, operator = "="): string {
  const text = typed.trim();
  if (QUOTED.test(text)) return text;
  // What is matched by an expression is a text, whatever the expression looks like.
  if (operator.endsWith("~")) return quote(text);
  const isWord = /^(?:(?:span:)?(?:status|kind))$/.test(field)
    ? PLAIN.test(text)
    : /^(?:true|false|nil)$/.test(text);
  const takesText =
    /^(?:name|(?:span:|trace:)?(?:name|rootName|rootService|rootServiceName|statusMessage|id|parentID))$|service\.name$/.test(
      field,
    );
  if (isWord || (NUMBER.test(text) && !takesText)) return text;
  return quote(text);
}

/** A value as people type it: without its quotes, unless it would be another one without them. */
export function typedOf({ field, operator, value }: Condition): string {
  const text = unquote(value);
  return writtenValue(field, text, operator) === value ? text : value;
}

/** A field as it was typed: names may have spaces between quotes, and nowhere else. */
export function writtenField(typed: string): string {
  return tokens(typed)
    .map(({ text }) => text)
    .join("");
}

/** Fields with commas between them; a comma in a quoted name is none. */
export function fieldsOf(text: string): string[] {
  const parts = text.match(/(?:"(?:[^"\\]|\\[\s\S])*"?|[^",])+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/** A duration of nanoseconds as TraceQL writes it. */
export function durationText(nanos: number): string {
  const units: readonly (readonly [number, string])[] = [
    [1e9, "s"],
    [1e6, "ms"],
    [1e3, "us"],
  ];
  for (const [size, unit] of units) {
    if (nanos >= size) return `${Number((nanos / size).toPrecision(6))}${unit}`;
  }
  return `${Math.round(nanos)}ns`;
}
