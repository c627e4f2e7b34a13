// A dashboard as CI teams have it: spans of builds as a table, filtered by variables, grouped, calculated and
// drawn as bars. The numbers are computed by hand.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask, asTable, drawn, panelOf, pick, save, until } from "./boards.mjs";
import { attributes, browse, send, serve, shots, watched } from "./harness.mjs";

let server;
let browser;

/** Builds of projects: project, label, minutes, hit rate of the cache. */
const BUILDS = [
  ["cudf", "gpu-l4", 10, 0.5],
  ["cudf", "gpu-l4", 20, 0],
  ["cudf", "cpu16", 6, undefined],
  ["rmm", "cpu16", 2, 1],
  ["rmm", "gpu-a100", 4, 0.25],
  ["rmm", undefined, 100, undefined],
];

const MINUTE_NANOS = 60_000_000_000n;

function resourceSpans() {
  const first = BigInt(Date.now() - 3 * 3_600_000) * 1_000_000n;
  return BUILDS.map(([project, label, minutes, rate], at) => {
    const resource = { "service.name": project, ...(label && { "rapids.labels": label }) };
    const begin = first + BigInt(at) * MINUTE_NANOS;
    const id = (digits) => (at + 1).toString(16).padStart(digits, "0");
    const span = {
      traceId: id(32),
      spanId: id(16),
      name: "C++ build",
      kind: 1,
      startTimeUnixNano: `${begin}`,
      endTimeUnixNano: `${begin + BigInt(minutes) * MINUTE_NANOS}`,
      attributes: rate === undefined ? [] : [{ key: "sccache.hit_rate", value: { doubleValue: rate } }],
    };
    return { resource: { attributes: attributes(resource) }, scopeSpans: [{ spans: [span] }] };
  });
}

const TEMPO = { type: "tempo", uid: "tempo" };
const TARGET = {
  refId: "A",
  datasource: TEMPO,
  queryType: "traceql",
  query:
    '{ resource.service.name =~ "$project" } | select(resource.service.name, resource.rapids.labels, span.sccache.hit_rate)',
  tableType: "spans",
  limit: 1000,
  spss: 1000,
};
const CHOSEN = {
  id: "filterByValue",
  options: {
    type: "include",
    match: "all",
    filters: [
      { fieldName: "rapids.labels", config: { id: "isNotNull", options: {} } },
      // biome-ignore lint/suspicious/noTemplateCurlyInString: a dashboard writes variables so
      { fieldName: "rapids.labels", config: { id: "regex", options: { value: "${label:regex}" } } },
    ],
  },
};
const MINUTES = {
  id: "calculateField",
  options: {
    mode: "binary",
    alias: "minutes",
    binary: {
      left: { matcher: { id: "byName", options: "Duration" } },
      operator: "/",
      right: { fixed: "60000000000" },
    },
  },
};
const BY_LABEL = {
  id: "groupBy",
  options: {
    fields: {
      "rapids.labels": { operation: "groupby", aggregations: [] },
      minutes: { operation: "aggregate", aggregations: ["mean", "sum"] },
    },
  },
};
const AS_ENUM = {
  id: "convertFieldType",
  options: {
    conversions: [
      {
        targetField: "rapids.labels",
        destinationType: "enum",
        enumConfig: { text: ["cpu16", "gpu-a100", "gpu-l4"] },
      },
    ],
  },
};

const DASHBOARD = {
  uid: "ci",
  title: "CI",
  schemaVersion: 39,
  time: { from: "now-6h", to: "now" },
  templating: {
    list: [
      {
        name: "project",
        type: "query",
        datasource: TEMPO,
        multi: true,
        includeAll: true,
        refresh: 2,
        sort: 1,
        query: { type: 1, label: "resource.service.name", refId: "v" },
        current: { text: "All", value: "$__all" },
      },
      {
        name: "label",
        type: "custom",
        query: "gpu-l4, gpu-a100, cpu16",
        multi: true,
        includeAll: true,
        current: { text: "All", value: "$__all" },
      },
    ],
  },
  panels: [
    {
      id: 1,
      type: "barchart",
      title: "Minutes by label",
      datasource: TEMPO,
      targets: [TARGET],
      transformations: [CHOSEN, MINUTES, BY_LABEL, AS_ENUM],
      gridPos: { x: 0, y: 0, w: 24, h: 9 },
      options: { xField: "rapids.labels" },
      fieldConfig: { defaults: { unit: "m" }, overrides: [] },
    },
    {
      id: 2,
      type: "table",
      title: "Spans",
      datasource: TEMPO,
      targets: [TARGET],
      gridPos: { x: 0, y: 9, w: 24, h: 9 },
    },
    {
      id: 3,
      type: "stat",
      title: "$project",
      repeat: "project",
      repeatDirection: "h",
      datasource: TEMPO,
      targets: [TARGET],
      transformations: [MINUTES],
      gridPos: { x: 0, y: 18, w: 6, h: 4 },
      options: { reduceOptions: { values: true, fields: "/^minutes$/", calcs: [] } },
    },
  ],
};

before(async () => {
  server = await serve();
  browser = await browse();
  await send(server, "traces", { resourceSpans: resourceSpans() });
  await save(server, DASHBOARD);
  const asked = { uid: "ci", from: "now-6h", to: "now", panels: [{ key: "2", maxDataPoints: 100 }] };
  await until(async () => {
    const [{ frames = [] }] = await ask(server, "/api/dashboards/query", asked);
    return frames[0]?.fields[0].values.length === BUILDS.length;
  }, "the spans that were sent");
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** What the bars say, and their data as a table: minutes by label. */
async function bars(page, count) {
  const panel = panelOf(page, "Minutes by label");
  await panel.locator(`svg[aria-label*="Bars of ${count} groups"]`).waitFor();
  const said = await panel.locator("svg[aria-label*=Bars]").getAttribute("aria-label");
  const rows = await asTable(page, "Minutes by label");
  const figures = rows.map((row) => ({
    label: row["rapids.labels"],
    mean: row["minutes (mean)"],
    sum: row["minutes (sum)"],
  }));
  for (const { label, mean, sum } of figures)
    assert.ok(said.includes(`${label}: minutes (mean) ${mean}, minutes (sum) ${sum}`), said);
  return figures.sort((a, b) => a.label.localeCompare(b.label));
}

const CPU = { label: "cpu16", mean: "4 min", sum: "8 min" };
const A100 = { label: "gpu-a100", mean: "4 min", sum: "4 min" };
const L4 = { label: "gpu-l4", mean: "15 min", sum: "30 min" };

test("minutes are summed by label, of all, of two that are chosen, and of one project", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/ci`);
  await drawn(page, { least: 3 });
  assert.deepEqual(await bars(page, 3), [CPU, A100, L4]);
  await page.screenshot({ path: join(shots, "dashboard-ci.png") });

  await pick(page, "label", ["gpu-l4", "gpu-a100"]);
  assert.deepEqual(await bars(page, 2), [A100, L4]);
  assert.deepEqual(new URL(page.url()).searchParams.getAll("var-label"), ["gpu-l4", "gpu-a100"]);

  await pick(page, "label", ["All"]);
  assert.deepEqual(await bars(page, 3), [CPU, A100, L4]);

  await pick(page, "project", ["cudf"]);
  assert.deepEqual(await bars(page, 2), [{ label: "cpu16", mean: "6 min", sum: "6 min" }, L4]);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a hit rate of 0 is 0 and one that was not sent is nothing, newest first", async () => {
  const { page, context } = await watched(browser);
  await page.goto(`${server.url}/d/ci`);
  await drawn(page, { least: 3 });
  const rows = await asTable(page, "Spans");
  assert.deepEqual(
    rows.map((row) => row["sccache.hit_rate"]).map((text) => (text === "" ? null : Number(text))),
    [null, 0.25, 1, null, 0, 0.5],
  );
  await context.close();
});

test("a stat is repeated for each project that is chosen", async () => {
  const { page, context } = await watched(browser);
  await page.setViewportSize({ width: 1400, height: 1400 });
  await page.goto(`${server.url}/d/ci?var-project=cudf&var-project=rmm`);
  await drawn(page, { least: 4 });
  const shown = (title) => panelOf(page, title).locator(".stat-value").allTextContents();
  assert.deepEqual(await shown("cudf"), ["6", "20", "10"]);
  assert.deepEqual(await shown("rmm"), ["100", "4", "2"]);
  await context.close();
});

test("gauges and bars show all values of a field that is chosen", async () => {
  const panel = (id, title, type, more) => ({
    id,
    type,
    title,
    datasource: TEMPO,
    targets: [TARGET],
    gridPos: { x: 0, y: (id - 1) * 10, w: 24, h: 10 },
    ...more,
  });
  const names = ["service.name", "minutes"];
  const reduceOptions = { values: true, fields: "/^minutes$/", calcs: [] };
  await save(server, {
    ...DASHBOARD,
    uid: "ci-values",
    panels: [
      panel(1, "Gauges", "bargauge", { transformations: [MINUTES], options: { reduceOptions } }),
      panel(2, "Bars", "barchart", {
        transformations: [MINUTES, { id: "filterFieldsByName", options: { include: { names } } }],
        options: { xField: "service.name" },
      }),
    ],
  });
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/ci-values`);
  await drawn(page, { least: 2 });
  // Newest first, as all of the builds were sent.
  const minutes = ["100", "4", "2", "6", "20", "10"];
  assert.deepEqual(await panelOf(page, "Gauges").locator(".bargauge-value").allTextContents(), minutes);
  const drawing = panelOf(page, "Bars").locator('svg[aria-label*="Bars of 6 groups"]');
  const said = await drawing.getAttribute("aria-label");
  assert.match(said, /rmm: minutes 100; rmm: minutes 4; rmm: minutes 2; cudf: minutes 6; cudf: minutes 20/);
  // A bar is as long as its number: of those from 100 to 2, the longest fifty times the shortest.
  const heights = await drawing
    .locator("rect:not(.bar-hover)")
    .evaluateAll((all) => all.map((one) => Number(one.getAttribute("height"))));
  assert.deepEqual(
    heights.map((height) => Math.round((100 * height) / heights[0])),
    minutes.map(Number),
  );
  const rows = await asTable(page, "Bars");
  assert.deepEqual(
    rows.map((row) => row.minutes),
    minutes,
  );
  await pick(page, "project", ["cudf"]);
  await until(
    async () => (await panelOf(page, "Gauges").locator(".bargauge-value").count()) === 3,
    "the gauges of one project",
  );
  assert.deepEqual(complaints, []);
  await context.close();
});
