/**
 * Links of values: addresses with the value, its time, labels and neighbours put in. Only addresses of
 * the web and of this server are links; whatever else a dashboard or its data names stays text.
 */
import { href } from "../frame/base";
import { range } from "../frame/time";
import { type Cell, type DataLink, type Field, type Frame, nameOf, textOf, timeOf } from "./frame";

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
  if (/^[a-z][a-z0-9+.-]*:/i.test(cleaned) || cleaned.startsWith("//") || cleaned.startsWith("\\"))
    return undefined;
  return cleaned === "" ? undefined : cleaned;
}

/** An address of this server, below the prefix that the page is at. */
export function ours(address: string): string {
  // `<base>` would send parameters alone to the first page.
  return /^[?#]/.test(address) ? window.location.pathname + address : href(address);
}

/** The links of one value. */
export function linksOf(frame: Frame, field: Field, row: number): Link[] {
  const links = field.config?.links ?? [];
  return links.flatMap((link) => made(link, frame, field, row) ?? []);
}

function made(link: DataLink, frame: Frame, field: Field, row: number): Link | undefined {
  const fill = (text: string, isAddress: boolean) => filled(text, frame, field, row, isAddress);
  const address = safeAddress(fill(link.url ?? "", true));
  if (address === undefined) return undefined;
  const isOutside = /^https?:/i.test(address);
  const title = fill(link.title ?? "", false) || address;
  return {
    title,
    href: isOutside ? address : ours(address),
    isOutside: isOutside || link.targetBlank === true,
  };
}

const REFERENCE =
  /\$\{(__[a-z]+(?:\.[^}:]*|\["[^"]*"\])*)(?::([a-z]+))?\}|\$(__url_time_range|__from|__to)\b/g;

function filled(text: string, frame: Frame, field: Field, row: number, isAddress: boolean): string {
  return text.replace(
    REFERENCE,
    (whole, path: string | undefined, format: string | undefined, bare?: string) => {
      const found = resolve(bare ?? path!, frame, field, row);
      if (found === undefined) return whole;
      if (path === "__url_time_range" || bare === "__url_time_range") return found;
      return isAddress && format !== "raw" ? encodeURIComponent(found) : found;
    },
  );
}

function resolve(path: string, frame: Frame, field: Field, row: number): string | undefined {
  const [head, ...rest] = parts(path);
  switch (head) {
    case "__from":
      return String(Math.round(range.peek().from));
    case "__to":
      return String(Math.round(range.peek().to));
    case "__url_time_range":
      return `from=${Math.round(range.peek().from)}&to=${Math.round(range.peek().to)}`;
    case "__value":
      return ofValue(rest[0], frame, field, row);
    case "__field":
      return rest[0] === "labels" ? (field.labels?.[rest[1] ?? ""] ?? "") : nameOf(field);
    case "__series":
      return frame.name ?? nameOf(field);
    case "__data":
      return ofData(rest, frame, row);
    default:
      return undefined;
  }
}

function ofValue(what: string | undefined, frame: Frame, field: Field, row: number): string {
  if (what === "time") return cellText(timeOf(frame)?.values[row]);
  return cellText(field.values[row]);
}

function ofData([what, name]: string[], frame: Frame, row: number): string | undefined {
  if (what !== "fields" || name === undefined) return undefined;
  const byPlace = /^\d+$/.test(name) ? frame.fields[Number(name)] : undefined;
  const found = frame.fields.find((one) => nameOf(one) === name || one.name === name) ?? byPlace;
  return cellText(found?.values[row]);
}

function cellText(cell: Cell): string {
  return textOf(cell);
}

/** `__data.fields["Trace ID"]` as its parts. */
function parts(path: string): string[] {
  return [...path.matchAll(/\["([^"]*)"\]|\[(\d+)\]|([^.[\]]+)/g)].map(
    ([, quoted, index, bare]) => quoted ?? index ?? bare ?? "",
  );
}
