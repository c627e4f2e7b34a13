// What the page reaches, measured in a browser on a server with large and living data: prints a table. For a
// release build on a quiet machine; what has to hold everywhere is asserted by the tests beside it. Ends with 1
// if something takes longer than it may.
import { readFileSync } from "node:fs";
import { save } from "./boards.mjs";
import { large, moved, quantile } from "./generate.mjs";
import { drawnAfter, given, missing, withRowsOpen } from "./given.mjs";
import { browse, demo, heededAfter, serve, settled, watched } from "./harness.mjs";

/** A row of the table. */
const say = (what, value, may = "") => console.log(`| ${what} | ${value} | ${may} |`);
/** A time, and the longest that it may be. */
function took(what, millis, most, digits = 0) {
  const isLate = most !== undefined && millis > most;
  if (isLate) process.exitCode = 1;
  say(what, `${millis.toFixed(digits)} ms${isLate ? ": too long" : ""}`, most && `${most} ms`);
}
const median = (values) => quantile(values, 0.5);
const ROUNDS = 5;

function residentBytes(pid) {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)[1]) * 1024;
}

const server = await serve();
const browser = await browse();
try {
  await demo(server, { history: "24h", seconds: 2 });
  await interactive();
  await questions();
  await panels();
  await opened("100,000", await large(server, 1000, 100_000), { afterAnswer: 500, gap: 33 });
  await opened("1,000,000", await large(server, 2000, 1_000_000), { paint: 4000 });
  say("resident memory of the server after it", `${(residentBytes(server.pid) / 2 ** 20).toFixed(0)} MiB`);
} finally {
  await browser.close();
  await server.stop();
}

/** From the beginning of a navigation until a key is heeded. */
async function interactive() {
  const times = [];
  for (let turn = 0; turn < 5; turn += 1) times.push(await heededAfter(browser, server.url));
  took("Home heeds keys after", median(times), 1000);
}

/** What pages ask over a day of living data. */
async function questions() {
  for (const path of ["/api/ci/pipelines", "/api/sessions?since=24h&limit=50", "/api/fleet"]) {
    const times = [];
    for (let turn = 0; turn < 5; turn += 1) {
      const start = performance.now();
      const response = await fetch(server.url + path);
      await response.arrayBuffer();
      times.push(performance.now() - start);
    }
    took(`${path}, over a day of kymo demo`, median(times));
  }
}

/** The first forty panels of Node Exporter Full, over an hour of the machines of the living data. */
async function panels() {
  if (missing) return say("the first 40 panels of Node Exporter Full", `not measured: ${missing}`);
  const dashboard = JSON.parse(given("node-exporter-full.json"));
  await save(server, withRowsOpen({ ...dashboard, uid: "forty", title: "Forty" }, 40));
  const times = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const { page, context } = await watched(browser);
    times.push(await drawnAfter(page, `${server.url}/d/forty?from=now-1h&to=now&refresh=`, 40));
    await context.close();
  }
  took("the first 40 panels of Node Exporter Full, an hour: drawn after", median(times), 2000);
}

/** Frames while a trace is moved through: the middle of several rounds. */
async function frames(count, page, longest) {
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await moved(page));
  const middle = (of) => median(rounds.map(of));
  took(
    `${count} spans: moved through, 1 frame in 20 after more than`,
    middle(({ gaps }) => quantile(gaps, 0.95)),
    undefined,
    1,
  );
  took(
    `${count} spans: moved through, the longest gap of ${rounds[0].gaps.length} frames`,
    middle(({ gaps }) => Math.max(...gaps)),
    longest,
    1,
  );
  took(
    `${count} spans: moved through, the slowest drawing`,
    middle(({ drawings }) => Math.max(...drawings)),
    longest,
    1,
  );
}

/** Opens a trace, pans and zooms it, and asks for a span of it; with the times that each may take. */
async function opened(count, id, { paint, afterAnswer, gap }) {
  const opening = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const { page, context } = await watched(browser);
    await page.goto(`${server.url}/trace/${id}`);
    await page.waitForFunction(
      () => performance.getEntriesByName("kymo:trace-painted").length > 0,
      undefined,
      {
        timeout: 120_000,
      },
    );
    const at = (name) => page.evaluate((of) => performance.getEntriesByName(of)[0].startTime, name);
    opening.push([await at("kymo:trace-answer"), await at("kymo:trace-painted")]);
    if (turn === 2) {
      await settled(page);
      await frames(count, page, gap);
      const start = performance.now();
      await page.locator(".span-row:visible").nth(2).click();
      await page.waitForSelector(".panel-title, aside h2", { timeout: 60_000 });
      await settled(page);
      took(`${count} spans: a span's details are there after`, performance.now() - start);
    }
    await context.close();
  }
  const [answer, painted] = opening.toSorted((a, b) => a[1] - b[1])[1];
  took(`${count} spans: open, from the click to the first paint`, painted, paint);
  took(`${count} spans: of it, after the answer`, painted - answer, afterAnswer);
}
