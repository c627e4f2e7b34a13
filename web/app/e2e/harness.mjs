// What tests with a browser stand on: a real server on free ports, living data in it, and a Chromium that
// asks nobody else. Everything is ended with the test that began it.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const kymo = process.env.KYMO_BIN ?? "kymo";
/** Where pictures are put: `KYMO_SHOTS`, or nowhere that stays. */
export const shots = process.env.KYMO_SHOTS ?? mkdtempSync(join(tmpdir(), "kymo-shots-"));
mkdirSync(shots, { recursive: true });

/** Flags that keep Chromium from asking anybody but us, and that let it run as root. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--no-default-browser-check",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-domain-reliability",
  "--disable-sync",
  "--disable-features=Translate,OptimizationHints,MediaRouter,AutofillServerCommunication",
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
];

/** Starts a server; resolves when it says where it listens. */
export async function serve({ args = [], data, ports = {} } = {}) {
  const directory = data ?? mkdtempSync(join(tmpdir(), "kymo-page-"));
  const at = (name) => `127.0.0.1:${ports[name] ?? 0}`;
  const flags = [
    "--data",
    directory,
    "--http",
    at("http"),
    "--otlp-grpc",
    at("grpc"),
    "--otlp-http",
    at("otlp"),
  ];
  const child = spawn(kymo, ["serve", ...flags, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const said = [];
  const addresses = await new Promise((found, failed) => {
    const take = (chunk) => {
      said.push(String(chunk));
      const text = said.join("");
      const port = (name) => new RegExp(`^${name} +http://127\\.0\\.0\\.1:(\\d+)`, "m").exec(text)?.[1];
      const [http, grpc, otlp] = [port("http"), port("otlp grpc"), port("otlp http")];
      if (http && grpc && otlp) found({ http: Number(http), grpc: Number(grpc), otlp: Number(otlp) });
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.on("exit", (code) => failed(new Error(`kymo serve ended with ${code}: ${said.join("")}`)));
  });
  const ended = new Promise((done) => child.on("exit", done));
  return {
    ports: addresses,
    pid: child.pid,
    url: `http://127.0.0.1:${addresses.http}`,
    otlp: `http://127.0.0.1:${addresses.otlp}`,
    data: directory,
    said,
    async stop({ keep = false } = {}) {
      child.kill("SIGTERM");
      await ended;
      if (!keep) rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** Starts a server again, with its data and where it was: somebody else may have one of its ports for a moment. */
export async function serveAgain({ data, ports }) {
  for (let turn = 1; ; turn += 1) {
    try {
      return await serve({ data, ports });
    } catch (error) {
      if (turn === 60 || !/port \d+ .* is in use/.test(error.message)) throw error;
    }
    await new Promise((done) => setTimeout(done, 500));
  }
}

/** Runs a command of kymo to its end. */
export async function run(...args) {
  const child = spawn(kymo, args, { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  child.stdout.on("data", (chunk) => (text += chunk));
  child.stderr.on("data", (chunk) => (text += chunk));
  const code = await new Promise((done) => child.on("exit", done));
  if (code !== 0) throw new Error(`kymo ${args.join(" ")} ended with ${code}: ${text}`);
  return text;
}

/** Sends the living data of a past and of some seconds. */
export async function demo(server, { history = "1h", seconds = 2 } = {}) {
  return run("demo", "--endpoint", server.otlp, "--history", history, "--for", `${seconds}s`);
}

/** Sends OTLP as JSON. */
export async function send(server, signal, body) {
  const response = await fetch(`${server.otlp}/v1/${signal}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${signal}: ${response.status} ${await response.text()}`);
}

/** Opens a browser. */
export function browse() {
  const executablePath = process.env.KYMO_CHROMIUM ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: FLAGS });
}

/** Requests of pages that have no end yet. Streams of events are not among them: they have none. */
const unanswered = new WeakMap();
const QUIET_MILLIS = 500;
const MOST_UNQUIET_MILLIS = 30_000;

function count(page) {
  const open = new Set();
  page.on("request", (request) => {
    if (request.headers().accept !== "text/event-stream") open.add(request);
  });
  for (const end of ["requestfinished", "requestfailed"]) page.on(end, (request) => open.delete(request));
  unanswered.set(page, open);
}

/** A page of a browser whose console is watched: `complaints` has what it said. */
export async function watched(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 }, ...options });
  const page = await context.newPage();
  count(page);
  const complaints = [];
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => complaints.push(`failed: ${error.stack ?? error.message}`));
  return { page, context, complaints };
}

/** Waits until a watched page has nothing more to load and is not drawing skeletons. */
export async function settled(page) {
  await page.waitForLoadState("load");
  const open = unanswered.get(page);
  const latest = Date.now() + MOST_UNQUIET_MILLIS;
  for (let quietSince = Date.now(); Date.now() - quietSince < QUIET_MILLIS; ) {
    if (Date.now() >= latest) {
      // Whether that is bad is told by what comes next; this tells why.
      const asked = [...open].map((request) => `${request.method()} ${request.url()}`);
      console.error(`${page.url()} is not quiet; unanswered: ${asked.join(", ") || "nothing right now"}`);
      break;
    }
    await new Promise((done) => setTimeout(done, 50));
    if (open.size > 0) quietSince = Date.now();
  }
  await page.waitForFunction(() => document.querySelectorAll(".skeleton").length === 0, undefined, {
    timeout: 60_000,
  });
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * What axe finds serious or worse in what is shown: a line for each rule. What is dimmed while newer data is
 * awaited is judged as it stays.
 */
export async function findings(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(async () => {
    const undimmed = new CSSStyleSheet();
    undimmed.replaceSync(".dimmed, .panel-old { opacity: 1 !important; transition: none !important }");
    document.adoptedStyleSheets.push(undimmed);
    try {
      return await window.axe.run(document, {
        resultTypes: ["violations"],
        rules: { "color-contrast": { enabled: true } },
      });
    } finally {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => sheet !== undimmed);
    }
  });
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map((node) => node.html.slice(0, 160))
          .join(" | ")}`,
    );
}

/**
 * Goes to a page by `g` and its key. They are pressed again where nothing came of them: while a page loads, so
 * much time may pass between the two that they do not belong together.
 */
export async function goes(page, key, path) {
  const isThere = ({ pathname }) => pathname === path || pathname.startsWith(`${path}/`);
  for (let turn = 1; ; turn += 1) {
    for (const one of ["g", key]) await page.keyboard.press(one);
    const there = page.waitForURL(isThere, { timeout: 6000, waitUntil: "commit" });
    if (turn === 5) return there;
    const came = await there.then(
      () => true,
      () => false,
    );
    if (came) return;
  }
}

/** Milliseconds from the beginning of a navigation until a press of `?` opens the list of keys. */
export async function heededAfter(browser, address) {
  const { page, context } = await watched(browser);
  await page.addInitScript(() => {
    const press = () => {
      if (document.querySelector("[role=dialog]")) window.heeded ??= performance.now();
      else document.body?.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
      if (!window.heeded) requestAnimationFrame(press);
    };
    requestAnimationFrame(press);
  });
  await page.goto(address);
  await page.waitForFunction(() => window.heeded);
  const millis = await page.evaluate(() => window.heeded);
  await context.close();
  return millis;
}

const attribute = (key, value) => ({
  key,
  value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value },
});

/** Attributes of OTLP, of an object. */
export const attributes = (of) => Object.entries(of).map(([key, value]) => attribute(key, value));

/** Nanoseconds of so many milliseconds before now, as OTLP has them. */
export const nanosAgo = (millis = 0) => `${BigInt(Math.round(Date.now() - millis)) * 1_000_000n}`;

/** Sends spans of a resource; what a span leaves open is made up, and a second long. */
export function sendSpans(server, resource, spans) {
  const made = spans.map(({ attributes: own = {}, ...span }) => ({
    kind: 2,
    startTimeUnixNano: nanosAgo(2000),
    endTimeUnixNano: nanosAgo(1000),
    ...span,
    attributes: attributes(own),
  }));
  return send(server, "traces", {
    resourceSpans: [{ resource: { attributes: attributes(resource) }, scopeSpans: [{ spans: made }] }],
  });
}

/** Sends records of logs of a resource, which are events if they have a name. */
export function sendLogs(server, resource, records) {
  const made = records.map(({ attributes: own = {}, body, ...record }) => ({
    timeUnixNano: nanosAgo(),
    ...record,
    ...(body === undefined ? {} : { body: { stringValue: body } }),
    attributes: attributes(own),
  }));
  return send(server, "logs", {
    resourceLogs: [{ resource: { attributes: attributes(resource) }, scopeLogs: [{ logRecords: made }] }],
  });
}

/** Sends one point of a gauge, with labels. */
export function sendGauge(server, resource, name, value, labels = {}) {
  const point = { timeUnixNano: nanosAgo(), asDouble: value, attributes: attributes(labels) };
  const scopeMetrics = [{ metrics: [{ name, gauge: { dataPoints: [point] } }] }];
  return send(server, "metrics", {
    resourceMetrics: [{ resource: { attributes: attributes(resource) }, scopeMetrics }],
  });
}
