/**
 * Frames as the server sends them: columns of equal length with their resolved configuration. Numbers that
 * JSON has not come as texts in columns of numbers, and are numbers again after `decode`.
 */

export type FieldKind = "time" | "number" | "string" | "boolean" | "enum" | "frame" | "other";
export type Cell = number | string | boolean | null | undefined | Frame | object;

export interface Notice {
  severity: "info" | "warning" | "error";
  text: string;
}

/** A link with everything put in. */
export interface MadeLink {
  title: string;
  url: string;
  targetBlank?: boolean;
}

export interface ThresholdStep {
  value: number | null;
  color: string;
}

export interface MappingResult {
  text?: string;
  color?: string;
}

export interface Mapping {
  type: string;
  options: Record<string, unknown>;
}

/** What a panel may say about a field. Members that only one kind of panel knows are in `custom`. */
export interface FieldConfig {
  unit?: string;
  decimals?: number | null;
  min?: number | null;
  max?: number | null;
  noValue?: string;
  displayName?: string;
  /** What the query calls it. */
  displayNameFromDS?: string;
  description?: string;
  color?: { mode?: string; fixedColor?: string; seriesBy?: "last" | "min" | "max" };
  thresholds?: { mode?: "absolute" | "percentage"; steps?: ThresholdStep[] };
  mappings?: Mapping[];
  interval?: number;
  filterable?: boolean;
  custom?: Record<string, unknown>;
  type?: { enum?: { text?: string[]; color?: string[] } };
}

export interface Field {
  name: string;
  type: FieldKind;
  labels?: Record<string, string>;
  config?: FieldConfig;
  state?: {
    displayName?: string;
    seriesIndex?: number;
    range?: [number, number];
    calcs?: Record<string, Cell>;
    /** The links of each row. */
    links?: MadeLink[][];
  };
  values: Cell[];
}

/** A value that a panel shows by itself: a series reduced, or a cell of a table. */
export interface ShownValue {
  title: string;
  numeric: number | string | null;
  prefix?: string;
  text: string;
  suffix?: string;
  /** What a mapping, a threshold or the configuration says. */
  color?: string;
  /** The place between the ends of the scale. */
  percent?: number | string;
  frame: number;
  field: number;
  row?: number;
  seriesIndex: number;
  range?: [number, number];
  percentChange?: number;
  links?: MadeLink[];
  config: FieldConfig;
}

export interface Frame {
  name?: string;
  refId?: string;
  meta?: Record<string, unknown>;
  notices?: Notice[];
  fields: Field[];
}

const WORDS: Record<string, number> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "-Infinity": Number.NEGATIVE_INFINITY,
};

/**
 * Makes numbers of the words that stand for those JSON has not, in frames within cells too. Changes the
 * frames it is given.
 */
export function decode(frames: Frame[]): Frame[] {
  for (const frame of frames) {
    for (const field of frame.fields) {
      if (field.type === "frame") for (const cell of field.values) decode(framesIn(cell));
      if (field.type !== "number" && field.type !== "time") continue;
      const { values } = field;
      for (let row = 0; row < values.length; row += 1) {
        const value = values[row];
        if (typeof value === "string" && value in WORDS) values[row] = WORDS[value];
      }
    }
  }
  return frames;
}

/** How many rows a frame has. */
export function rowsOf(frame: Frame | undefined): number {
  return frame?.fields[0]?.values.length ?? 0;
}

/** The name that people see. */
export function nameOf(field: Field): string {
  return field.state?.displayName ?? field.config?.displayName ?? field.name;
}

/** What a kind of panel says about a field. */
export function customOf(field: Field | undefined): Record<string, unknown> {
  return field?.config?.custom ?? {};
}

/** Whether a field is hidden in `what`: the drawing, the legend or the tooltip. */
export function isHiddenFrom(field: Field, what: "viz" | "legend" | "tooltip"): boolean {
  const hidden = customOf(field).hideFrom as Record<string, boolean> | undefined;
  return hidden?.[what] === true;
}

export function timeOf(frame: Frame): Field | undefined {
  return frame.fields.find(({ type }) => type === "time");
}

/** A cell as a number, `null` where it is none. */
export function numberOf(cell: Cell): number | null {
  if (typeof cell === "number") return cell;
  if (typeof cell === "boolean") return cell ? 1 : 0;
  return null;
}

/** A cell as plain text. */
export function textOf(cell: Cell): string {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "object") return JSON.stringify(cell);
  return String(cell);
}

/** Whether a cell holds a frame of its own. */
export function isFrame(cell: Cell): cell is Frame {
  return typeof cell === "object" && cell !== null && Array.isArray((cell as Frame).fields);
}

/** The frames that a cell holds: one, several, or none. */
export function framesIn(cell: Cell): Frame[] {
  if (isFrame(cell)) return [cell];
  return Array.isArray(cell) ? (cell as Cell[]).filter(isFrame) : [];
}

/** Whether a frame is a series, which a cell draws as a line. */
export function isTrend({ fields }: Frame): boolean {
  const isOne = fields.every(({ type }) => type === "time" || type === "number");
  return isOne && fields.some(({ type }) => type === "number");
}

/** A member of an open object, if it is of the type of the default. */
export function option(of: Open, name: string, otherwise: string): string;
export function option(of: Open, name: string, otherwise: number): number;
export function option(of: Open, name: string, otherwise: boolean): boolean;
export function option(of: Open, name: string, otherwise: unknown): unknown {
  const value = of?.[name];
  return typeof value === typeof otherwise ? value : otherwise;
}

type Open = Record<string, unknown> | undefined;

/** A member of an open object that is an object. */
export function part(of: Record<string, unknown> | undefined, name: string): Record<string, unknown> {
  const value = of?.[name];
  return value !== null && typeof value === "object" ? (value as Record<string, unknown>) : {};
}

/** A member of an open object that is a list of texts. */
export function texts(of: Record<string, unknown> | undefined, name: string): string[] {
  const value = of?.[name];
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}
