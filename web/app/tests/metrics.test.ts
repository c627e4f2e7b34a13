/** Series, heat maps and PromQL of the page for metrics. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { metricsPanel, tracesPanel } from "../src/pages/metrics/aspanel";
import { formatOf, stillThere, toggled } from "../src/pages/metrics/chart";
import { hostOf, logsOf, traceOf } from "../src/pages/metrics/exemplar";
import { evenly, marksOf, tracedOf } from "../src/pages/metrics/exemplars";
import { heatOf } from "../src/pages/metrics/heat";
import { heatQuery, letter, stepFor, unitOf, usualQuery } from "../src/pages/metrics/promql";
import { aligned, nameOf, numberOf, stacked, statistics } from "../src/pages/metrics/series";
import { labelsOf } from "../src/pages/metrics/tables";
import { exactly, selectorsIn, whereIs } from "../src/pages/metrics/where";
import { boxAt, rowSpan, spanWords } from "../src/ui/heatgeometry";

describe("series", () => {
  it("that were chosen and are not answered any more hide no others", () => {
    const drawn = [{ name: "a" }, { name: "b" }];
    expect([...stillThere(new Set(["b", "gone"]), drawn)]).toEqual(["b"]);
    expect(stillThere(new Set(["gone"]), drawn).size).toBe(0);
  });
  it("are shown alone by a click, with others by more of them, and all again by the same", () => {
    const none = new Set<string>();
    expect(toggled(none, "a", false)).toEqual(["a"]);
    expect(toggled(new Set(["a"]), "a", false)).toEqual([]);
    expect(toggled(new Set(["a", "b"]), "a", false)).toEqual(["a"]);
    expect(toggled(new Set(["a"]), "b", true)).toEqual(["a", "b"]);
    expect(toggled(new Set(["a", "b"]), "a", true)).toEqual(["b"]);
  });
  it("are told apart by labels that differ", () => {
    const all: Record<string, string>[] = [
      { job: "a", pod: "1" },
      { job: "a", pod: "2", zone: "x" },
    ];
    const rows = all.map((labels) => ({ labels }));
    expect(labelsOf(rows)).toEqual(["pod", "zone"]);
    expect(labelsOf(rows.slice(0, 1))).toEqual(["job", "pod"]);
  });
  it("are named by a format or by their labels", () => {
    const metric = { __name__: "up", job: "a", instance: "b:1" };
    expect(nameOf(metric, "{{job}} on {{ instance }}{{none}}", "q")).toBe("a on b:1");
    expect(nameOf(metric, "", "q")).toBe('up{job="a", instance="b:1"}');
    expect(nameOf({}, "", "sum(x)")).toBe("sum(x)");
  });
  it("stand at the same times, with gaps where there is nothing or no number", () => {
    const { times, values } = aligned(
      [
        {
          metric: {},
          values: [
            [0, "1"],
            [20, "NaN"],
            [30, "4"],
          ],
        },
      ],
      0,
      30_000,
      10_000,
    );
    expect(times).toEqual([0, 10_000, 20_000, 30_000]);
    expect(values).toEqual([[1, null, null, 4]]);
    expect(numberOf("+Inf")).toBe(Number.POSITIVE_INFINITY);
  });
  it("come to their statistics, and are stacked over gaps", () => {
    expect(statistics([null, 1, 3, null])).toEqual({ min: 1, mean: 2, max: 3, last: 3 });
    expect(statistics([null])).toEqual({});
    expect(
      stacked([
        [1, null, 3],
        [2, 2, null],
      ]),
    ).toEqual([
      [1, null, 3],
      [3, 2, 3],
    ]);
  });
});

describe("heat maps", () => {
  const STEP = 1000;
  it("take the counts of classic buckets apart", () => {
    const bucket = (le: string, value: string) => ({ metric: { le }, values: [[1, value]] as const });
    const heat = heatOf([bucket("+Inf", "10"), bucket("1", "4"), bucket("2", "7")], 0, STEP, STEP)!;
    expect(heat.bounds).toEqual([1, 2, Number.POSITIVE_INFINITY]);
    expect(heat.counts).toEqual([[4], [3], [3]]);
    expect(heat.lowest).toBe(0);
  });
  it("have what a window counted before it ends, and choose that time", () => {
    const values = [
      [60, "9"],
      [120, "5"],
      [180, "2"],
    ] as const;
    const heat = heatOf([{ metric: { le: "1" }, values }], 60_000, 180_000, 60_000)!;
    // What was counted before the time shown has no column.
    expect(heat.times).toEqual([60_000, 120_000]);
    expect(heat.counts).toEqual([[5, 2]]);
    const look = { left: 0, top: 0, width: 20, cellWidth: 10, cellHeight: 10 };
    expect(boxAt(heat, look, { x: 12, y: 1, toX: 18, toY: 9 })).toMatchObject({ from: 120_000, to: 180_000 });
  });
  const native = (...steps: (readonly (readonly [number, string, string, string])[])[]) =>
    heatOf(
      [
        {
          metric: {},
          histograms: steps.map((buckets, at) => [at + 1, { count: "0", sum: "0", buckets }] as const),
        },
      ],
      0,
      steps.length * STEP,
      STEP,
    )!;
  it("take buckets of native histograms as they are", () => {
    const heat = native([[0, "1", "2", "3"]]);
    expect(heat.bounds).toEqual([2]);
    expect(heat.lowest).toBe(1);
    expect(heat.counts).toEqual([[3]]);
    expect(heatOf([{ metric: {}, values: [[0, "1"]] }], 0, STEP, STEP)).toBeUndefined();
  });
  it("have rows for buckets that are empty, so that each row says what its bucket holds", () => {
    const heat = native([
      [3, "-0.001", "0.001", "7"],
      [0, "1", "2", "3"],
      [0, "64", "128", "4"],
    ]);
    expect(heat.bounds).toEqual([0.001, 1, 2, 4, 8, 16, 32, 64, 128].map((bound) => expect.closeTo(bound)));
    expect(rowSpan(heat, 2)).toEqual([1, 2]);
    expect(rowSpan(heat, 8)[0]).toBeCloseTo(64);
    expect(heat.counts.map(([one]) => one)).toEqual([7, 0, 3, 0, 0, 0, 0, 0, 4]);
  });
  it("join buckets of a histogram that became coarser", () => {
    const fine = [
      [0, "1", "1.4142135623730951", "2"],
      [0, "1.4142135623730951", "2", "3"],
    ] as const;
    const heat = native(fine, [[0, "1", "2", "4"]]);
    expect([heat.lowest, ...heat.bounds]).toEqual([1, 2]);
    expect(heat.counts).toEqual([[5, 4]]);
  });
  it("say of a bucket without a bound that it has none", () => {
    const heat = native([
      [3, "-Inf", "5", "1"],
      [0, "5", "+Inf", "2"],
    ]);
    const words = [0, 1].map((row) => spanWords(rowSpan(heat, row), String));
    expect(words).toEqual(["at most 5", "more than 5"]);
    expect(spanWords([1, 2], String)).toBe("1 to 2");
  });
  it("count each observation in one step", () => {
    const asked = "sum by (le) (rate(x_seconds_bucket[$__rate_interval])) * $__interval_ms / 1000";
    expect(heatQuery("x_seconds", true)).toBe(asked);
    expect(heatQuery("x", false)).toBe("sum(rate(x[$__rate_interval])) * $__interval_ms / 1000");
  });
});

describe("queries", () => {
  it("are sensible for the type of a metric", () => {
    expect(usualQuery("a_total", "counter", false)).toBe("rate(a_total[$__rate_interval])");
    expect(usualQuery("b", "gauge", false)).toBe("b");
    expect(usualQuery("c", "histogram", true)).toContain("sum by (le) (rate(c_bucket[");
    expect(usualQuery("d", "histogram", false)).toBe(
      "histogram_quantile(0.95, sum(rate(d[$__rate_interval])))",
    );
  });
  it("get steps that can be seen", () => {
    expect(stepFor(3_600_000, 1200)).toBe(10);
    expect(stepFor(1000, 1200)).toBe(1);
    expect(letter(2)).toBe("C");
  });
  it("tell their unit by names", () => {
    expect(unitOf("histogram_quantile(0.9, rate(x_seconds_bucket[5m]))")).toBe("seconds");
    expect(unitOf("rate(process_cpu_seconds_total[5m])")).toBe("number");
    expect(unitOf("node_memory_free_bytes")).toBe("bytes");
    expect(unitOf("up")).toBe("number");
    expect(unitOf("gpu_utilization_percent")).toBe("percent");
    expect(unitOf("gpu_utilization")).toBe("share");
    expect(formatOf("percent")(87)).toBe("87 %");
    expect(formatOf("share")(0.87)).toBe("87 %");
  });
});

describe("a panel of what is explored", () => {
  const query = (text: string, legend = "", isHidden = false) => ({ text, legend, isHidden });
  it("has the queries with their names, drawn as they were", () => {
    const list = [query("rate(x_seconds[$__rate_interval])", "{{host}}"), query(""), query("y", "", true)];
    const panel = metricsPanel(list, "stacked");
    expect(panel).toMatchObject({
      type: "timeseries",
      title: "rate(x_seconds[$__rate_interval])",
      targets: [
        { refId: "A", expr: "rate(x_seconds[$__rate_interval])", legendFormat: "{{host}}", range: true },
        { refId: "B", expr: "y", legendFormat: "__auto", hide: true },
      ],
      fieldConfig: { defaults: { unit: "s", custom: { stacking: { mode: "normal" } } } },
    });
    expect(metricsPanel([query("up")], undefined)).not.toHaveProperty("fieldConfig.defaults.custom.stacking");
  });
  it("is a table of a search for traces, and a chart of numbers", () => {
    const search = tracesPanel("{ status = error }", false, "traces");
    expect(search).toMatchObject({
      type: "table",
      targets: [{ query: "{ status = error }", tableType: "traces" }],
    });
    const numbers = tracesPanel("{} | quantile_over_time(duration, .9)", true, "traces");
    expect(numbers).toMatchObject({ type: "timeseries", fieldConfig: { defaults: { unit: "s" } } });
  });
});

describe("an exemplar", () => {
  it("leads to its trace by either name, and to the logs around it", () => {
    const labels = { traceID: "ab", span_id: "1" };
    expect(traceOf({ labels })).toEqual({ trace: "ab", span: "1" });
    const query = new URLSearchParams(logsOf("ab", 1000).split("?")[1]);
    expect(query.get("q")).toBe('{service_name=~".+"} | trace_id="ab"');
    expect([query.get("from"), query.get("to")]).toEqual(["100000", "1900000"]);
  });
  it("is marked with others from all over, the greatest in any case; one without a trace is none", () => {
    const made = (value: number, labels: Record<string, string> = { trace_id: `${value}` }) => ({
      series: {},
      labels,
      value: String(value),
      timestamp: value,
    });
    const all = tracedOf([...Array.from({ length: 1000 }, (_, at) => made(1000 - at)), made(9, {})], String);
    expect(all).toHaveLength(1000);
    const marks = marksOf(all, [{ min: 0, max: 900 }], () => {});
    expect(marks).toHaveLength(200);
    expect(marks[0]).toMatchObject({ value: 900, label: "exemplar 1000, trace 1000" });
    expect(evenly([1, 2, 3, 4, 5], 2)).toEqual([1, 4]);
    expect(evenly([1, 2], 2)).toEqual([1, 2]);
  });
  it("names the host of its series, and no process as one", () => {
    expect(hostOf({ labels: {}, series: { instance: "a:1", Hostname: "gpu-7" } })).toBe("gpu-7");
    expect(hostOf({ labels: { host_name: "node-1" }, series: {} })).toBe("node-1");
    expect(hostOf({ labels: {}, series: { instance: "a:1" } })).toBeUndefined();
  });
});

describe("a query that answers nothing", () => {
  it("names what it is about", async () => {
    const query = 'sum by (job) (rate(http_total{code=~"5.."}[5m] offset 1h)) / on (job) {__name__="x"} > up';
    expect(await selectorsIn(query)).toEqual(['http_total{code=~"5.."}', '{__name__="x"}', "up"]);
    expect(await selectorsIn("vector(1) + 2")).toEqual([]);
    expect(exactly({ __name__: "up", "host.name": 'a"b' })).toBe('{__name__="up", "host.name"="a\\"b"}');
  });

  /** Asks with a server that has so many series in the time shown, and these in the last month. */
  const asked = async (here: number, ever: Record<string, string>[], newest: [number, unknown]) => {
    const questions: URLSearchParams[] = [];
    const fetch = (address: string) => {
      const { pathname, searchParams } = new URL(address, "http://here");
      questions.push(searchParams);
      if (!pathname.endsWith("/series")) {
        return Promise.resolve(new Response(JSON.stringify(newest[1]), { status: newest[0] }));
      }
      const data = searchParams.get("limit") === "1" ? Array.from({ length: here }, () => ({})) : ever;
      return Promise.resolve(new Response(JSON.stringify({ data })));
    };
    Object.assign(globalThis, { fetch });
    const where = await whereIs("rate(x[1m])", { from: 0, to: 60_000 }, new AbortController().signal);
    return { where, questions };
  };
  const answer = { data: { result: [{ value: [1, "1790000000"] }] } };

  it("is told whether there are such series, here or at another time", async () => {
    const some = [{ __name__: "x", pod: "a" }];
    const here = await asked(1, some, [200, answer]);
    expect(here.where).toEqual({ kind: "here" });
    expect(here.questions.map((one) => one.get("match[]"))).toEqual(["x"]);
    expect((await asked(0, [], [200, answer])).where).toEqual({ kind: "nowhere" });
    const elsewhere = await asked(0, some, [200, answer]);
    expect(elsewhere.where).toEqual({ kind: "elsewhere", millis: 1_790_000_000_000 });
    expect(elsewhere.questions[2]!.get("query")).toBe(
      'max(ts_of_last_over_time({__name__="x", pod="a"}[30d]))',
    );
  });
  it("is told less by a server that does not know when a sample was", async () => {
    const told = await asked(0, [{ __name__: "x" }], [400, { error: "unknown function" }]);
    expect(told.where).toEqual({ kind: "elsewhere", millis: undefined });
  });
});
