/** A frame as text with separators, for spreadsheets. */
import { display, whole } from "../../panels/display";
import { type Frame, nameOf, rowsOf, textOf } from "../../panels/frame";

/** Comma separated values; times as ISO 8601, values as they are or as they are shown. */
export function csv(frame: Frame, isFormatted: boolean): string {
  const shows = frame.fields.map(display);
  const lines = [frame.fields.map((field) => quoted(nameOf(field))).join(",")];
  for (let row = 0; row < rowsOf(frame); row += 1) {
    const cells = frame.fields.map((field, at) => {
      const cell = field.values[row];
      if (isFormatted) return quoted(whole(shows[at]!(cell)));
      if (field.type === "time" && typeof cell === "number") return new Date(cell).toISOString();
      return quoted(textOf(cell));
    });
    lines.push(cells.join(","));
  }
  return `${lines.join("\r\n")}\r\n`;
}

function quoted(text: string): string {
  // A spreadsheet takes what begins so for a formula, and would run it.
  const harmless = /^[=+@\t\r-]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** A name that a file may have. */
export function fileName(title: string, ending: string): string {
  const plain = title.replace(/[^\p{L}\p{N}._-]+/gu, "-").replace(/^-+|-+$/g, "");
  return `${plain || "panel"}.${ending}`;
}
