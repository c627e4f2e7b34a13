/** What was looked at lately, and queries that were run, kept by the browser. */
import { signal } from "@preact/signals";
import { keep, kept } from "./kept";
import { link, path as pathShown } from "./router";

export interface Recent {
  path: string;
  title: string;
}

const PAGES = "kymo.recents";
const MOST = 30;
/** What titles end with. */
const SUFFIX = / · Kymograph$/;

function stored<T>(key: string): T[] {
  try {
    const value: unknown = JSON.parse(kept(key) ?? "[]");
    return Array.isArray(value) ? (value as T[]) : [];
  } catch {
    return [];
  }
}

/** Pages of things (traces, dashboards, sessions), the newest first. */
export const recents = signal<readonly Recent[]>(stored<Recent>(PAGES));

const THING = /^\/(?:trace|d|session|host|ci\/run)\//;
/** Who is here for less than that has passed through; titles are said anew when data has come. */
const STAY_MILLIS = 1500;

/** Remembers the page that is shown by its title, if it keeps it for a moment. Returns what calls that off. */
export function said(title: string): () => void {
  if (!THING.test(pathShown.peek())) return () => {};
  const path = link(pathShown.peek());
  const timer = setTimeout(() => {
    const rest = recents.peek().filter((one) => one.path !== path);
    recents.value = [{ path, title }, ...rest].slice(0, MOST);
    keep(PAGES, JSON.stringify(recents.peek()));
  }, STAY_MILLIS);
  return () => clearTimeout(timer);
}

const PINS = "kymo.pins";

/** Pages that somebody wants to have at hand, in the order in which they were pinned. */
export const pins = signal<readonly Recent[]>(stored<Recent>(PINS));

export function isPinned(path: string): boolean {
  return pins.value.some((one) => one.path === path);
}

/** Pins a page, by the title that it has now if none is given, or does so no more. */
export function togglePin(path: string, title = document.title.replace(SUFFIX, "")): void {
  const rest = pins.peek().filter((one) => one.path !== path);
  pins.value = rest.length < pins.peek().length ? rest : [...rest, { path, title }].slice(-MOST);
  keep(PINS, JSON.stringify(pins.peek()));
}

/** Queries of a language that were run, the newest first. */
export function queries(language: string): readonly string[] {
  return stored<string>(`kymo.queries.${language}`);
}

/** Remembers a query that was run. */
export function ran(language: string, query: string): void {
  if (query.trim() === "") return;
  const rest = queries(language).filter((one) => one !== query);
  keep(`kymo.queries.${language}`, JSON.stringify([query, ...rest].slice(0, MOST)));
}
