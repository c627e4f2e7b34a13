// The keyboard: what docs/page.md says of it is in the list of keys, and does what it says.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { board, chart, save, stayed, until } from "./boards.mjs";
import { browse, demo, sendSpans, serve, settled, watched } from "./harness.mjs";

let server;
let browser;

const TRACE = "c".repeat(32);
const span = (number) => `${number}`.repeat(16);

before(async () => {
  server = await serve();
  browser = await browse();
  await demo(server, { history: "10m", seconds: 1 });
  await save(server, board("refreshed", [chart(1, "Load", "node_load1")]));
  const below = (id, name, more = {}) => ({ traceId: TRACE, spanId: span(id), name, ...more });
  await sendSpans(server, { "service.name": "keyboard" }, [
    below(1, "all"),
    below(2, "well", { parentSpanId: span(1) }),
    below(3, "badly", { parentSpanId: span(1), status: { code: 2, message: "no" } }),
  ]);
});

after(async () => {
  await browser?.close();
  await server?.stop();
});

/** Opens a page, and gives the keyboard to none of its fields. */
async function opened(path) {
  const { page, context, complaints } = await watched(browser);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(server.url + path);
  await settled(page);
  return { page, context, complaints };
}

const parameter = (page, name) => new URL(page.url()).searchParams.get(name);

/** Waits until a parameter of the address is so. */
const becomes = (page, name, wanted) =>
  page.waitForFunction(
    ([of, value]) => new URLSearchParams(location.search).get(of) === value,
    [name, wanted],
  );

async function press(page, keys) {
  for (const key of keys.split(" ")) await page.keyboard.press(key);
}

const HOUR = 3_600_000;
const END = Math.floor(Date.now() / HOUR) * HOUR;
const HOURS = `from=${END - 2 * HOUR}&to=${END - HOUR}`;
const ranges = (page, from, to) =>
  Promise.all([becomes(page, "from", String(from)), becomes(page, "to", String(to))]);

/** A time that has data, as its beginning and its end. */
const FIXED = `from=${Date.now() - HOUR}&to=${Date.now() + HOUR}`;

/** Pages, and what they ask of the time that is shown: addresses, as people write them. */
const ASKING = [
  [
    "/traces",
    /\/api\/traces\/search\?/,
    /\/metrics\/query_range\?.*histogram_over_time/,
    /\/metrics\/query_range\?.*rate\(\)/,
    /\/metrics\/query_range\?.*quantile_over_time/,
    /\/metrics\/query\?.*compare\(/,
  ],
  ["/traces/flame?q=%7B%7D", /\/api\/traces\/flame\?/],
  ["/explore/metrics?q=node_load1", /\/api\/v1\/query_range\?/],
  [
    `/explore/logs?q=${encodeURIComponent('{service_name="frontend"}')}`,
    /\/query_range\?query=\{service_name/,
    /\/query_range\?query=sum by/,
    /\/api\/v1\/labels\?/,
  ],
  ["/explore/sql?q=select+1", /\/api\/sql$/],
  ["/ci", /\/api\/ci\/pipelines\?/],
  ["/ci/pipeline?workflow=pr&repository=orbital%2Fquill", /\/api\/ci\/pipelines\/pr\/runs\?/],
  ["/hosts", /\/api\/fleet\?/],
  ["/gpu", /\/api\/fleet\?/],
  ["/host/hpc-2", /\/api\/fleet\/host\?/],
  ["/runs", /\/api\/runs\?/],
  ["/live", /\/api\/sessions\?/],
  ["/d/refreshed", /\/api\/dashboards\/query$/],
  ["/", /\/api\/sessions\?/, /\/api\/ci\/pipelines\?/, /\/api\/fleet\?/],
];

const addressOf = (request) => decodeURIComponent(request.url().replaceAll("+", " "));

describe("r asks again for all that a page shows of a time", () => {
  for (const [time, parameters] of [
    ["up to now", "from=now-2h&to=now"],
    ["that is fixed", FIXED],
  ]) {
    for (const [path, ...questions] of ASKING) {
      test(`${path}, of a time ${time}`, async () => {
        const { page, context } = await opened(`${path}${path.includes("?") ? "&" : "?"}${parameters}`);
        const asked = questions.map((question) =>
          page.waitForRequest((request) => question.test(addressOf(request))),
        );
        await press(page, "r");
        await Promise.all(asked);
        await context.close();
      });
    }
  }
});

/** Keys of all pages: what they do, where, and how that is seen. */
const KEYS = [
  [
    "p begins live mode and ends it",
    "/hosts",
    async (page) => {
      await press(page, "p");
      await becomes(page, "refresh", "5s");
      await page.getByText("● live").waitFor();
      await press(page, "p");
      await becomes(page, "refresh", null);
      await page.getByText("○ live").waitFor();
    },
  ],
  [
    "y copies the address",
    `/traces?q=${encodeURIComponent("{ status = error }")}&${HOURS}`,
    async (page) => {
      await press(page, "y");
      // The same address may be written in other ways, as with a plus for a space.
      const isCopied = async () => {
        const copied = new URL(await navigator.clipboard.readText(), location.origin);
        const [wanted, told] = [new URL(location.href), copied].map(({ pathname, searchParams }) =>
          [pathname, searchParams].join("?"),
        );
        return told === wanted;
      };
      await until(() => page.evaluate(isCopied), "the address is copied");
    },
  ],
  [
    "d changes between dark and light",
    "/hosts",
    async (page) => {
      const theme = await page.evaluate(() => document.documentElement.dataset.theme);
      await press(page, "d");
      await page.waitForFunction((before) => document.documentElement.dataset.theme !== before, theme);
      await press(page, "d");
      await page.waitForFunction((before) => document.documentElement.dataset.theme === before, theme);
    },
  ],
  [
    "t and an arrow go half the time shown earlier and later, t z shows twice as much",
    `/traces?${HOURS}`,
    async (page) => {
      await press(page, "t ArrowLeft");
      await ranges(page, END - 2.5 * HOUR, END - 1.5 * HOUR);
      await press(page, "t ArrowRight");
      await ranges(page, END - 2 * HOUR, END - HOUR);
      await press(page, "t z");
      await ranges(page, END - 2.5 * HOUR, END - 0.5 * HOUR);
    },
  ],
];

describe("everywhere", () => {
  for (const [name, path, holds] of KEYS) {
    test(name, async () => {
      const { page, context, complaints } = await opened(path);
      await holds(page);
      assert.deepEqual(complaints, []);
      await context.close();
    });
  }
});

/** Pages with an editor, and two queries of its language. */
const EDITORS = [
  ["/explore/metrics?finder=0", "node_load1", "node_load5"],
  ["/explore/logs", '{service_name="frontend"}', '{service_name="payment"}'],
  ["/explore/sql", "select name from spans limit 1", "select name from spans limit 2"],
  ["/traces?mode=code", "{ status = error }", "{ kind = server }"],
];

describe("Ctrl-Enter runs a query, and [ and ] bring back those that were run", () => {
  for (const [path, first, second] of EDITORS) {
    test(`in ${path}`, async () => {
      const { page, context } = await opened(path);
      for (const query of [first, second]) {
        await page.locator(".cm-content").first().click();
        await page.keyboard.press("Control+a");
        await page.keyboard.insertText(query);
        await page.keyboard.press("Control+Enter");
        await becomes(page, "q", query);
      }
      // While somebody types, they are letters.
      await page.keyboard.press("Control+a");
      await page.keyboard.press("[");
      assert.equal(parameter(page, "q"), second);
      await page.locator("main h1").click();
      await press(page, "[");
      await becomes(page, "q", first);
      await press(page, "]");
      await becomes(page, "q", second);
      await context.close();
    });
  }
});

const VIEWS = ["timeline", "flame", "graph", "table", "logs", "stats", "critical"];

test("in a trace keys walk, show details, find errors, zoom, isolate, mark and change views", async () => {
  const { page, context, complaints } = await opened(`/trace/${TRACE}`);
  const panel = page.locator("aside.span-panel");
  await press(page, "j");
  await becomes(page, "span", span(1));
  await panel.getByRole("heading", { name: "all" }).waitFor();
  await press(page, "j");
  await becomes(page, "span", span(2));
  await press(page, "k");
  await becomes(page, "span", span(1));
  await press(page, "Enter");
  await panel.waitFor({ state: "detached" });
  await press(page, "Enter");
  await panel.waitFor();
  await press(page, "e");
  await becomes(page, "span", span(3));
  await press(page, "x");
  await becomes(page, "root", span(3));
  const rows = page.locator("[role=treegrid] .span-row:visible");
  await until(async () => (await rows.count()) === 1, "only what is below the span");
  await press(page, "x");
  await becomes(page, "root", null);
  await press(page, "c");
  await becomes(page, "critical", "0");
  await press(page, "c");
  await becomes(page, "critical", null);
  const windowOf = async (keys) => {
    const before = parameter(page, "zoom");
    await press(page, keys);
    await page.waitForFunction((was) => new URLSearchParams(location.search).get("zoom") !== was, before);
    // It is written a moment after a step.
    const zoom = await stayed(() => parameter(page, "zoom"), "a window in the address");
    return zoom.split(/[^0-9.]+/).map(Number);
  };
  const whole = await windowOf("ArrowUp ArrowUp ArrowUp ArrowUp");
  const later = await windowOf("d");
  assert.ok(later[0] > whole[0] && later[1] > whole[1], `${whole} to ${later}`);
  const earlier = await windowOf("ArrowLeft ArrowLeft");
  assert.ok(earlier[0] < later[0], `${later} to ${earlier}`);
  for (const [at, view] of [...VIEWS.entries()].toReversed()) {
    await press(page, String(at + 1));
    await becomes(page, "view", view === "timeline" ? null : view);
    await page.locator(`[role=tab][data-tab=${view}][aria-selected=true]`).waitFor();
  }
  await press(page, "m");
  await page.waitForFunction(
    (id) => JSON.stringify({ ...localStorage, ...sessionStorage }).includes(id),
    TRACE,
  );
  assert.deepEqual(complaints, []);
  await context.close();
});

const WORDS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", Escape: "Esc" };

/** A key, whether it is written as browsers name it, as on keyboards, or as in a text. */
function plain(key) {
  const parts = key.split(/(?<=.)[+\s-](?=.)/).map((part) => WORDS[part] ?? part);
  if (parts.length === 1) return parts[0];
  return parts.map((part) => part.toLowerCase()).join("+");
}

/** Keys that the documentation names, in a part of what it says of the keyboard. */
function named(text) {
  const codes = [...text.matchAll(/`([^`]+)`/g)].flatMap(([, keys]) => keys.split(" "));
  const words = text.match(/\b(?:PageUp|PageDown|Esc|Ctrl-\w+)\b/g) ?? [];
  return [...codes, ...words].map(plain);
}

describe("the list of keys has every one that docs/page.md names", () => {
  const docs = readFileSync(new URL("../../../docs/page.md", import.meta.url), "utf8");
  const section = docs.slice(docs.indexOf("## Keyboard")).split("\n## ")[0];
  const [everywhere, inTraces] = section.split("\nIn a trace");
  for (const [place, path, text] of [
    ["everywhere", "/explore/sql", everywhere],
    ["in a trace", `/trace/${TRACE}`, inTraces],
  ]) {
    test(place, async () => {
      const { page, context } = await opened(path);
      await press(page, "?");
      const list = page.locator("[role=dialog][aria-label=Keyboard]");
      await list.waitFor();
      const listed = (await list.locator("kbd").allTextContents()).map(plain);
      const keys = named(text);
      assert.ok(keys.length > 8, `the documentation names ${keys}`);
      assert.deepEqual(
        keys.filter((key) => !listed.includes(key)),
        [],
      );
      await context.close();
    });
  }
});
