// OpenTelemetry's SDK for the web in a page of another origin: it sends a root span to us, cross-origin, and
// what a server does for that page joins its trace.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { build } from "vite";
import { until } from "./boards.mjs";
import { browse, send, serve, settled, watched } from "./harness.mjs";

let server;
let browser;
let shop;
let script;

/**
 * The page's script: a tracer that sends to us, and a button press that asks the shop. The exporter is given
 * an address and nothing else, so that it sends by a beacon.
 */
const SOURCE = `
import { context, propagation, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { SimpleSpanProcessor, WebTracerProvider } from "@opentelemetry/sdk-trace-web";

const exporter = new OTLPTraceExporter({ url: window.collector });
const provider = new WebTracerProvider({
  resource: resourceFromAttributes({ "service.name": "web-shop" }),
  spanProcessors: [new SimpleSpanProcessor(exporter)],
});
provider.register({ propagator: new W3CTraceContextPropagator() });
const span = trace.getTracer("page").startSpan("press buy");
const headers = {};
propagation.inject(trace.setSpan(context.active(), span), headers);
const answer = await fetch("/buy", { method: "POST", headers });
await answer.text();
span.end();
await provider.forceFlush();
window.done = span.spanContext().traceId;
`;

before(async () => {
  server = await serve();
  browser = await browse();
  const built = await build({
    configFile: false,
    logLevel: "silent",
    plugins: [
      {
        name: "source",
        resolveId: (id) => (id === "virtual:page" ? `${import.meta.dirname}/page-of-the-shop.js` : undefined),
        load: (id) => (id.endsWith("page-of-the-shop.js") ? SOURCE : undefined),
      },
    ],
    build: { write: false, target: "es2022", rolldownOptions: { input: "virtual:page" } },
  });
  script = (Array.isArray(built) ? built[0] : built).output[0].code;
  shop = createServer(async (request, response) => {
    if (request.url === "/buy") {
      const [, trace, parent] = request.headers.traceparent.split("-");
      const now = BigInt(Date.now()) * 1_000_000n;
      const span = {
        traceId: trace,
        spanId: "00000000000000b1",
        parentSpanId: parent,
        name: "POST /buy",
        kind: 2,
      };
      await send(server, "traces", {
        resourceSpans: [
          {
            resource: { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] },
            scopeSpans: [
              {
                spans: [
                  { ...span, startTimeUnixNano: String(now), endTimeUnixNano: String(now + 1_000_000n) },
                ],
              },
            ],
          },
        ],
      });
      response.end("bought");
    } else if (request.url === "/page.js") {
      response.setHeader("Content-Type", "text/javascript").end(script);
    } else {
      const text = `<!doctype html><script>window.collector = "${server.otlp}/v1/traces"</script><script type="module" src="/page.js"></script>`;
      response.setHeader("Content-Type", "text/html").end(text);
    }
  });
  await new Promise((done) => shop.listen(0, "127.0.0.1", done));
});

after(async () => {
  shop?.close();
  await browser?.close();
  await server?.stop();
});

test("a span of a page and the spans of its server are one trace, which the page shows", async () => {
  const { page, context, complaints } = await watched(browser);
  await page.goto(`http://127.0.0.1:${shop.address().port}/`);
  await page.waitForFunction(() => window.done);
  const id = await page.evaluate(() => window.done);
  assert.deepEqual(
    complaints.filter((one) => !one.includes("favicon")),
    [],
  );
  // A beacon may arrive after the page says that it is sent.
  const names = ["press buy", "POST /buy"];
  await until(async () => {
    const text = await (await fetch(`${server.url}/tempo/api/traces/${id}`)).text();
    return names.every((name) => text.includes(name));
  }, "both spans are stored");
  await page.goto(`${server.url}/trace/${id}`);
  await page.waitForSelector("[role=treegrid] [role=row]");
  await settled(page);
  const text = await page.textContent("[role=treegrid]");
  for (const name of names) assert.ok(text.includes(name), text);
  await context.close();
});
