/** What the trace page and the comparison compute besides rows and windows. */
import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { askComparison, openNodes, quietNodes } from "../src/pages/compare/asked";
import { areaTotals } from "../src/pages/trace/area";
import {
  type AttributeColumn,
  askSpan,
  type Owner,
  type SpanDetails,
  type SpanEvent,
} from "../src/pages/trace/asked";
import { shownColumns } from "../src/pages/trace/attributecolumns";
import { condition, findText, grouping } from "../src/pages/trace/attributes";
import { byRow } from "../src/pages/trace/byrow";
import { FLAG, spanId } from "../src/pages/trace/columns";
import { isOf, stripsOf, unitText } from "../src/pages/trace/correlated";
import { criticalRows, gain } from "../src/pages/trace/critical";
import { byTime } from "../src/pages/trace/eventlist";
import { HOST_KEYS, leadsOf } from "../src/pages/trace/leads";
import { otlpOf } from "../src/pages/trace/otlpjson";
import { rankAmongSame } from "../src/pages/trace/panel";
import { Rows } from "../src/pages/trace/rows";
import { inOrder } from "../src/pages/trace/said";
import { serviceGraph } from "../src/pages/trace/servicegraph";
import { linkedPath } from "../src/pages/trace/spanparts";
import { TraceState } from "../src/pages/trace/state";
import { sortRows, stepOf } from "../src/pages/trace/table";
import { eventTimes } from "../src/pages/trace/traceevents";
import { askUsual, operationQuery, timesText } from "../src/pages/trace/usual";
import { boxAt, eachSeen } from "../src/ui/canvas/flamegeometry";
import { boxesOf, change, type FlameNode } from "../src/ui/canvas/flamenodes";
import { widthWithin } from "../src/ui/separator";
import { made } from "./trace-made";

Object.assign(globalThis, { history: { replaceState: () => {}, pushState: () => {} } });

const TREE = [
  { start: 0, duration: 100 },
  { start: 0, duration: 40, parent: 0 },
  { start: 10, duration: 10, parent: 1, flags: 1 },
  { start: 50, duration: 40, parent: 0, service: 1, name: 1 },
  { start: 60, duration: 10, parent: 3 },
];

function withServices() {
  const trace = made(TREE);
  const service = (name: string) => ({ name, spans: 0, errors: 0, selfNanos: 0, criticalNanos: 0 });
  trace.header.services = [service("shop"), service("db")];
  return trace;
}

describe("things by row", () => {
  it("are found without a search, in their order, those of no row left out", () => {
    const found = byRow([2, -1, 0, 2], 3);
    const of = (row: number) => [...found.places.slice(found.from[row], found.from[row + 1])];
    expect(of(0)).toEqual([2]);
    expect(of(1)).toEqual([]);
    expect(of(2)).toEqual([0, 3]);
  });

  it("are events with offsets, exceptions marked", () => {
    const events = [
      { row: 1, time: "1000000000000000005", name: "exception", attributes: [] },
      { row: 0, time: "1000000000000000001", name: "retry", attributes: [] },
    ];
    const times = eventTimes(events, 1_000_000_000_000_000_000n, 2);
    expect([...times.time]).toEqual([5, 1]);
    expect([...times.isException]).toEqual([1, 0]);
  });
});

describe("an area", () => {
  it("counts the spans that touch it, and their time inside", () => {
    const totals = areaTotals(withServices(), { from: 45, to: 65 });
    expect(totals.spans).toBe(3);
    expect(totals.errors).toBe(0);
    expect(totals.services).toEqual([
      { name: "shop", spans: 2, nanos: 25 },
      { name: "db", spans: 1, nanos: 15 },
    ]);
  });
});

describe("attributes", () => {
  it("become conditions of TraceQL, with their types", () => {
    expect(condition("span", { key: "http.route", type: "string", value: '/a"b' }, "=")).toBe(
      'span.http.route = "/a\\"b"',
    );
    expect(condition("span", { key: "code", type: "int", value: 500 }, "!=")).toBe("span.code != 500");
    expect(condition("span", { key: "hit", type: "bool", value: false }, "=")).toBe("span.hit = false");
    expect(condition("span", { key: "list", type: "array", value: [1] }, "=")).toBeUndefined();
    expect(condition("resource", { key: "odd key", type: "int", value: 1 }, "=")).toBe(
      'resource."odd key" = 1',
    );
  });

  it("group the spans of the trace, by their scope and key", () => {
    expect(grouping("resource", "host.name")).toBe("resource.host.name");
    expect(grouping("instrumentation", "odd key")).toBe("instrumentation.odd key");
    expect(grouping("link", "n")).toBeUndefined();
  });
});

describe("a search for a value inside the trace", () => {
  const text = (key: string, value: unknown) => findText("event", { key, type: "string", value });

  it("names the scope, and holds words together", () => {
    expect(text("n", 3)).toBe("event.n=3");
    expect(text("odd key", "two words")).toBe('"event.odd key"="two words"');
  });

  it("is not there for what cannot be looked for", () => {
    expect(text("n", "x".repeat(501))).toBeUndefined();
    expect(text("n", 'say "x"')).toBeUndefined();
    expect(text("a=b", "c")).toBeUndefined();
    expect(findText("link", { key: "n", type: "int", value: 3 })).toBeUndefined();
  });
});

describe("columns of attributes", () => {
  it("show no values of another revision, whose rows are other spans", () => {
    const answer: AttributeColumn = {
      revision: "new",
      type: "int",
      values: [7],
      rows: [-1, 0],
      truncated: false,
    };
    const value = (revision: string) =>
      shownColumns(["span.n"], new Map([["span.n", { column: answer }]]), revision)[0]!.value;
    expect([value("new")(0), value("new")(1)]).toEqual([undefined, "7"]);
    expect(value("newer")(1)).toBeUndefined();
  });
});

describe("events of a span", () => {
  it("are in the order of time, exact to the nanosecond", () => {
    const event = (time: string) =>
      ({ time, name: time.slice(-1), attributes: [], droppedAttributes: 0 }) as SpanEvent;
    const sorted = byTime(["1794771223254644905", "1794771223254644904", "1794771223254644906"].map(event));
    expect(sorted.map(({ event: { name } }) => name)).toEqual(["4", "5", "6"]);
  });
});

describe("questions about a trace", () => {
  let asked: string[] = [];
  const answer = (documents: Record<string, unknown>) => {
    asked = [];
    vi.stubGlobal("fetch", async (path: string) => {
      asked.push(String(path));
      const found = Object.keys(documents).find((part) => String(path).includes(part));
      return new Response(JSON.stringify(documents[found!]), {
        headers: { "Content-Type": "application/json" },
      });
    });
  };
  afterEach(() => vi.unstubAllGlobals());

  it("about a span go by its id where its row has become another's", async () => {
    const trace = made(TREE);
    const [span, other] = [spanId(trace, 3), spanId(trace, 1)];
    answer({ rows: { spans: [{ row: 3, id: other }] }, ids: { spans: [{ row: 4, id: span }] } });
    const details = await askSpan("ab", trace, 3, new AbortController().signal);
    expect(details.spans[0]!.id).toBe(span);
    expect(asked).toHaveLength(2);
    answer({ rows: { spans: [{ row: 3, id: span }] } });
    await askSpan("ab", trace, 3, new AbortController().signal);
    expect(asked).toHaveLength(1);
  });

  it("about two traces keep the ids that the answer is about", async () => {
    answer({ compare: { paired: 2 } });
    expect(await askComparison("a", "b")).toEqual({ a: "a", b: "b", comparison: { paired: 2 } });
  });

  it("about what is usual are about the day before, and answer nanoseconds", async () => {
    const series = (quantile: number, value: number) => ({
      labels: [{ key: "p", value: { doubleValue: quantile } }],
      value,
    });
    answer({ metrics: { series: [series(0.5, 2), series(0.95, 4.5)] } });
    const of = operationQuery("shop", 'GET "/"');
    expect(of).toBe('{ resource.service.name = "shop" && name = "GET \\"/\\"" }');
    expect(await askUsual(of, 1_767_312_060_000)).toEqual({ of, p50Nanos: 2e9, p95Nanos: 4.5e9 });
    const [path, query] = asked[0]!.split("?");
    const sent = new URLSearchParams(query);
    expect(path).toBe("/tempo/api/metrics/query");
    expect(sent.get("q")).toBe(`${of} | quantile_over_time(duration, .5, .95)`);
    expect([sent.get("start"), sent.get("end")]).toEqual(["1767225660", "1767312060"]);
    answer({ metrics: {} });
    expect((await askUsual(of, 1_767_312_060_000)).p95Nanos).toBeUndefined();
  });
});

describe("where a span leads", () => {
  const span = {
    id: "00f067aa0ba902b7",
    name: "GET",
    start: "1794771223254644904",
    durationNanos: 1e9,
    attributes: [{ key: "session_id", type: "string", value: "s 17" }],
  } as unknown as SpanDetails;

  const STORED = { trace: "ab", traceId: "ab" };

  it("ran on the host that the server knows too", () => {
    const text = readFileSync(`${__dirname}/../../../crates/traceview/src/read.rs`, "utf8");
    const [, keys] = text.match(/HOST_KEYS: [^=]*= \[([^\]]*)\]/)!;
    expect(keys!.match(/[\w.]+/g)).toEqual(HOST_KEYS);
  });

  it("has its logs, others like it, host and session", () => {
    const resource = {
      attributes: [{ key: "host.name", type: "string", value: "node/1" }],
      droppedAttributes: 0,
    };
    const leads = leadsOf(span, resource, STORED, "shop");
    const of = (label: string) => leads.find((lead) => lead.label.startsWith(label))?.path;
    expect(new URLSearchParams(of("Logs of this span")!.split("?")[1]).get("q")).toBe(
      '{service_name="shop"} | span_id="00f067aa0ba902b7"',
    );
    expect(new URLSearchParams(of("Logs of the trace")!.split("?")[1]).get("q")).toBe(
      '{service_name=~".+"} | trace_id="ab"',
    );
    expect(of("Host")).toContain("/host/node%2F1?");
    expect(of("Session")).toBe("/session/s%2017");
    expect(of("CI run")).toBeUndefined();
    expect(of("Last runs")).toBeUndefined();
  });

  it("has those of the same kind that took longer, over the day before", () => {
    const leads = leadsOf(span, undefined, STORED, "shop");
    const slower = leads.find(({ label }) => label === "Same operation, slower")!;
    const sent = new URLSearchParams(slower.path.split("?")[1]);
    expect(sent.get("q")).toBe('{ resource.service.name = "shop" && name = "GET" && duration > 1s }');
    expect(Number(sent.get("to")) - Number(sent.get("from"))).toBeGreaterThan(86_400_000);
    const instant = leadsOf({ ...span, durationNanos: 0 }, undefined, STORED, "shop");
    expect(instant.some(({ label }) => label.endsWith("slower"))).toBe(false);
  });

  it("has the sessions of other clients, the GPUs of the host, earlier runs of the workflow", () => {
    const text = (key: string, value: string) => ({ key, type: "string", value });
    const attributes = [
      text("session.id", "s2"),
      text("gpu.index", "0"),
      text("ci.workflow", "pr & more"),
      text("git.repository", "o/r"),
      text("host.name", "n1"),
    ];
    const leads = leadsOf({ ...span, attributes }, undefined, STORED, "shop");
    const of = (label: string) => leads.find((lead) => lead.label === label)?.path;
    expect(of("Session s2")).toBe("/session/s2");
    expect(of("Host n1, GPUs")).toMatch(/^\/host\/n1\?from=\d+&to=\d+$/);
    expect(of("Last runs of pr & more")).toBe("/ci/pipeline?workflow=pr+%26+more&repository=o%2Fr");
    expect(of("CI run")).toBe("/ci/run/ab");
    const ofFile = leadsOf({ ...span, attributes }, undefined, { ...STORED, trace: "upload-1-ab" }, "shop");
    expect(ofFile.some(({ label }) => label === "CI run")).toBe(false);
  });

  it("has the spans that it names, those of the same file there", () => {
    const { header } = made([{ start: 0, duration: 1 }]);
    const path = (traceId: string) =>
      linkedPath({ traceId, spanId: "02" }, { ...header, trace: "upload-1-ab", traceId: "ab" });
    expect(path("ab")).toBe("/trace/upload-1-ab?span=02");
    expect(path("cd")).toBe("/trace/cd?span=02");
  });
});

describe("the JSON of a span", () => {
  const span: SpanDetails = {
    row: 0,
    id: "00f067aa0ba902b7",
    parentId: null,
    name: "GET",
    kind: "server",
    start: "1794771223254644904",
    durationNanos: 96,
    selfNanos: 96,
    criticalNanos: 0,
    slackNanos: 0,
    savingNanos: 0,
    status: { code: "error", message: "it broke" },
    traceState: "",
    flags: 1,
    attributes: [
      { key: "big", type: "int", value: "9007199254740993" },
      { key: "zero", type: "double", value: 0 },
      { key: "list", type: "array", value: [1, "a", null, { deep: true }] },
      { key: "raw", type: "bytes", value: "AQI=" },
      { key: "nothing", type: "empty", value: null },
    ],
    droppedAttributes: 2,
    events: [{ time: "1794771223254644910", name: "retry", attributes: [], droppedAttributes: 0 }],
    droppedEvents: 0,
    links: [{ traceId: "cd", spanId: "ef", traceState: "", attributes: [], droppedAttributes: 0 }],
    droppedLinks: 0,
    resource: 0,
    scope: 0,
  };
  const resource: Owner = {
    attributes: [{ key: "service.name", type: "string", value: "shop" }],
    droppedAttributes: 0,
  };

  it("is OTLP, exact to the nanosecond and with types", () => {
    const scope = { name: "lib", version: "", attributes: [], droppedAttributes: 0 };
    expect(otlpOf(span, resource, scope, "ab")).toEqual({
      resourceSpans: [
        {
          resource: { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] },
          scopeSpans: [
            {
              scope: { name: "lib" },
              spans: [
                {
                  traceId: "ab",
                  spanId: "00f067aa0ba902b7",
                  flags: 1,
                  name: "GET",
                  kind: 2,
                  startTimeUnixNano: "1794771223254644904",
                  endTimeUnixNano: "1794771223254645000",
                  attributes: [
                    { key: "big", value: { intValue: "9007199254740993" } },
                    { key: "zero", value: { doubleValue: 0 } },
                    {
                      key: "list",
                      value: {
                        arrayValue: {
                          values: [
                            { intValue: "1" },
                            { stringValue: "a" },
                            {},
                            { kvlistValue: { values: [{ key: "deep", value: { boolValue: true } }] } },
                          ],
                        },
                      },
                    },
                    { key: "raw", value: { bytesValue: "AQI=" } },
                    { key: "nothing", value: {} },
                  ],
                  droppedAttributesCount: 2,
                  events: [{ timeUnixNano: "1794771223254644910", name: "retry" }],
                  links: [{ traceId: "cd", spanId: "ef" }],
                  status: { code: 2, message: "it broke" },
                },
              ],
            },
          ],
        },
      ],
    });
  });

  it("has no end while the span runs, and no time where none was sent", () => {
    const times = (untold: object) => {
      const { resourceSpans } = otlpOf(span, undefined, undefined, "ab", untold) as {
        resourceSpans: { scopeSpans: { spans: Record<string, string>[] }[] }[];
      };
      const { startTimeUnixNano, endTimeUnixNano } = resourceSpans[0]!.scopeSpans[0]!.spans[0]!;
      return [startTimeUnixNano, endTimeUnixNano];
    };
    expect(times({ isRunning: true })).toEqual([span.start, "0"]);
    expect(times({ isUntimed: true })).toEqual(["0", "0"]);
  });
});

describe("the side panel", () => {
  it("stays between its least width and a part of the window", () => {
    const widths = [100, 450.4, 5000].map((wanted) => widthWithin(wanted, 300, 0.6, 1000));
    expect(widths).toEqual([300, 450, 600]);
  });

  it("tells how many times as long as usual a span took", () => {
    expect([1.2349, 0.0512, 118].map((times) => timesText(times * 7, 7))).toEqual(["×1.2", "×0.051", "×120"]);
  });
});

describe("flames", () => {
  const numbers = (weightNanos: number, selfNanos = 0) => ({
    count: weightNanos > 0 ? 1 : 0,
    errors: 0,
    totalNanos: weightNanos,
    selfNanos,
    weightNanos,
    criticalNanos: 0,
  });
  const nodes: FlameNode[] = [
    { parent: -1, depth: 0, name: "root", service: "s", a: numbers(100, 10), b: numbers(160, 10) },
    { parent: 0, depth: 1, name: "slow", service: "s", a: numbers(50, 50), b: numbers(110, 110) },
    { parent: 0, depth: 1, name: "same", service: "s", a: numbers(40, 40), b: numbers(40, 40) },
  ];

  it("have boxes beside each other that fit their parent", () => {
    const boxes = boxesOf(nodes);
    expect([...(boxes.from as Float64Array)]).toEqual([0, 0, 160]);
    expect([...(boxes.to as Float64Array)]).toEqual([260, 160, 240]);
    expect([...(boxes.subtree as Uint32Array)]).toEqual([3, 1, 1]);
    expect(boxes.depths).toBe(2);
    expect(boxAt(boxes, { from: 0, to: 260 }, 200 / 260, 1)).toBe(2);
    expect(boxAt(boxes, { from: 0, to: 260 }, 250 / 260, 1)).toBe(-1);
    expect(boxAt(boxes, { from: 0, to: 260 }, 0.5, 0)).toBe(0);
  });

  it("have what runs long after a parent that is too narrow to be seen", () => {
    const boxes = {
      count: 6,
      //     root, short, long after, below that, narrow, below that
      from: [0, 10, 400, 500, 20, 20],
      to: [1000, 10.01, 900, 600, 20.01, 20.01],
      depth: [0, 1, 2, 3, 1, 2],
      subtree: [6, 3, 2, 1, 2, 1],
      length: 1000,
      depths: 4,
    };
    const seen = (from: number, to: number, deepest = 9) => {
      const found: number[] = [];
      eachSeen(boxes, { from, to }, 1000, deepest, (box) => found.push(box));
      return found;
    };
    expect(seen(0, 1000)).toEqual([0, 2, 3]);
    expect(seen(0, 1000, 2)).toEqual([0, 2]);
    expect(seen(300, 450)).toEqual([0, 2]);
    expect(seen(10, 10.02)).toEqual([0, 1]);
    expect(boxAt(boxes, { from: 0, to: 1000 }, 0.55, 3)).toBe(3);
    expect(boxAt(boxes, { from: 0, to: 1000 }, 0.55, 2)).toBe(2);
    expect(boxAt(boxes, { from: 0, to: 1000 }, 0.55, 1)).toBe(-1);
  });

  it("tell what is slower, for one trace of each side", () => {
    expect(change(nodes[1]!, [1, 1])).toBeGreaterThan(0.5);
    expect(change(nodes[2]!, [1, 1])).toBe(0);
    expect(change({ ...nodes[2]!, b: undefined }, [1, 1])).toBe(-1);
    expect(change({ ...nodes[1]!, a: numbers(220) }, [2, 1])).toBe(0);
  });

  it("are folded where nothing differs, and hide what is below", () => {
    expect(openNodes(nodes, new Set([0]))).toEqual([0]);
    expect(openNodes(nodes, new Set())).toEqual([0, 1, 2]);
    expect(quietNodes(nodes, 50).has(0)).toBe(false);
    expect(quietNodes(nodes, 100).has(0)).toBe(true);
  });
});

describe("the graph of services", () => {
  it("has calls between services, in layers from the beginning", () => {
    const graph = serviceGraph(withServices());
    expect(graph.edges).toEqual([
      { from: 0, to: 1, calls: 1, errors: 0, nanos: 40 },
      { from: 1, to: 0, calls: 1, errors: 0, nanos: 10 },
    ]);
    expect(graph.nodes.map(({ layer }) => layer)).toEqual([0, 1]);
  });
});

describe("spans", () => {
  it("sort by a column, equal ones in the order of the tree", () => {
    const trace = made(TREE);
    const by = (row: number) => trace.duration[row]!;
    expect([...sortRows(new Rows(trace), by, true)]).toEqual([0, 1, 3, 2, 4]);
    expect([...sortRows(new Rows(trace), by, false)]).toEqual([2, 4, 1, 3, 0]);
    expect([...sortRows(new Rows(trace), undefined, false)]).toEqual([0, 1, 2, 3, 4]);
  });

  it("of the table are walked by keys, from the first on", () => {
    expect(stepOf("ArrowDown", -1, 5, 2)).toBe(0);
    expect(stepOf("ArrowDown", 4, 5, 2)).toBe(4);
    expect(stepOf("PageUp", 3, 5, 2)).toBe(1);
    expect([stepOf("Home", 3, 5, 2), stepOf("End", 3, 5, 2)]).toEqual([0, 4]);
    expect(stepOf("x", 3, 5, 2)).toBeUndefined();
    expect(stepOf("End", -1, 0, 2)).toBeUndefined();
  });

  it("that run in the window are stepped to over those that do not", () => {
    const state = new TraceState(made(TREE));
    state.window.value = { from: 52, to: 58 };
    expect(state.rowInSight(0, 1)).toBe(3);
    expect(state.rowInSight(4, -1)).toBe(3);
    expect(state.rowInSight(3, 1)).toBe(-1);
  });

  it("are ranked among those of the same service and name", () => {
    const trace = made(TREE);
    expect(rankAmongSame(trace, 1)).toEqual({ same: 4, noLonger: 3 });
    const others = [...trace.name.keys()].filter((row) => row !== 1 && trace.name[row] === trace.name[1]);
    for (const row of others) trace.flags[row]! |= FLAG.running;
    expect(rankAmongSame(trace, 1)).toEqual({ same: 1, noLonger: 1 });
  });

  it("of the critical path are ranked, and gain no more than can be saved", () => {
    const trace = made(TREE);
    trace.critical.set([10, 30, 0, 40, 0]);
    trace.saving.set([80, 5, 0, 40, 0]);
    expect(criticalRows(trace)).toEqual([3, 1, 0]);
    expect(gain(trace, 1, 0.5)).toBe(5);
    expect(gain(trace, 3, 0.5)).toBe(20);
  });
});

describe("log records and events", () => {
  it("stand in the order of time, with the row of their span", () => {
    const trace = made(TREE);
    const at = (nanos: bigint) => String(BigInt(trace.header.t0) + nanos);
    const said = inOrder(
      trace,
      [{ row: 2, time: at(15n), name: "retry", attributes: [{ key: "n", type: "int", value: 2 }] }],
      [
        { timeUnixNano: at(20n), line: "late", labels: { detected_level: "ERROR" } },
        { timeUnixNano: at(5n), line: "early", labels: { span_id: spanId(trace, 3) } },
      ],
    );
    expect(said.map(({ at, row, text, level }) => [at, row, text, level])).toEqual([
      [5, 3, "early", ""],
      [15, 2, "retry n=2", "event"],
      [20, -1, "late", "error"],
    ]);
  });
});

describe("strips", () => {
  it("are on the axis of the trace, those of the chosen host first", () => {
    const series = (labels: Record<string, string>) => [
      {
        labels,
        points: [
          [1000.5, 1],
          [1001, 3],
        ] as [number, number][],
      },
    ];
    const strips = stripsOf(
      [
        {
          of: "gpu",
          name: "power",
          unit: "W",
          query: "",
          step: 1,
          series: series({ Hostname: "a", gpu: "0" }),
        },
        {
          of: "host",
          name: "cpu",
          unit: "percent",
          query: "",
          step: 1,
          series: series({ instance: "node1:9100" }),
        },
      ],
      "1000000000000",
      "node1",
    );
    expect(strips.map(({ owner }) => owner)).toEqual(["node1", "a GPU 0"]);
    expect([...strips[0]!.times]).toEqual([5e8, 1e9]);
    expect(strips[0]!.most).toBe(3);
  });

  it("of a host are not those of another whose name begins alike", () => {
    const points: [number, number][] = [[1, 1]];
    const series = ["node10:9100", "node1.cluster:9100", "node1"].map((instance) => ({
      labels: { instance },
      points,
    }));
    const machines = [{ of: "host" as const, name: "cpu", unit: "percent", query: "", step: 1, series }];
    const strips = stripsOf(machines, "0", "node1");
    expect(strips.map(({ host }) => host)).toEqual(["node1", "node1.cluster", "node10"]);
    expect(strips.map((strip) => isOf(strip, "node1"))).toEqual([true, true, false]);
    expect(isOf(strips[2]!, undefined)).toBe(false);
  });
});

describe("values of machines", () => {
  it("are written in their units", () => {
    expect(unitText(0.5, "ratio")).toBe("50 %");
    expect(unitText(92, "percent")).toBe("92 %");
    expect(unitText(2048, "bytes/s")).toBe("2 KiB/s");
    expect(unitText(61_300, "MiB")).toBe("59.9 GiB");
    expect(unitText(312.345, "W")).toBe("312 W");
  });
});

describe("a trace that is read again", () => {
  it("keeps what is folded and looked at", () => {
    const state = new TraceState(made(TREE));
    state.fold((rows) => rows.fold(1, true));
    state.select(3);
    state.window.value = { from: 20, to: 60 };
    state.take(
      made([
        TREE[0]!,
        { start: 0, duration: 40, parent: 0 },
        ...TREE.slice(2),
        { start: 96, duration: 54, parent: 0 },
      ]),
    );
    expect(state.selected.value).toBe(3);
    expect(state.rows.value.count).toBe(5);
    expect(state.window.value).toEqual({ from: 20, to: 60 });
    state.close();
  });

  it("stays where it was in time when a span comes that began earlier", () => {
    const state = new TraceState(made(TREE));
    state.window.value = { from: 20, to: 60 };
    state.area.value = { from: 30, to: 40 };
    const later = made([
      { start: 0, duration: 107 },
      ...TREE.slice(1).map((span) => ({ ...span, start: span.start + 7 })),
    ]);
    later.header.t0 = String(BigInt(later.header.t0) - 7n);
    state.take(later);
    expect(state.window.value).toEqual({ from: 27, to: 67 });
    expect(state.area.value).toEqual({ from: 37, to: 47 });
    state.close();
  });

  it("shows all of it if all of it was shown", () => {
    const state = new TraceState(made(TREE));
    state.take(made([...TREE, { start: 96, duration: 54, parent: 0 }]));
    expect(state.window.value).toEqual({ from: 0, to: 150 });
  });
});
