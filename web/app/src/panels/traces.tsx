/** Traces that were found, as a list that leads to each of them. */
import { useMemo } from "preact/hooks";
import { type Field, type Frame, nameOf, textOf } from "./frame";
import type { PanelProps } from "./kinds";
import { NoData } from "./nodata";
import { TablePanel } from "./table";

export function Traces(props: PanelProps) {
  const frames = useMemo(() => props.frames.map(withLinks), [props.frames]);
  if (!frames.some(({ fields }) => fields.some(({ values }) => values.length > 0)))
    return <NoData frames={props.frames} />;
  return <TablePanel {...props} frames={frames} />;
}

/** The columns that hold ids of traces lead to them. */
export function withLinks(frame: Frame): Frame {
  const trace = frame.fields.find(isTraceId);
  if (!trace) return frame;
  const linked = (field: Field) =>
    (isTraceId(field) || /^span ?id$/i.test(nameOf(field))) && !field.state?.links?.length;
  const links = trace.values.map((id) => [
    { title: "Open the trace", url: `/trace/${encodeURIComponent(textOf(id))}` },
  ]);
  return {
    ...frame,
    fields: frame.fields.map((field) =>
      linked(field) ? { ...field, state: { ...field.state, links } } : field,
    ),
  };
}

function isTraceId(field: Field): boolean {
  return /^trace[ _]?id(hidden)?$/i.test(field.name) || /^trace ?id$/i.test(nameOf(field));
}
