/** What is being typed in a TraceQL query: which kind of thing belongs at the cursor. */
import { COMPARISONS, type Token, tokens } from "./traceqltokens";

export type TracePlace =
  /** A field: `from` is where it begins. */
  | { kind: "field"; from: number; also: readonly string[] }
  /** A value of `field`; `quoted` if a quote was typed. `given` is a filter that is complete already. */
  | { kind: "value"; from: number; field: string; quoted: boolean; given: string }
  | { kind: "comparison"; from: number }
  /** Between conditions. */
  | { kind: "join"; from: number }
  /** Behind a filter, after `|`. */
  | { kind: "stage"; from: number }
  /** Behind a filter, before `|`. */
  | { kind: "behind"; from: number };

/** Functions over fields; inside their brackets a field belongs. */
const TAKES_FIELDS =
  /^(?:select|by|avg|min|max|sum|avg_over_time|min_over_time|max_over_time|sum_over_time|histogram_over_time|quantile_over_time)$/;

/** What belongs at `at` of a query; `undefined` if nothing can be offered there. */
export function placeIn(text: string, at: number): TracePlace | undefined {
  const all = tokens(text.slice(0, at));
  const last = all.at(-1);
  // A word that ends at the cursor is still being typed; what counts stands before it.
  const isTyping = last !== undefined && last.to === at && ["word", "number", "text"].includes(last.kind);
  const before = isTyping ? all.slice(0, -1) : all;
  const from = isTyping ? last.from : at;
  const open = innermost(before);
  if (open === undefined) return outside(before, from);
  if (open.token.text === "{" || open.inFilter)
    return inFilter(text, before, open, from, isTyping ? last : undefined);
  const opener = before[open.index - 1];
  if (opener && TAKES_FIELDS.test(opener.text)) return { kind: "field", from, also: [] };
  return undefined;
}

interface Open {
  token: Token;
  index: number;
  inFilter: boolean;
}

/** The bracket that is open at the end, and whether a filter is around it. */
function innermost(all: readonly Token[]): Open | undefined {
  const stack: Open[] = [];
  for (const [index, token] of all.entries()) {
    if (token.text === "{" || token.text === "(") {
      stack.push({ token, index, inFilter: token.text === "{" || (stack.at(-1)?.inFilter ?? false) });
    } else if (token.text === "}" || token.text === ")") stack.pop();
  }
  return stack.at(-1);
}

function outside(before: readonly Token[], from: number): TracePlace | undefined {
  const last = before.at(-1);
  if (!last) return { kind: "field", from, also: ["{ "] };
  if (last.text === "|") return { kind: "stage", from };
  return last.text === "}" || last.text === ")" ? { kind: "behind", from } : undefined;
}

function inFilter(
  text: string,
  before: readonly Token[],
  open: Open,
  from: number,
  typed: Token | undefined,
): TracePlace | undefined {
  const last = before.at(-1)!;
  const isStart = ["{", "(", "&&", "||", "!"].includes(last.text);
  if (isStart) return typed?.kind === "text" ? undefined : { kind: "field", from, also: [] };
  if (COMPARISONS.includes(last.text)) {
    const field = before.at(-2);
    if (field?.kind !== "word") return undefined;
    return {
      kind: "value",
      from,
      field: field.text,
      quoted: typed?.kind === "text",
      given: given(text, before, open),
    };
  }
  const earlier = before.at(-2);
  const isAfterValue = earlier !== undefined && COMPARISONS.includes(earlier.text);
  if (isAfterValue || last.text === ")") return { kind: "join", from };
  return last.kind === "word" ? { kind: "comparison", from } : undefined;
}

/** The conditions of the filter that are complete before the one that is typed, unless there is an `or`. */
function given(text: string, before: readonly Token[], open: Open): string {
  if (open.token.text !== "{") return "{}";
  const inside = before.slice(open.index + 1);
  if (inside.some((token) => token.text === "||")) return "{}";
  const cut = inside.findLast((token) => token.text === "&&");
  return cut ? `{${text.slice(open.token.to, cut.from)}}` : "{}";
}
