// Logs and metrics in use: lines as they come, patterns of them, the lines around one; metrics that are found
// by a word, exemplars that open their trace, a histogram as a heat map; and from the map of hosts to a host.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { ask } from "./boards.mjs";
import { browse, demo, nanosAgo, sendLogs, serve, serveAgain, settled, shots, watched } from "./harness.mjs";

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await browse();
  await demo(server, { history: "1h", seconds: 2 });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const params = (page) => new URL(page.url()).searchParams;

/** Sends lines of a service, a second apart, the last one so many seconds ago. */
function says(service, lines, secondsAgo = 0) {
  const records = lines.map((body, at) => ({
    timeUnixNano: nanosAgo((secondsAgo + lines.length - 1 - at) * 1000),
    severityNumber: 9,
    severityText: "INFO",
    body,
  }));
  return sendLogs(server, { "service.name": service }, records);
}

const linesOf = (page) => page.getByRole("list", { name: "Lines", exact: true }).locator(".line-text");

describe("logs", () => {
  test("a live tail listens on a WebSocket and shows what is said later, the newest first", async () => {
    const { page, context, complaints } = await watched(browser);
    const sockets = [];
    page.on("websocket", (socket) => sockets.push(new URL(socket.url()).pathname));
    await says("tailed", ["before anybody listened"]);
    const query = encodeURIComponent('{service_name="tailed"}');
    await page.goto(`${server.url}/explore/logs?q=${query}&live=1`);
    await page.getByText("live", { exact: true }).waitFor();
    await linesOf(page).getByText("before anybody listened").waitFor();
    assert.deepEqual(sockets, ["/loki/api/v1/tail"]);
    await says("tailed", ["while it listened"]);
    await says("another", ["of somebody else"]);
    await linesOf(page).getByText("while it listened").waitFor();
    assert.deepEqual(await linesOf(page).allTextContents(), ["while it listened", "before anybody listened"]);

    // What comes in a pause waits, and is shown when it goes on.
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await says("tailed", ["in a pause"]);
    const goOn = page.getByRole("button", { name: "Go on (1 new)" });
    await goOn.waitFor();
    assert.equal(await linesOf(page).count(), 2);
    await goOn.click();
    await linesOf(page).getByText("in a pause").waitFor();
    assert.equal(await linesOf(page).count(), 3);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("a live tail goes on where it was after a restart of the server, and tells no line twice", async () => {
    const own = await serve();
    const said = (to, pod, body, timeUnixNano = nanosAgo()) =>
      sendLogs(to, { "service.name": "lasting", "k8s.pod.name": pod }, [{ timeUnixNano, body }]);
    // Pods say the same at the same time: these are two lines.
    const same = nanosAgo(5000);
    await said(own, "first", "ready", same);
    await said(own, "second", "ready", same);
    const { page, context } = await watched(browser);
    const query = encodeURIComponent('{service_name="lasting"}');
    await page.goto(`${own.url}/explore/logs?q=${query}&live=1`);
    await page.getByText("live", { exact: true }).waitFor();
    await page.getByText("2 lines", { exact: true }).waitFor();
    await said(own, "first", "before the restart");
    await linesOf(page).getByText("before the restart").waitFor();
    await own.stop({ keep: true });
    await page.getByText("broken off; trying again").waitFor();
    assert.equal(await linesOf(page).count(), 3, "what came stays");
    const again = await serveAgain(own);
    // It may listen again already, or not yet: a line that it missed is told when it does.
    await said(again, "first", "after the restart");
    await linesOf(page).getByText("after the restart").waitFor({ timeout: 40_000 });
    await page.getByText("live", { exact: true }).waitFor();
    assert.deepEqual(await linesOf(page).allTextContents(), [
      "after the restart",
      "before the restart",
      "ready",
      "ready",
    ]);
    await context.close();
    await again.stop();
  });

  test("a level leaves the lines that are shown as of it, whatever says so", async () => {
    const record = (body, more, at) => ({ timeUnixNano: nanosAgo(30_000 + at * 1000), body, ...more });
    await sendLogs(server, { "service.name": "numbered" }, [
      record("only a number", { severityNumber: 17 }, 0),
      record("another number", { severityNumber: 20 }, 1),
      record("a word", { severityText: "ERROR" }, 2),
      record("a word that the number denies", { severityNumber: 17, severityText: "WARN" }, 3),
      record("no error", { severityNumber: 9 }, 4),
      record("nothing is said", {}, 5),
    ]);
    const { page, context, complaints } = await watched(browser);
    const query = encodeURIComponent('{service_name="numbered"}');
    await page.goto(`${server.url}/explore/logs?q=${query}`);
    await page.getByText("6 lines", { exact: true }).waitFor();
    const level = page.getByTitle("Only error", { exact: true });
    assert.match(await level.textContent(), /error\s+3$/);
    await level.click();
    await page.waitForFunction(() => new URLSearchParams(location.search).get("level") === "error");
    await page.getByText("3 lines", { exact: true }).waitFor();
    assert.deepEqual(await linesOf(page).allTextContents(), ["only a number", "another number", "a word"]);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("lines are counted by pattern, and a pattern leaves its lines or the others", async () => {
    const stored = Array.from({ length: 40 }, (_, at) => `stored object ${1000 + at} in bucket ${at % 7}`);
    const dropped = Array.from({ length: 12 }, (_, at) => `connection ${4000 + at} dropped by peer`);
    await says("patterned", [...stored, ...dropped], 30);
    const { page, context, complaints } = await watched(browser);
    const query = '{service_name="patterned"}';
    await page.goto(`${server.url}/explore/logs?q=${encodeURIComponent(query)}&view=patterns`);
    const rows = page.getByRole("grid", { name: "Patterns" }).locator(".table-row");
    await rows.first().waitFor();
    const told = await rows.evaluateAll((all) =>
      all.map((row) => [Number(row.children[0].textContent), row.querySelector("code").textContent]),
    );
    assert.deepEqual(told, [
      [40, "stored object <_> in bucket <_>"],
      [12, "connection <_> dropped by peer"],
    ]);
    await rows.nth(1).getByRole("button", { name: "Only such lines" }).click();
    await page.waitForFunction(() => !new URLSearchParams(location.search).has("view"));
    assert.equal(params(page).get("q"), `${query} |> "connection <_> dropped by peer"`);
    await page.getByText("12 lines", { exact: true }).waitFor();
    assert.deepEqual((await linesOf(page).allTextContents()).sort(), dropped);

    await page.getByRole("tab", { name: "Patterns" }).click();
    await rows.first().getByRole("button", { name: "Without such lines" }).click();
    await page.getByText("No line matches in the time shown").waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("the lines around one are of its stream, also those that the query leaves out", async () => {
    await says(
      "around",
      Array.from({ length: 61 }, (_, at) => `line ${at}`),
      60,
    );
    await says("elsewhere", ["a line between"], 90);
    const { page, context, complaints } = await watched(browser);
    const query = encodeURIComponent('{service_name="around"} |= "line 30"');
    await page.goto(`${server.url}/explore/logs?q=${query}`);
    await page.getByText("1 lines", { exact: true }).waitFor();
    assert.deepEqual(await linesOf(page).allTextContents(), ["line 30"]);
    await page.getByRole("button", { name: "What belongs to this line" }).click();
    await page.getByRole("button", { name: "Lines around it" }).click();
    const around = page.getByRole("list", { name: "Lines around it, the newest first" });
    await around.waitFor();
    assert.deepEqual(
      await around.locator(".line-text").allTextContents(),
      Array.from({ length: 41 }, (_, at) => `line ${50 - at}`),
    );
    assert.deepEqual(await around.locator(".around-this .line-text").allTextContents(), ["line 30"]);
    // A field of the line becomes a condition of the query.
    await page.getByRole("button", { name: "Only service_name = around" }).waitFor();
    await page.screenshot({ path: join(shots, "logs-around.png") });
    assert.deepEqual(complaints, []);
    await context.close();
  });
});

/** Where something of a colour of the theme is drawn on a chart: the middles of what is found, in its pixels. */
function drawnIn(chart, color) {
  return chart.evaluate((root, name) => {
    const canvas = root.querySelector("canvas");
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    root.append(probe);
    const [red, green, blue] = getComputedStyle(probe).color.match(/\d+/g).map(Number);
    probe.remove();
    const { width, height } = canvas;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const scale = width / canvas.getBoundingClientRect().width;
    const places = [];
    for (let y = 0; y < height; y += 1)
      for (let x = 0; x < width; x += 1) {
        const at = (y * width + x) * 4;
        if (data[at] !== red || data[at + 1] !== green || data[at + 2] !== blue || data[at + 3] < 250)
          continue;
        if (!places.some((one) => Math.hypot(one.x - x, one.y - y) < 8 * scale)) places.push({ x, y });
      }
    return places.map(({ x, y }) => ({ x: x / scale, y: y / scale }));
  }, color);
}

describe("metrics", () => {
  test("a metric is found by a word, and a click asks what is usually asked of one", async () => {
    const { page, context, complaints } = await watched(browser);
    await page.goto(`${server.url}/explore/metrics?finder=1`);
    const finder = page.getByRole("complementary", { name: "Metrics" });
    await finder.getByRole("searchbox").fill("gpu temp");
    const names = finder.locator(".metric-name > .mono");
    const { data } = await ask(server, "/prometheus/api/v1/label/__name__/values");
    const known = data.filter((name) => /gpu/i.test(name) && /temp/i.test(name));
    assert.ok(known.length > 0, "a metric that is called so");
    await finder.getByText(`${known.length} metrics`, { exact: true }).waitFor();
    assert.deepEqual((await names.allTextContents()).sort(), known.sort());
    await names.first().click();
    await page.waitForFunction(() => /temp/i.test(new URLSearchParams(location.search).get("q") ?? ""));
    assert.equal(params(page).get("q"), known[0]);
    // Eight GPUs.
    await page.getByRole("img", { name: /^Answers of the queries\. 8 series, \d+ points\./ }).waitFor();
    await finder.getByRole("searchbox").fill("nothing of the kind");
    await finder.getByText("No metric is called so").waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("an exemplar opens the trace that it is of, in the list and on the chart", async () => {
    const { page, context, complaints } = await watched(browser);
    const query =
      "histogram_quantile(0.95, sum by (le) (rate(http_server_request_duration_seconds_bucket[$__rate_interval])))";
    const address = `${server.url}/explore/metrics?q=${encodeURIComponent(query)}&from=now-30m&to=now`;
    await page.goto(address);
    const chart = page.getByRole("img", { name: /^Answers of the queries\. 1 series/ });
    await chart.waitFor();
    const summary = page.locator(".exemplars summary");
    await summary.waitFor();
    await settled(page);
    assert.match(await summary.textContent(), /^[\d.]+( k)? exemplars$/);
    await summary.click();
    const link = page.locator(".exemplars a").first();
    const target = new URL(await link.getAttribute("href"), server.url);
    assert.match(target.pathname, /^\/trace\/[0-9a-f]{32}$/);
    await link.click();
    await page.waitForURL(`**${target.pathname}?*`);
    // The span that was measured is the one that is looked at: of a request of the shop.
    const chosen = page.locator('.span-row[aria-selected="true"]:not([hidden])');
    await chosen.waitFor();
    assert.equal(params(page).get("span"), target.searchParams.get("span"));
    assert.match(await chosen.textContent(), /^.*frontend(GET|POST) \//);

    await page.goto(address);
    await chart.waitFor();
    await settled(page);
    const places = await drawnIn(chart, "--accent");
    assert.ok(places.length > 0, "marks are drawn");
    const { x, y } = await chart.boundingBox();
    const mark = page.locator(".chart-tooltip-mark");
    for (const place of places) {
      await page.mouse.move(x + place.x, y + place.y);
      if (await mark.isVisible()) break;
    }
    assert.match(await mark.textContent(), /^exemplar .+, trace [0-9a-f]{8}click to open$/);
    const [, told] = /trace ([0-9a-f]{8})/.exec(await mark.textContent());
    await page.screenshot({ path: join(shots, "metrics-exemplar.png") });
    await page.mouse.down();
    await page.mouse.up();
    const choice = page.getByRole("dialog", { name: "Exemplar" });
    await choice.getByText(told, { exact: true }).waitFor();
    await choice.getByRole("link", { name: "Open" }).click();
    await page.waitForURL(new RegExp(`/trace/${told}[0-9a-f]{24}`));
    await chosen.waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("a second query is drawn beside the first, and can be taken away", async () => {
    const { page, context, complaints } = await watched(browser);
    await page.goto(`${server.url}/explore/metrics?q=${encodeURIComponent("sum(node_load1)")}`);
    await page.getByRole("img", { name: /^Answers of the queries\. 1 series/ }).waitFor();
    await page.getByRole("button", { name: "Query", exact: true }).click();
    const editor = page.locator(".metric-query").nth(1).locator(".cm-content");
    await editor.click();
    await page.keyboard.insertText("sum(node_load5)");
    await page.keyboard.press("Control+Enter");
    await page.getByRole("img", { name: /^Answers of the queries\. 2 series/ }).waitFor();
    assert.deepEqual(params(page).getAll("q"), ["sum(node_load1)", "sum(node_load5)"]);
    await page.getByRole("button", { name: "Remove A" }).click();
    await page.getByRole("img", { name: /^Answers of the queries\. 1 series/ }).waitFor();
    assert.deepEqual(params(page).getAll("q"), ["sum(node_load5)"]);
    assert.deepEqual(complaints, []);
    await context.close();
  });

  test("a histogram is shown as a heat map, which counts what the histogram counted", async () => {
    const { page, context, complaints } = await watched(browser);
    await page.goto(`${server.url}/explore/metrics?finder=1`);
    const finder = page.getByRole("complementary", { name: "Metrics" });
    await finder.getByRole("searchbox").fill("http server request duration");
    await finder.getByTitle("A heat map of http_server_request_duration_seconds").click();
    await page.waitForFunction(() => new URLSearchParams(location.search).get("view") === "heat");
    assert.match(params(page).get("q"), /rate\(http_server_request_duration_seconds/);
    const map = page.getByRole("img", { name: /observations in \d+ steps of time/ });
    await map.waitFor();
    const label = await map.getAttribute("aria-label");
    const [, total, suffix = ""] = /\. ([\d.]+)( [kM])? observations in/.exec(label);
    const counted = Number(total) * { "": 1, " k": 1e3, " M": 1e6 }[suffix];
    // Each request is in one cell. Rates reckon with what lies between samples, so that sums are about so.
    const increase = encodeURIComponent("sum(increase(http_server_request_duration_seconds_count[1h]))");
    const { data } = await ask(server, `/prometheus/api/v1/query?query=${increase}`);
    const all = Number(data.result[0].value[1]);
    assert.ok(all > 1000 && Math.abs(counted / all - 1) < 0.15, `${label} of ${all}`);
    assert.match(label, /most are of [\d.]+ ms to [\d.]+ ms/);
    // A cell tells what it counts; a drag looks at its time closely.
    const { x, y, width, height } = await map.boundingBox();
    await page.mouse.move(x + width * 0.6, y + height * 0.6);
    assert.match(
      await page.locator(".heatmap .chart-tooltip").textContent(),
      / to .+: [\d.]+( k)? observations$/,
    );
    await page.screenshot({ path: join(shots, "metrics-heat.png") });
    await page.mouse.down();
    await page.mouse.move(x + width * 0.8, y + height * 0.4, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction(() => /^\d+$/.test(new URLSearchParams(location.search).get("from") ?? ""));
    const span = Number(params(page).get("to")) - Number(params(page).get("from"));
    assert.ok(span > 5 * 60_000 && span < 20 * 60_000, `${span} ms of an hour`);
    // What says so has no buckets.
    await page.goto(`${server.url}/explore/metrics?q=node_load1&view=heat`);
    await page.getByText("A has no buckets").waitFor();
    assert.deepEqual(complaints, []);
    await context.close();
  });
});

test("the map of hosts tells how full each is, and leads to its page", async () => {
  // How full it is now is of the last minutes only.
  await demo(server, { history: "1m", seconds: 1 });
  const { page, context, complaints } = await watched(browser);
  const { hosts } = await ask(server, "/api/fleet");
  await page.goto(`${server.url}/hosts?from=now-30m&to=now`);
  const squares = page.locator(".fleet-map a");
  await squares.first().waitFor();
  assert.deepEqual(
    (await squares.evaluateAll((all) => all.map((one) => one.ariaLabel.split(":")[0]))).sort(),
    hosts.map(({ name }) => name).sort(),
  );
  await page.getByRole("combobox", { name: "Filled by" }).selectOption({ label: "Memory" });
  await page.waitForFunction(() => new URLSearchParams(location.search).get("by") === "memory");
  const square = page.getByRole("link", { name: /^hpc-2: Memory [\d.]+ %$/ });
  await square.waitFor();
  // The square is as full as its label says.
  const [said] = /[\d.]+(?= %)/.exec(await square.getAttribute("aria-label"));
  const filled = await square.locator(".square-fill").evaluate((one) => Number.parseFloat(one.style.height));
  assert.ok(Math.abs(Number(said) - filled) <= 1, `${said} % and ${filled} %`);
  await page.screenshot({ path: join(shots, "hosts-memory.png") });
  await square.click();
  await page.waitForURL(/\/host\/hpc-2\?from=now-30m&to=now/);
  await page.getByRole("heading", { level: 1, name: "hpc-2" }).waitFor();
  for (const title of ["CPU", "Memory", "Fullest file system", "Network"])
    await page
      .getByRole("img", { name: new RegExp(`^${title} of hpc-2\\. [1-9]\\d* series, [1-9]`) })
      .waitFor();
  // What a chart shows can be asked as metrics.
  await page.getByRole("link", { name: "Explore CPU" }).click();
  await page.waitForURL(/\/explore\/metrics\?/);
  assert.match(params(page).get("q"), /node_cpu_seconds_total.*hpc-2/);
  await page.getByRole("img", { name: /^Answers of the queries\. [1-9]\d* series/ }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});
