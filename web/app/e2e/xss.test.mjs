// Whatever anybody sends is text: markup and addresses that would act are shown as they are, wherever what was
// sent is shown.
import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { ask, board, METRICS, save, TRACES } from "./boards.mjs";
import { browse, nanosAgo, sendGauge, sendLogs, sendSpans, serve, settled, watched } from "./harness.mjs";
import { ACTS, evil, foreign, isText, kept, MARKUP } from "./markup.mjs";

const ids = (number) => ({ traceId: `${number}`.repeat(32), spanId: `${number}`.repeat(16) });
const [REQUEST, OTHER, RUN, AGAIN, SESSION] = [1, 2, 3, 4, 5].map(ids);
const RESOURCE = { "service.name": evil("service"), "host.name": evil("host") };
const session = (id) => ({ ...RESOURCE, session_id: id, "session.name": evil("session") });

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await browse();
  await sendRequests();
  await sendRuns();
  await sendSessions();
  await sendPoints();
  const attributes = { [evil("field")]: evil("content"), address: ACTS };
  await sendLogs(server, RESOURCE, [
    { ...REQUEST, body: evil("line"), attributes, severityNumber: 17 },
    { body: ACTS, attributes },
  ]);
  await saveDashboards();
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Sends points of now: what is asked of an instant looks back for some minutes only. */
async function sendPoints() {
  const labels = { [evil("label")]: evil("value"), flavour: evil("flavour"), address: ACTS };
  await sendGauge(server, RESOURCE, evil("metric"), 1, labels);
  await sendGauge(server, RESOURCE, "evil_gauge", 2, labels);
  await sendGauge(server, RESOURCE, "evil_heat", 3, { ...labels, le: "1" });
  const gpu = { gpu: "0", UUID: evil("uuid"), modelName: evil("model"), Hostname: evil("machine") };
  await sendGauge(server, RESOURCE, "DCGM_FI_DEV_GPU_UTIL", 50, gpu);
  const node = { instance: evil("instance") };
  await sendGauge(
    server,
    { "service.name": "node", "service.instance.id": evil("instance") },
    "node_load1",
    1,
    node,
  );
}

async function sendRequests() {
  const span = {
    name: evil("span"),
    status: { code: 2, message: evil("status") },
    attributes: { [evil("key")]: evil("attribute"), "url.full": ACTS, "user.id": evil("user") },
    events: [
      {
        timeUnixNano: nanosAgo(1500),
        name: "exception",
        attributes: [
          { key: "exception.message", value: { stringValue: evil("exception") } },
          { key: "exception.stacktrace", value: { stringValue: evil("stacktrace") } },
        ],
      },
    ],
  };
  await sendSpans(server, RESOURCE, [{ ...REQUEST, ...span }]);
  await sendSpans(server, RESOURCE, [{ ...OTHER, ...span, name: evil("other") }]);
  const below = { ...OTHER, ...span, spanId: ids(6).spanId, parentSpanId: OTHER.spanId };
  await sendSpans(server, { "service.name": "calm" }, [below]);
}

async function sendRuns() {
  for (const [run, number] of [
    [RUN, 7],
    [AGAIN, 8],
  ]) {
    const common = {
      "ci.workflow": evil("workflow"),
      "ci.repository": evil("repository"),
      "ci.branch": evil("branch"),
      "ci.event": evil("event"),
      "ci.title": evil("title"),
      "ci.actor": evil("actor"),
      "ci.run_id": number,
      "ci.attempt": 1,
      "ci.conclusion": "failure",
    };
    const job = { "ci.job": evil("job"), "ci.labels": evil("labels"), "ci.runner": evil("runner") };
    const cache = { "sccache.main_process.hits": 3, "sccache.main_process.misses": 1 };
    const below = (id) => ({ ...run, spanId: ids(id).spanId });
    const failed = { status: { code: 2, message: evil("failure") } };
    const resource = {
      ...RESOURCE,
      "cicd.pipeline.name": evil("workflow"),
      "cicd.pipeline.run.url.full": ACTS,
      "vcs.repository.url.full": ACTS,
    };
    const task = { "cicd.pipeline.task.run.url.full": ACTS };
    await sendSpans(server, resource, [
      { ...run, ...failed, name: evil("run"), attributes: { "ci.kind": "run", "ci.jobs": 1, ...common } },
      {
        ...below(8),
        ...failed,
        parentSpanId: run.spanId,
        name: evil("job"),
        attributes: { "ci.kind": "job", ...common, ...job, ...task, ...cache },
      },
      {
        ...below(9),
        ...failed,
        parentSpanId: ids(8).spanId,
        name: evil("step"),
        attributes: { "ci.kind": "step", "ci.conclusion": "failure", ...job, ...task },
      },
    ]);
  }
}

async function sendSessions() {
  for (const [id, trace] of [
    [evil("id"), SESSION],
    ["plain", ids(7)],
  ]) {
    const event = (eventName, millis, attributes) => ({
      ...trace,
      timeUnixNano: nanosAgo(millis),
      eventName,
      attributes,
    });
    const task = { task_id: evil("task"), backend: evil("backend") };
    const fields = {
      executable: evil("executable"),
      span_name: evil("work"),
      node_id: evil("node"),
      parent_span_id: trace.spanId,
    };
    await sendLogs(server, session(id), [
      event("SessionStarted", 5000, { span_name: "session" }),
      event("TaskCreated", 4000, { ...task, ...fields }),
      event("TaskStarted", 3000, { ...task, node_id: evil("node") }),
      event("TaskFailed", 2000, { ...task, error_type: evil("error"), error_message: evil("why") }),
    ]);
    await sendGauge(server, session(id), evil("loss"), 1, { [evil("label")]: evil("value") });
  }
}

async function saveDashboards() {
  const links = [
    { title: evil("link"), url: ACTS, type: "link" },
    { title: "tabbed", url: "java\tscript:window.hacked=1", type: "link" },
  ];
  const text = `${evil("markdown")}

[${evil("followed")}](${ACTS}) [data](data:text/html,${encodeURIComponent(MARKUP)})

<a href="${ACTS}" onclick="window.hacked=1">html</a><iframe src="${ACTS}"></iframe><svg onload="window.hacked=1"></svg>`;
  const place = (id) => ({ x: (id % 2) * 12, y: Math.floor(id / 2) * 8, w: 12, h: 8 });
  const panel = (id, type, title, more) => ({ id, type, title, gridPos: place(id), ...more });
  const defaults = { links, displayName: evil("name") };
  const metrics = {
    datasource: METRICS,
    targets: [
      {
        refId: "A",
        datasource: METRICS,
        expr: "evil_gauge",
        instant: true,
        format: "table",
        legendFormat: evil("legend"),
      },
    ],
  };
  const traces = {
    datasource: TRACES,
    targets: [{ refId: "A", datasource: TRACES, queryType: "traceql", query: "{}" }],
  };
  const panels = [
    panel(0, "text", evil("panel"), {
      options: { mode: "markdown", content: text },
      links,
      description: text,
    }),
    panel(1, "text", "html", { options: { mode: "html", content: text } }),
    panel(2, "table", "table", { ...metrics, fieldConfig: { defaults: { links }, overrides: [] } }),
    panel(3, "stat", "stat", { ...metrics, fieldConfig: { defaults, overrides: [] } }),
    panel(4, "timeseries", "series", { ...metrics, fieldConfig: { defaults, overrides: [] } }),
    panel(5, "table", "spans", { ...traces, fieldConfig: { defaults: { links }, overrides: [] } }),
    panel(6, evil("kind"), "unknown", metrics),
  ];
  const variable = {
    name: "what",
    label: evil("variable"),
    type: "custom",
    query: MARKUP,
    current: { value: MARKUP },
  };
  await save(server, board("evil", panels, [variable], { title: evil("board"), tags: [evil("tag")], links }));
}

const open = (locator) => async (page) => {
  await page.locator(locator).first().click();
  await settled(page);
};
const where = (parameters) => new URLSearchParams(parameters);

/** Says something while a tail listens, and opens it. */
async function tailed(page) {
  await page.getByText("live", { exact: true }).waitFor();
  const attributes = { [evil("field")]: evil("content") };
  await sendLogs(server, RESOURCE, [{ body: evil("tailed"), attributes }]);
  await page.locator('.line:has-text("tailed") .line-open').first().click();
}

/** Pages that show what was sent: the words that are there, and what is opened first. */
const PAGES = [
  ["/", ["session", "workflow", "repository"]],
  ["/traces", ["service", "span"]],
  [`/traces?${where({ rows: "spans", cols: `span.${JSON.stringify(evil("key"))}` })}`, ["span", "attribute"]],
  [`/traces?${where({ sel: "{ status = error }" })}`, ["span"]],
  ["/traces/flame", []],
  [`/trace/${REQUEST.traceId}`, ["span", "service", "status", "key", "attribute"], open(".span-row:visible")],
  ...["flame", "graph", "table", "logs", "stats", "critical"].map((view) => [
    `/trace/${OTHER.traceId}?view=${view}`,
    { graph: ["service"], table: ["span"], logs: ["exception"], stats: ["span"], critical: ["span"] }[view] ??
      [],
  ]),
  [`/compare?a=${REQUEST.traceId}&b=${OTHER.traceId}`, ["span"]],
  ["/live", ["session", "id", "host"]],
  [`/session/${encodeURIComponent(evil("id"))}`, ["session", "task", "work", "node", "error"]],
  ["/session/plain", ["session", "task"]],
  [`/sessions/compare?${where({ a: evil("id"), b: "plain" })}`, ["session", "work"]],
  ["/runs", ["id"]],
  ["/ci", ["workflow", "repository"]],
  [
    `/ci/pipeline?${where({ workflow: evil("workflow"), repository: evil("repository") })}`,
    ["workflow", "branch", "title"],
  ],
  ...["jobs", "runners", "caches", "failures"].map((view) => [
    `/ci/pipeline?${where({ workflow: evil("workflow"), view })}`,
    { jobs: ["job"], runners: ["labels"], caches: ["job"], failures: ["failure"] }[view],
  ]),
  [`/ci/run/${RUN.traceId}`, ["workflow", "branch", "title", "actor", "job", "failure"]],
  [`/ci/compare?a=${RUN.traceId}&b=${AGAIN.traceId}`, ["job"]],
  [
    `/ci/compare?${where({ workflow: evil("workflow"), a: evil("branch"), b: "main" })}`,
    ["workflow", "branch", "job"],
  ],
  ["/explore/logs", ["line", "service", "content"], open('.line:has-text("line") .line-open')],
  ["/explore/logs?view=patterns", []],
  ["/explore/logs?live=1", ["tailed", "service", "content"], tailed],
  [`/explore/metrics?${where({ q: "evil_gauge", view: "table" })}`, ["value"]],
  [`/explore/metrics?${where({ q: "evil_gauge" })}`, ["value"]],
  [`/explore/metrics?${where({ q: "evil_gauge", view: "raw" })}`, ["value", "flavour"]],
  [
    `/explore/metrics?${where({ q: `evil_heat{flavour!=${JSON.stringify(MARKUP)}}`, view: "heat" })}`,
    [],
    (page) => page.locator(".heatmap").waitFor(),
  ],
  ["/explore/metrics", []],
  [`/explore/sql?${where({ q: "select name, status_message from spans" })}`, ["span", "status"]],
  ["/hosts", ["instance"]],
  ["/gpu", ["model", "machine"]],
  [`/host/${encodeURIComponent(evil("instance"))}`, ["instance"]],
  ["/dashboards", ["board", "tag"]],
  ["/d/evil", ["board", "panel", "variable", "value"]],
  ["/d/evil", ["panel"], open('.panel [title="What this shows"]')],
  ["/d/evil?viewPanel=2", ["value"]],
  ["/d/evil?viewPanel=5", ["span"]],
  ["/d/evil?viewPanel=6", []],
  ["/d/evil?editPanel=0", ["board"]],
  ["/admin/cardinality", ["key"], (page) => page.getByLabel("Find a key").fill("key <img")],
  ["/hosts", ["board"], (page) => page.keyboard.press("Control+k")],
];

/** Pages that say what their address says. */
const SAYING = [
  `/traces?${where({ q: MARKUP })}`,
  `/traces?${where({ cols: MARKUP, sort: MARKUP })}`,
  `/explore/logs?${where({ q: MARKUP })}`,
  `/explore/logs?${where({ text: MARKUP })}`,
  `/explore/metrics?${where({ q: MARKUP })}`,
  `/explore/metrics?${where({ find: MARKUP })}`,
  `/explore/sql?${where({ q: MARKUP })}`,
  `/trace/${encodeURIComponent(MARKUP)}`,
  `/trace/${REQUEST.traceId}?${where({ find: MARKUP, span: MARKUP, view: MARKUP })}`,
  `/session/${encodeURIComponent(MARKUP)}`,
  `/host/${encodeURIComponent(MARKUP)}`,
  `/ci/run/${encodeURIComponent(MARKUP)}`,
  `/runs?${where({ ids: MARKUP })}`,
  `/d/${encodeURIComponent(MARKUP)}`,
  `/d/evil?${where({ "var-what": evil("chosen"), from: MARKUP, to: ACTS })}`,
  `/s/${encodeURIComponent(MARKUP)}`,
  `/admin/${encodeURIComponent(MARKUP)}`,
  `/hosts?${where({ from: MARKUP, to: MARKUP, refresh: MARKUP, tenant: MARKUP })}`,
];

describe("what was sent is text", () => {
  beforeEach(sendPoints);

  for (const [path, words, act] of PAGES) {
    test(`${path.slice(0, 60)}${act ? ", opened" : ""}: ${words.join(", ") || "nothing acts"}`, async () => {
      const { page, context, complaints } = await watched(browser);
      await page.goto(server.url + path);
      await settled(page);
      await act?.(page);
      await isText(page, words);
      assert.deepEqual(kept(complaints, path.startsWith("/d/")), []);
      await context.close();
    });
  }
});

describe("what an address says is text", () => {
  for (const path of SAYING) {
    test(decodeURIComponent(path).slice(0, 60), async () => {
      const { page, context, complaints } = await watched(browser);
      await page.goto(server.url + path);
      await page.waitForSelector("main h1, main .empty");
      await settled(page);
      assert.deepEqual(await foreign(page), { found: [], hacked: undefined });
      assert.deepEqual(kept(complaints, path.startsWith("/d/")), []);
      await context.close();
    });
  }
});

test("a short link is made of pages of this server only", async () => {
  for (const path of [
    ACTS,
    "//elsewhere.example/",
    "https://elsewhere.example/",
    "/\\elsewhere.example/",
    "elsewhere",
  ]) {
    const response = await fetch(`${server.url}/api/links`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ path }),
    });
    assert.equal(response.status, 400, `${path}: ${await response.text()}`);
  }
  const { code } = await ask(server, "/api/links", { path: `/traces?${where({ q: MARKUP })}` });
  const { page, context } = await watched(browser);
  await page.goto(`${server.url}/s/${code}`);
  await page.waitForURL(/\/traces\?/);
  await settled(page);
  assert.deepEqual(await foreign(page), { found: [], hacked: undefined });
  await context.close();
});

test("a link of a dashboard that leads elsewhere opens beside the page, however it is written", async () => {
  const links = [
    "https://elsewhere.example/",
    "//elsewhere.example/",
    "/\\elsewhere.example/",
    "\\\\elsewhere.example/",
  ];
  const titled = links.map((url, at) => ({ title: `way ${at}`, url, type: "link" }));
  await save(
    server,
    board("ways", [], [], { links: [...titled, { title: "here", url: "/hosts", type: "link" }] }),
  );
  const { page, context } = await watched(browser);
  await page.goto(`${server.url}/d/ways`);
  await page.getByRole("link", { name: "here" }).waitFor();
  const leading = await page
    .getByRole("navigation", { name: "Links of the dashboard" })
    .getByRole("link")
    .evaluateAll((anchors) =>
      anchors
        .filter(({ host, target }) => host !== location.host && target !== "_blank")
        .map((anchor) => anchor.getAttribute("href")),
    );
  assert.deepEqual(leading, []);
  await context.close();
});
