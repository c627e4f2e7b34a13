/**
 * The legend of a chart: names with colours, and values that the server reduced each series to. A click
 * shows one series alone, with control it adds or removes one.
 */
import { useMemo } from "preact/hooks";
import { ordinal } from "../ui/datepattern";
import { Icon } from "../ui/icon";
import { type Cell, customOf, type Field, isHiddenFrom, nameOf, option, part, texts } from "./frame";
import { compareKeys, compareTexts, sortKey } from "./order";
import { useRemembered } from "./remembered";
import { resultTexts } from "./results";

export interface LegendItem {
  key: string;
  field: Field;
  color: string;
}

export interface LegendOptions {
  isShown: boolean;
  isTable: boolean;
  isRight: boolean;
  calcs: string[];
  width?: number;
  sortBy?: string;
  isDescending: boolean;
}

export function legendOptions(options: Record<string, unknown>): LegendOptions {
  const legend = part(options, "legend");
  const mode = option(legend, "displayMode", "list");
  return {
    isShown: option(legend, "showLegend", true) && mode !== "hidden",
    isTable: mode === "table",
    isRight: option(legend, "placement", "bottom") === "right",
    calcs: texts(legend, "calcs"),
    width: typeof legend.width === "number" ? legend.width : undefined,
    sortBy: typeof legend.sortBy === "string" ? legend.sortBy : undefined,
    isDescending: option(legend, "sortDesc", false),
  };
}

const TITLES: Record<string, string> = {
  lastNotNull: "Last *",
  last: "Last",
  firstNotNull: "First *",
  first: "First",
  min: "Min",
  max: "Max",
  mean: "Mean",
  median: "Median",
  sum: "Total",
  count: "Count",
  range: "Range",
  delta: "Delta",
  diff: "Difference",
  stdDev: "StdDev",
  variance: "Variance",
  countAll: "Count all",
  step: "Step",
  logmin: "Min (above zero)",
  allIsZero: "All Zeros",
  allIsNull: "All Nulls",
  changeCount: "Change Count",
  distinctCount: "Distinct Count",
  diffperc: "Difference percent",
  allValues: "All values",
  uniqueValues: "All unique values",
};

/** What a reducer is called in heads. */
export function calcTitle(id: string): string {
  const percentile = /^p([1-9]\d?)$/.exec(id)?.[1];
  return percentile === undefined ? (TITLES[id] ?? id) : `${ordinal(Number(percentile))} %`;
}

interface LegendProps {
  items: readonly LegendItem[];
  options: LegendOptions;
  hidden: ReadonlySet<string>;
  onHide: (hidden: ReadonlySet<string>) => void;
  onFocus?: (key: string | undefined) => void;
}

/** What its list and its table get. */
interface Drawn extends Omit<LegendProps, "onHide"> {
  onPick: (key: string, isAdded: boolean) => void;
}

export function Legend({ items, options, hidden, onHide, onFocus }: LegendProps) {
  const shown = items.filter(({ field }) => !isHiddenFrom(field, "legend"));
  if (!options.isShown || shown.length === 0) return null;
  const keys = items.map(({ key }) => key);
  const onPick = (key: string, isAdded: boolean) => onHide(pick(keys, hidden, key, isAdded));
  const common = { items: shown, options, hidden, onPick, onFocus };
  return (
    <div
      class={`legend legend-${options.isRight ? "right" : "bottom"}`}
      style={{ width: options.isRight ? options.width : undefined }}
    >
      {options.isTable ? <LegendTable {...common} /> : <LegendList {...common} />}
    </div>
  );
}

function Name({
  item,
  hidden,
  onPick,
  onFocus,
}: { item: LegendItem } & Pick<Drawn, "hidden" | "onPick" | "onFocus">) {
  const isOff = hidden.has(item.key);
  const style = option(customOf(item.field), "drawStyle", "line");
  return (
    <button
      type="button"
      class={isOff ? "legend-item legend-off" : "legend-item"}
      aria-pressed={!isOff}
      title={nameOf(item.field)}
      onClick={(event) => onPick(item.key, event.ctrlKey || event.metaKey || event.shiftKey)}
      onPointerEnter={() => onFocus?.(item.key)}
      onPointerLeave={() => onFocus?.(undefined)}
      onFocus={() => onFocus?.(item.key)}
      onBlur={() => onFocus?.(undefined)}
    >
      <span class={`legend-mark legend-mark-${style}`} style={{ background: item.color }} />
      <span class="ellipsis">{nameOf(item.field)}</span>
    </button>
  );
}

function LegendList({ items, options, ...rest }: Drawn) {
  return (
    <ul class="legend-list">
      {items.map((item) => {
        const write = resultTexts(item.field);
        return (
          <li key={item.key}>
            <Name item={item} {...rest} />
            {options.calcs.map((calc) => (
              <span key={calc} class="legend-calc">
                {calcTitle(calc)}: {write(calcOf(item.field, calc), calc)}
              </span>
            ))}
          </li>
        );
      })}
    </ul>
  );
}

function LegendTable({ items, options, ...rest }: Drawn) {
  const [sorting, setSorting] = useRemembered("legend sorting", () => ({
    by: options.sortBy ?? "",
    isDescending: options.isDescending,
  }));
  const sorted = useMemo(() => sort(items, options.calcs, sorting), [items, options.calcs, sorting]);
  const head = (id: string, title: string) => (
    <th
      key={id}
      scope="col"
      aria-sort={sorting.by === id ? (sorting.isDescending ? "descending" : "ascending") : undefined}
    >
      <button
        type="button"
        class="table-sort"
        onClick={() => setSorting({ by: id, isDescending: sorting.by === id ? !sorting.isDescending : true })}
      >
        {title}
        {sorting.by === id && <Icon name={sorting.isDescending ? "down" : "up"} size={11} />}
      </button>
    </th>
  );
  return (
    <table class="legend-table">
      <thead>
        <tr>
          {head("Name", "Name")}
          {options.calcs.map((calc) => head(calcTitle(calc), calcTitle(calc)))}
        </tr>
      </thead>
      <tbody>
        {sorted.map((item) => {
          const write = resultTexts(item.field);
          return (
            <tr key={item.key}>
              <td>
                <Name item={item} {...rest} />
              </td>
              {options.calcs.map((calc) => (
                <td key={calc} class="legend-value">
                  {write(calcOf(item.field, calc), calc)}
                </td>
              ))}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function sort(
  items: readonly LegendItem[],
  calcs: readonly string[],
  { by, isDescending }: { by: string; isDescending: boolean },
): readonly LegendItem[] {
  if (by === "") return items;
  const calc = calcs.find((one) => calcTitle(one) === by || one === by);
  if (!calc && by !== "Name") return items;
  const sign = isDescending ? -1 : 1;
  return [...items].sort((a, b) => {
    if (!calc) return sign * compareTexts(nameOf(a.field), nameOf(b.field));
    return compareKeys(sortKey(calcOf(a.field, calc)), sortKey(calcOf(b.field, calc)), sign);
  });
}

/** What the server reduced a field to; a number that JSON has not comes as text. */
function calcOf(field: Field, id: string): Cell {
  const value = field.state?.calcs?.[id];
  if (value === "NaN") return Number.NaN;
  if (value === "Infinity") return Number.POSITIVE_INFINITY;
  return value === "-Infinity" ? Number.NEGATIVE_INFINITY : value;
}

/** Which series are hidden after one was picked. */
export function pick(
  keys: readonly string[],
  hidden: ReadonlySet<string>,
  key: string,
  isAdded: boolean,
): Set<string> {
  if (isAdded) {
    const next = new Set(hidden);
    if (!next.delete(key)) next.add(key);
    return next.size === keys.length ? new Set() : next;
  }
  const isAlone = !hidden.has(key) && hidden.size === keys.length - 1;
  return isAlone ? new Set() : new Set(keys.filter((one) => one !== key));
}
