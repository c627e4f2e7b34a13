/**
 * Where the page lives: below which prefix of paths. The server says so in `<base>`, whatever a proxy
 * did to the path; nothing else in the page knows of prefixes.
 */

/** The prefix, with a slash at its end. */
export const base: string = new URL(document.baseURI).pathname.replace(/[^/]*$/, "");

/** The address of something of this server, from a path such as `/traces?q=…`. */
export function href(path: string): string {
  // Browsers take a backslash for a slash: two slashes would lead to another host.
  return base + path.replace(/^[\\/]+/, "");
}

/** The path of a page from an address of the browser; `undefined` if it is not below the prefix. */
export function pathOf(pathname: string): string | undefined {
  if (`${pathname}/` === base) return "/";
  return pathname.startsWith(base) ? `/${pathname.slice(base.length)}` : undefined;
}
