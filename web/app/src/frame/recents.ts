/** What was looked at lately, and queries that were run, kept by the browser. */
import { signal } from "@preact/signals";

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
    const value: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(value) ? (value as T[]) : [];
  } catch {
    return [];
  }
}

/** Pages of things (traces, dashboards, sessions), the newest first. */
export const recents = signal<readonly Recent[]>(stored<Recent>(PAGES));

/** Remembers a page once it has said its title. */
export function visit(path: string): () => void {
  const isThing = /^\/(trace|d|session|host|ci\/run)\//.test(path);
  const timer = setTimeout(() => {
    if (!isThing) return;
    const title = document.title.replace(SUFFIX, "");
    const rest = recents.peek().filter((one) => one.path !== path);
    recents.value = [{ path, title }, ...rest].slice(0, MOST);
    localStorage.setItem(PAGES, JSON.stringify(recents.peek()));
  }, 1500);
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
  localStorage.setItem(PINS, JSON.stringify(pins.peek()));
}

/** Queries of a language that were run, the newest first. */
export function queries(language: string): readonly string[] {
  return stored<string>(`kymo.queries.${language}`);
}

/** Remembers a query that was run. */
export function ran(language: string, query: string): void {
  if (query.trim() === "") return;
  const rest = queries(language).filter((one) => one !== query);
  localStorage.setItem(`kymo.queries.${language}`, JSON.stringify([query, ...rest].slice(0, MOST)));
}
