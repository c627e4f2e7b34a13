/**
 * Rows of an answer of `/api/sql`, read line by line as they come: the first line has the columns, each of
 * the others a row. Reading stops where a table would have more rows than anybody looks at.
 */

export interface SqlColumnType {
  name: string;
  /** `string`, `int64`, `float64`, `timestamp`, `bool`, `hex` and the like. */
  type: string;
}

export type Cell = string | number | boolean | null;

export interface SqlAnswer {
  columns: readonly SqlColumnType[];
  rows: Cell[][];
  /** Whether reading stopped before the end. */
  isCut: boolean;
}

/** Rows that are read at most: what a browser sorts at once. */
export const MOST_ROWS = 50_000;

/** Takes lines of an answer; answers whether it wants more. */
export class RowReader {
  columns: SqlColumnType[] = [];
  readonly rows: Cell[][] = [];
  isCut = false;
  private rest = "";

  constructor(private readonly most = MOST_ROWS) {}

  /** One more piece of the text. */
  take(piece: string): boolean {
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop() ?? "";
    for (const line of lines) if (!this.line(line)) return false;
    return true;
  }

  /** The end of the text. Where it was broken off, half a row may be left, which is none. */
  end(isBroken = false): SqlAnswer {
    if (!isBroken && !this.isCut && this.rest !== "") this.line(this.rest);
    return { columns: this.columns, rows: this.rows, isCut: this.isCut };
  }

  private line(line: string): boolean {
    if (line.startsWith('{"columns"')) {
      const head = /^\{"columns":(\[.*?\]),"rows":\[(.*)$/.exec(line);
      this.columns = head ? (JSON.parse(head[1]!) as SqlColumnType[]) : [];
      return head?.[2]?.startsWith("[") ? this.line(head[2]) : true;
    }
    if (!line.startsWith("[")) return true;
    if (this.rows.length >= this.most) {
      this.isCut = true;
      return false;
    }
    // Rows but the last end with a comma; the last with the end of the whole document.
    const row = line.endsWith(",") ? line.slice(0, -1) : line.replace(/\],"row_count":\d+\}$/, "");
    this.rows.push(JSON.parse(row) as Cell[]);
    return true;
  }
}

const NUMBERS = /^(?:u?int|float|decimal|double)/;

export function isNumber({ type }: SqlColumnType): boolean {
  return NUMBERS.test(type);
}

export interface Plotted {
  times: number[];
  lines: { label: string; values: (number | null)[] }[];
}

/** More lines cannot be told apart. */
const MOST_LINES = 40;

/**
 * A table as lines over time: it needs a column of times and one of numbers. With one column of texts, each
 * of its values is a line; with several, there is no telling which.
 */
export function plotted({ columns, rows }: SqlAnswer): Plotted | undefined {
  const time = columns.findIndex(({ type }) => type.startsWith("timestamp"));
  const numbers = columns.flatMap((column, at) => (isNumber(column) ? [at] : []));
  const texts = columns.flatMap(({ type }, at) => (type === "string" ? [at] : []));
  if (time < 0 || numbers.length === 0 || texts.length > 1 || rows.length < 2) return undefined;
  const lines = new Map<string, Map<number, number>>();
  const all = new Set<number>();
  for (const row of rows) {
    const at = Date.parse(String(row[time]));
    if (Number.isNaN(at)) continue;
    all.add(at);
    for (const number of numbers) {
      const name = [
        texts.length === 1 ? String(row[texts[0]!]) : "",
        numbers.length > 1 || texts.length === 0 ? columns[number]!.name : "",
      ];
      const label = name.filter(Boolean).join(" ");
      if (!lines.has(label) && lines.size >= MOST_LINES) continue;
      const line = lines.get(label) ?? new Map<number, number>();
      if (typeof row[number] === "number") line.set(at, row[number]);
      lines.set(label, line);
    }
  }
  const times = [...all].sort((a, b) => a - b);
  if (times.length < 2) return undefined;
  return {
    times,
    lines: [...lines].map(([label, values]) => ({
      label,
      values: times.map((at) => values.get(at) ?? null),
    })),
  };
}

/** A query with the time shown in the places of `$from` and `$to`. */
export function withTime(query: string, { from, to }: { from: number; to: number }): string {
  const moment = (millis: number) => `TIMESTAMP '${new Date(millis).toISOString()}'`;
  return query.replace(/\$(from|to)\b/g, (_, which: string) => moment(which === "from" ? from : to));
}
