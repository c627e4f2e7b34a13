// Runs of CI in use: a matrix unfolds to its jobs, steps and tests, the critical path alone, a run against
// earlier ones, and two runs beside each other. In the living data a compiler cache gets worse after forty
// minutes, and builds take longer from then on.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask } from "./boards.mjs";
import { browse, demo, serve, settled, shots, watched } from "./harness.mjs";

const REPOSITORY = "orbital/lattice";
const WORSE_AFTER_MILLIS = 40 * 60_000;

let server;
let browser;
/** Runs of one workflow: the quickest with the cache as it was, and the slowest after it got worse. */
let good;
let bad;

before(async () => {
  server = await serve();
  browser = await browse();
  const began = Date.now() - 2 * 3_600_000;
  await demo(server, { history: "2h", seconds: 2 });
  const { runs } = await ask(
    server,
    `/api/ci/pipelines/pr/runs?repository=${encodeURIComponent(REPOSITORY)}&start=${began}&end=${Date.now()}`,
  );
  // What failed has jobs that never began.
  const whole = runs
    .filter(({ conclusion }) => conclusion === "success")
    .sort((a, b) => a.seconds - b.seconds);
  const worse = began + WORSE_AFTER_MILLIS;
  good = whole.find(({ start_ms }) => start_ms < worse - 5 * 60_000);
  bad = whole.findLast(({ start_ms }) => start_ms > worse + 60_000);
  assert.ok(good && bad, "runs that went well, before and after");
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const params = (page) => new URL(page.url()).searchParams;

const PARTS = ["12.9, 3.13, amd64", "12.9, 3.13, arm64", "13.0, 3.13, amd64"];

/** Seconds of a text such as `1 m 18 s`, `−17.7 s`, `840 ms`. */
function secondsOf(text) {
  const sizes = { h: 3600, m: 60, s: 1, ms: 0.001 };
  const parts = [...text.matchAll(/([\d.]+) (h|ms|m|s)\b/g)];
  const sum = parts.reduce((total, [, number, unit]) => total + Number(number) * sizes[unit], 0);
  return text.startsWith("−") ? -sum : sum;
}

/** Texts of all cells of a table that is short. */
function cellsOf(rows) {
  return rows.evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
}

const isBuild = ([name]) => /^(conda-cpp|wheel)-build/.test(name);

/** Rows of the chart of a run: how deep, the name, and whether it is on the critical path. */
function rowsOf(page) {
  return page.locator(".gantt-row:not(.gantt-head)").evaluateAll((rows) =>
    rows.map((row) => ({
      level: Number(row.getAttribute("aria-level")),
      name: row.querySelector(".gantt-name > .ellipsis").firstChild.textContent,
      isOnPath: row.querySelector(".gantt-flag") !== null,
    })),
  );
}

async function opens(page, run, search = "") {
  await page.goto(`${server.url}/ci/run/${run.trace_id}${search}`);
  await page.locator(".gantt-row").nth(1).waitFor();
  await settled(page);
}

test("a matrix unfolds to its jobs, a job to its steps, and a step to what ran in it", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, good);
  const folded = await rowsOf(page);
  const names = folded.map(({ name }) => name);
  assert.deepEqual(names.toSorted(), [
    "changed-files",
    "checks",
    "conda-cpp-build / build",
    "conda-cpp-tests / tests",
    "docs-build",
    "wheel-build / build",
    // Of one job only.
    "wheel-tests / tests / 12.9, 3.13, amd64, l4",
  ]);
  const group = page.locator(".gantt-row-group").filter({ hasText: "conda-cpp-build" });
  assert.match(await group.textContent(), /conda-cpp-build \/ build ×3/);
  await group.getByRole("button", { name: "Unfold conda-cpp-build / build" }).click();
  await page.waitForFunction(() => new URLSearchParams(location.search).has("open"));
  const at = names.indexOf("conda-cpp-build / build");
  const unfolded = await rowsOf(page);
  assert.deepEqual(
    unfolded
      .slice(at + 1, at + 4)
      .map(({ level, name }) => [level, name])
      .sort(),
    PARTS.map((name) => [2, name]),
  );
  assert.equal(unfolded.length, folded.length + 3);

  await page
    .getByRole("button", { name: `Unfold ${PARTS[0]}`, exact: true })
    .first()
    .click();
  const steps = page.locator(".gantt-row-step");
  await steps.first().waitFor();
  const canOpen = steps.filter({ has: page.getByRole("button", { name: /^Unfold/ }) }).first();
  const [, wanted] = /(\d+) (?:target|test|command)/.exec(await canOpen.textContent());
  await canOpen.getByRole("button", { name: /^Unfold/ }).click();
  const leaves = page.locator(".gantt-row-leaf");
  await leaves.first().waitFor();
  assert.ok((await leaves.count()) >= Number(wanted), `${await leaves.count()} of ${wanted} below the step`);
  // What is unfolded is in the address.
  const before = await rowsOf(page);
  await page.reload();
  await leaves.first().waitFor();
  assert.deepEqual(await rowsOf(page), before);
  await page.screenshot({ path: join(shots, "ci-unfolded.png") });
  // Every row leads to its span.
  const link = steps.first().locator("a");
  const name = await link.textContent();
  await link.click();
  await page.waitForURL(new RegExp(`/trace/${good.trace_id}\\?span=`));
  const chosen = page.locator('.span-row[aria-selected="true"]:not([hidden]) .span-text');
  await chosen.waitFor();
  assert.equal(await chosen.textContent(), name);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("the critical path can be seen alone, and what each of its jobs cost", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, good);
  await page.getByRole("button", { name: "Unfold matrices" }).click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("unfold") === "1");
  const all = await rowsOf(page);
  const onPath = all.filter(({ isOnPath }) => isOnPath);
  assert.ok(onPath.length > 2 && onPath.length < all.length, `${onPath.length} of ${all.length}`);
  await page.keyboard.press("c");
  await page.waitForFunction(() => new URLSearchParams(location.search).get("path") === "1");
  assert.deepEqual(await rowsOf(page), onPath);

  await page.getByRole("tab", { name: /^Critical path/ }).click();
  const path = page.locator(".ci-path li");
  const { path: told, jobs } = await ask(server, `/api/ci/runs/${good.trace_id}`);
  assert.deepEqual(
    await path.locator("a").allTextContents(),
    told.map(({ job }) => jobs[job].name),
  );
  // Builds come before what tests them, and the parts of all make up the run.
  const shares = await path.locator(".ci-path-share").allTextContents();
  const sum = shares.reduce((total, text) => total + Number.parseFloat(text), 0);
  assert.ok(sum > 60 && sum <= 101, shares.join());
  for (const text of await path.allTextContents())
    assert.match(text, /waited .+, ran .+; without it the run would have ended .+ earlier/);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a run is compared with earlier ones, which were quicker", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, bad, "?view=earlier");
  const { earlier } = await ask(server, `/api/ci/runs/${bad.trace_id}`);
  assert.ok(earlier.runs > 3);
  await page.getByText(new RegExp(`^Against the median of ${earlier.runs} earlier runs, `)).waitFor();
  const rows = page.getByRole("grid", { name: "Jobs against earlier runs" }).locator(".table-row");
  const builds = (await cellsOf(rows)).filter(isBuild);
  assert.equal(builds.length, 5);
  let longer = 0;
  for (const [name, , ran, usual, delta] of builds) {
    const wanted = secondsOf(ran) - secondsOf(usual);
    assert.ok(Math.abs(secondsOf(delta) - wanted) < 2, `${name}: ${ran}, ${usual}, ${delta}`);
    longer += secondsOf(delta);
  }
  assert.ok(longer > 0, `builds took ${longer} s longer`);
  await page.getByRole("tab", { name: /^Caches/ }).click();
  const caches = page.getByRole("grid", { name: "Caches by job" });
  await caches.locator(".table-row").first().waitFor();
  // The rates that are far below what is usual stand out.
  assert.ok((await caches.locator(".bad").count()) > 0, "a rate that is marked");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("two runs are marked and compared: builds take longer, since the cache serves less", async () => {
  const { page, context, complaints } = await watched(browser);
  const workflow = `workflow=pr&repository=${encodeURIComponent(REPOSITORY)}`;
  await page.goto(`${server.url}/ci/pipeline?${workflow}&from=now-3h&to=now`);
  const rowOf = (run) =>
    page
      .getByRole("grid", { name: "Runs" })
      .locator(".table-row")
      .filter({ has: page.locator(`a[href$="/ci/run/${run.trace_id}"]`) });
  await page.getByRole("grid", { name: "Runs" }).locator(".table-row").first().waitFor();
  // A row far down is in the document once it is in sight.
  const body = page.getByRole("grid", { name: "Runs" }).locator(".table-body");
  const bring = async (run) => {
    for (let at = 0; (await rowOf(run).count()) === 0 && at < 20; at += 1)
      await body.evaluate((element) => element.scrollBy(0, 200));
    await rowOf(run).scrollIntoViewIfNeeded();
    return rowOf(run);
  };
  await (await bring(bad)).waitFor();
  await (await bring(good)).getByRole("button", { name: "Mark, to compare with another" }).click();
  await page.waitForFunction((id) => new URLSearchParams(location.search).get("mark") === id, good.trace_id);
  await body.evaluate((element) => element.scrollTo(0, 0));
  await (await bring(bad)).getByRole("link", { name: "compare" }).click();
  await page.waitForURL(/\/ci\/compare\?/);
  assert.deepEqual([params(page).get("a"), params(page).get("b")], [good.trace_id, bad.trace_id]);

  const jobs = page.getByRole("grid", { name: "Jobs of both runs" }).locator(".table-row");
  await jobs.first().waitFor();
  const builds = (await cellsOf(jobs)).filter(isBuild);
  assert.equal(builds.length, 5);
  const ran = async ({ trace_id }) => {
    const told = await ask(server, `/api/ci/runs/${trace_id}`);
    return Object.fromEntries(told.jobs.map(({ name, run_seconds }) => [name, run_seconds]));
  };
  const [inA, inB] = [await ran(good), await ran(bad)];
  for (const [name, a, b, longer] of builds) {
    assert.ok(
      Math.abs(secondsOf(a) - inA[name]) < 1 && Math.abs(secondsOf(b) - inB[name]) < 1,
      `${name}: ${a}, ${b}`,
    );
    assert.ok(Math.abs(secondsOf(longer) - (inB[name] - inA[name])) < 1, `${name}: ${longer}`);
  }
  const sum = builds.reduce((total, [, , , longer]) => total + secondsOf(longer), 0);
  assert.ok(sum > 0, `all builds together take ${sum} s longer`);
  const caches = await page
    .getByRole("grid", { name: "Caches" })
    .locator(".table-row")
    .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
  const rates = caches.map(([, , a, b]) => [Number.parseFloat(a), Number.parseFloat(b)]);
  assert.ok(rates.length > 0);
  const mean = (side) => rates.reduce((sum, pair) => sum + pair[side], 0) / rates.length;
  assert.ok(mean(0) > 80 && mean(1) < 70, `from ${mean(0)} % to ${mean(1)} %`);
  await page.screenshot({ path: join(shots, "ci-compared.png") });
  await page.getByRole("button", { name: "Swap" }).click();
  await page.waitForFunction((id) => new URLSearchParams(location.search).get("a") === id, bad.trace_id);
  const [name, , , longer] = builds.find(([, , , text]) => Math.abs(secondsOf(text)) > 1);
  const other = longer.startsWith("−") ? longer.replace("−", "+") : longer.replace("+", "−");
  const row = jobs.filter({ has: page.getByText(name, { exact: true }) });
  await row.locator(".cell").nth(3).getByText(other, { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});
