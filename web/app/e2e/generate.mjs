// Traces that are hard to show, made by rule: large ones, and ones that are wrong; and how a large one is moved
// through, for what tests and figures measure.
import { send } from "./harness.mjs";

const START = BigInt(Date.now() - 600_000) * 1_000_000n;

export const traceId = (number) => number.toString(16).padStart(32, "0");
export const spanId = (number) => number.toString(16).padStart(16, "0");

function attribute(key, value) {
  return { key, value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value } };
}

/** Spans of a service as they are sent; with further attributes of its resource. */
export function request(service, spans, resource = {}) {
  const owner = Object.entries({ "service.name": service, ...resource });
  return {
    resourceSpans: [
      {
        resource: { attributes: owner.map(([key, value]) => attribute(key, value)) },
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

const varint = (value) => {
  let text = "";
  let rest = value;
  for (; rest > 127; rest = Math.floor(rest / 128)) text += String.fromCharCode((rest % 128) + 128);
  return text + String.fromCharCode(rest);
};
const field = (number, text) => varint(number * 8 + 2) + varint(text.length) + text;
const bytes = (hex) => Buffer.from(hex, "hex").toString("latin1");
const scratch = Buffer.alloc(8);
const fixed = (number, nanos) => {
  scratch.writeBigUInt64LE(BigInt(nanos));
  return varint(number * 8 + 1) + scratch.toString("latin1");
};
const pair = ({ key, value }) => {
  const isText = value.intValue === undefined;
  return (
    field(1, key) +
    field(2, isText ? field(1, value.stringValue) : varint(24) + varint(Number(value.intValue)))
  );
};
/** Attributes that are texts are few, again and again. */
const written = new Map();
function attributeOf(one) {
  if (one.value.intValue !== undefined) return field(9, pair(one));
  const key = `${one.key}\n${one.value.stringValue}`;
  if (!written.has(key)) written.set(key, field(9, pair(one)));
  return written.get(key);
}

/** A request as OTLP's protobuf, which is half as long as JSON and read much faster. Texts are ASCII. */
function protobuf({ resourceSpans }) {
  const spanOf = (one) =>
    field(1, bytes(one.traceId)) +
    field(2, bytes(one.spanId)) +
    field(4, bytes(one.parentSpanId)) +
    field(5, one.name) +
    varint(48) +
    varint(one.kind) +
    fixed(7, one.startTimeUnixNano) +
    fixed(8, one.endTimeUnixNano) +
    one.attributes.map(attributeOf).join("") +
    (one.status.code ? field(15, field(2, one.status.message) + varint(24) + varint(one.status.code)) : "");
  // Each span becomes bytes at once: long texts that are made of short ones take long to be collected.
  const whole = (number, parts) => {
    const inside = Buffer.concat(parts);
    return Buffer.concat([Buffer.from(varint(number * 8 + 2) + varint(inside.length), "latin1"), inside]);
  };
  const part = (number, text) => Buffer.from(field(number, text), "latin1");
  const scopeOf = ({ scope, spans }) =>
    whole(2, [part(1, field(1, scope.name)), ...spans.map((one) => part(2, spanOf(one)))]);
  const ownerOf = ({ resource, scopeSpans }) =>
    whole(1, [
      part(1, resource.attributes.map((one) => field(1, pair(one))).join("")),
      ...scopeSpans.map(scopeOf),
    ]);
  return Buffer.concat(resourceSpans.map(ownerOf));
}

/** Sends spans as protobuf. */
async function sendFast(server, body) {
  const response = await fetch(`${server.otlp}/v1/traces`, {
    method: "POST",
    headers: { "Content-Type": "application/x-protobuf" },
    body: protobuf(body),
  });
  if (!response.ok) throw new Error(`traces: ${response.status} ${await response.text()}`);
}

const METHODS = ["GET", "POST", "PUT", "DELETE"];

/** Five attributes, as spans of a request have about so many. */
function five(id, isBad) {
  return {
    row: id,
    "http.request.method": METHODS[id % 4],
    "http.route": `/shop/{section}/item/${id % 50}`,
    "http.response.status_code": isBad ? 500 : 200,
    "server.address": `node-${id % 16}.example.com`,
  };
}

/** A trace of many spans: a tree of eight children each, over ten services, with five attributes a span. */
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
        attributes: five(id, id % 5000 === 0),
      }),
    );
    if (batch.length === 5000 || id === count) {
      await sendFast(server, request(`service-${sent % 10}`, batch));
      batch = [];
      sent += 1;
    }
  }
  return traceId(trace);
}

/** A text that must stay one. */
export const SCRIPT = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>';

/** Traces that are wrong or extreme, by name. */
export async function strange(server) {
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
        name: SCRIPT,
        error: SCRIPT,
        attributes: { [SCRIPT]: SCRIPT, "url.full": "javascript:window.hacked=1" },
      }),
    ],
    orphans: [
      span(106, 2, { parent: 1, name: "orphan" }),
      span(106, 3, { parent: 2, name: "below it", open: true }),
    ],
    backwards: [
      span(108, 1, { name: "parent", duration: 2e9 }),
      span(108, 2, { parent: 1, name: "ends first", start: 1e9, duration: -5e8 }),
      span(108, 1, { name: "twice", duration: 1e9 }),
    ],
  };
  for (const spans of Object.values(made)) await send(server, "traces", request("strange", spans));
  const children = [span(107, 1, { name: "mother", duration: 50_000_000 })];
  for (let id = 2; id <= 50_001; id += 1) {
    children.push(span(107, id, { parent: 1, start: id * 900, duration: 800 }));
    if (children.length === 5000) await send(server, "traces", request("strange", children.splice(0)));
  }
  if (children.length > 0) await send(server, "traces", request("strange", children));
  const names = ["cycle", "skew", "decade", "names", "script", "orphans", "children", "backwards"];
  return Object.fromEntries(names.map((name, at) => [name, traceId(101 + at)]));
}

/** Frames of one round of `moved`. */
export const FRAMES = 120;

/**
 * Moves through a trace, a step with each frame: zooms with Ctrl and the wheel, pans and zooms by keys, scrolls
 * through rows, and drags the window of the overview. Events are made inside the page: what it takes to bring
 * them there is none of its work. Answers for each step the milliseconds to the next frame and of what was
 * drawn by then, the milliseconds between frames at rest before, and what each kind of step had for a result:
 * what is looked at, in words, and the first row, before and after.
 */
export function moved(page) {
  return page.evaluate(async (frames) => {
    const frame = () => new Promise((drawn) => requestAnimationFrame(drawn));
    const [bars, overview, scroll] = [".timeline-bars", ".minimap", ".timeline-scroll"].map((name) =>
      document.querySelector(name),
    );
    const middle = (element) => {
      const { left, top, width, height } = element.getBoundingClientRect();
      return { clientX: left + width / 2, clientY: top + height / 2, bubbles: true, cancelable: true };
    };
    const keys = ["d", "d", "a", "ArrowUp", "d", "a", "ArrowDown", "D", "A", "d"];
    const press = (key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const point = (name, across) =>
      overview.dispatchEvent(
        new PointerEvent(name, { ...held, clientX: held.clientX + across, pointerId: 1, button: 0 }),
      );
    let held;
    const kinds = {
      // Closer three times for each time back, so that a window is left that can be panned.
      wheel: (at) =>
        bars.dispatchEvent(
          new WheelEvent("wheel", { ...middle(bars), ctrlKey: true, deltaY: at % 4 < 3 ? -120 : 120 }),
        ),
      keys: (at) => press(keys[at % keys.length]),
      rows: (at, of) => {
        scroll.scrollTop += at < of * 0.7 ? 260 : -260;
      },
      drag: (at, of) => {
        if (at === 0) {
          // Inside of the window, however wide that is: a drag there moves it.
          const [before, after] = overview.querySelectorAll(".minimap-shade");
          const [left, right] = [before.getBoundingClientRect().right, after.getBoundingClientRect().left];
          held = { ...middle(overview), clientX: (left + right) / 2 };
          point("pointerdown", 0);
        } else if (at === of - 1) point("pointerup", at * 3);
        else point("pointermove", at * 3);
      },
    };
    const looked = () => overview.getAttribute("aria-label");
    const firstRow = () =>
      Math.min(
        ...[...document.querySelectorAll(".span-row:not([hidden])")].map((row) =>
          Number(row.getAttribute("aria-rowindex")),
        ),
      );
    const drawn = () => Math.max(0, ...window.kymoFrames.splice(0));
    press("Escape");
    scroll.scrollTop = 0;
    await frame();
    let last = await frame();
    const sinceLast = async () => {
      const now = await frame();
      const gap = now - last;
      last = now;
      return gap;
    };
    const rest = [];
    while (rest.length < frames) rest.push(await sinceLast());
    const [did, gaps, drawings] = [{}, [], []];
    for (const [kind, step] of Object.entries(kinds)) {
      const each = frames / Object.keys(kinds).length;
      const before = { looked: looked(), firstRow: firstRow() };
      await sinceLast();
      drawn();
      for (let at = 0; at < each; at += 1) {
        step(at, each);
        gaps.push(await sinceLast());
        drawings.push(drawn());
      }
      did[kind] = { before, after: { looked: looked(), firstRow: firstRow() } };
    }
    return { rest, gaps, drawings, did };
  }, FRAMES);
}

/** The value that a part of the others is not above. */
export function quantile(values, part) {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))];
}
