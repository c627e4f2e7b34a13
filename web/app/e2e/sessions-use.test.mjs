// Sessions in use: the replay of one, stragglers and failures that lead to spans, two beside each other; and
// two trainings overlaid.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask } from "./boards.mjs";
import { browse, demo, nanosAgo, sendLogs, serve, settled, shots, watched } from "./harness.mjs";

/** Tasks of a run of the workflow that the living data has, by name. */
const STAGES = { prepare: 48, dock: 240, simulate: 96, score: 32 };
const TASKS = Object.values(STAGES).reduce((sum, tasks) => sum + tasks, 0);

let server;
let browser;
/** Runs of the workflow that ended, and trainings, by their beginning. */
let screens;
let trainings;

before(async () => {
  server = await serve();
  browser = await browse();
  await demo(server, { history: "1h", seconds: 2 });
  const { sessions } = await ask(server, "/api/sessions?since=2h&limit=500");
  const inOrder = sessions.toSorted((a, b) => Date.parse(a.started) - Date.parse(b.started));
  screens = inOrder.filter(({ name, state }) => name === "protein-screen" && state === "ended");
  trainings = inOrder.filter(({ name }) => name === "train-llama");
  assert.ok(screens.length > 2 && trainings.length === 2, JSON.stringify(sessions.map(({ id }) => id)));
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

const params = (page) => new URL(page.url()).searchParams;

/** Numbers of tasks by state. */
function funnel(page) {
  return page
    .locator(".funnel-stage")
    .evaluateAll((stages) =>
      Object.fromEntries(
        stages.map((stage) => [
          stage.querySelector(".funnel-label").textContent,
          Number(stage.querySelector(".funnel-number").textContent),
        ]),
      ),
    );
}

/** Opens a session. */
async function opens(page, { id }, search = "") {
  await page.goto(`${server.url}/session/${encodeURIComponent(id)}${search}`);
  await page.locator(".funnel").waitFor();
  await settled(page);
}

/** All tasks of a session as they ended. */
async function tasksOf({ id }) {
  const { tasks, total } = await ask(server, `/api/board/${encodeURIComponent(id)}/tasks?limit=500`);
  assert.equal(tasks.length, total);
  return tasks;
}

/** The numbers of a moment, counted from the times of all tasks. */
function funnelAt(tasks, at) {
  const isPast = (millis) => millis !== null && millis <= at;
  const number = (fits) => tasks.filter(fits).length;
  return {
    Created: number((task) => isPast(task.created_ms)),
    Running: number((task) => isPast(task.started_ms) && !isPast(task.ended_ms)),
    Completed: number((task) => isPast(task.ended_ms) && task.status === "completed"),
    Failed: number((task) => isPast(task.ended_ms) && task.status === "failed"),
  };
}

/** Waits until the board of a moment is shown, which says which one it is. */
async function waitBoard(page) {
  await page.waitForFunction(() => {
    const at = new URLSearchParams(location.search).get("at");
    const date = new Date(Number(at));
    const two = (value, width = 2) => String(value).padStart(width, "0");
    const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
    const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map((part) => two(part)).join(":");
    const told = document.querySelector(".session-facts .warn")?.textContent;
    return at !== null && told === `as it was ${day} ${clock}.${two(date.getMilliseconds(), 3)}`;
  });
}

/** Moves the slider to a part of the session: the moment, and the numbers that are shown of it. */
async function moves(page, part) {
  const before = params(page).get("at");
  await page.getByRole("slider", { name: "Moment of the session" }).fill(String(part * 1000));
  await page.waitForFunction((at) => new URLSearchParams(location.search).get("at") !== at, before);
  await waitBoard(page);
  return { at: Number(params(page).get("at")), shown: await funnel(page) };
}

test("the slider shows a session as it was: tasks that were known, ran and had ended by then", async () => {
  const { page, context, complaints } = await watched(browser);
  await opens(page, screens[0]);
  const end = await funnel(page);
  assert.equal(end.Created, TASKS);
  assert.equal(end.Completed + end.Failed, TASKS);
  assert.deepEqual([end.Queued, end.Running], [0, 0]);
  const tasks = await tasksOf(screens[0]);
  const { replay } = await ask(server, `/api/board/${encodeURIComponent(screens[0].id)}`);
  const askedTables = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname.endsWith("/tasks")) askedTables.push(Number(searchParams.get("at")));
  });
  const state = () => page.locator(".session-facts .ended").textContent();
  let last;
  for (const part of [0, 0.25, 0.5, 0.75]) {
    const { at, shown } = await moves(page, part);
    await settled(page);
    assert.deepEqual(
      askedTables.filter((one) => one === at),
      [at],
      "the table is asked for once",
    );
    assert.match(await state(), /running/);
    const wanted = replay.start_ms + part * (replay.end_ms - replay.start_ms);
    assert.ok(Math.abs(at - wanted) < 1000, `${at} for ${wanted}`);
    const { Created, Running, Completed, Failed } = shown;
    assert.deepEqual({ Created, Running, Completed, Failed }, funnelAt(tasks, at), `at ${part}`);
    assert.ok(Running <= 16, "two nodes have eight places each");
    assert.ok(last === undefined || Completed > last.Completed, "more than before");
    last = shown;
  }
  // At its right end the slider shows what came of it.
  const whole = await moves(page, 1);
  assert.deepEqual([whole.at, whole.shown], [replay.end_ms, end]);
  assert.match(await state(), /ended/);
  last = (await moves(page, 0.75)).shown;
  // The moment is in the address, and the table tells of it too.
  await page.reload();
  await waitBoard(page);
  assert.deepEqual(await funnel(page), last);
  await page.locator(".funnel-stage").filter({ hasText: "Running" }).click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("state") === "running");
  const { Running } = last;
  await page.getByText(Running === 0 ? "none" : `1 to ${Running} of ${Running}`, { exact: true }).waitFor();
  await page.screenshot({ path: join(shots, "session-replay.png") });

  await page.getByRole("button", { name: /^(Now|End)$/ }).click();
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("at"));
  await page.locator(".session-facts .warn").waitFor({ state: "detached" });
  assert.deepEqual(await funnel(page), end);
  // Played, it goes on by itself.
  await page.getByRole("button", { name: "Replay the session" }).click();
  await page.waitForFunction(
    (all) => {
      const completed = [...document.querySelectorAll(".funnel-stage")].find((one) =>
        one.textContent.startsWith("Completed"),
      );
      const shown = Number(completed.querySelector(".funnel-number").textContent);
      return shown > 0 && shown < all;
    },
    end.Completed,
    { timeout: 30_000 },
  );
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !new URLSearchParams(location.search).has("at"));
  // It stops at the end, where the session has ended, and begins anew from there.
  await moves(page, 0.98);
  await page.getByRole("button", { name: "Replay the session" }).click();
  await page.waitForFunction(
    (at) => new URLSearchParams(location.search).get("at") === at,
    String(replay.end_ms),
  );
  await waitBoard(page);
  assert.deepEqual(await funnel(page), end);
  assert.match(await state(), /ended/);
  await page.getByRole("button", { name: "Replay the session" }).click();
  const half = (replay.start_ms + replay.end_ms) / 2;
  await page.waitForFunction((at) => Number(new URLSearchParams(location.search).get("at")) < at, half);
  await page.getByRole("button", { name: "Pause" }).click();
  await waitBoard(page);
  assert.deepEqual(complaints, []);
  await context.close();
});

/** Sends events of a session: the name, how many seconds ago, and what is told. */
function tells(session, events) {
  const resource = { session_id: session, "service.name": "train", "host.name": "n1" };
  const records = events.map(([eventName, ago, told]) => ({
    eventName,
    timeUnixNano: nanosAgo(ago * 1000),
    attributes: { node_id: "n1", ...told },
  }));
  return sendLogs(server, resource, records);
}

test("a lost session has nothing that runs, and is noticed when it is heard of again", async () => {
  const { page, context, complaints } = await watched(browser);
  const id = "comes-back";
  await tells(id, [
    ["SessionStarted", 1200, { span_name: "session" }],
    ["TaskStarted", 1190, { task_id: "hangs", span_name: "simulate" }],
    ["TaskCreated", 1180, { task_id: "was-not-handed-over", span_name: "simulate" }],
  ]);
  await opens(page, { id });
  const facts = page.locator(".session-facts");
  await facts.getByText("lost", { exact: true }).waitFor();
  const { Created, Submitted, Running, Unfinished } = await funnel(page);
  assert.deepEqual([Created, Submitted, Running, Unfinished], [2, 1, 0, 2]);
  const tasks = page.getByRole("grid", { name: "Tasks", exact: true });
  await tasks.getByText("unfinished", { exact: true }).nth(1).waitFor();
  // Those that were handed over, and no others.
  await page.locator(".funnel-stage").filter({ hasText: "Submitted" }).click();
  await page.getByText("1 to 1 of 1", { exact: true }).waitFor();
  assert.equal(await tasks.getByText("was-not-handed-over").count(), 0);

  await tells(id, [["TaskStarted", 0, { task_id: "goes-on", span_name: "simulate" }]]);
  await facts.getByText("running", { exact: true }).waitFor();
  await page.getByText("1 to 2 of 2", { exact: true }).waitFor();
  assert.equal((await funnel(page)).Running, 2);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("what the pointer rests on is told as it is drawn, while the session goes on", async () => {
  const { page, context, complaints } = await watched(browser);
  const id = "goes-on";
  await tells(id, [
    ["SessionStarted", 60, { span_name: "session" }],
    ["TaskStarted", 30, { task_id: "t1", span_name: "late" }],
    ["TaskStarted", 3, { task_id: "t2", span_name: "short" }],
    ["TaskCompleted", 1, { task_id: "t2", span_name: "short" }],
  ]);
  await opens(page, { id });
  const canvas = page.locator(".lanes-canvas");
  await canvas.scrollIntoViewIfNeeded();
  const { width } = await canvas.boundingBox();
  // The first lane is below the axis, right of the names.
  await canvas.hover({ position: { x: 150 + 0.75 * (width - 150), y: 25 } });
  const tip = page.locator(".lanes-tip b");
  await tip.waitFor();
  assert.equal(await tip.textContent(), "late");
  // Another comes before it: where bars and names are has changed.
  await tells(id, [
    ["TaskStarted", 50, { task_id: "t3", span_name: "early" }],
    ["TaskCompleted", 40, { task_id: "t3", span_name: "early" }],
  ]);
  await page.waitForFunction(() => document.querySelector(".funnel-number").textContent === "3");
  assert.equal(await tip.textContent(), "late");
  assert.deepEqual(complaints, []);
  await context.close();
});

test("a straggler is found in the table and leads to its span, a failure to its tasks", async () => {
  const { page, context, complaints } = await watched(browser);
  let session;
  for (const one of screens) {
    const board = await ask(server, `/api/board/${encodeURIComponent(one.id)}`);
    if (board.stragglers.length > 0 && board.failures.length > 0) session ??= { ...one, board };
  }
  assert.ok(session, "a run with stragglers and failures");
  const [straggler] = session.board.stragglers;
  assert.ok(straggler.times_median >= 3);
  await opens(page, session);
  const card = page.locator(".card").filter({ hasText: /^Stragglers/ });
  const row = card.locator("li").first();
  assert.match(
    await row.textContent(),
    new RegExp(`^${straggler.name} ${straggler.id}${straggler.times_median.toFixed(1)} × median`),
  );
  await row.getByRole("button").click();
  await page.waitForFunction((id) => new URLSearchParams(location.search).get("q") === id, straggler.id);
  await page.getByText("1 to 1 of 1", { exact: true }).waitFor();
  await row.getByRole("link", { name: "trace" }).click();
  await page.waitForURL(new RegExp(`/trace/${session.trace_id}\\?span=${straggler.span_id}`));
  const chosen = page.locator('.span-row[aria-selected="true"]:not([hidden]) .span-text');
  await chosen.waitFor();
  const panel = page.getByRole("complementary", { name: "Span" });
  await panel.getByText("Span id").waitFor();
  assert.match(await panel.textContent(), new RegExp(straggler.id.replace(".", "\\.")));
  // Spans of tasks have their waiting in them: others may be longer.
  assert.match(await panel.locator(".span-panel-figures").textContent(), /Among its kindp\d+/);

  await opens(page, session);
  const [failure] = session.board.failures;
  const failures = page.locator(".card").filter({ hasText: /^Failures by error/ });
  await failures.getByRole("button", { name: new RegExp(`^${failure.error_type}`) }).click();
  await page.waitForFunction(() => new URLSearchParams(location.search).get("state") === "failed");
  await page.getByText(`1 to ${failure.count} of ${failure.count}`, { exact: true }).waitFor();
  const errors = page.getByRole("grid", { name: "Tasks", exact: true }).locator(".table-row .bad.ellipsis");
  for (const text of await errors.allTextContents()) assert.ok(text.startsWith(failure.error_type), text);
  assert.deepEqual(complaints, []);
  await context.close();
});

test("two sessions are chosen and stand beside each other, stage by stage", async () => {
  const { page, context, complaints } = await watched(browser);
  const [a, b] = screens;
  await opens(page, a);
  await page.getByRole("link", { name: "Compare" }).click();
  await page.waitForURL(/\/sessions\/compare\?/);
  await page.getByRole("combobox", { name: "A", exact: true }).waitFor();
  assert.equal(await page.getByRole("combobox", { name: "A", exact: true }).inputValue(), a.id);
  await page.getByRole("combobox", { name: "B", exact: true }).selectOption(b.id);
  await page.getByRole("button", { name: "Compare" }).click();
  const rows = page.getByRole("grid", { name: "Tasks by name" }).locator(".table-row");
  await rows.first().waitFor();
  assert.deepEqual([params(page).get("a"), params(page).get("b")], [a.id, b.id]);
  const cells = await rows.evaluateAll((all) =>
    all.map((row) => [...row.children].map((cell) => cell.textContent)),
  );
  const counts = Object.fromEntries(
    cells.map(([name, inA, , , , inB]) => [name, [Number(inA), Number(inB)]]),
  );
  assert.deepEqual(
    counts,
    Object.fromEntries(Object.entries(STAGES).map(([name, tasks]) => [name, [tasks, tasks]])),
  );
  // Failures are those of the sessions.
  const sum = (column) => cells.reduce((total, row) => total + (Number.parseInt(row[column], 10) || 0), 0);
  assert.deepEqual([sum(4), sum(8)], [a.tasks.failed, b.tasks.failed]);
  await page.getByRole("img", { name: /Tasks completed per second/ }).waitFor();
  await page.screenshot({ path: join(shots, "sessions-compared.png") });
  assert.deepEqual(complaints, []);
  await context.close();
});

test("two trainings are overlaid, and their parameters told apart", async () => {
  const { page, context, complaints } = await watched(browser);
  const [first, second] = trainings.map(({ id }) => id);
  await page.goto(`${server.url}/runs?from=now-90m&to=now&ids=`);
  await page.getByText("Choose runs to overlay them").waitFor();
  const table = page.getByRole("grid", { name: "Runs" });
  const choose = (id) => table.getByText(`Overlay ${id}`).locator("xpath=..").getByRole("checkbox");
  const loss = (runs) =>
    page.getByRole("img", { name: new RegExp(`^training\\.loss over step\\. ${runs} series`) });
  await choose(first).check();
  await loss(1).waitFor();
  await choose(second).check();
  await loss(2).waitFor();
  assert.equal(params(page).get("ids"), `${first},${second}`);
  const label = await loss(2).getAttribute("aria-label");
  for (const id of [first, second]) assert.ok(label.includes(`${id}: `), label);
  const differ = page.locator(".card").filter({ hasText: /^Parameters that differ/ });
  const cells = await differ
    .locator("tr")
    .evaluateAll((rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.deepEqual(cells[0].slice(1), [first, second]);
  const rate = cells.find(([name]) => name === "training.learning_rate");
  assert.deepEqual(rate?.slice(1).map(Number), [3e-4, 1e-4], JSON.stringify(cells));
  await page.screenshot({ path: join(shots, "runs-overlaid.png") });

  // Over time they begin together.
  await page.getByRole("combobox", { name: "Over", exact: true }).selectOption("time");
  await page.getByRole("img", { name: /^training\.loss over time\. 2 series/ }).waitFor();
  assert.equal(params(page).get("x"), "time");
  await choose(first).uncheck();
  await page.getByRole("img", { name: /^training\.loss over time\. 1 series/ }).waitFor();
  assert.equal(await differ.count(), 0);
  await page.getByRole("link", { name: second }).click();
  await page.waitForURL(new RegExp(`/session/${second}$`));
  assert.deepEqual(complaints, []);
  await context.close();
});
