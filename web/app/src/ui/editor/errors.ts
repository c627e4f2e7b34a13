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
  return named(query, message);
}

/** Where the name stands that an error has between backticks, such as a column that there is not. */
function named(query: string, message: string): number | undefined {
  const name = /`([^`]+)`/.exec(message)?.[1];
  if (name === undefined) return undefined;
  const isWord = (at: number) => /\w/.test(query[at] ?? "");
  for (let at = query.indexOf(name); at >= 0; at = query.indexOf(name, at + 1)) {
    if (!isWord(at - 1) && !isWord(at + name.length)) return at;
  }
  return undefined;
}

/** What is underlined of a query that is wrong at a place: a word, an operator, or else one character. */
export function wrongRange(query: string, position: number): { from: number; to: number } {
  // An end that should not be is shown at the last character.
  const from = Math.max(0, Math.min(position, query.length - 1));
  const length = /^(?:[|!=~<>&]+|[^\s(){}|,]+|[\s\S])/.exec(query.slice(from))?.[0].length ?? 0;
  return { from, to: from + length };
}

/** Macros of SQL take what is in their parentheses with them. */
const VARIABLES = /\$\{[^}]*\}|\$__\w+\((?:[^()]|\([^()]*\))*\)|\$\w+|\[\[[^\]]*\]\]/g;

/**
 * The place in a query as it is written, of a place in the query as it was asked, which has values in the
 * places of variables. A place inside of a value is that of its variable.
 */
export function writtenPlace(written: string, asked: string, position: number): number | undefined {
  let [from, at, variable] = [0, 0, 0];
  for (const match of [...written.matchAll(VARIABLES), undefined]) {
    const text = written.slice(from, match?.index);
    const found = match ? asked.indexOf(text, at) : asked.length - text.length;
    // What stands between variables is not found: it was asked otherwise than by putting values in.
    if (found < at || !asked.startsWith(text, found) || (from === 0 && found > 0)) return undefined;
    if (position < found) return variable;
    if (position < found + text.length || !match) return from + Math.min(position - found, text.length);
    variable = match.index;
    [from, at] = [match.index + match[0].length, found + text.length];
  }
  return undefined;
}

/**
 * An error of the server, as the editor of the query shows it; other failures are not the query's. A query
 * that has variables was asked with their values.
 */
export function queryError(
  query: string,
  error: (Error & { status?: number; position?: number }) | undefined,
  asked = query,
): QueryError | undefined {
  if (!error || (error.status !== 400 && error.status !== 422)) return undefined;
  const place = error.position ?? positionIn(asked, error.message);
  return { message: error.message, position: place && writtenPlace(query, asked, place) };
}
