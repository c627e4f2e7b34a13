/** What is around the rows of a table panel: filters above, sums below. */
import { Button } from "../ui/button";
import { TextField } from "../ui/field";
import { customOf, type Field, nameOf, option, part, texts } from "./frame";
import { calcTitle } from "./legend";
import { resultTexts } from "./results";
import { tally } from "./tally";

interface FiltersProps {
  filters: Record<string, string>;
  open?: string;
  onChange: (filters: Record<string, string>) => void;
  onOpen: (name: string | undefined) => void;
}

export function Filters({ filters, open, onChange, onOpen }: FiltersProps) {
  const names = [...new Set([...Object.keys(filters), ...(open === undefined ? [] : [open])])];
  const without = (name: string) => {
    const { [name]: _, ...rest } = filters;
    onChange(rest);
    if (open === name) onOpen(undefined);
  };
  return (
    <div class="row table-filters">
      {names.map((name) => (
        <span key={name} class="row">
          <TextField
            label={`${name} contains`}
            value={filters[name] ?? ""}
            width="120px"
            onChange={(text) => onChange({ ...filters, [name]: text })}
          />
          <Button kind="quiet" icon="close" label={`No filter for ${name}`} onClick={() => without(name)} />
        </span>
      ))}
    </div>
  );
}

export interface FooterOptions {
  reducers: string[];
  fields: string[];
  countsRows: boolean;
}

/** What is to stand below the columns, if anything is. */
export function footerOf(
  options: Record<string, unknown>,
  fields: readonly Field[],
): FooterOptions | undefined {
  const footer = part(options, "footer");
  const isShown = option(footer, "show", false);
  if (!isShown && !fields.some((field) => ownReducers(field).length > 0)) return undefined;
  const reducers = texts(footer, "reducer");
  return {
    // Columns that ask for a footer themselves do not give the others one.
    reducers: !isShown ? [] : reducers.length > 0 ? reducers : ["sum"],
    fields: texts(footer, "fields"),
    countsRows: isShown && option(footer, "countRows", false),
  };
}

function ownReducers(field: Field): string[] {
  return texts(part(customOf(field), "footer"), "reducers");
}

export function Footer({
  fields,
  rows,
  footer,
  isIndented,
  template,
}: {
  fields: readonly Field[];
  rows: readonly number[];
  footer: FooterOptions;
  /** Whether a column without values stands before the others. */
  isIndented: boolean;
  template: string;
}) {
  const wanted = (field: Field) =>
    footer.fields.length === 0 || footer.fields.includes(nameOf(field)) || footer.fields.includes(field.name);
  const text = (field: Field, index: number) => {
    const own = ownReducers(field);
    const reducers = own.length > 0 ? own : footer.reducers;
    if (field.type === "number" && wanted(field) && !footer.countsRows) {
      const values = rows.map((row) => field.values[row]);
      const write = resultTexts(field);
      return reducers.map((id) => write(tally(values, id), id)).join(" / ");
    }
    if (index !== 0) return "";
    return footer.countsRows ? `${rows.length} rows` : reducers.map(calcTitle).join(" / ");
  };
  return (
    <div class="table-foot" style={{ gridTemplateColumns: template }}>
      {isIndented && <div class="cell" />}
      {fields.map((field, index) => (
        <div key={index} class={`cell cell-${alignOf(field)}`}>
          {text(field, index)}
        </div>
      ))}
    </div>
  );
}

/** Whether a table has a head, and the room that this and what else is around leave for its rows. */
export function roomOf(
  options: Record<string, unknown>,
  height: number,
  isFiltering: boolean,
  hasFooter: boolean,
): { hasHead: boolean; bodyHeight: number } {
  const hasHead = option(options, "showHeader", true);
  return {
    hasHead,
    bodyHeight: height - (hasHead ? 30 : 0) - (isFiltering ? 36 : 0) - (hasFooter ? 28 : 0),
  };
}

/** Where the cells of a column stand. */
export function alignOf(field: Field): "left" | "center" | "right" {
  const align = option(customOf(field), "align", "auto");
  if (align === "left" || align === "center" || align === "right") return align;
  return field.type === "number" ? "right" : "left";
}

/** The side of a column as tables know it; what is in the middle puts itself there. */
export function sideOf(field: Field): "left" | "right" {
  const align = alignOf(field);
  return align === "center" ? "left" : align;
}
