/** Links from the ids of traces and spans in tables to what they name. */
import { link } from "../frame/router";
import { type Cell, type Field, type Frame, nameOf, textOf } from "./frame";

/** The columns that hold ids of traces, and of spans beside them, lead to them. */
export function withLinks(frame: Frame): Frame {
  const trace = frame.fields.find(isTraceId);
  if (!trace) return frame;
  const linked = (field: Field) => {
    const isSpan = isSpanId(field);
    if (!(isSpan || isTraceId(field)) || field.state?.links?.length) return field;
    const links = trace.values.map((id, row) => [
      { title: "Open the trace", url: addressOf(id, isSpan ? field.values[row] : undefined) },
    ]);
    return { ...field, state: { ...field.state, links } };
  };
  return { ...frame, fields: frame.fields.map(linked) };
}

/** The page of a trace, with a span of it if one is given. */
export function addressOf(trace: Cell, span: Cell): string {
  return link(`/trace/${encodeURIComponent(textOf(trace))}`, { span: textOf(span) || undefined });
}

export function isTraceId(field: Field): boolean {
  return /^trace[ _]?id(hidden)?$/i.test(field.name) || /^trace ?id$/i.test(nameOf(field));
}

function isSpanId(field: Field): boolean {
  return /^span ?id$/i.test(nameOf(field)) || /^span_?id$/i.test(field.name);
}
