/** What a span says of itself: errors, where it leads, attributes, resource, events, links. */
import { href } from "../../frame/base";
import { link, param, setParams } from "../../frame/router";
import { CopyButton } from "../../ui/button";
import { fullTime, millisOf } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Tabs } from "../../ui/tabs";
import type { Details, Owner, SpanDetails, SpanLink } from "./asked";
import { Attributes } from "./attributes";
import { FLAG, type Header, has, hostOf, nameOf, serviceOf, spanId, type Trace } from "./columns";
import { EventList, Exceptions } from "./eventlist";
import { dayOf, leadsOf, type Stretch } from "./leads";
import { otlpOf } from "./otlpjson";

export function SpanParts({ details, trace, row }: { details: Details; trace: Trace; row: number }) {
  const span = details.spans[0];
  // The answer for the span before is shown until this one's has come.
  if (span?.id !== spanId(trace, row)) return null;
  const resource = details.resources[span.resource];
  const scope = details.scopes[span.scope];
  const during = dayOf(span.start, span.durationNanos);
  const part = param("part") ?? "attributes";
  const tabs = [
    { id: "attributes", label: "Attributes", count: String(span.attributes.length) },
    { id: "resource", label: "Resource", count: String(resource?.attributes.length ?? 0) },
    { id: "events", label: "Events", count: String(span.events.length) },
    { id: "links", label: "Links", count: String(span.links.length) },
    { id: "json", label: "JSON" },
  ];
  return (
    <div class="span-panel-parts">
      {span.status.code === "error" && (
        <div class="span-panel-error">
          <Icon name="error" /> <span>{span.status.message || "Error, without a message"}</span>
        </div>
      )}
      <Exceptions events={span.events} />
      <div class="span-panel-leads">
        {leadsOf(span, resource, trace.header, serviceOf(trace, row)).map((lead) => (
          <a key={lead.label} class="lead" href={href(lead.path)}>
            <Icon name={lead.icon} size={13} /> <span class="ellipsis">{lead.label}</span>
          </a>
        ))}
      </div>
      <Tabs
        tabs={tabs}
        current={part}
        onChange={(next) => setParams({ part: next === "attributes" ? null : next }, { replace: true })}
        label="Parts of the span"
      />
      {part === "attributes" && <OwnPart span={span} during={during} trace={trace} row={row} />}
      {part === "resource" && <ResourcePart resource={resource} scope={scope} during={during} />}
      {part === "events" && (
        <EventList events={span.events} dropped={span.droppedEvents} from={span.start} during={during} />
      )}
      {part === "links" && <LinkPart span={span} during={during} header={trace.header} />}
      {part === "json" && <JsonPart details={details} span={span} trace={trace} row={row} />}
    </div>
  );
}

function OwnPart({
  span,
  during,
  trace,
  row,
}: {
  span: SpanDetails;
  during: Stretch;
  trace: Trace;
  row: number;
}) {
  return (
    <>
      <Attributes list={span.attributes} scope="span" during={during} dropped={span.droppedAttributes} />
      <dl class="values values-own">
        <Own name="Span id" value={span.id} isCopied />
        <Own name="Parent" value={span.parentId ?? ""} isCopied />
        <Own name="Kind" value={span.kind} />
        <Own name="Status" value={span.status.code} />
        <Own name="Began" value={fullTime(millisOf(span.start))} />
        <Own name="Host" value={hostOf(trace, row) ?? ""} />
        <Own name="Trace state" value={span.traceState} />
        {span.name !== nameOf(trace, row) && <Own name="Whole name" value={span.name} isCopied />}
      </dl>
    </>
  );
}

function Own({ name, value, isCopied }: { name: string; value: string; isCopied?: boolean }) {
  if (value === "") return null;
  return (
    <div class="value-row">
      <dt>{name}</dt>
      <dd>
        <span class="value">{value}</span>
        {isCopied && <CopyButton text={value} />}
      </dd>
    </div>
  );
}

function ResourcePart({ resource, scope, during }: { resource?: Owner; scope?: Owner; during: Stretch }) {
  return (
    <>
      <Attributes
        list={resource?.attributes ?? []}
        scope="resource"
        during={during}
        dropped={resource?.droppedAttributes}
      />
      {scope?.name && (
        <>
          <h3>
            Scope {scope.name} {scope.version}
          </h3>
          <Attributes
            list={scope.attributes}
            scope="instrumentation"
            during={during}
            dropped={scope.droppedAttributes}
          />
        </>
      )}
    </>
  );
}

/** What is longer is for other programs to look at. */
const JSON_LETTERS = 100_000;

function JsonPart({
  details: { resources, scopes },
  span,
  trace,
  row,
}: {
  details: Details;
  span: SpanDetails;
  trace: Trace;
  row: number;
}) {
  const untold = { isRunning: has(trace, row, FLAG.running), isUntimed: has(trace, row, FLAG.untimed) };
  const { traceId } = trace.header;
  const otlp = otlpOf(span, resources[span.resource], scopes[span.scope], traceId, untold);
  const text = JSON.stringify(otlp, null, 2);
  return (
    <div class="span-json">
      <div class="row">
        <span class="muted">OTLP</span>
        <CopyButton text={text} label="Copy the JSON">
          Copy
        </CopyButton>
      </div>
      <pre>{text.slice(0, JSON_LETTERS)}</pre>
      {text.length > JSON_LETTERS && (
        <p class="muted">
          The first {JSON_LETTERS} of {text.length} letters are shown; a copy has all.
        </p>
      )}
    </div>
  );
}

/** Where a span is that another names: if it is of the same trace, there, also where that is a file's. */
export function linkedPath(to: Pick<SpanLink, "traceId" | "spanId">, header: Header): string {
  const id = to.traceId === header.traceId ? header.trace : to.traceId;
  return link(`/trace/${encodeURIComponent(id)}`, { span: to.spanId });
}

function LinkPart({ span, during, header }: { span: SpanDetails; during: Stretch; header: Header }) {
  return (
    <div class="stack">
      {span.links.length === 0 && <p class="muted">None</p>}
      {span.links.map((one, at) => (
        <div key={at} class="link-box">
          <a href={href(linkedPath(one, header))}>
            <Icon name="traces" size={13} /> {one.traceId === header.traceId ? "This trace" : one.traceId} ·{" "}
            {one.spanId}
          </a>
          {one.attributes.length > 0 && <Attributes list={one.attributes} scope="link" during={during} />}
        </div>
      ))}
      {span.droppedLinks > 0 && <p class="warn">{span.droppedLinks} more were dropped by the sender.</p>}
    </div>
  );
}
