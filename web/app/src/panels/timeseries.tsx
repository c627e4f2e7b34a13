/** Lines, bars and points over time, with legend and tooltip. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../frame/theme";
import { takeDragged } from "../ui/plot";
import { units } from "../ui/units";
import { plotAxis, plotScale, scalesOf, timeAxes } from "./axes";
import { seriesColor } from "./colors";
import { display, whole } from "./display";
import type { Placed } from "./exemplars";
import { type Field, nameOf } from "./frame";
import type { PanelProps } from "./kinds";
import { Legend, type LegendItem, legendOptions } from "./legend";
import { NoData } from "./nodata";
import { drawAnnotations, drawExemplars, drawThresholds } from "./overlays";
import { useRemembered } from "./remembered";
import { bandsOf, type Joined, joinSeries } from "./series";
import { plotSeries } from "./strokes";
import { attachTooltip, type Spoken } from "./tooltip";
import { ownZones, zone } from "./zone";

export function TimeSeries(props: PanelProps) {
  const { frames, panel } = props;
  const [hidden, setHidden] = useRemembered<ReadonlySet<string>>("series hidden", () => new Set());
  const joined = useMemo(() => joinSeries(frames, hidden), [frames, hidden]);
  const focus = useRef<(key: string | undefined) => void>(() => {});
  const items = useMemo<LegendItem[]>(
    () => joined.series.map(({ key, field }) => ({ key, field, color: seriesColor(field) })),
    [joined, theme.value],
  );
  const options = legendOptions(panel.options);
  if (joined.series.length === 0) return <NoData frames={frames} field={frames[0]?.fields[0]} />;
  return (
    <div class={`chart-box ${options.isShown && options.isRight ? "chart-box-right" : ""}`}>
      <Plot {...props} joined={joined} items={items} hidden={hidden} focus={focus} />
      <Legend
        items={items}
        options={options}
        hidden={hidden}
        onHide={setHidden}
        onFocus={(key) => focus.current(key)}
      />
    </div>
  );
}

interface PlotProps extends PanelProps {
  joined: Joined;
  items: readonly LegendItem[];
  hidden: ReadonlySet<string>;
  focus: { current: (key: string | undefined) => void };
}

function Plot(props: PlotProps) {
  const { joined, items, hidden } = props;
  const root = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const exemplars = useMemo(() => placed(joined), [joined]);
  const newest = useRef<Spoken>({ props, joined, exemplars });
  newest.current = { props, joined, exemplars };
  // A chart is made anew only if something other than its numbers has changed.
  const shape = joined.series
    .map(({ field, below, isDown }, at) =>
      [
        nameOf(field),
        JSON.stringify(field.config ?? {}),
        scaleEnds(field),
        items[at]?.color,
        below,
        isDown,
      ].join("\u0002"),
    )
    .join("\u0001");
  const [colors, known, clock] = [theme.value, units.value, zone.value];
  const zones = ownZones(props.panel.options).join("\u0001");
  useEffect(() => {
    const element = root.current!;
    const made = new uPlot(plotOptions(element, newest, hidden, items), dataOf(joined), element);
    plot.current = made;
    const detach = attachTooltip(made, newest);
    const observer = new ResizeObserver(() => {
      const [width, height] = [element.clientWidth, element.clientHeight];
      if (width > 0 && height > 0 && (width !== made.width || height !== made.height))
        made.setSize({ width, height });
    });
    observer.observe(element);
    props.focus.current = (key) => {
      const at = items.findIndex((item) => item.key === key);
      made.setSeries(at < 0 ? null : at + 1, { focus: at >= 0 });
    };
    return () => {
      observer.disconnect();
      detach();
      made.destroy();
      plot.current = undefined;
    };
  }, [shape, colors, known, clock, zones, props.sync?.key, props.sync?.values, hidden]);
  useEffect(
    () => plot.current?.setData(dataOf(joined)),
    [joined, props.range.from, props.range.to, props.annotations],
  );
  return <div class="chart-plot" ref={root} role="img" aria-label={summary(props)} />;
}

/** Exemplars are drawn on the scale of the first series of their query. */
function placed({ series, exemplars }: Joined): Placed[] {
  const { keyOf } = scalesOf(series);
  return exemplars.map((exemplar) => {
    const own = series.find(({ frame }) => frame.refId === exemplar.refId) ?? series[0]!;
    return { exemplar, scale: keyOf(own) };
  });
}

/** The ends of a field's scale, where what is drawn once for all depends on them. */
function scaleEnds({ config, state }: Field): string {
  const isOfScale = config?.thresholds?.mode === "percentage" || config?.custom?.gradientMode === "scheme";
  return isOfScale ? JSON.stringify(state?.range ?? []) : "";
}

function dataOf({ times, series }: Joined): uPlot.AlignedData {
  return [times.map((time) => time / 1000), ...series.map(({ drawn }) => drawn)] as uPlot.AlignedData;
}

/** What a chart shows, in words. */
function summary({ joined, panel }: PlotProps): string {
  const last = joined.series.slice(0, 5).map(({ field, values }) => {
    const value = values.findLast((one) => typeof one === "number");
    return `${nameOf(field)}: ${value === undefined ? "no value" : whole(display(field)(value))}`;
  });
  const more = joined.series.length > 5 ? `, and ${joined.series.length - 5} more` : "";
  const count = joined.exemplars.length;
  const examples = count > 0 ? `. ${count} ${count === 1 ? "exemplar" : "exemplars"}` : "";
  return `${panel.title}. ${joined.series.length} series over time. Last values: ${last.join(", ")}${more}${examples}`;
}

/** Others follow the cursor and no more: each that followed a drag would set the time once again. */
const CURSOR_ONLY: uPlot.Cursor.Sync.Filters = {
  pub: (type) => type === "mousemove" || type === "mouseleave",
};

function plotOptions(
  root: HTMLElement,
  newest: { current: Spoken },
  hidden: ReadonlySet<string>,
  items: readonly LegendItem[],
): uPlot.Options {
  const { props, joined } = newest.current;
  const { scales, keyOf } = scalesOf(joined.series);
  const bands = bandsOf(joined.series).map(
    ({ from, to, isUpwards }): uPlot.Band => ({ series: [from + 1, to + 1], dir: isUpwards ? 1 : -1 }),
  );
  return {
    width: Math.max(40, root.clientWidth),
    height: Math.max(40, root.clientHeight),
    legend: { show: false },
    padding: [8, 18, 0, 4],
    cursor: {
      y: false,
      points: { size: 6 },
      drag: { x: true, y: false, setScale: false },
      sync: props.sync ? { key: props.sync.key, scales: ["x", null], filters: CURSOR_ONLY } : undefined,
    },
    focus: { alpha: 0.25 },
    scales: {
      x: {
        time: true,
        range: () => [newest.current.props.range.from / 1000, newest.current.props.range.to / 1000],
      },
      ...Object.fromEntries(scales.map((scale) => [scale.key, plotScale(scale)])),
    },
    axes: [
      ...timeAxes(ownZones(props.panel.options)),
      ...scales.map((scale, at) => plotAxis(scale, at === 0)),
    ],
    series: [
      {},
      ...joined.series.map((one, at) => plotSeries(one, keyOf(one), !hidden.has(items[at]?.key ?? ""))),
    ],
    bands: bands.length > 0 ? bands : undefined,
    hooks: {
      setSelect: [(plot) => takeDragged(plot, newest.current.props.onZoom)],
      drawClear: [
        (plot) => {
          for (const scale of scales) drawThresholds(plot, scale.fields, scale.key);
        },
      ],
      draw: [
        (plot) => drawAnnotations(plot, newest.current.props.annotations ?? []),
        (plot) => drawExemplars(plot, newest.current.exemplars),
      ],
    },
  };
}
