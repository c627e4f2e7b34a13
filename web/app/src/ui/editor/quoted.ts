/** Quoted texts in a query that is being typed. */
import { type Completion, insertCompletionText, pickedCompletion } from "@codemirror/autocomplete";

const QUOTED = /"(?:[^"\\]|\\[\s\S])*"?|`[^`]*`?/y;
const ALL = /"(?:[^"\\]|\\[\s\S])*"?|`[^`]*`?/g;

function isClosed(text: string): boolean {
  return text.length > 1 && text.at(-1) === text[0] && !/(?:^|[^\\])(?:\\\\)*\\"$/.test(text);
}

/**
 * Values that are offered between quotes: one that is chosen takes the place of the whole text. What is compared
 * with them ends at the cursor all the same, else an empty text would be compared with both of its quotes.
 */
export function overQuotes(options: readonly Completion[]): Completion[] {
  return options.map((option) => ({
    ...option,
    apply: (view, { label }, from, to) => {
      const end = quotedEnd(view.state.doc.toString(), from, to);
      const inserted = insertCompletionText(view.state, label, from, end);
      view.dispatch({ ...inserted, annotations: pickedCompletion.of(option) });
    },
  }));
}

/**
 * Where the text between quotes ends that begins at `from` and has the cursor inside: a value that is chosen
 * takes the place of all of it. One that is not closed ends at the cursor, and so does one whose end would
 * leave another open: that end is the beginning of the next.
 */
export function quotedEnd(query: string, from: number, cursor: number): number {
  QUOTED.lastIndex = from;
  const text = QUOTED.exec(query)?.[0];
  if (text === undefined || !isClosed(text)) return cursor;
  const end = from + text.length;
  const others = query.slice(end).match(ALL) ?? [];
  return end > cursor && others.every(isClosed) ? end : cursor;
}
