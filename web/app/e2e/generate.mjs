// Traces that are hard to show, made by rule: large ones, and ones that are wrong.
import { send } from "./harness.mjs";

const START = BigInt(Date.now() - 600_000) * 1_000_000n;

export const traceId = (number) => number.toString(16).padStart(32, "0");
export const spanId = (number) => number.toString(16).padStart(16, "0");

function attribute(key, value) {
  return { key, value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value } };
}

function request(service, spans) {
  return {
    resourceSpans: [
      {
        resource: { attributes: [attribute("service.name", service)] },
        scopeSpans: [{ scope: { name: "generated" }, spans }],
      },
    ],
  };
}

/** A span: times are nanoseconds after the beginning. */
export function span(
  trace,
  id,
  { parent, name = `work ${id % 40}`, start = 0, duration = 1000, error, attributes = {}, open } = {},
) {
  const from = START + BigInt(Math.round(start));
  return {
    traceId: traceId(trace),
    spanId: spanId(id),
    parentSpanId: parent === undefined ? "" : spanId(parent),
    name,
    kind: 1,
    startTimeUnixNano: String(from),
    endTimeUnixNano: open ? "0" : String(from + BigInt(Math.round(duration))),
    status: error ? { code: 2, message: error } : {},
    attributes: Object.entries(attributes).map(([key, value]) => attribute(key, value)),
  };
}

/** A trace of many spans: a tree of eight children each, over ten services. */
export async function large(server, trace, count) {
  const total = count * 1000;
  const place = [[0, total]];
  let batch = [];
  let sent = 0;
  for (let id = 1; id <= count; id += 1) {
    const parent = id === 1 ? undefined : Math.floor((id - 2) / 8) + 1;
    const [from, length] = id === 1 ? [0, total] : place[parent - 1];
    const slot = (id - 2) % 8;
    const start = id === 1 ? 0 : from + (length / 8) * slot;
    const duration = id === 1 ? total : (length / 8) * 0.9;
    place[id - 1] = [start, duration];
    batch.push(
      span(trace, id, {
        parent,
        start,
        duration,
        error: id % 5000 === 0 ? "generated" : undefined,
        attributes: { row: id },
      }),
    );
    if (batch.length === 5000 || id === count) {
      await send(server, "traces", request(`service-${sent % 10}`, batch));
      batch = [];
      sent += 1;
    }
  }
  return traceId(trace);
}

/** Traces that are wrong or extreme, by name. */
export async function strange(server) {
  const script = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';
  const made = {
    cycle: [
      span(101, 1, { parent: 3, name: "a" }),
      span(101, 2, { parent: 1, name: "b" }),
      span(101, 3, { parent: 2, name: "c" }),
    ],
    skew: [
      span(102, 1, { name: "parent", start: 1e9, duration: 1e9 }),
      span(102, 2, { parent: 1, name: "child before its parent", start: 0, duration: 5e8 }),
    ],
    decade: [
      span(103, 1, { name: "ten years", duration: 10 * 365 * 86_400e9 }),
      span(103, 2, { parent: 1, name: "a blink", start: 1e9, duration: 10 }),
    ],
    names: [
      span(104, 1, { name: "n".repeat(10_000) }),
      span(104, 2, { parent: 1, name: "short", attributes: { long: "v".repeat(10_000) } }),
    ],
    script: [
      span(105, 1, {
        name: script,
        error: script,
        attributes: { [script]: script, "url.full": "javascript:window.hacked=1" },
      }),
    ],
    orphans: [
      span(106, 2, { parent: 1, name: "orphan" }),
      span(106, 3, { parent: 2, name: "below it", open: true }),
    ],
  };
  for (const spans of Object.values(made)) await send(server, "traces", request("strange", spans));
  const children = [span(107, 1, { name: "mother", duration: 50_000_000 })];
  for (let id = 2; id <= 50_001; id += 1) {
    children.push(span(107, id, { parent: 1, start: id * 900, duration: 800 }));
    if (children.length === 5000) await send(server, "traces", request("strange", children.splice(0)));
  }
  if (children.length > 0) await send(server, "traces", request("strange", children));
  return Object.fromEntries(
    ["cycle", "skew", "decade", "names", "script", "orphans", "children"].map((name, at) => [
      name,
      traceId(101 + at),
    ]),
  );
}
