/** Tags and values that the server has in the time shown, for completion in editors and forms. */
import { getJson } from "../../frame/api";
import { range } from "../../frame/time";
import { remembered } from "./remember";

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

/** Values that a field has in the time shown, among spans that pass `given`. */
export async function tagValues(field: string, given: string): Promise<readonly TagValue[]> {
  const asked = { ...shownSeconds(), q: given };
  const path = `/tempo/api/v2/search/tag/${encodeURIComponent(field)}/values`;
  const found = await remembered(
    `${path} ${asked.start} ${asked.end} ${given}`,
    () => getJson<{ tagValues: readonly TagValue[] }>(path, asked),
    { tagValues: [] },
  );
  return found.tagValues;
}
