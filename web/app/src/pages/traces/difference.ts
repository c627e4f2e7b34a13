/**
 * What `compare()` answers, as a ranking: which values of which attributes are more or less frequent among
 * the selected spans than among the rest, by how much, and whether that may be chance.
 */
import { quote } from "../../ui/quote";

/** A label of a series, as Tempo's JSON has it. */
export interface TempoLabel {
  key: string;
  value: { stringValue?: string; intValue?: string; doubleValue?: number; boolValue?: boolean };
}

export interface TempoSeries {
  labels: readonly TempoLabel[];
  samples: readonly { timestampMs: string; value?: number }[];
}

/** A value of an attribute, in the selection and in the rest. */
export interface Difference {
  field: string;
  value: string;
  /** Whether the value is a text, which is quoted in a query. */
  isText: boolean;
  selected: number;
  rest: number;
  /** Parts of all selected spans and of all others, 0 to 1. */
  selectedPart: number;
  restPart: number;
  /** How many standard errors the parts are apart; beyond 3 it is hardly chance. */
  score: number;
}

export interface Compared {
  selectedTotal: number;
  restTotal: number;
  differences: Difference[];
  /** Attributes whose values were too many to be told all. */
  cut: string[];
}

/** The text of a label's value. */
export function labelText(value: TempoLabel["value"]): string {
  return String(value.stringValue ?? value.intValue ?? value.doubleValue ?? value.boolValue ?? "nil");
}

/** The ranking of an answer, the greatest difference first. */
export function compared(series: readonly TempoSeries[]): Compared {
  const counts = new Map<string, Difference>();
  const cut = new Set<string>();
  let [selectedTotal, restTotal] = [0, 0];
  for (const { labels, samples } of series) {
    const type = labels.find(({ key }) => key === "__meta_type")?.value.stringValue;
    const label = labels.find(({ key }) => !key.startsWith("__meta"));
    if (!label) continue;
    if (type === undefined) {
      cut.add(label.key);
      continue;
    }
    const sum = samples.reduce((total, { value = 0 }) => total + value, 0);
    // A total tells of the spans that have the attribute; some attribute is on all of them.
    if (type === "selection_total") selectedTotal = Math.max(selectedTotal, sum);
    else if (type === "baseline_total") restTotal = Math.max(restTotal, sum);
    else {
      const one = entry(counts, label);
      if (type === "selection") one.selected += sum;
      else one.rest += sum;
    }
  }
  const differences = [...counts.values()].map((one) => scored(one, selectedTotal, restTotal));
  differences.sort((a, b) => Math.abs(b.score) - Math.abs(a.score) || b.selectedPart - a.selectedPart);
  return { selectedTotal, restTotal, differences, cut: [...cut] };
}

function entry(counts: Map<string, Difference>, label: TempoLabel): Difference {
  const value = labelText(label.value);
  const isText = label.value.stringValue !== undefined;
  // A number and a text of the same digits are different values.
  const key = [label.key, isText, value].join("\u0000");
  let one = counts.get(key);
  if (!one) {
    one = { field: label.key, value, isText, selected: 0, rest: 0, selectedPart: 0, restPart: 0, score: 0 };
    counts.set(key, one);
  }
  return one;
}

/** The test of two proportions. */
function scored(one: Difference, selectedTotal: number, restTotal: number): Difference {
  const selectedPart = selectedTotal > 0 ? one.selected / selectedTotal : 0;
  const restPart = restTotal > 0 ? one.rest / restTotal : 0;
  const pooled = (one.selected + one.rest) / Math.max(1, selectedTotal + restTotal);
  const error = Math.sqrt(
    pooled * (1 - pooled) * (1 / Math.max(1, selectedTotal) + 1 / Math.max(1, restTotal)),
  );
  const score = error > 0 ? (selectedPart - restPart) / error : 0;
  return { ...one, selectedPart, restPart, score };
}

/** Attributes with their values, the attribute with the greatest difference first. */
export function byField(differences: readonly Difference[]): { field: string; values: Difference[] }[] {
  const fields = new Map<string, Difference[]>();
  for (const one of differences) {
    const list = fields.get(one.field);
    if (list) list.push(one);
    else fields.set(one.field, [one]);
  }
  return [...fields].map(([field, values]) => ({ field, values }));
}

/** How sure a difference is, in words. */
export function certainty(score: number): "clear" | "likely" | "may be chance" {
  const size = Math.abs(score);
  return size >= 4 ? "clear" : size >= 2.5 ? "likely" : "may be chance";
}

const NUMBERS = /^-?\d+(?:\.\d+)?$/;

/** A value of an answer as a query writes it. */
export function literal(one: Pick<Difference, "field" | "value" | "isText">): string {
  const isWord = /^(?:span:)?(?:status|kind)$/.test(one.field);
  if (
    isWord ||
    one.value === "nil" ||
    (!one.isText && (NUMBERS.test(one.value) || /^(?:true|false)$/.test(one.value)))
  ) {
    return one.value;
  }
  return quote(one.value);
}
