/** Which columns of a table are shown, and how wide. */
import { cellKind } from "./cell";
import { display, whole } from "./display";
import { customOf, type Field, type Frame, nameOf, option, part, rowsOf } from "./frame";

export function isHidden(field: Field): boolean {
  const custom = customOf(field);
  const hidden = part(custom, "hideFrom");
  return custom.hidden === true || hidden.viz === true;
}

/** Widths that are set, and for the others what their contents need. */
export interface ColumnWidth {
  css: string;
  pixels: number;
  least: number;
}

export function columnWidths(frame: Frame, fields: readonly Field[], width: number): ColumnWidth[] {
  const rows = Math.min(rowsOf(frame), 60);
  return fields.map((field) => {
    const custom = customOf(field);
    if (typeof custom.width === "number" && custom.width > 0)
      return { css: `${custom.width}px`, pixels: custom.width, least: custom.width };
    const show = display(field);
    let longest = nameOf(field).length + 3;
    for (let row = 0; row < rows; row += 1)
      longest = Math.max(longest, whole(show(field.values[row])).length);
    const wanted = cellKind(field).type === "gauge" ? 170 : Math.min(360, longest * 7.6 + 22);
    const least = Math.max(option(custom, "minWidth", 60), wanted);
    return {
      css: `minmax(${least}px, ${Math.min(longest, 60)}fr)`,
      pixels: Math.max(least, width / fields.length),
      least,
    };
  });
}

/** The width below which columns do not fit beside each other. */
export function leastWidth(widths: readonly ColumnWidth[]): number {
  return widths.reduce((total, { least }) => total + least, 0);
}
