/**
 * Which page is shown, and the state that is in its address. Links are ordinary `<a href>`: clicks on
 * those that lead to a page of ours are taken here, so that nothing is loaded again.
 */
import { batch, computed, signal } from "@preact/signals";
import { href, pathOf } from "./base";

/** Where the page is. */
export interface Place {
  /** The path below the prefix, without a slash at its end. */
  path: string;
  query: URLSearchParams;
}

function read(): Place {
  const path = (pathOf(window.location.pathname) ?? "/").replace(/(.)\/+$/, "$1");
  return { path, query: new URLSearchParams(window.location.search) };
}

/** Where the page is now. */
export const place = signal<Place>(read());
/** Its path alone, so that a change of parameters does not draw the frame again. */
export const path = computed(() => place.value.path);
/** Counts how often somebody went to where he was already, by a link or by running the same query again. */
export const returnsHere = signal(0);
/** Whose data is looked at, if the address says so. It goes along wherever a link of the page leads. */
export const tenant = computed(() => place.value.query.get("tenant") || undefined);

/** What may be given for parameters: nothing takes one away. */
export type Params = Record<string, string | number | boolean | readonly string[] | null | undefined>;

/** Goes to a page: a path with parameters, such as `/traces?q=…`. */
export function navigate(to: string, options: { replace?: boolean } = {}): void {
  go(withTenant(to), options);
}

function go(to: string, options: { replace?: boolean }): void {
  const address = href(to);
  const { pathname, search, hash } = window.location;
  // Going to where one is leaves no step to go back.
  const isHere = address === pathname + search + hash;
  if (options.replace || isHere) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  batch(() => {
    place.value = read();
    if (isHere && !options.replace) returnsHere.value += 1;
  });
}

/** A path that names whose data it is about, as the page that is shown does. */
function withTenant(to: string): string {
  const now = tenant.peek();
  const [, path = to, search = "", hash = ""] = /^([^?#]*)(\?[^#]*)?(#.*)?$/.exec(to) ?? [];
  const query = new URLSearchParams(search);
  if (now === undefined || query.has("tenant")) return to;
  query.set("tenant", now);
  return `${path}?${query}${hash}`;
}

/** A path with parameters. */
export function link(to: string, params: Params = {}): string {
  const query = new URLSearchParams();
  assign(query, { tenant: tenant.value, ...params });
  const text = query.toString();
  return text === "" ? to : `${to}?${text}`;
}

/** A path of another page that looks at the same time, and is live if this one is. */
export function pageLink(to: string, params: Params = {}): string {
  const { query } = place.value;
  // That one is not live is nothing to take along: others are not by themselves.
  const shown = { from: query.get("from"), to: query.get("to"), refresh: query.get("refresh") || undefined };
  return link(to, { ...shown, ...params });
}

/** Changes parameters of the page that is shown; others stay. */
export function setParams(params: Params, options: { replace?: boolean } = {}): void {
  const query = new URLSearchParams(place.value.query);
  assign(query, params);
  const text = query.toString();
  go(text === "" ? place.value.path : `${place.value.path}?${text}`, options);
}

function assign(query: URLSearchParams, params: Params): void {
  for (const [name, value] of Object.entries(params)) {
    query.delete(name);
    if (value === undefined || value === null || value === false) continue;
    if (Array.isArray(value)) for (const one of value) query.append(name, one);
    else query.set(name, value === true ? "1" : String(value));
  }
}

/** A parameter of the page that is shown. Reading it in a component draws that again on a change. */
export function param(name: string): string | undefined {
  return place.value.query.get(name) ?? undefined;
}

/** All values of a parameter. */
export function paramAll(name: string): string[] {
  return place.value.query.getAll(name);
}

/** Begins to listen. */
export function listen(): void {
  window.addEventListener("popstate", () => {
    place.value = read();
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const anchor = (event.target as Element | null)?.closest?.("a");
    if (!anchor?.href || anchor.target || anchor.hasAttribute("download")) return;
    // What cannot be read as an address, as data may have it, has no origin.
    if (anchor.origin !== window.location.origin) return;
    const to = pathOf(anchor.pathname);
    if (to === undefined || !isPage(to)) return;
    event.preventDefault();
    navigate(to + anchor.search + anchor.hash);
  });
}

let isPage: (path: string) => boolean = () => false;

/** Says which paths are pages; others are loaded by the browser. */
export function pagesAre(test: (path: string) => boolean): void {
  isPage = test;
}
