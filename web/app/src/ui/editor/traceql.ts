/** TraceQL: colours, and completion from the tags and values that the server has in the time shown. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { LanguageSupport, LRLanguage } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { parser } from "@grafana/lezer-traceql";
import { styleTags, tags } from "@lezer/highlight";
import { fieldName, quote, unquote } from "../quote";
import { overQuotes } from "./quoted";
import { tagScopes, tagValues } from "./tags";
import { placeIn, type TracePlace } from "./traceqlplace";
import { COMPARISONS } from "./traceqltokens";

const COLORS = styleTags({
  "LineComment BlockComment": tags.lineComment,
  "AttributeField/... IntrinsicField": tags.propertyName,
  "Static/String": tags.string,
  "Static/Integer Static/Float Static/Duration Static": tags.number,
  "And Or Pipe With": tags.keyword,
  "SelectOperation CoalesceOperation MetricsOperationBasicType Aggregate MetricsOverTimeType": tags.function(
    tags.variableName,
  ),
  "MetricsOperationHistogram MetricsOperationQuantile MetricsOperationCompare": tags.function(
    tags.variableName,
  ),
});

export function traceql(): Extension {
  const colored = parser.configure({ props: [COLORS] });
  const language = LRLanguage.define({ name: "traceql", parser: colored });
  return new LanguageSupport(language, language.data.of({ autocomplete: complete }));
}

const STAGES: readonly (readonly [string, string])[] = [
  ["select()", "show fields of spans"],
  ["by()", "group spans"],
  ["count() > ", "number of spans in a trace"],
  ["avg(duration) > ", "mean over the spans of a trace"],
  ["max(duration) > ", "longest of the spans of a trace"],
  ["coalesce()", "groups back to one"],
  ["rate()", "spans per second"],
  ["count_over_time()", "spans per step"],
  ["quantile_over_time(duration, .95)", "a quantile over time"],
  ["histogram_over_time(duration)", "a histogram over time"],
  ["compare({ status = error })", "how a selection differs from the rest"],
];

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const query = context.state.doc.toString();
  const place = placeIn(query, context.pos);
  if (!place) return null;
  const typed = query.slice(place.from, context.pos);
  if (place.kind !== "value") return result(place.from, await offered(place));
  const { values, isCut } = await tagValues(place.field, place.given, unquote(typed));
  const found = values.map(({ type, value }) => ({
    label: type === "string" || place.quoted ? quote(value) : value,
    detail: type,
    type: "text",
  }));
  return result(place.from, place.quoted ? overQuotes(found) : found, isCut);
}

/** What is offered: others are asked for when more is typed, if these are not all. */
function result(from: number, options: readonly Completion[], isCut = false): CompletionResult | null {
  if (options.length === 0) return null;
  return { from, options, validFor: isCut ? undefined : /^[\w.:/"`-]*$/ };
}

async function offered(place: Exclude<TracePlace, { kind: "value" }>): Promise<Completion[]> {
  switch (place.kind) {
    case "field":
      return [...place.also.map((label) => ({ label, type: "keyword" })), ...(await fields())];
    case "comparison":
      return COMPARISONS.map((label) => ({ label, type: "keyword", apply: `${label} ` }));
    case "join":
      return ["&&", "||"].map((label) => ({ label, type: "keyword", apply: `${label} ` }));
    case "stage":
      return STAGES.map(([label, detail]) => ({ label, detail, type: "function" }));
    case "behind":
      return ["|", "&&", "||", ">>", ">", "~"].map((label) => ({
        label,
        type: "keyword",
        apply: `${label} `,
      }));
  }
}

async function fields(): Promise<Completion[]> {
  const { scopes } = await tagScopes();
  const boosts: Record<string, number> = { span: 1, resource: 1 };
  return scopes.flatMap(({ name: scope, tags }) =>
    tags.map((tag) => ({
      label: fieldName(scope, tag),
      detail: scope === "intrinsic" ? "" : scope,
      type: "property",
      boost: boosts[scope] ?? 0,
    })),
  );
}
