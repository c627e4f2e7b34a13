/**
 * Links of values, which the server makes of a dashboard and its data. Only addresses of the web and of
 * this server are links; whatever else is named stays text.
 */
import { href } from "../frame/base";
import type { Field, MadeLink } from "./frame";

export interface Link {
  title: string;
  href: string;
  isOutside: boolean;
}

/** An address that may be followed; `undefined` for others, such as `javascript:`. */
export function safeAddress(url: string): string | undefined {
  // Browsers leave control characters and blanks at the beginning out, and so does the check.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  const cleaned = url.replace(/[\u0000-\u001f]/g, "").trim();
  if (/^https?:\/\//i.test(cleaned)) return cleaned;
  // Browsers take either slash for the other, and two of them for another host: a backslash would be
  // the second behind the one of the prefix.
  if (/^[a-z][a-z0-9+.-]*:/i.test(cleaned) || /^(\\|\/[\\/])/.test(cleaned)) return undefined;
  return cleaned === "" ? undefined : cleaned;
}

/** An address of this server, below the prefix that the page is at. */
export function ours(address: string): string {
  // `<base>` would send parameters alone to the first page.
  return /^[?#]/.test(address) ? window.location.pathname + address : href(address);
}

/** A link as the page follows it. */
export function linkOf({ title, url, targetBlank }: MadeLink): Link | undefined {
  const address = safeAddress(url);
  if (address === undefined) return undefined;
  const isOutside = /^https?:/i.test(address);
  return {
    title: title || address,
    href: isOutside ? address : ours(address),
    isOutside: isOutside || targetBlank === true,
  };
}

/** The links of one value. */
export function linksOf(field: Field, row: number): Link[] {
  return (field.state?.links?.[row] ?? []).flatMap((link) => linkOf(link) ?? []);
}
