/** Names in SQL that is half typed: what stands before the cursor, and which tables are asked. */

export interface NameBefore {
  from: number;
  typed: string;
  /** The table or its other name, where one was typed with a point behind it. */
  table?: string;
}

/** The name that ends at `at`; `undefined` inside texts and comments. */
export function nameBefore(text: string, at: number): NameBefore | undefined {
  const before = text.slice(0, at);
  const rest = before.replace(/'(?:[^']|'')*'/g, (one) => " ".repeat(one.length));
  if (rest.includes("'") || /--[^\n]*$/.test(rest)) return undefined;
  const match = /(?:([A-Za-z_]\w*)\.)?([A-Za-z_]\w*)?$/.exec(before)!;
  const typed = match[2] ?? "";
  return { from: at - typed.length, typed, table: match[1] };
}

const TABLES = /\b(?:from|join)\s+([A-Za-z_]\w*)(?=(?:\s+(?:as\s+)?([A-Za-z_]\w*))?)/gi;

/** Tables that a query asks, by the names it gives them. */
export function tablesOf(text: string, known: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  // What follows a table is looked at without being taken: it may be the next word of the language.
  for (const match of text.matchAll(TABLES)) {
    const table = match[1]!.toLowerCase();
    if (!known.includes(table)) continue;
    const other = match[2]?.toLowerCase();
    found.set(table, table);
    if (other && !/^(?:where|group|order|limit|join|left|right|inner|on|as|having|union)$/.test(other)) {
      found.set(other, table);
    }
  }
  return found;
}

/** A name of a table or a column as a query writes it: any but plain ones stand between quotes. */
export function nameOf(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;
}
