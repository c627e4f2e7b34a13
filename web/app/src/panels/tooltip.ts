/**
 * What is said below the cursor of a chart: one value or all, sorted; a click keeps it, with the links of
 * the value that is nearest. It is made of plain elements, because it changes with every movement.
 */
import type uPlot from "uplot";
import { tooltipRow } from "../ui/plot";
import { seriesColor } from "./colors";
import { display, whole } from "./display";
import { type Exemplar, exemplarAt, type Placed } from "./exemplars";
import { type Field, isHiddenFrom, nameOf, option, part } from "./frame";
import type { Annotation, PanelProps } from "./kinds";
import { type Link, linksOf } from "./links";
import type { Joined, Series } from "./series";
import { ownZones, zonedFull } from "./zone";

const MOST_ROWS = 40;

/** What the tooltip speaks of now. */
export interface Spoken {
  props: PanelProps;
  joined: Joined;
  exemplars: readonly Placed[];
}

interface Row {
  series: Series;
  value: number;
  text: string;
  distance: number;
}

/** Puts a tooltip into a chart. Returns what takes it away. */
export function attachTooltip(plot: uPlot, newest: { current: Spoken }): () => void {
  const box = document.createElement("div");
  box.className = "chart-tooltip panel-tooltip";
  box.hidden = true;
  document.body.append(box);
  let isKept = false;
  const hide = () => {
    isKept = false;
    box.hidden = true;
    box.classList.remove("panel-tooltip-kept");
  };
  const move = () => {
    if (isKept) return;
    const { idx, left = -1, top = -1 } = plot.cursor;
    const isOwn = plot.over.matches(":hover");
    const { props } = newest.current;
    const options = part(props.panel.options, "tooltip");
    const mode = option(options, "mode", "single");
    if (left < 0 || idx === null || idx === undefined || mode === "none" || (!isOwn && !props.sync?.values)) {
      box.hidden = true;
      return;
    }
    const rows = rowsAt(
      plot,
      newest.current.joined,
      idx,
      top,
      isOwn ? mode : "multi",
      option(options, "sort", "none"),
    );
    const marks = annotationsAt(plot, props.annotations ?? [], left);
    const exemplar = isOwn ? exemplarAt(plot, newest.current.exemplars) : undefined;
    plot.over.classList.toggle("chart-pointed", exemplar !== undefined);
    if (rows.length === 0 && marks.length === 0 && !exemplar) {
      box.hidden = true;
      return;
    }
    box.replaceChildren(...content(timeText(newest.current, idx), rows, marks, exemplar));
    box.hidden = false;
    settle(box, plot, left, isOwn ? top : 10);
  };
  const keep = () => {
    if (isKept) {
      hide();
      return;
    }
    const { idx, top = 0 } = plot.cursor;
    if (idx === null || idx === undefined || box.hidden) return;
    const exemplar = exemplarAt(plot, newest.current.exemplars);
    const nearest = rowsAt(plot, newest.current.joined, idx, top, "single", "none")[0];
    const links = nearest ? linksAt(nearest.series, newest.current.joined.times[idx]!) : [];
    isKept = true;
    box.classList.add("panel-tooltip-kept");
    box.append(...[...(exemplar ? [exemplar.link] : []), ...links].map(linkElement), closeElement(hide));
  };
  const outside = (event: Event) => {
    if (isKept && !event.composedPath().includes(box) && !event.composedPath().includes(plot.over)) hide();
  };
  const onEscape = (event: KeyboardEvent) => event.key === "Escape" && isKept && hide();
  plot.over.addEventListener("mouseleave", () => !isKept && hide());
  plot.over.addEventListener("click", keep);
  document.addEventListener("pointerdown", outside);
  document.addEventListener("keydown", onEscape);
  plot.hooks.setCursor = [...(plot.hooks.setCursor ?? []), move];
  return () => {
    box.remove();
    document.removeEventListener("pointerdown", outside);
    document.removeEventListener("keydown", onEscape);
  };
}

function rowsAt(plot: uPlot, joined: Joined, idx: number, top: number, mode: string, sort: string): Row[] {
  const rows: Row[] = [];
  for (const [at, series] of joined.series.entries()) {
    if (!plot.series[at + 1]?.show || isHiddenFrom(series.field, "tooltip")) continue;
    const value = series.values[idx];
    if (typeof value !== "number") continue;
    const y = plot.valToPos(series.drawn[idx] ?? value, plot.series[at + 1]!.scale!);
    const original = isTurned(series.field) ? -value : value;
    rows.push({ series, value, text: whole(display(series.field)(original)), distance: Math.abs(y - top) });
  }
  if (mode === "single") return rows.sort((a, b) => a.distance - b.distance).slice(0, 1);
  if (sort === "desc") rows.sort((a, b) => b.value - a.value);
  if (sort === "asc") rows.sort((a, b) => a.value - b.value);
  return rows;
}

function isTurned(field: Field): boolean {
  return field.config?.custom?.transform === "negative-Y";
}

function annotationsAt(plot: uPlot, annotations: readonly Annotation[], left: number): Annotation[] {
  return annotations.filter(({ time, timeEnd }) => {
    const from = plot.valToPos(time / 1000, "x") - 4;
    const to = plot.valToPos((timeEnd ?? time) / 1000, "x") + 4;
    return left >= from && left <= to;
  });
}

/** The time that is pointed at, in the zone of the axis. */
function timeText({ joined, props }: Spoken, at: number): string {
  return zonedFull(joined.times[at]!, ownZones(props.panel.options)[0]).replace(/\.000$/, "");
}

function content(
  time: string,
  rows: readonly Row[],
  marks: readonly Annotation[],
  exemplar: Exemplar | undefined,
): HTMLElement[] {
  const shown = rows.slice(0, MOST_ROWS);
  const nearest = rows.length > 1 ? [...rows].sort((a, b) => a.distance - b.distance)[0] : undefined;
  return [
    tooltipRow("chart-tooltip-time", time, ""),
    ...(exemplar ? [tooltipRow("chart-tooltip-mark", ...said(exemplar))] : []),
    ...marks.map((mark) =>
      tooltipRow("chart-tooltip-mark", [mark.title, mark.text].filter(Boolean).join(": "), ""),
    ),
    ...shown.map((row) =>
      tooltipRow(
        row === nearest ? "panel-tooltip-near" : "",
        nameOf(row.series.field),
        row.text,
        seriesColor(row.series.field),
      ),
    ),
    ...(rows.length > shown.length ? [tooltipRow("", `${rows.length - shown.length} more`, "")] : []),
  ];
}

function said({ field, value, trace }: Exemplar): [string, string] {
  return [`exemplar ${whole(display(field)(value))}, trace ${trace.slice(0, 8)}`, "click for its link"];
}

function linksAt(series: Series, time: number): Link[] {
  const column = series.frame.fields.find(({ type }) => type === "time");
  const row = column?.values.indexOf(time) ?? -1;
  return row < 0 ? [] : linksOf(series.field, row);
}

function linkElement(link: Link): HTMLElement {
  const anchor = document.createElement("a");
  anchor.className = "panel-tooltip-link";
  anchor.href = link.href;
  anchor.textContent = link.title;
  if (link.isOutside) {
    anchor.target = "_blank";
    anchor.rel = "noopener noreferrer";
  }
  return anchor;
}

function closeElement(close: () => void): HTMLElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "panel-tooltip-close";
  button.textContent = "Close";
  button.addEventListener("click", close);
  return button;
}

/** Beside the cursor, within the window. */
function settle(box: HTMLElement, plot: uPlot, left: number, top: number): void {
  const area = plot.over.getBoundingClientRect();
  const [x, y] = [area.left + left, area.top + top];
  const isRight = x + box.offsetWidth + 24 > window.innerWidth;
  box.style.left = `${Math.max(4, isRight ? x - box.offsetWidth - 14 : x + 14)}px`;
  box.style.top = `${Math.max(4, Math.min(y + 8, window.innerHeight - box.offsetHeight - 8))}px`;
}
