/**
 * A box of cells that is chosen by keyboard: arrows move to a cell, with Shift they leave a corner behind,
 * Enter chooses, Escape takes it back.
 */
import { useState } from "preact/hooks";
import { count, time } from "./format";
import { boxOfCells, type HeatBox, type HeatCell, type HeatData, spanWords } from "./heatgeometry";

/** Where one is, and the other corner, which is the same without Shift. */
export interface Cells {
  cursor: HeatCell;
  anchor: HeatCell;
}

const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
  Home: [Number.NEGATIVE_INFINITY, 0],
  End: [Number.POSITIVE_INFINITY, 0],
  PageUp: [0, Number.POSITIVE_INFINITY],
  PageDown: [0, Number.NEGATIVE_INFINITY],
};

/** The cell with the most in it, where a walk begins. */
function fullest({ counts }: HeatData): HeatCell {
  let [best, most] = [{ column: 0, row: 0 }, -1];
  for (const [row, values] of counts.entries()) {
    for (const [column, value] of values.entries()) {
      if (value > most) [best, most] = [{ column, row }, value];
    }
  }
  return best;
}

/** The cells after a key; nothing if it is none that moves. */
export function movedCells(
  data: HeatData,
  cells: Cells | undefined,
  key: string,
  isShift: boolean,
): Cells | undefined {
  const move = MOVES[key];
  const [columns, rows] = [data.times.length, data.bounds.length];
  if (!move || columns === 0 || rows === 0) return undefined;
  if (!cells) {
    const first = fullest(data);
    return { cursor: first, anchor: first };
  }
  const within = (value: number, all: number) => Math.max(0, Math.min(all - 1, value));
  const cursor = {
    column: within(cells.cursor.column + move[0], columns),
    row: within(cells.cursor.row + move[1], rows),
  };
  return { cursor, anchor: isShift ? cells.anchor : cursor };
}

/** What a box of cells holds, in words. */
export function cellsText(
  data: HeatData,
  { cursor, anchor }: Cells,
  format: (bound: number) => string,
  unit: string,
): string {
  const box = boxOfCells(data, cursor, anchor);
  const [left, right] = [cursor.column, anchor.column].sort((a, b) => a - b) as [number, number];
  const [low, high] = [cursor.row, anchor.row].sort((a, b) => a - b) as [number, number];
  let sum = 0;
  for (const row of data.counts.slice(low, high + 1)) {
    for (const value of row.slice(left, right + 1)) sum += value;
  }
  return `${time(box.from)} to ${time(box.to)}, ${spanWords([box.low, box.high], format)}: ${count(sum)} ${unit}`;
}

interface BoxKeys {
  cells?: Cells;
  onKeyDown: (event: KeyboardEvent) => void;
  onBlur: () => void;
}

/** Takes keys of an element; `onClear` is asked to take back what was chosen before. */
export function useBoxKeys(data: HeatData, onSelect?: (box: HeatBox) => void, onClear?: () => void): BoxKeys {
  const [cells, setCells] = useState<Cells>();
  const onKeyDown = (event: KeyboardEvent) => {
    if (!onSelect || event.ctrlKey || event.metaKey || event.altKey) return;
    const moved = movedCells(data, cells, event.key, event.shiftKey);
    if (moved) setCells(moved);
    else if (event.key === "Enter" && cells) onSelect(boxOfCells(data, cells.cursor, cells.anchor));
    else if (event.key === "Escape" && (cells || onClear)) {
      if (cells) setCells(undefined);
      else onClear?.();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return { cells, onKeyDown, onBlur: () => setCells(undefined) };
}
