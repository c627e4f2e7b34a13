/**
 * A span as OTLP/JSON: a document with its resource and scope, as a sender would send it and an upload
 * takes it.
 */
import type { Attribute, Owner, SpanDetails } from "./asked";
import { KINDS } from "./columns";

type Json = Record<string, unknown>;

/** When a span ran, if that is not what its details say. */
export interface Untold {
  /** It has not ended yet. */
  isRunning?: boolean;
  /** It was sent without a start; the page shows it somewhere. */
  isUntimed?: boolean;
}

const STATUS: readonly string[] = ["unset", "ok", "error"];

/** The document of a span. */
export function otlpOf(
  span: SpanDetails,
  resource: Owner | undefined,
  scope: Owner | undefined,
  traceId: string,
  { isRunning, isUntimed }: Untold = {},
): Json {
  const end = BigInt(span.start) + BigInt(span.durationNanos);
  const told = {
    traceId,
    spanId: span.id,
    parentSpanId: span.parentId,
    traceState: span.traceState,
    flags: span.flags,
    name: span.name,
    kind: KINDS.indexOf(span.kind),
    startTimeUnixNano: isUntimed ? "0" : span.start,
    endTimeUnixNano: isUntimed || isRunning ? "0" : String(end),
    attributes: attributes(span.attributes),
    droppedAttributesCount: span.droppedAttributes,
    events: span.events.map((event) =>
      filled({
        timeUnixNano: event.time,
        name: event.name,
        attributes: attributes(event.attributes),
        droppedAttributesCount: event.droppedAttributes,
      }),
    ),
    droppedEventsCount: span.droppedEvents,
    links: span.links.map((link) =>
      filled({
        traceId: link.traceId,
        spanId: link.spanId,
        traceState: link.traceState,
        attributes: attributes(link.attributes),
        droppedAttributesCount: link.droppedAttributes,
      }),
    ),
    droppedLinksCount: span.droppedLinks,
    status: filled({ code: STATUS.indexOf(span.status.code), message: span.status.message }),
  };
  const own = filled({
    name: scope?.name,
    version: scope?.version,
    attributes: attributes(scope?.attributes ?? []),
    droppedAttributesCount: scope?.droppedAttributes,
  });
  const whose = filled({
    attributes: attributes(resource?.attributes ?? []),
    droppedAttributesCount: resource?.droppedAttributes,
  });
  return { resourceSpans: [{ resource: whose, scopeSpans: [{ scope: own, spans: [filled(told)] }] }] };
}

/** Without what says nothing, as OTLP leaves it out. */
function filled(members: Json): Json {
  const says = (value: unknown) =>
    value !== undefined &&
    value !== null &&
    value !== "" &&
    value !== 0 &&
    !(typeof value === "object" && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(members).filter(([, value]) => says(value)));
}

function attributes(list: readonly Attribute[]): Json[] {
  return list.map(({ key, type, value }) => ({ key, value: typed(type, value) }));
}

function typed(type: string, value: unknown): Json {
  switch (type) {
    case "string":
      return { stringValue: value };
    case "bool":
      return { boolValue: value };
    case "int":
      return { intValue: String(value) };
    case "double":
      return { doubleValue: value };
    case "bytes":
      return { bytesValue: value };
    case "array":
    case "map":
      return guessed(value);
    default:
      return {};
  }
}

/** What is in lists and maps comes without types: numbers that are whole are integers, bytes are texts. */
function guessed(value: unknown): Json {
  if (value === null || value === undefined) return {};
  if (Array.isArray(value)) return { arrayValue: { values: value.map(guessed) } };
  if (typeof value === "object") {
    const values = Object.entries(value).map(([key, inner]) => ({ key, value: guessed(inner) }));
    return { kvlistValue: { values } };
  }
  if (typeof value === "number") return typed(Number.isInteger(value) ? "int" : "double", value);
  return typed(typeof value === "boolean" ? "bool" : "string", value);
}
