/**
 * Where in a query an error is. The languages of the server say it in their own words: `line 1, col 9`
 * (TraceQL, LogQL), `1:9:` (PromQL), `Line: 1, Column: 9` (SQL). All count from one.
 */

/** What the editor underlines. */
export interface QueryError {
  message: string;
  /** In characters from the beginning of the query. */
  position?: number;
}

const PLACES = [/\bline:? (\d+),? (?:col|column):? (\d+)/i, /(?:^|\s)(\d+):(\d+): /];

/** The place that an error names, in characters from the beginning of the query. */
export function positionIn(query: string, message: string): number | undefined {
  for (const place of PLACES) {
    const found = place.exec(message);
    if (!found) continue;
    const lines = query.split("\n");
    const line = Math.min(Number(found[1]), lines.length) - 1;
    const before = lines.slice(0, Math.max(0, line)).reduce((sum, { length }) => sum + length + 1, 0);
    return Math.min(before + Number(found[2]) - 1, query.length);
  }
  return undefined;
}

/** An error of the server, as the editor of the query shows it; other failures are not the query's. */
export function queryError(
  query: string,
  error: (Error & { status?: number; position?: number }) | undefined,
): QueryError | undefined {
  if (!error || (error.status !== 400 && error.status !== 422)) return undefined;
  const position = error.position ?? positionIn(query, error.message);
  return { message: error.message, position };
}
