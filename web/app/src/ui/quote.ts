/** Texts between quotes, as TraceQL, LogQL and PromQL have them alike. */

/** A text between quotes. Ends of lines are escaped: languages take none there, and editors split at them. */
export function quote(text: string): string {
  return `"${escaped(text).replaceAll("\n", "\\n").replaceAll("\r", "\\r")}"`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"');
}

const ESCAPES: Record<string, string> = { n: "\n", r: "\r", t: "\t" };

/** The text that a quoted one stands for. */
export function unquote(text: string): string {
  if (text.startsWith("`")) return text.slice(1, text.endsWith("`") && text.length > 1 ? -1 : undefined);
  if (!text.startsWith('"')) return text;
  const inner = text.slice(1, text.endsWith('"') && text.length > 1 ? -1 : undefined);
  return inner.replace(/\\(.)/g, (_, one: string) => ESCAPES[one] ?? one);
}

/**
 * A field of a scope in TraceQL. Names with other characters than usual are quoted; in those there are no escapes
 * but of quotes and backslashes.
 */
export function fieldName(scope: string, name: string): string {
  if (scope === "intrinsic" || scope === "") return name;
  return /^[\w.:/-]+$/.test(name) ? `${scope}.${name}` : `${scope}."${escaped(name)}"`;
}
