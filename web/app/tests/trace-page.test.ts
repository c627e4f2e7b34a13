/** What the trace page and the comparison compute besides rows and windows. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { openNodes, quietNodes } from "../src/pages/compare/asked";
import { areaTotals } from "../src/pages/trace/area";
import type { SpanDetails } from "../src/pages/trace/asked";
import { condition, traceqlName } from "../src/pages/trace/attributes";
import { byRow } from "../src/pages/trace/byrow";
import { spanId } from "../src/pages/trace/columns";
import { stripsOf, unitText } from "../src/pages/trace/correlated";
import { criticalRows, gain } from "../src/pages/trace/critical";
import { leadsOf } from "../src/pages/trace/leads";
import { inOrder } from "../src/pages/trace/logs";
import { rankAmongSame } from "../src/pages/trace/panel";
import { Rows } from "../src/pages/trace/rows";
import { serviceGraph } from "../src/pages/trace/servicegraph";
import { TraceState } from "../src/pages/trace/state";
import { sortRows } from "../src/pages/trace/table";
import { eventTimes } from "../src/pages/trace/traceevents";
import { boxAt } from "../src/ui/canvas/flame";
import { boxesOf, change, type FlameNode } from "../src/ui/canvas/flamenodes";
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
    expect(traceqlName("resource", "odd key")).toBe('resource."odd key"');
  });
});

describe("where a span leads", () => {
  const span = {
    id: "00f067aa0ba902b7",
    name: "GET",
    start: "1794771223254644904",
    durationNanos: 1e9,
    attributes: [{ key: "session.id", type: "string", value: "s 17" }],
  } as unknown as SpanDetails;

  it("has its logs, others like it, host and session", () => {
    const resource = {
      attributes: [{ key: "host.name", type: "string", value: "node/1" }],
      droppedAttributes: 0,
    };
    const leads = leadsOf(span, resource, "ab", "shop");
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

  it("are ranked among those of the same service and name", () => {
    expect(rankAmongSame(made(TREE), 1)).toEqual({ same: 4, noLonger: 3 });
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
        { of: "gpu", name: "power", unit: "W", query: "", series: series({ Hostname: "a", gpu: "0" }) },
        { of: "host", name: "cpu", unit: "percent", query: "", series: series({ instance: "node1:9100" }) },
      ],
      "1000000000000",
      "node1",
    );
    expect(strips.map(({ owner }) => owner)).toEqual(["node1", "a GPU 0"]);
    expect([...strips[0]!.times]).toEqual([5e8, 1e9]);
    expect(strips[0]!.most).toBe(3);
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

  it("shows all of it if all of it was shown", () => {
    const state = new TraceState(made(TREE));
    state.take(made([...TREE, { start: 96, duration: 54, parent: 0 }]));
    expect(state.window.value).toEqual({ from: 0, to: 150 });
  });
});
