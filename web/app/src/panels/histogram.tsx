/** How values are distributed: counts of values in ranges of the same size. */
import { useMemo } from "preact/hooks";
import { endsOf } from "../ui/ends";
import { units } from "../ui/units";
import { BarChart } from "./barchart";
import { display, whole } from "./display";
import { withoutExemplars } from "./exemplars";
import { type Field, type Frame, isHiddenFrom, nameOf, numberOf, option } from "./frame";
import type { PanelProps } from "./kinds";
import { NoData } from "./nodata";

export function Histogram(props: PanelProps) {
  const { frames, panel } = props;
  const counted = useMemo(() => histogram(frames, panel.options), [frames, panel.options, units.value]);
  if (!counted) return <NoData frames={frames} why="A histogram needs a column of numbers." />;
  const options = {
    ...panel.options,
    xField: "Range",
    orientation: "vertical",
    groupWidth: 1,
    barWidth: 0.96,
    showValue: "never",
    stacking: option(panel.options, "combine", false) ? "none" : "normal",
  };
  return <BarChart {...props} frames={[counted]} panel={{ ...panel, options }} />;
}

const WANTED_BUCKETS = 30;

/** The frame of ranges and counts. Frames that hold ranges already are taken as they are. */
export function histogram(frames: readonly Frame[], options: Record<string, unknown>): Frame | undefined {
  const ready = frames.find(
    ({ fields }) => fields.some(({ name }) => name === "xMin") && fields.some(({ name }) => name === "xMax"),
  );
  if (ready) return fromRanges(ready);
  const fields = withoutExemplars(frames).flatMap((frame) =>
    frame.fields.filter((field) => field.type === "number" && !isHiddenFrom(field, "viz")),
  );
  const numbers = fields.map((field) =>
    field.values.map(numberOf).filter((value): value is number => value !== null && Number.isFinite(value)),
  );
  const all = numbers.flat();
  const ends = endsOf(all);
  if (!ends) return undefined;
  const [low, high] = ends;
  const size = sizeOf(low, high, options);
  const offset = option(options, "bucketOffset", 0);
  const first = Math.floor((low - offset) / size);
  const count = Math.min(1000, Math.floor((high - offset) / size) - first + 1);
  const show = display(fields[0]!);
  const names = Array.from({ length: count }, (_, at) =>
    whole(show(Number(((first + at) * size + offset).toPrecision(10)))),
  );
  const isCombined = option(options, "combine", false);
  const columns = isCombined
    ? [{ field: fields[0]!, values: all, name: "Count" }]
    : fields.map((field, at) => ({ field, values: numbers[at]!, name: nameOf(field) }));
  return {
    fields: [
      { name: "Range", type: "string", values: names },
      ...columns.map(({ field, values, name }) =>
        countsOf(field, name, values, count, (value) => Math.floor((value - offset) / size) - first),
      ),
    ],
  };
}

function countsOf(
  field: Field,
  name: string,
  values: readonly number[],
  count: number,
  bucketOf: (value: number) => number,
): Field {
  const counts = new Array<number>(count).fill(0);
  for (const value of values) {
    const bucket = Math.min(count - 1, Math.max(0, bucketOf(value)));
    counts[bucket]! += 1;
  }
  return {
    name,
    type: "number",
    config: { color: field.config?.color, custom: field.config?.custom, unit: "short" },
    state: { displayName: name, seriesIndex: field.state?.seriesIndex },
    values: counts,
  };
}

function sizeOf(low: number, high: number, options: Record<string, unknown>): number {
  if (typeof options.bucketSize === "number" && options.bucketSize > 0) return options.bucketSize;
  const wanted =
    typeof options.bucketCount === "number" && options.bucketCount > 0 ? options.bucketCount : WANTED_BUCKETS;
  const raw = (high - low) / wanted || Math.abs(high) / 10 || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  return ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
}

function fromRanges(frame: Frame): Frame {
  const low = frame.fields.find(({ name }) => name === "xMin")!;
  const show = display(low);
  const counts = frame.fields.filter(
    ({ name, type }) => name !== "xMin" && name !== "xMax" && type === "number",
  );
  return {
    ...frame,
    fields: [
      { name: "Range", type: "string", values: low.values.map((value) => whole(show(value))) },
      ...counts,
    ],
  };
}
