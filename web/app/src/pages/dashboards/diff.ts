/** What differs between two documents, line by line. */

export interface DiffLine {
  kind: "same" | "added" | "removed";
  text: string;
}

/** Lines beyond this are not compared one by one: the table would be too large. */
const MOST_CELLS = 4_000_000;

/** The lines of two texts with what was added and removed, by their longest common lines. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let [endBefore, endAfter] = [before.length, after.length];
  while (endBefore > start && endAfter > start && before[endBefore - 1] === after[endAfter - 1]) {
    endBefore -= 1;
    endAfter -= 1;
  }
  const same = (text: string): DiffLine => ({ kind: "same", text });
  return [
    ...before.slice(0, start).map(same),
    ...middle(before.slice(start, endBefore), after.slice(start, endAfter)),
    ...before.slice(endBefore).map(same),
  ];
}

function middle(before: readonly string[], after: readonly string[]): DiffLine[] {
  const [rows, columns] = [before.length, after.length];
  const removed = (text: string): DiffLine => ({ kind: "removed", text });
  const added = (text: string): DiffLine => ({ kind: "added", text });
  if (rows * columns > MOST_CELLS) return [...before.map(removed), ...after.map(added)];
  const width = columns + 1;
  const common = new Uint32Array((rows + 1) * width);
  for (let row = rows - 1; row >= 0; row -= 1) {
    for (let column = columns - 1; column >= 0; column -= 1) {
      common[row * width + column] =
        before[row] === after[column]
          ? common[(row + 1) * width + column + 1]! + 1
          : Math.max(common[(row + 1) * width + column]!, common[row * width + column + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let [row, column] = [0, 0];
  while (row < rows && column < columns) {
    if (before[row] === after[column]) {
      lines.push({ kind: "same", text: before[row]! });
      row += 1;
      column += 1;
    } else if (common[(row + 1) * width + column]! >= common[row * width + column + 1]!) {
      lines.push(removed(before[row]!));
      row += 1;
    } else {
      lines.push(added(after[column]!));
      column += 1;
    }
  }
  return [...lines, ...before.slice(row).map(removed), ...after.slice(column).map(added)];
}

/** Only what changed, with some lines around it; what is left out is one line. */
export function contextOf(
  lines: readonly DiffLine[],
  around = 3,
): (DiffLine | { kind: "skip"; count: number })[] {
  const isNear = lines.map(() => false);
  for (const [at, line] of lines.entries()) {
    if (line.kind === "same") continue;
    for (let near = Math.max(0, at - around); near <= Math.min(lines.length - 1, at + around); near += 1)
      isNear[near] = true;
  }
  const found: (DiffLine | { kind: "skip"; count: number })[] = [];
  for (const [at, line] of lines.entries()) {
    const last = found.at(-1);
    if (isNear[at]) found.push(line);
    else if (last?.kind === "skip") last.count += 1;
    else found.push({ kind: "skip", count: 1 });
  }
  return found;
}
