/** Lines, bars and points over time, with legend and tooltip. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../frame/theme";
import { plotAxis, plotScale, scalesOf, timeAxis } from "./axes";
import { seriesColor } from "./colors";
import { display, whole } from "./display";
import { nameOf } from "./frame";
import type { PanelProps } from "./kinds";
import { Legend, type LegendItem, legendOptions, pick } from "./legend";
import { NoData } from "./nodata";
import { drawAnnotations, drawThresholds } from "./overlays";
import { type Joined, joinSeries } from "./series";
import { plotSeries } from "./strokes";
import { attachTooltip, type Spoken } from "./tooltip";

export function TimeSeries(props: PanelProps) {
  const { frames, panel } = props;
  const joined = useMemo(() => joinSeries(frames), [frames]);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const focus = useRef<(key: string | undefined) => void>(() => {});
  const items = useMemo<LegendItem[]>(
    () =>
      joined.series.map(({ field }, at) => ({
        key: `${at} ${nameOf(field)}`,
        field,
        color: seriesColor(field),
      })),
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
        onPick={(key, isAdded) =>
          setHidden(
            pick(
              items.map((item) => item.key),
              hidden,
              key,
              isAdded,
            ),
          )
        }
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
  const newest = useRef<Spoken>({ props, joined });
  newest.current = { props, joined };
  // A chart is made anew only if something other than its numbers has changed.
  const shape = joined.series
    .map(({ field, below }, at) =>
      [nameOf(field), JSON.stringify(field.config ?? {}), items[at]?.color, below].join("\u0002"),
    )
    .join("\u0001");
  const colors = theme.value;
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
  }, [shape, colors, props.sync?.key, props.sync?.values, hidden]);
  useEffect(
    () => plot.current?.setData(dataOf(joined)),
    [joined, props.range.from, props.range.to, props.annotations],
  );
  return <div class="chart-plot" ref={root} role="img" aria-label={summary(props)} />;
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
  return `${panel.title}. ${joined.series.length} series over time. Last values: ${last.join(", ")}${more}`;
}

function plotOptions(
  root: HTMLElement,
  newest: { current: Spoken },
  hidden: ReadonlySet<string>,
  items: readonly LegendItem[],
): uPlot.Options {
  const { props, joined } = newest.current;
  const { scales, keyOf } = scalesOf(joined.series);
  const bands = joined.series.flatMap(({ below }, at) =>
    below === undefined ? [] : [{ series: [at + 1, below + 1] as [number, number] }],
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
      sync: props.sync ? { key: props.sync.key, scales: ["x", null] } : undefined,
    },
    focus: { alpha: 0.25 },
    scales: {
      x: {
        time: true,
        range: () => [newest.current.props.range.from / 1000, newest.current.props.range.to / 1000],
      },
      ...Object.fromEntries(scales.map((scale) => [scale.key, plotScale(scale)])),
    },
    axes: [timeAxis(), ...scales.map((scale, at) => plotAxis(scale, at === 0))],
    series: [
      {},
      ...joined.series.map((one, at) => plotSeries(one, keyOf(one), !hidden.has(items[at]?.key ?? ""))),
    ],
    bands: bands.length > 0 ? bands : undefined,
    hooks: {
      setSelect: [
        (plot) => {
          const { left, width } = plot.select;
          if (width > 3) {
            const at = (x: number) => plot.posToVal(x, "x") * 1000;
            newest.current.props.onZoom?.(at(left), at(left + width));
          }
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
      drawClear: [
        (plot) => {
          for (const scale of scales) drawThresholds(plot, scale.fields[0]!, scale.key);
        },
      ],
      draw: [(plot) => drawAnnotations(plot, newest.current.props.annotations ?? [])],
    },
  };
}
