/**
 * Values with units. The table of units is the server's, so that ticks drawn here and texts made there are
 * alike; this file only applies it.
 */
import { signal } from "@preact/signals";

export interface Formatted {
  prefix: string;
  text: string;
  suffix: string;
}

export interface FormatOptions {
  unit?: string;
  decimals?: number;
  kind?: string;
  /** For axes: as few decimals as tell ticks apart. */
  isTick?: boolean;
}

export type UnitTable = Record<string, unknown>;
export const units = signal<UnitTable>({});

export function formatWith(_table: UnitTable, _options: FormatOptions): (value: number) => Formatted {
  return (value) => ({ prefix: "", text: String(Number(value.toPrecision(4))), suffix: "" });
}
