// What the page reaches, measured in a browser on a server with large and living data: prints a table. For a
// release build on a quiet machine; what has to hold everywhere is asserted by the tests beside it.
import { readFileSync } from "node:fs";
import { large } from "./generate.mjs";
import { browse, demo, serve, settled, watched } from "./harness.mjs";

const rows = [];
const say = (what, value) => {
  rows.push([what, value]);
  console.log(`| ${what} | ${value} |`);
};
const millis = (value) => `${value.toFixed(0)} ms`;
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

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
  await opened("100,000", await large(server, 1000, 100_000));
  await opened("1,000,000", await large(server, 2000, 1_000_000));
  say("resident memory of the server after it", `${(residentBytes(server.pid) / 2 ** 20).toFixed(0)} MiB`);
} finally {
  await browser.close();
  await server.stop();
}

/** From the beginning of a navigation until a key is heeded. */
async function interactive() {
  const times = [];
  for (let turn = 0; turn < 5; turn += 1) {
    const { page, context } = await watched(browser);
    await page.addInitScript(() => {
      const press = () => {
        if (document.querySelector("[role=dialog]")) window.heeded ??= performance.now();
        else document.body?.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
        if (!window.heeded) requestAnimationFrame(press);
      };
      requestAnimationFrame(press);
    });
    await page.goto(server.url);
    await page.waitForFunction(() => window.heeded);
    times.push(await page.evaluate(() => window.heeded));
    await context.close();
  }
  say("Home heeds keys after", millis(median(times)));
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
    say(`${path}, over a day of kymo demo`, millis(median(times)));
  }
}

/** Opens a trace, pans and zooms it, and asks for a span of it. */
async function opened(count, id) {
  const opening = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const { page, context } = await watched(browser);
    await page.goto(`${server.url}/trace/${id}`);
    await page.waitForFunction(() => performance.getEntriesByName("kymo:trace-painted").length > 0, {
      timeout: 120_000,
    });
    const at = (name) => page.evaluate((of) => performance.getEntriesByName(of)[0].startTime, name);
    opening.push([await at("kymo:trace-answer"), await at("kymo:trace-painted")]);
    if (turn === 2) {
      await settled(page);
      const start = performance.now();
      await page.locator(".span-row:visible").nth(2).click();
      await page.waitForSelector(".panel-title, aside h2", { timeout: 60_000 });
      await settled(page);
      say(`${count} spans: a span's details are there after`, millis(performance.now() - start));
    }
    await context.close();
  }
  const [answer, painted] = opening.toSorted((a, b) => a[1] - b[1])[1];
  say(`${count} spans: open, from the click to the first paint`, millis(painted));
  say(`${count} spans: of it, after the answer`, millis(painted - answer));
}
