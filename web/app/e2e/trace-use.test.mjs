// A trace in use: found in, filtered, walked by keys, compared, exported and opened from a file; and what it
// leads to. What is asserted of rows is of a trace that is small and known; machines, logs and sessions are
// those of living data.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { ask, stayed, until } from "./boards.mjs";
import { request, span, spanId, traceId } from "./generate.mjs";
import { attributes, browse, demo, send, serve, settled, shots, watched } from "./harness.mjs";

const MILLION = 1_000_000;

let server;
let browser;
/** Traces of living data: a failed payment, a training on GPUs. */
let failed;
let training;

/**
 * An order in milliseconds: rows in the order of the tree. In the second one paying is quicker, and goes well.
 *
 *     1 front  GET /order    0 to 100
 *     2 cart   load cart    10 to 30
 *     3 pay    charge       30 to 90   error
 *     4 pay    ask provider 35 to 85   error
 *     5 front  render       90 to 98
 */
function order(trace, provider, error) {
  const made = (id, name, from, to, more) =>
    span(trace, id, { name, start: from * MILLION, duration: (to - from) * MILLION, ...more });
  const paid = 40 + provider;
  const card = { "shop.card": error ? "amex" : "visa" };
  const visitor = { "shop.visitor": error ? "new" : "known" };
  return [
    request("front", [
      made(1, "GET /order", 0, paid + 10, { attributes: visitor }),
      made(5, "render", paid, paid + 8, { parent: 1 }),
    ]),
    request("cart", [made(2, "load cart", 10, 30, { parent: 1, attributes: { items: 3 } })]),
    request("pay", [
      made(3, "charge", 30, paid, { parent: 1, error, attributes: card }),
      made(4, "ask provider", 35, 35 + provider, { parent: 3, error, attributes: card }),
    ]),
  ];
}

const [SLOW, QUICK, TILL, ELSEWHERE] = [301, 302, 303, 304];
const NAMES = ["GET /order", "load cart", "charge", "ask provider", "render"];

async function firstTrace(q) {
  const { traces } = await ask(server, `/tempo/api/search?limit=1&q=${encodeURIComponent(q)}`);
  assert.ok(traces?.length > 0, `a trace that matches ${q}`);
  return traces[0].traceID.padStart(32, "0");
}

before(async () => {
  server = await serve();
  browser = await browse();
  for (const part of order(SLOW, 50, "declined")) await send(server, "traces", part);
  for (const part of order(QUICK, 10)) await send(server, "traces", part);
  await demo(server, { history: "1h", seconds: 2 });
  failed = await firstTrace('{ resource.service.name = "payment" && status = error }');
  training = await firstTrace('{ resource.service.name = "train-llama" && name = "train_step" }');
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const params = (page) => new URL(page.url()).searchParams;

/** Waits until a parameter of the address is a value; `null` is none. */
function waitParam(page, name, value) {
  return page.waitForFunction(
    ([key, wanted]) => new URLSearchParams(location.search).get(key) === wanted,
    [name, value],
  );
}

/** Opens a trace. */
async function opens(page, id, search = "") {
  await page.goto(`${server.url}/trace/${id}${search}`);
  await page.locator(".span-row:not([hidden])").first().waitFor();
}

/** Names of the rows that are shown, from above. */
function names(page) {
  return page.locator(".span-row:not([hidden])").evaluateAll((rows) =>
    rows
      .map((row) => [Number(row.getAttribute("aria-rowindex")), row.querySelector(".span-text").textContent])
      .sort(([a], [b]) => a - b)
      .map(([, name]) => name),
  );
}

/** Waits until these rows are shown, and no others. */
async function waitNames(page, wanted) {
  let last = [];
  const areShown = async () => {
    last = await names(page);
    return isDeepStrictEqual(last, wanted);
  };
  await until(areShown, `rows ${wanted.join(", ")}`).catch((error) =>
    assert.fail(`${error.message}; there are ${last.join(", ")}`),
  );
}

/** Waits until the span of that name is the one that is looked at. */
async function waitChosen(page, name) {
  const chosen = page.locator('.span-row[aria-selected="true"]:not([hidden]) .span-text');
  await chosen.and(page.getByText(name, { exact: true })).waitFor();
}

const panelOf = (page) => page.getByRole("complementary", { name: "Span" });

test("what is looked for is marked and counted, and walked from match to match", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, traceId(SLOW));
  const field = page.getByRole("searchbox", { name: "Find in this trace" });
  const told = page.locator(".find-count");
  // What is counted is marked with the next frame.
  const marked = (names) =>
    page.waitForFunction((wanted) => {
      const all = [...document.querySelectorAll(".span-match .span-text")];
      return JSON.stringify(all.map((one) => one.textContent).sort()) === JSON.stringify(wanted);
    }, names);
  await page.keyboard.press("Control+b");
  await page.waitForFunction(() => document.activeElement?.id === "trace-find");
  await page.keyboard.type("shop.card=amex");
  await waitParam(page, "find", "shop.card=amex");
  await told.getByText("2", { exact: true }).waitFor();
  await marked(["ask provider", "charge"]);
  await page.keyboard.press("Enter");
  await told.getByText("1 of 2", { exact: true }).waitFor();
  await waitChosen(page, "charge");
  await page.getByRole("button", { name: "Next match" }).click();
  await told.getByText("2 of 2", { exact: true }).waitFor();
  await waitChosen(page, "ask provider");
  // After the last comes the first; before it the last.
  await page.getByRole("button", { name: "Next match" }).click();
  await waitChosen(page, "charge");
  await page.getByRole("button", { name: "Previous match" }).click();
  await waitChosen(page, "ask provider");
  await waitParam(page, "span", spanId(4));

  await field.fill("render");
  await told.getByText("1", { exact: true }).waitFor();
  await marked(["render"]);
  await field.fill("nothing of the kind");
  await told.getByText("none", { exact: true }).waitFor();
  await marked([]);
  assert.ok(await page.getByRole("button", { name: "Next match" }).isDisabled());
  assert.deepEqual(complaints, []);
  await context.close();
});

test("keys walk rows and errors, open details, show one subtree only, and hide the critical path", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, traceId(SLOW));
  await waitNames(page, NAMES);
  const press = (key) => page.keyboard.press(key);
  for (const [key, name] of [
    ["j", "GET /order"],
    ["j", "load cart"],
    ["j", "charge"],
    ["k", "load cart"],
    // The next error, the one after it, and around the end the first again.
    ["e", "charge"],
    ["e", "ask provider"],
    ["e", "charge"],
  ]) {
    await press(key);
    await waitChosen(page, name);
  }
  await waitParam(page, "span", spanId(3));

  const panel = panelOf(page);
  await panel.getByText("shop.card", { exact: true }).waitFor();
  assert.equal(await panel.locator(".span-panel-name").textContent(), "charge");
  assert.equal((await panel.locator(".span-panel-error").textContent()).trim(), "declined");
  // 60 ms, of which it asked the provider for 50.
  assert.match(await panel.locator(".span-panel-figures").textContent(), /Duration\s*60 ms\s*Self\s*10 ms/);
  const amex = panel.locator(".value-row").filter({ has: page.getByText("shop.card", { exact: true }) });
  assert.equal(await amex.locator(".value").textContent(), "amex");
  await press("Enter");
  await panel.waitFor({ state: "detached" });
  await waitParam(page, "panel", "0");
  await press("Enter");
  await panel.waitFor();

  await press("x");
  await waitNames(page, ["charge", "ask provider"]);
  await waitParam(page, "root", spanId(3));
  await page.getByText("2 of 5", { exact: true }).waitFor();
  await press("x");
  await waitNames(page, NAMES);
  await waitParam(page, "root", null);

  // All spans were waited for, one after the other, and the root for them.
  const flags = page.locator('.span-marks [aria-label="On the critical path"]');
  assert.equal(await flags.count(), 5);
  await press("c");
  await waitParam(page, "critical", "0");
  await flags.first().waitFor({ state: "detached" });
  await press("c");
  await flags.first().waitFor();
  assert.equal(await flags.count(), 5);
  await press("7");
  const path = page.getByRole("grid", { name: "Spans of the critical path" });
  const first = path.locator(".table-row").first();
  assert.match(await first.textContent(), /^pay\s*ask provider\s*50 ms\s*50 %/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("spans of one service are shown by the filter, and by a click into the picture of services", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, traceId(SLOW));
  await page.getByRole("button", { name: "Filter spans" }).click();
  await page.getByRole("dialog", { name: "Filter spans" }).getByText("pay", { exact: true }).click();
  // With the row above them, which is not of that service.
  await waitNames(page, ["GET /order", "charge", "ask provider"]);
  assert.deepEqual(params(page).getAll("service"), ["pay"]);
  await page.getByRole("dialog", { name: "Filter spans" }).getByText("cart", { exact: true }).click();
  await waitNames(page, NAMES.slice(0, 4));
  await page.getByRole("button", { name: "Show all" }).click();
  await waitNames(page, NAMES);

  await page.keyboard.press("Escape");
  await page.getByRole("tab", { name: "Graph" }).click();
  const picture = page.getByRole("group", { name: "Services and calls" });
  assert.deepEqual(
    await picture
      .locator(".graph-node")
      .evaluateAll((all) =>
        all.map((one) => [...one.querySelectorAll("text")].map((text) => text.textContent).join(" ")),
      ),
    ["front 2 spans · self 20 ms", "cart 1 spans · self 20 ms", "pay 2 spans · self 60 ms · ✖ 2"],
  );
  assert.deepEqual((await picture.locator(".graph-edge title").allTextContents()).sort(), [
    "front → cart: 1 calls, 0 errors, 20 ms",
    "front → pay: 1 calls, 1 errors, 60 ms",
  ]);
  await page.screenshot({ path: join(shots, "trace-graph.png") });
  await picture.getByRole("button", { name: /^pay/ }).click();
  await waitNames(page, ["GET /order", "charge", "ask provider"]);
  assert.deepEqual([params(page).get("view"), params(page).get("service")], [null, "pay"]);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("services of the picture are reached by keys", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/trace/${traceId(SLOW)}?view=graph`);
  const picture = page.getByRole("group", { name: "Services and calls" });
  await picture.focus();
  for (const service of ["front", "cart", "pay"]) {
    await page.keyboard.press("Tab");
    await page.waitForFunction((name) => document.activeElement.textContent.startsWith(name), service);
  }
  await page.keyboard.press("Enter");
  await waitNames(page, ["GET /order", "charge", "ask provider"]);
  assert.deepEqual([params(page).get("view"), params(page).get("service")], [null, "pay"]);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("folded rows and the stretch that is marked are in the address", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, traceId(SLOW));
  await page.locator('.span-row[aria-rowindex="3"]').click();
  await page.keyboard.press("z");
  await waitParam(page, "folded", spanId(3));
  await opens(page, traceId(SLOW), `?folded=${spanId(3)}&area=${10 * MILLION},${30 * MILLION}`);
  await waitNames(page, NAMES.toSpliced(3, 1));
  await page.locator(".area-summary").getByText("20 ms", { exact: true }).first().waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("rows that are shown only for what is below them are told apart", async () => {
  const { page, context } = await watched(browser);
  await opens(page, traceId(SLOW));
  const told = page.locator(".span-context:not([hidden]) .span-text");
  assert.equal(await told.count(), 0);
  await page.getByRole("button", { name: "Filter spans" }).click();
  const choice = page.getByRole("dialog", { name: "Filter spans" });
  await choice.getByRole("checkbox", { name: "pay" }).check();
  await waitNames(page, ["GET /order", "charge", "ask provider"]);
  assert.deepEqual(await told.allTextContents(), ["GET /order"]);
  await choice.getByRole("checkbox", { name: "pay" }).uncheck();
  await waitNames(page, NAMES);
  assert.equal(await told.count(), 0);
  await context.close();
});

test("a trace is marked, and the one that is marked next is compared with it", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, traceId(SLOW));
  await page.keyboard.press("m");
  await page.getByRole("button", { name: "Marked as A" }).waitFor();
  await opens(page, traceId(QUICK));
  await page.getByRole("button", { name: "Compare with A" }).waitFor();
  await page.keyboard.press("m");
  await page.waitForURL(/\/compare\?/);
  assert.deepEqual([params(page).get("a"), params(page).get("b")], [traceId(SLOW), traceId(QUICK)]);
  const verdict = page.locator(".compare-verdict");
  assert.match(await verdict.locator(".compare-duration").textContent(), /^B is 40 ms ▼ faster\s*40 %/);
  assert.match(await verdict.textContent(), /▼ −40 ms\s*pay ask provider/);
  assert.match(await verdict.textContent(), /5 spans in both, 0 only in A, 0 only in B/);
  await page.getByRole("tab", { name: /^Attributes/ }).click();
  assert.match(await page.locator("main").textContent(), /shop\.visitor\s*new\s*known/);
  await page.screenshot({ path: join(shots, "compare-marked.png") });
  assert.deepEqual(complaints, []);
  await context.close();
});

/** Chooses what a trace is exported as, and reads the file. */
async function exported(page, what) {
  await page.getByRole("button", { name: "Export", exact: false }).first().click();
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: what }).click(),
  ]);
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), "utf8") };
}

/** Lets a file fall onto the page. */
async function drop(page, name, text) {
  const dataTransfer = await page.evaluateHandle(
    ([called, content]) => {
      const made = new DataTransfer();
      made.items.add(new File([content], called, { type: "application/json" }));
      return made;
    },
    [name, text],
  );
  await page.dispatchEvent("main", "dragenter", { dataTransfer });
  await page.getByText(/^Drop a trace/).waitFor();
  await page.dispatchEvent("main", "drop", { dataTransfer });
}

test("a trace is exported for others, and the file opens again where it is dropped", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, traceId(SLOW));
  const perfetto = await exported(page, "For Perfetto or Chrome");
  assert.equal(perfetto.name, `${traceId(SLOW)}.perfetto.json`);
  const parsed = JSON.parse(perfetto.text);
  const complete = (parsed.traceEvents ?? parsed).filter(({ ph }) => ph === "X");
  assert.deepEqual(complete.map(({ name }) => name).sort(), NAMES.toSorted());
  // Microseconds.
  assert.equal(Math.round(complete.find(({ name }) => name === "charge").dur), 60_000);

  const otlp = await exported(page, "OTLP JSON");
  assert.equal(otlp.name, `${traceId(SLOW)}.otlp.json`);
  const spans = JSON.parse(otlp.text).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((one) => [resource.attributes[0].value.stringValue, one.name, one.status?.code]),
    ),
  );
  assert.deepEqual(spans.sort(), [
    ["cart", "load cart", spans.find(([service]) => service === "cart")[2]],
    ["front", "GET /order", spans.find(([, name]) => name === "GET /order")[2]],
    ["front", "render", spans.find(([, name]) => name === "render")[2]],
    ["pay", "ask provider", 2],
    ["pay", "charge", 2],
  ]);

  // On another trace, so that what is shown then is of the file. A name of its own tells it from what is stored.
  await opens(page, traceId(QUICK));
  await drop(page, otlp.name, otlp.text.replaceAll('"ask provider"', '"of a file"'));
  await page.waitForURL(/\/trace\/upload-/);
  await waitNames(page, NAMES.with(3, "of a file"));
  await page.locator('.span-row[aria-rowindex="4"]').click();
  await panelOf(page).getByText("shop.card", { exact: true }).waitFor();
  assert.match(await panelOf(page).textContent(), /declined/);

  await drop(page, "notes.json", '{"no": "trace"}');
  await page.locator(".upload-error").waitFor();
  assert.match(page.url(), /\/trace\/upload-/);
  // The browser itself says that a request was answered with 400.
  assert.deepEqual(
    complaints.filter((one) => !/status of 4\d\d/.test(one)),
    [],
  );
  await context.close();
});

/** What a canvas shows, as a text that is the same for the same picture. */
const picture = (canvas) => canvas.evaluate((element) => element.toDataURL());

test("hosts and GPUs stand below a trace on its axis, and move with it", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, training);
  await settled(page);
  const strips = page.locator(".strips-list .strip");
  await strips.first().waitFor();
  const owners = await strips.locator("a").allTextContents();
  assert.ok(owners.includes("gpu-1"), `a strip of the host: ${owners}`);
  assert.ok(
    owners.some((owner) => /^gpu-1 GPU \d/.test(owner)),
    `strips of its GPUs: ${owners}`,
  );
  // One that changes over time: a line that is level everywhere looks the same in every window.
  const labels = await strips
    .locator("canvas")
    .evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
  const at = labels.findIndex((label) => {
    const [, least, most] = /: between (.+) and (.+)$/.exec(label);
    return least !== most;
  });
  const canvas = strips.nth(at).locator("canvas");
  await canvas.scrollIntoViewIfNeeded();
  await until(() => isDrawn(canvas), "the strip is drawn");
  const whole = await stayed(() => picture(canvas), "the picture of the strip");
  const bars = page.locator(".timeline-bars");
  const box = async (element) => {
    const { x, width } = await element.boundingBox();
    return [Math.round(x), Math.round(width)];
  };
  assert.deepEqual(
    await box(canvas),
    await box(bars),
    "the strip stands below the bars, as wide as they are",
  );
  await page.keyboard.press("Shift+ArrowUp");
  await until(async () => (await picture(canvas)) !== whole, "the strip is drawn closer");
  const closer = await picture(canvas);
  await page.keyboard.press("D");
  await until(async () => (await picture(canvas)) !== closer, "the strip is drawn later");
  await page.screenshot({ path: join(shots, "trace-strips.png") });
  await page.getByRole("button", { name: "Show all" }).click();
  await until(async () => (await picture(canvas)) === whole, "the strip is drawn as it was");
  // Who does not want them closes them.
  await page.getByRole("button", { name: /Hosts and GPUs/ }).click();
  await waitParam(page, "strips", "0");
  assert.equal(await strips.count(), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

/** Whether a canvas shows another picture than before anything was drawn. */
const isDrawn = (canvas) =>
  canvas.evaluate((element) => {
    const { width, height } = element;
    return (
      element.toDataURL() !== Object.assign(document.createElement("canvas"), { width, height }).toDataURL()
    );
  });

/** Whether something is drawn in the upper part of a canvas, from its left to its right end. */
const isFilled = (canvas) =>
  canvas.evaluate((element) => {
    const { width, height } = element;
    if (width === 0 || height === 0) return false;
    const { data } = element.getContext("2d").getImageData(0, 0, width, Math.floor(height / 2));
    const has = (x) => {
      for (let at = x * 4 + 3; at < data.length; at += width * 4) if (data[at] > 0) return true;
      return false;
    };
    return [1, Math.floor(width / 2), width - 2].every(has);
  });

test("a trace of milliseconds has its host below it, and so has a file that is not stored", async () => {
  const resource = { "host.name": "till-1" };
  const pay = (trace) => span(trace, 1, { name: "pay", duration: 5 * MILLION });
  const timeUnixNano = String(BigInt(pay(TILL).startTimeUnixNano) - 2_000_000_000n);
  const metric = { name: "node_load1", gauge: { dataPoints: [{ timeUnixNano, asDouble: 3 }] } };
  const owner = { "service.name": "node", "service.instance.id": "till-1:9100" };
  await send(server, "metrics", {
    resourceMetrics: [{ resource: { attributes: attributes(owner) }, scopeMetrics: [{ metrics: [metric] }] }],
  });
  await send(server, "traces", request("till", [pay(TILL)], resource));
  const { page, context, complaints } = await watched(browser);
  const strip = page.getByRole("img", { name: /^till-1 load: between 3 processes and 3 processes$/ });
  await opens(page, traceId(TILL));
  await strip.waitFor();
  await until(() => isFilled(strip), "the level of the load is drawn");
  await page.screenshot({ path: join(shots, "trace-short-strips.png") });
  await drop(page, "elsewhere.json", JSON.stringify(request("till", [pay(ELSEWHERE)], resource)));
  await page.waitForURL(/\/trace\/upload-/);
  await waitNames(page, ["pay"]);
  await strip.waitFor();
  await until(() => isFilled(strip), "the level of the load is drawn below the file");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a failed payment leads to its host and to its lines, which lead back", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, failed);
  // The span of the service that failed, below those of the ones that asked it.
  const charge = page
    .locator('.span-row:has([aria-label="Error"])')
    .filter({ hasText: "shop.Payment/Charge" })
    .filter({ has: page.locator(".span-service", { hasText: /^payment$/ }) });
  await charge.first().click();
  const panel = panelOf(page);
  await panel.getByRole("link", { name: "Logs of the trace" }).waitFor();
  assert.match(await panel.textContent(), /shop\.card\.network(amex|visa|mastercard|discover)/);
  assert.match(
    await panel.getByRole("link", { name: /^Host shop-\d$/ }).getAttribute("href"),
    /^\/host\/shop-\d\?from=\d+&to=\d+$/,
  );
  await panel.getByRole("link", { name: "Logs of the trace" }).click();
  await page.waitForURL(/\/explore\/logs/);
  const lines = page.getByRole("list", { name: "Lines" }).locator(".line");
  await lines.first().waitFor();
  const texts = await lines.locator(".line-text").allTextContents();
  assert.ok(
    texts.some((text) => /^charge failed for \w+: /.test(text)),
    texts.join("; "),
  );
  // And back: every line is of that trace.
  const links = await lines.locator(".line-trace").evaluateAll((all) => all.map((one) => one.pathname));
  assert.equal(links.length, texts.length);
  assert.deepEqual([...new Set(links)], [`/trace/${failed}`]);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a step of a training leads to its session, which leads back", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, training);
  await page.locator(".span-row").filter({ hasText: "train_step" }).first().click();
  const session = panelOf(page).getByRole("link", { name: /^Session train-llama\./ });
  const id = (await session.textContent()).trim().replace("Session ", "");
  await session.click();
  await page.waitForURL(new RegExp(`/session/${id.replace(".", "\\.")}$`));
  await page.getByRole("heading", { level: 1, name: "train-llama" }).waitFor();
  await settled(page);
  // The session leads back to its trace.
  const back = page.locator(".page-actions, main").getByRole("link", { name: "Trace", exact: true }).first();
  assert.equal(await back.getAttribute("href"), `/trace/${training}`);
  assert.deepEqual(complaints, []);
  await context.close();
});
