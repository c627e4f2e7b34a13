/** Tags and values that the server has in the time shown, for completion in editors and forms. */
import { getJson } from "../../frame/api";
import { range } from "../../frame/time";
import { quote } from "../quote";
import { remembered } from "./remember";

/** Values of a field that are asked for at most: what is not among them is found by typing. */
export const MOST_VALUES = 2000;

/** Seconds of the time shown, to the minute: typing for a while keeps asking the same. */
export function shownSeconds(): { start: number; end: number } {
  const { from, to } = range.peek();
  return { start: Math.floor(from / 60_000) * 60, end: Math.ceil(to / 60_000) * 60 };
}

export interface TagScopes {
  scopes: readonly { name: string; tags: readonly string[] }[];
}

/** All tags of the time shown, by scope. */
export function tagScopes(): Promise<TagScopes> {
  const asked = shownSeconds();
  return remembered(
    `tags ${asked.start} ${asked.end}`,
    () => getJson<TagScopes>("/tempo/api/v2/search/tags", asked),
    { scopes: [] },
  );
}

export interface TagValue {
  type: string;
  value: string;
}

export interface TagValues {
  values: readonly TagValue[];
  /** Whether there are more: others come where something else is typed. */
  isCut: boolean;
}

/**
 * Values that a field has in the time shown, among spans that pass `given`. Where they are too many, those with
 * what is `typed` somewhere in them.
 */
export async function tagValues(field: string, given: string, typed: string): Promise<TagValues> {
  const all = await asked(field, given);
  const isCut = all.length >= MOST_VALUES;
  if (!isCut || typed === "") return { values: all, isCut };
  const found = await asked(field, having(field, given, typed));
  // Numbers match no expression.
  return { values: found.length > 0 ? found : all, isCut };
}

async function asked(field: string, given: string): Promise<readonly TagValue[]> {
  const params = { ...shownSeconds(), q: given, limit: MOST_VALUES };
  const path = `/tempo/api/v2/search/tag/${encodeURIComponent(field)}/values`;
  const found = await remembered(
    `${path} ${params.start} ${params.end} ${given}`,
    () => getJson<{ tagValues: readonly TagValue[] }>(path, params),
    { tagValues: [] },
  );
  return found.tagValues;
}

/** A filter of spans that have a text in a field, too, in letters of either case. */
function having(field: string, given: string, typed: string): string {
  const inside = given.trim().slice(1, -1).trim();
  const pattern = `(?i).*${typed.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}.*`;
  return `{ ${inside === "" ? "" : `${inside} && `}${field} =~ ${quote(pattern)} }`;
}
