// What is set up is text too: names of tenants and tokens, flags, rules and targets, what other servers answer,
// and the queries of others. Markup in them is shown as it is, wherever somebody looks after the server.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ask, until } from "./boards.mjs";
import { browse, nanosAgo, sendSpans, serve, settled, watched } from "./harness.mjs";
import { evil, isText, kept } from "./markup.mjs";

/** Names of tenants are short. */
const TENANT = 'tenant <img src=x onerror="window.hacked=1">';
const SPAN = { name: "calm", traceId: "1".repeat(32), spanId: "1".repeat(16) };

let server;
let browser;
let settings;
let refusing;

before(async () => {
  settings = mkdtempSync(join(tmpdir(), "kymo-xss-"));
  refusing = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(422, { "Content-Type": "text/plain" });
      response.end(evil("refusal"));
    });
  });
  await new Promise((done) => refusing.listen(0, "127.0.0.1", done));
  server = await serve({ args: configured() });
  browser = await browse();
  await ask(server, "/api/tokens", { name: evil("token"), roles: ["read"] });
  await ask(server, "/api/audience/flags", {
    key: "evil",
    description: evil("about"),
    mode: "everybody",
    enabled: false,
    users: [evil("user")],
  });
  await sendSpans(server, { "service.name": "calm" }, [SPAN]);
  const times = { startTimeUnixNano: nanosAgo(2000), endTimeUnixNano: nanosAgo(1000) };
  const sent = await fetch(`${server.otlp}/v1/traces`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Scope-OrgID": TENANT },
    body: JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [{ ...SPAN, ...times }] }] }] }),
  });
  assert.ok(sent.ok, await sent.text());
});

after(async () => {
  await browser?.close();
  await server?.stop();
  refusing?.close();
  if (settings) rmSync(settings, { recursive: true, force: true });
});

/** Writes what configures the server; the flags that say where. JSON is YAML. */
function configured() {
  const written = (name, document) => {
    const path = join(settings, name);
    writeFileSync(path, JSON.stringify(document));
    return path;
  };
  const alert = {
    alert: "Evil",
    expr: "vector(1)",
    labels: { flavour: evil("flavour") },
    annotations: { summary: evil("summary") },
  };
  const rules = written("rules.yml", { groups: [{ name: evil("group"), rules: [alert] }] });
  const target = { targets: ["127.0.0.1:1"], labels: { flavour: evil("flavour") } };
  const prometheus = written("prometheus.yml", {
    global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
    rule_files: [rules],
    scrape_configs: [{ job_name: evil("job"), static_configs: [target] }],
  });
  const endpoint = `http://127.0.0.1:${refusing.address().port}`;
  const destination = { name: "strict", protocol: "http", endpoint, signals: ["traces"] };
  const config = written("kymo.yaml", { destinations: [destination] });
  return ["--config", config, "--prometheus-config", prometheus];
}

const isRefused = async () => {
  const { destinations } = await ask(server, "/api/destinations");
  return destinations.some(({ last_error }) => last_error?.message.includes("refusal"));
};
const fires = async () => (await ask(server, "/prometheus/api/v1/alerts")).data.alerts.length > 0;
const isScraped = async () => {
  const { data } = await ask(server, "/prometheus/api/v1/targets");
  return data.activeTargets.some(({ health }) => health === "down");
};

/** Pages, the words that are there, and what has to have happened before. */
const PAGES = [
  ["/admin/overview", []],
  ["/admin/storage", []],
  ["/admin/ingest", ["tenant"]],
  ["/admin/audience", ["about"]],
  ["/admin/tokens", ["token"]],
  ["/admin/config", []],
  ["/admin/destinations", ["refusal"], isRefused],
  ["/alerts", ["summary", "flavour"], fires],
  ["/alerts?view=rules", ["group"], fires],
  ["/targets", ["job", "flavour"], isScraped],
];

describe("what is set up is text", () => {
  for (const [path, words, holds] of PAGES) {
    test(`${path}: ${words.join(", ") || "nothing acts"}`, async () => {
      if (holds) await until(holds, `what ${path} shows`);
      const { page, context, complaints } = await watched(browser);
      await page.goto(server.url + path);
      await settled(page);
      await isText(page, words);
      assert.deepEqual(kept(complaints), []);
      await context.close();
    });
  }
});

test("a query of somebody else that runs is text", async () => {
  const spans = Array.from({ length: 9 }, (_, at) => ({ ...SPAN, spanId: `${at + 1}`.repeat(16) }));
  await sendSpans(server, { "service.name": "calm" }, spans);
  // An answer of a hundred megabytes that nobody reads: the query waits for its client.
  const tables = ["a", "b", "c", "d", "e", "f"].map((name) => `spans ${name}`).join(", ");
  const query = `select '${evil("query")}' as words, a.name, b.resource from ${tables}`;
  const answer = await fetch(`${server.url}/api/sql`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query }),
  });
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/admin/queries`);
  await isText(page, ["query"]);
  assert.deepEqual(kept(complaints), []);
  await context.close();
  await answer.body.cancel();
});
