/** LogQL: colours, and completion from labels, fields and values that the server has in the time shown. */
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { LanguageSupport, LRLanguage } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { parser } from "@grafana/lezer-logql";
import { styleTags, tags } from "@lezer/highlight";
import { getJson } from "../../frame/api";
import type { Params } from "../../frame/router";
import { quote } from "../quote";
import { type LogPlace, placeIn } from "./logqlplace";
import { overQuotes } from "./quoted";
import { remembered } from "./remember";
import { shownSeconds } from "./tags";

const COLORS = styleTags({
  LineComment: tags.lineComment,
  "RangeOp/... VectorOp/... LabelReplace Vector": tags.function(tags.variableName),
  "Json Logfmt Unpack Pattern Regexp Unwrap LabelFormat LineFormat Decolorize Drop Keep": tags.keyword,
  "By Without On Ignoring GroupLeft GroupRight Offset Bool And Or Unless Pipe": tags.keyword,
  "Filter/... PipeExact PipeMatch PipePattern Npa": tags.keyword,
  Identifier: tags.labelName,
  String: tags.string,
  "Number Duration Bytes Range/...": tags.number,
});

export function logql(): Extension {
  const colored = parser.configure({ props: [COLORS] });
  const language = LRLanguage.define({ name: "logql", parser: colored });
  return new LanguageSupport(language, language.data.of({ autocomplete: complete }));
}

const STAGES: readonly (readonly [string, string])[] = [
  ['= ""', "lines that contain"],
  ['~ ""', "lines that match"],
  ["json", "read lines as JSON"],
  ["logfmt", "read lines of key=value"],
  ['pattern ""', "read lines by a pattern"],
  ['regexp ""', "read lines by an expression"],
  ['line_format ""', "write lines anew"],
  ['label_format ""', "rename labels"],
  ["unwrap ", "a label as the value"],
  ["drop ", "leave labels out"],
  ["keep ", "keep labels alone"],
  ["decolorize", "without colours of terminals"],
];
const FUNCTIONS = ["rate", "count_over_time", "bytes_rate", "bytes_over_time", "sum", "topk", "avg", "max"];
const STARTS: readonly Completion[] = [
  { label: "{", type: "keyword" },
  ...FUNCTIONS.map((label) => ({ label, apply: `${label}(`, type: "function" })),
];

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const query = context.state.doc.toString();
  const place = placeIn(query, context.pos);
  if (!place || (place.kind === "start" && !context.explicit && place.from === context.pos)) return null;
  const found = await offered(place);
  if (found.length === 0) return null;
  const isQuoted = (place.kind === "value" || place.kind === "fieldValue") && place.quoted;
  return { from: place.from, options: isQuoted ? overQuotes(found) : found, validFor: /^[\w"`.-]*$/ };
}

async function offered(place: LogPlace): Promise<Completion[]> {
  switch (place.kind) {
    case "start":
      return [...STARTS];
    case "operator":
      return ["=", "!=", "=~", "!~"].map((label) => ({ label, type: "keyword" }));
    case "label":
      return (await list("labels", place.selector)).map((label) => ({ label, type: "property" }));
    case "value":
      return texts(await list(`label/${encodeURIComponent(place.label)}/values`, place.selector));
    case "fieldValue":
      return texts(await fieldValues(place.field, place.selector));
    case "stage": {
      const fields = (await detectedFields(place.selector)).map(({ label, type }) => ({
        label,
        detail: type,
        type: "property",
      }));
      return [...STAGES.map(([label, detail]) => ({ label, detail, type: "function" })), ...fields];
    }
  }
}

function texts(values: readonly string[]): Completion[] {
  return values.map((value) => ({ label: quote(value), type: "text" }));
}

async function list(what: string, selector: string): Promise<readonly string[]> {
  const params: Params = { ...shownSeconds(), query: selector === "" ? undefined : selector };
  const found = await remembered(
    `loki ${what} ${JSON.stringify(params)}`,
    () => getJson<{ data?: readonly string[] }>(`/loki/api/v1/${what}`, params),
    {},
  );
  return found.data ?? [];
}

export interface DetectedField {
  label: string;
  type: string;
  cardinality: number;
  parsers: readonly string[] | null;
}

/** Fields that lines of a selector have in the time shown. */
async function detectedFields(selector: string): Promise<readonly DetectedField[]> {
  const params: Params = { ...shownSeconds(), query: selector };
  const found = await remembered(
    `loki fields ${JSON.stringify(params)}`,
    () => getJson<{ fields?: readonly DetectedField[] }>("/loki/api/v1/detected_fields", params),
    {},
  );
  return found.fields ?? [];
}

/** Values of a field. */
async function fieldValues(field: string, selector: string): Promise<readonly string[]> {
  const params: Params = { ...shownSeconds(), query: selector };
  const path = `/loki/api/v1/detected_field/${encodeURIComponent(field)}/values`;
  const found = await remembered(
    `${path} ${JSON.stringify(params)}`,
    () => getJson<{ values?: readonly string[] }>(path, params),
    {},
  );
  return found.values ?? [];
}
