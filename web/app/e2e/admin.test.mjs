// Admin: what is ended, made and changed there is so on the server, and whose software the page has in it is
// named.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask, until } from "./boards.mjs";
import { browse, demo, sendLogs, sendSpans, serve, settled, watched } from "./harness.mjs";

let server;
let browser;

before(async () => {
  server = await serve();
  browser = await browse();
  await demo(server, { history: "10m", seconds: 1 });
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** More pairs of spans than any machine compares in the time that a query has. */
const ENDLESS = "select count(*) from spans a, spans b where regexp_like(a.name || b.name, '(a+)+b.*(c+)+d')";

test("a query that runs is listed, and ended by a button", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/admin/queries`);
  await settled(page);
  const answered = fetch(`${server.url}/api/sql`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query: ENDLESS }),
  }).then(async (response) => ({ status: response.status, text: await response.text() }));
  const row = page.locator('[aria-label="Queries that run"] [role=row]').filter({ hasText: ENDLESS });
  await row.getByRole("button", { name: "End" }).click({ timeout: 60_000 });
  const { text } = await answered;
  assert.match(text, /cancel/i);
  await row.waitFor({ state: "detached", timeout: 60_000 });
  const slow = page.locator('[aria-label="Slow queries"] [role=row]').filter({ hasText: ENDLESS });
  await slow.filter({ hasText: /cancel/i }).waitFor({ timeout: 60_000 });
  assert.deepEqual((await ask(server, "/api/admin/queries")).running, []);
  assert.deepEqual(complaints, []);
  await context.close();
});

/** Sends a trace of one span with an attribute that names a user. */
function visit(number, user) {
  const span = { traceId: `${number}`.repeat(32), spanId: `${number}`.repeat(16), name: `visit ${number}` };
  return sendSpans(server, { "service.name": "visited" }, [{ ...span, attributes: { "user.id": user } }]);
}

async function isFound(number) {
  const response = await fetch(`${server.url}/tempo/api/traces/${`${number}`.repeat(32)}`);
  return response.status === 200;
}

test("a rule of who is recorded is made, holds for what is sent next, is changed, and is deleted", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/admin/audience`);
  await page.getByRole("button", { name: "New flag" }).click();
  await page.getByLabel("Key, as programs ask for it").fill("flag_visits");
  await page.getByLabel(/^Selected users/).check();
  await page.getByLabel("Users, one in a line").fill("ada");
  await page.getByText("Which records, and what names a user").click();
  await page.getByLabel("Condition of TraceQL").fill('resource.service.name = "visited"');
  await page.getByLabel("metrics").uncheck();
  await page.getByLabel("logs").uncheck();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("flag_visits is made and in force.").waitFor();
  const flag = page.locator("table.admin-table tr").filter({ hasText: "1 user" });
  await flag.getByText("flag_visits").waitFor();
  await visit(1, "bob");
  await visit(2, "ada");
  await until(() => isFound(2), "the trace of who is selected");
  assert.equal(await isFound(1), false, "who is not selected is not recorded");

  await flag.getByRole("button", { name: "Edit flag_visits" }).click();
  await page.getByLabel("Users, one in a line").fill("ada\nbob");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("flag_visits is saved and in force.").waitFor();
  await page.locator("table.admin-table tr").filter({ hasText: "2 users" }).waitFor();
  await visit(3, "bob");
  await until(() => isFound(3), "the trace of who was added");

  await page.getByRole("button", { name: "Edit flag_visits" }).click();
  await page.getByRole("button", { name: "Delete …" }).click();
  await page.getByRole("button", { name: "Delete flag_visits" }).click();
  await page.getByText("There is no flag: everybody is recorded").waitFor();
  await visit(4, "eve");
  await until(() => isFound(4), "the trace of anybody");
  assert.deepEqual(complaints, []);
  await context.close();
});

/** The texts of the cells of a row. */
const cells = (row, cell) => row.locator(cell).evaluateAll((all) => all.map((one) => one.textContent.trim()));

test("a destination tells what it took, and one that takes nothing tells why and who waits for it", async () => {
  const settings = mkdtempSync(join(tmpdir(), "kymo-destinations-"));
  // One does not take what it gets; one is busy, for as long as it is asked.
  const answering = async (status, text) => {
    const made = createServer((request, response) => {
      request.resume();
      request.on("end", () => response.writeHead(status, { "Content-Type": "text/plain" }).end(text));
    });
    await new Promise((done) => made.listen(0, "127.0.0.1", done));
    return { made, endpoint: `http://127.0.0.1:${made.address().port}` };
  };
  const strict = await answering(422, "no room for these");
  const busy = await answering(503, "come again");
  const destinations = [
    { name: "archive", protocol: "file", path: join(settings, "out.jsonl"), signals: ["traces"] },
    { name: "strict", protocol: "http", endpoint: strict.endpoint, signals: ["traces"] },
    { name: "busy", protocol: "http", endpoint: busy.endpoint, signals: ["traces"] },
  ];
  const file = join(settings, "kymo.yaml");
  writeFileSync(file, JSON.stringify({ destinations }));
  const own = await serve({ args: ["--config", file] });
  await sendSpans(own, { "service.name": "sent" }, [
    { traceId: "5".repeat(32), spanId: "5".repeat(16), name: "sent on" },
  ]);
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${own.url}/admin/destinations`);
  const card = (name) =>
    page.locator(".card").filter({ has: page.getByRole("heading", { name, exact: true }) });
  const traces = (name) => card(name).locator("tbody tr").filter({ hasText: "traces" });
  await traces("archive").locator("td:nth-child(2)").getByText("1", { exact: true }).waitFor();
  await card("archive").getByText("Nothing waits").waitFor();
  assert.match(readFileSync(join(settings, "out.jsonl"), "utf8"), /sent on/);

  await traces("strict").locator("td.bad").getByText("1", { exact: true }).waitFor();
  await card("strict").getByText("it answered 422 no room for these").waitFor();
  const [signal, sent, , refused, lost] = await cells(traces("strict"), "td");
  assert.deepEqual([signal, sent, refused, lost], ["traces", "0", "1", "0"]);

  await card("busy").locator(".badge-warn").getByText("waiting to retry").waitFor();
  await card("busy").getByText("it answered 503 come again").waitFor();
  await card("busy")
    .getByText(/ wait, the oldest for /)
    .waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
  await own.stop();
  for (const { made } of [strict, busy]) {
    made.closeAllConnections();
    made.close();
  }
  rmSync(settings, { recursive: true, force: true });
});

test("what was refused is listed with its reason and with what to do", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`${server.url}/admin/ingest`);
  const answer = await fetch(`${server.otlp}/v1/traces`, {
    method: "POST",
    headers: { "Content-Type": "application/x-protobuf" },
    body: "no request",
  });
  assert.equal(answer.status, 400);
  const row = page
    .getByRole("grid", { name: "Refused, left out, changed" })
    .getByRole("row")
    .filter({ hasText: "malformed" });
  await row.waitFor();
  const [what, reason, of, count, means] = await cells(row, "[role=gridcell]");
  assert.deepEqual([what, reason, of, count], ["requests refused", "malformed", "traces, default", "1"]);
  assert.match(means, /is not OTLP.+→ look at the sender's exporter/);
  await page.locator(".figure-bad").filter({ hasText: "Refused" }).getByText("1", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("what is stored is counted by day, and by service when it is asked for", async () => {
  const own = await serve({ args: ["--store-flush-idle-after", "1s"] });
  const span = (number) => ({
    traceId: `${number}`.repeat(32),
    spanId: `${number}`.repeat(16),
    name: "kept",
  });
  await sendSpans(own, { "service.name": "shop" }, [span(1), span(2), span(3)]);
  await sendSpans(own, { "service.name": "mail" }, [span(4)]);
  await sendLogs(own, { "service.name": "shop" }, [{ body: "kept" }]);
  const stored = async () => (await ask(own, "/api/admin/storage")).partitions;
  const rowsOf = (signal, all) =>
    all.filter((one) => one.signal === signal).reduce((sum, { rows }) => sum + rows, 0);
  const isStored = async () => {
    const all = await stored();
    return rowsOf("traces", all) === 4 && rowsOf("logs", all) === 1;
  };
  await until(isStored, "all spans and log records in blocks");
  const { totals, partitions } = await ask(own, "/api/admin/storage");
  for (const of of ["rows", "bytes", "blocks"])
    assert.equal(
      totals[of],
      partitions.reduce((sum, one) => sum + one[of], 0),
      of,
    );

  const { page, context, complaints } = await watched(browser);
  await page.goto(`${own.url}/admin/storage`);
  const days = page
    .getByRole("grid", { name: "Blocks by day" })
    .getByRole("row")
    .filter({ hasText: "traces" });
  await days.first().waitFor();
  const listed = await days.evaluateAll((rows) =>
    rows.map((row) => [...row.querySelectorAll("[role=gridcell]")].map((cell) => cell.textContent.trim())),
  );
  // Spans may lie on both sides of midnight.
  assert.equal(
    listed.reduce((sum, [, , , rows]) => sum + Number(rows), 0),
    4,
  );
  assert.deepEqual(new Set(listed.map(([, tenant]) => tenant)), new Set(["default"]));

  await page.getByRole("button", { name: "Count", exact: true }).click();
  const services = page.getByRole("grid", { name: "Records by service" }).getByRole("row");
  const of = async (service, signal) => {
    const row = services.filter({ hasText: service }).filter({ hasText: signal });
    await row.waitFor();
    return cells(row, "[role=gridcell]");
  };
  assert.deepEqual((await of("shop", "traces")).slice(0, 4), ["shop", "traces", "3", "75 %"]);
  assert.deepEqual((await of("mail", "traces")).slice(0, 4), ["mail", "traces", "1", "25 %"]);
  const [, , records, part, size] = await of("shop", "logs");
  assert.deepEqual([records, part], ["1", "100 %"]);
  assert.match(size, /^[\d.]+ (B|KiB)$/);
  assert.deepEqual(complaints, []);
  await context.close();
  await own.stop();
});

test("the licence page names every package that the page is made of", async () => {
  const { page, context } = await watched(browser);
  await page.goto(`${server.url}/admin/about`);
  const text = await page.locator("pre.admin-text").textContent();
  const { dependencies } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  const names = Object.keys(dependencies);
  assert.ok(names.length > 10);
  assert.deepEqual(
    names.filter((name) => !text.includes(`\n## ${name} - `)),
    [],
  );
  await context.close();
});
