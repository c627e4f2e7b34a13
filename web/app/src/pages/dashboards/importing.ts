/** What is imported: what the server says of each file, and what of it is saved, taken or still to be saved. */
import { ApiError, ask, question } from "../../frame/api";

export type Status = "full" | "partial" | "unsupported";

interface PanelReport {
  id: number;
  title: string;
  type: string;
  status: Status;
  reasons: string[];
  changes: string[];
}

export interface Report {
  title: string;
  uid: string;
  counts: { full: number; partial: number; unsupported: number };
  notes: { lost: boolean; text: string }[];
  panels: PanelReport[];
  variables: { name: string; type: string; status: Status; reasons: string[] }[];
}

export interface Imported {
  uid?: string;
  name?: string;
  report?: Report;
  error?: string;
  /** Whether that is because there is one with its id already. */
  taken?: boolean;
}

export type Way = "look" | "save" | "overwrite";

async function send(text: string, way: Way, signal?: AbortSignal): Promise<Imported[]> {
  const params = {
    dry_run: way === "look" ? "true" : undefined,
    overwrite: way === "overwrite" ? "true" : undefined,
  };
  const response = await ask(question("/api/dashboards/import", params), {
    method: "POST",
    headers: { "Content-Type": "text/plain" },
    body: text,
    signal,
  });
  return ((await response.json()) as { dashboards: Imported[] }).dashboards;
}

/** A file, or what was pasted, which has no name. */
export interface Given {
  name: string;
  text: string;
}

/** What became of it: the dashboards that are in it, or why there are none. */
export interface Outcome {
  of: Given;
  found: Imported[];
  error?: Error;
}

/** Sends one after the other; what goes wrong with one keeps the others from nothing. */
export async function sendAll(all: readonly Given[], way: Way, signal?: AbortSignal): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const of of all) {
    try {
      outcomes.push({ of, found: await send(of.text, way, signal) });
    } catch (failure) {
      const error = failure as Error;
      if (error.name === "AbortError") throw error;
      outcomes.push({ of, found: [], error });
    }
  }
  return outcomes;
}

/** How many dashboards of a file are not saved because there are others in their places. */
export function takenOf({ found, error }: Outcome): number {
  if (error) return error instanceof ApiError && error.status === 409 ? 1 : 0;
  return found.filter(({ taken }) => taken).length;
}

/** The files that can still be saved, also those of which only a part was. */
export function leftOf(readable: readonly Given[], tried: readonly Outcome[]): Given[] {
  return readable.filter((of) => {
    const outcome = tried.find((one) => one.of === of);
    return !outcome || outcome.error !== undefined || takenOf(outcome) > 0;
  });
}

/** What is known after some files were sent once more: only their newest outcomes count. */
export function triedAgain(before: readonly Outcome[], newest: readonly Outcome[]): Outcome[] {
  return [...before.filter(({ of }) => !newest.some((one) => one.of === of)), ...newest];
}
