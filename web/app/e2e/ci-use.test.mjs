// Runs of CI in use: a matrix unfolds to its jobs, steps and tests, jobs by runner and by matrix, the critical
// path alone, a run against earlier ones and one that goes on, two runs and two branches beside each other. In
// the living data a compiler cache gets worse after forty minutes, and builds take longer from then on.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask } from "./boards.mjs";
import { attributes, browse, demo, send, serve, settled, shots, watched } from "./harness.mjs";

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
  // After a while, what is usual is how it got.
  const usual = worse + 40 * 60_000;
  bad = whole.findLast(({ start_ms }) => start_ms > worse + 60_000 && start_ms < usual);
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

const hex = (number, digits) => number.toString(16).padStart(digits, "0");
const nanos = (millis) => `${BigInt(Math.round(millis)) * 1_000_000n}`;

/** A span of a run, as webhooks make them; `told` are its attributes, `seconds` those that are no whole numbers. */
function spanOf(trace, id, { name, parent, from, to, told, seconds = {} }) {
  const { "ci.conclusion": conclusion } = told;
  return {
    traceId: hex(trace, 32),
    spanId: hex(id, 16),
    parentSpanId: parent === undefined ? undefined : hex(parent, 16),
    name,
    kind: 1,
    startTimeUnixNano: nanos(from),
    endTimeUnixNano: nanos(to),
    status: { code: conclusion === "failure" ? 2 : conclusion === "success" ? 1 : 0 },
    attributes: [
      ...attributes({ "ci.repository": "o/comet", ...told }),
      ...Object.entries(seconds).map(([key, value]) => ({ key, value: { doubleValue: value } })),
    ],
  };
}

const tell = (spans) => send(server, "traces", { resourceSpans: [{ scopeSpans: [{ spans }] }] });

test("jobs of a run stand together by runner, and by their place in a matrix", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, good);
  const { jobs, groups } = await ask(server, `/api/ci/runs/${good.trace_id}`);
  const counted = (names) => {
    const counts = {};
    for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
    return Object.entries(counts)
      .map(([name, count]) => `${name} ×${count}`)
      .sort();
  };
  const rows = page.locator(".gantt-row-group");
  const shown = async () => (await rows.locator(".gantt-name > .ellipsis").allTextContents()).sort();
  const together = page.getByRole("combobox", { name: "Jobs together" });
  await together.selectOption("runner");
  await page.locator(".gantt-row-job").first().waitFor({ state: "detached" });
  assert.deepEqual(await shown(), counted(jobs.map(({ labels }) => labels ?? "without labels")));
  assert.equal(params(page).get("by"), "runner");
  await page.getByRole("button", { name: "Unfold runners" }).click();
  await page.locator(".gantt-row-job").first().waitFor();
  assert.deepEqual(
    (await rowsOf(page))
      .filter(({ level }) => level === 2)
      .map(({ name }) => name)
      .sort(),
    jobs.map(({ name }) => name).sort(),
  );

  await together.selectOption("matrix");
  // What is of no matrix is by itself.
  await page.locator('.gantt-row-job[aria-level="1"]').first().waitFor();
  const variants = groups
    .filter(({ jobs: members }) => members.length > 1)
    .flatMap(({ name, jobs: members }) =>
      members.map((nth) =>
        jobs[nth].name
          .slice(name.length)
          .replace(/^ \/ /, "")
          .replace(/^ \((.*)\)$/, "$1"),
      ),
    );
  assert.ok(variants.length > 3);
  assert.deepEqual(await shown(), counted(variants));
  const single = groups.filter(({ jobs: members }) => members.length === 1).map(({ name }) => name);
  const alone = page.locator('.gantt-row-job[aria-level="1"] .gantt-name > .ellipsis > a');
  assert.deepEqual((await alone.allTextContents()).sort(), single.sort());
  // It is in the address.
  const before = await rowsOf(page);
  await page.reload();
  await page.locator(".gantt-row").nth(1).waitFor();
  assert.deepEqual(await rowsOf(page), before);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a run that goes on lasts until now, and ends when that is told", async () => {
  const { page, context, complaints } = await watched(browser);
  const begun = Date.now() - 60_000;
  const [trace, run, job, queue] = [0xa001, 0xa002, 0xa003, 0xa004];
  const of = { "ci.workflow": "release", "ci.job": "train", "ci.labels": "linux gpu" };
  await tell([
    spanOf(trace, queue, {
      parent: job,
      name: "Start delay time",
      from: begun,
      to: begun + 20_000,
      told: { ...of, "ci.kind": "queue" },
    }),
  ]);
  await page.goto(`${server.url}/ci/run/${hex(trace, 32)}`);
  const bar = page.locator(".gantt-row-job .gantt-open");
  await bar.waitFor();
  const title = await bar.getAttribute("title");
  assert.match(title, /^train: runs for /);
  assert.ok(secondsOf(title) >= 39, title);
  const waited = await page.locator(".gantt-row-job .gantt-queue").boundingBox();
  const runs = await bar.boundingBox();
  assert.ok(runs.width > 1.9 * waited.width, `waited ${waited.width}, runs ${runs.width}`);
  const figure = (label) =>
    page
      .locator(".figure")
      .filter({ has: page.getByText(label, { exact: true }) })
      .locator(".figure-value");
  assert.ok(secondsOf(await figure("Runs for").textContent()) >= 59);
  const listed = await ask(server, "/api/ci/pipelines/release/runs?repository=o%2Fcomet");
  assert.ok(listed.runs[0].conclusion === null && listed.runs[0].seconds >= 60);

  const end = Date.now();
  const ended = { "ci.conclusion": "success" };
  await tell([
    spanOf(trace, job, {
      parent: run,
      name: "train",
      from: begun,
      to: end,
      told: { ...of, ...ended, "ci.kind": "job" },
      seconds: { "ci.queue_seconds": 20, "ci.run_seconds": (end - begun) / 1000 - 20 },
    }),
    spanOf(trace, run, {
      name: "release",
      from: begun,
      to: end,
      told: { "ci.workflow": "release", ...ended, "ci.kind": "run", "ci.run_id": 7001, "ci.attempt": 1 },
    }),
  ]);
  // The page asks again by itself.
  await page.getByText("This run goes on").waitFor({ state: "detached" });
  assert.ok(secondsOf(await figure("Took").textContent()) >= 59);
  assert.equal(await bar.count(), 0);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("two branches of a workflow are compared by the medians of their runs", async () => {
  const { page, context, complaints } = await watched(browser);
  /** A run of two jobs that begin together. */
  const runOf = (nth, branch, trainSeconds, conclusion) => {
    const [trace, run, train, lint] = [0, 1, 2, 3].map((part) => 0xb000 + nth * 16 + part);
    const from = Date.now() - (60 - nth) * 60_000;
    const of = { "ci.workflow": "nightly", "ci.branch": branch, "ci.run_id": 8000 + nth, "ci.attempt": 1 };
    const job = (id, name, ran, ends) =>
      spanOf(trace, id, {
        parent: run,
        name,
        from,
        to: from + (ran + 5) * 1000,
        told: { ...of, "ci.kind": "job", "ci.job": name, "ci.conclusion": ends },
        seconds: { "ci.queue_seconds": 5, "ci.run_seconds": ran },
      });
    return [
      job(train, "train", trainSeconds, conclusion),
      job(lint, "lint", 10, "success"),
      spanOf(trace, run, {
        name: "nightly",
        from,
        to: from + (trainSeconds + 5) * 1000,
        told: { ...of, "ci.kind": "run", "ci.conclusion": conclusion, "ci.jobs": 2 },
      }),
    ];
  };
  await tell([
    ...[0, 1, 2].flatMap((nth) => runOf(nth, "main", 100, "success")),
    ...[3, 4].flatMap((nth) => runOf(nth, "faster", 60, "success")),
    ...runOf(5, "faster", 60, "failure"),
  ]);
  await page.goto(`${server.url}/ci/pipeline?workflow=nightly&repository=o%2Fcomet&from=now-3h&to=now`);
  await page.getByRole("grid", { name: "Runs" }).locator(".table-row").first().waitFor();
  await page.getByRole("link", { name: "Branches" }).click();
  await page.waitForURL(/\/ci\/compare\?/);
  assert.deepEqual([params(page).get("a"), params(page).get("b")], ["main", "faster"]);
  const rows = page.getByRole("grid", { name: "Jobs of both branches" }).locator(".table-row");
  await rows.first().waitFor();
  assert.deepEqual(await cellsOf(rows), [
    ["train", "1 m 40 s", "1 m 1 failed", "−40 s", "−40 %"],
    ["lint", "10 s", "10 s", "±0", "±0 %"],
  ]);
  await page.getByText(/^median of 3 runs, 0 failed/).waitFor();
  await page.getByText(/^median of 3 runs, 1 failed/).waitFor();
  await page.screenshot({ path: join(shots, "ci-branches.png") });
  await page.getByRole("button", { name: "Swap" }).click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("a") === "faster");
  const train = rows.filter({ has: page.getByText("train", { exact: true }) });
  await train.locator(".cell").nth(3).getByText("+40 s", { exact: true }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});

test("figures of a workflow are those of all repositories that have it", async () => {
  const { page, context, complaints } = await watched(browser);
  const times = { from: Date.now() - 3 * 3_600_000, to: Date.now() };
  const { pipelines } = await ask(server, `/api/ci/pipelines/pr/runs?start=${times.from}&end=${times.to}`);
  assert.equal(pipelines.length, 2, "two repositories have it");
  const sum = pipelines.reduce((total, { runs }) => total + runs, 0);
  const runs = page
    .locator(".figure")
    .filter({ has: page.getByText("Runs", { exact: true }) })
    .locator(".figure-value");
  await page.goto(`${server.url}/ci/pipeline?workflow=pr&from=${times.from}&to=${times.to}`);
  await runs.filter({ hasText: new RegExp(`^${sum}$`) }).waitFor();
  const [one] = pipelines;
  await page.getByRole("combobox", { name: "Repository" }).selectOption(one.repository);
  await runs.filter({ hasText: new RegExp(`^${one.runs}$`) }).waitFor();
  assert.deepEqual(complaints, []);
  await context.close();
});
