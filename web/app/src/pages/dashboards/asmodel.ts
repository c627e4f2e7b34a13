/**
 * A document of any form as the classic model of today, which is what is edited: in old rows, in what Grafana
 * wraps around dashboards and in its second schema, panels are not where changes look for them.
 */
import { ask } from "../../frame/api";
import { isClassic, unwrapped } from "./converted";
import { SCHEMA } from "./create";
import type { Json } from "./model";

interface Reported {
  dashboards: readonly { model?: Json; error?: string }[];
}

/** The model of a document; throws why there is none. */
export async function asModel(document: Json, signal?: AbortSignal): Promise<Json> {
  if (document.schemaVersion === SCHEMA && isClassic(document)) return document;
  const response = await ask("/api/dashboards/report", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(document),
    signal,
  });
  const [found] = ((await response.json()) as Reported).dashboards;
  if (found?.error !== undefined) throw new Error(found.error);
  if (found?.model) return found.model;
  const within = unwrapped(document);
  if (isClassic(within)) return within;
  throw new Error("this form of dashboards cannot be edited here: import it as a file");
}
