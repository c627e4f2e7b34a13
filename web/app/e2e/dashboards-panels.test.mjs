// What is drawn over and behind values: exemplars that lead to their traces, annotations that can be switched,
// data links, and times in the dashboard's zone.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  ask,
  asTable,
  board,
  chart,
  choose,
  drawn,
  heard,
  panelOf,
  save,
  sendGauges,
  until,
} from "./boards.mjs";
import { browse, serve, shots, watched } from "./harness.mjs";

let server;
let browser;

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
/** The exemplar's time, in milliseconds: some minutes ago. */
const at = Date.now() - 240_000;

before(async () => {
  server = await serve();
  browser = await browse();
  const nanos = `${BigInt(at) * 1_000_000n}`;
  const exemplars = [{ timeUnixNano: nanos, asDouble: 5, traceId: TRACE, spanId: SPAN }];
  await sendGauges(server, "latency", [
    { value: 3, labels: { host: "a" }, exemplars },
    { value: 4, labels: { host: "b" } },
  ]);
  await sendGauges(server, "deploys", [{ value: 1, labels: { host: "a" } }]);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const TIME = `from=${at - 600_000}&to=${at + 600_000}`;

/** Where a time is in the plot of a panel: pixels from the window's left, and the plot's top and height. */
async function placeOf(page, title, millis) {
  const { x, y, width, height } = await panelOf(page, title).locator(".u-over").boundingBox();
  return { x: x + ((millis - at + 600_000) / 1_200_000) * width, y, height };
}

const tooltip = (page) => page.locator(".panel-tooltip:visible");

test("exemplars are no series but lead to their traces", async () => {
  const panel = chart(1, "Latency", "latency", {
    targets: [{ refId: "A", expr: "latency", exemplar: true, range: true }],
    fieldConfig: { defaults: { min: 0, max: 10 }, overrides: [] },
  });
  await save(server, board("exemplars", [panel]));
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/exemplars?${TIME}`);
  await drawn(page);
  const plot = panelOf(page, "Latency").locator("[role=img]");
  assert.match(await plot.getAttribute("aria-label"), /2 series over time\. .* 1 exemplar$/);
  const { x, y, height } = await placeOf(page, "Latency", at);
  await page.mouse.move(x + 2, y + height / 2 + 2);
  await tooltip(page)
    .getByText(/^exemplar 5, trace 0af76519$/)
    .waitFor();
  await page.screenshot({ path: join(shots, "dashboard-exemplar.png") });
  await page.mouse.click(x + 2, y + height / 2 + 2);
  const link = tooltip(page).getByRole("link", { name: "Open trace 0af76519" });
  assert.equal(await link.getAttribute("href"), `/trace/${TRACE}?span=${SPAN}`);
  await tooltip(page).getByRole("button", { name: "Close" }).click();
  // By keys it is reached through the table.
  await choose(page, "Latency", "View as table");
  const result = panelOf(page, "Latency").getByLabel("Result");
  await result.selectOption({ label: "exemplar" });
  const inTable = panelOf(page, "Latency").getByRole("link");
  assert.equal(await inTable.first().getAttribute("href"), `/trace/${TRACE}?span=${SPAN}`);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("annotations are over the panels that they are meant for, and can be switched", async () => {
  const annotation = (name, more) => ({
    name,
    enable: true,
    iconColor: "red",
    datasource: { type: "prometheus", uid: "kymo-prometheus" },
    expr: "deploys",
    titleFormat: `${name} of {{host}}`,
    ...more,
  });
  const list = [
    { builtIn: 1, name: "Annotations & Alerts", datasource: { type: "grafana" }, enable: true },
    annotation("Deploys", { filter: { ids: [1] } }),
    annotation("Off", { enable: false }),
  ];
  const panels = [chart(1, "With", "latency"), chart(2, "Without", "latency")];
  await save(server, board("marked", panels, [], { annotations: { list } }));
  const { page, context, complaints } = await watched(browser);
  const { keys } = heard(page);
  await page.goto(`${server.url}/d/marked?${TIME}`);
  await drawn(page, { least: 2 });
  const { annotations } = await ask(server, "/api/dashboards/annotations", {
    uid: "marked",
    from: at - 600_000,
    to: at + 600_000,
  });
  assert.ok(annotations.length > 0, "the server has marks");
  const said = async (title) => {
    const { x, y, height } = await placeOf(page, title, annotations[0].time);
    await page.mouse.move(x - 60, y + height - 40);
    await page.mouse.move(x + 1, y + height - 30);
    return tooltip(page).locator(".chart-tooltip-mark").allTextContents();
  };
  await until(async () => (await said("With")).join() === "Deploys of a", "the mark");
  assert.deepEqual(await said("Without"), []);
  await page.screenshot({ path: join(shots, "dashboard-annotations.png") });

  const switches = page.getByRole("group", { name: "Annotations" });
  assert.deepEqual(
    (await switches.locator("label").allTextContents()).map((text) => text.trim()),
    ["Deploys", "Off"],
  );
  const asked = keys().length;
  await switches.getByLabel("Off").check();
  await until(async () => (await said("Without")).join() === "Off of a", "the mark that was off");
  await switches.getByLabel("Deploys").uncheck();
  await until(async () => (await said("With")).join() === "Off of a", "one mark alone");
  const { searchParams } = new URL(page.url());
  assert.deepEqual(
    ["annotation-Deploys", "annotation-Off"].map((name) => searchParams.get(name)),
    ["0", "1"],
  );
  assert.equal(keys().length, asked, "panels were not asked for again");
  await page.reload();
  await drawn(page, { least: 2 });
  assert.equal(await switches.getByLabel("Off").isChecked(), true);
  assert.equal(await switches.getByLabel("Deploys").isChecked(), false);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("data links of bars and slices are opened by the pointer and by keys", async () => {
  const links = [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a dashboard writes variables so
    { title: "Of ${__field.labels.host}", url: "/metrics?host=${__field.labels.host}" },
    { title: "Elsewhere", url: "https://example.com/", targetBlank: true },
  ];
  const fieldConfig = { defaults: { links }, overrides: [] };
  const targets = [{ refId: "A", expr: "latency", instant: true, range: false }];
  await save(
    server,
    board("links", [
      chart(1, "Bars", "latency", { type: "barchart", targets, fieldConfig }),
      chart(2, "Pie", "latency", { type: "piechart", targets, fieldConfig }),
    ]),
  );
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/d/links`);
  await drawn(page, { least: 2 });
  const shown = async () =>
    tooltip(page)
      .getByRole("link")
      .evaluateAll((all) => all.map((one) => [one.textContent, one.getAttribute("href")]));
  const of = (host) => [
    [`Of ${host}`, `/metrics?host=${host}`],
    ["Elsewhere", "https://example.com/"],
  ];
  for (const title of ["Bars", "Pie"]) {
    const parts = panelOf(page, title).getByRole("button", { name: /: links$/ });
    assert.equal(await parts.count(), 2, title);
    await parts.nth(0).focus();
    await page.keyboard.press("Enter");
    const first = await shown();
    assert.equal(first.length, 2, title);
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "A", "the focus is on a link");
    await page.keyboard.press("Escape");
    assert.equal(await tooltip(page).count(), 0);
    await parts.nth(1).click();
    const second = await shown();
    assert.deepEqual(
      [first, second].sort((a, b) => a[0][0].localeCompare(b[0][0])),
      [of("a"), of("b")],
      title,
    );
    await tooltip(page).getByRole("button", { name: "Close" }).click();
  }
  await page.screenshot({ path: join(shots, "dashboard-links.png") });
  assert.deepEqual(complaints, []);
  await context.close();
});

test("times are shown and asked for in the dashboard's zone", async () => {
  const panel = chart(1, "Times", "latency", { type: "table" });
  const zones = { utc: "UTC", "Asia/Kathmandu": "Asia/Kathmandu", browser: "America/New_York" };
  for (const [timezone, name] of Object.entries(zones)) {
    const uid = timezone.replace("/", "-").toLowerCase();
    await save(server, board(uid, [panel], [], { timezone }));
    const { page, context } = await watched(browser, { timezoneId: "America/New_York" });
    const { bodies } = heard(page);
    await page.goto(`${server.url}/d/${uid}`);
    await drawn(page);
    assert.deepEqual([...new Set(bodies.map((body) => body.timezone))], [name]);
    const [row] = await asTable(page, "Times");
    const clock = new Intl.DateTimeFormat("sv", { timeZone: name, dateStyle: "short", timeStyle: "short" });
    // The newest point is of the last minutes.
    const minutes = [0, 1, 2, 3, 4, 5, 6].map((ago) => clock.format(Date.now() - ago * 60_000));
    assert.ok(minutes.includes(row.Time.slice(0, 16)), `${row.Time} in ${name}, not one of ${minutes}`);
    const badge = page.getByText(`Times in ${name}`);
    assert.equal(await badge.count(), timezone === "browser" ? 0 : 1);
    await context.close();
  }
});
