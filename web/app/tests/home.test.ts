/** What Home computes: addresses, snippets, a test trace, what needs attention. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import "./panels-browser";
import type { Pipeline } from "../src/pages/ci/types";
import { type Endpoints, endpoints, parts } from "../src/pages/home/addresses";
import { ofFleet, ofIngest, ofPipelines, ofSessions, ordered, runsOf } from "../src/pages/home/attention";
import { asArguments, asVariable, headersOf } from "../src/pages/home/sender";
import { snippets } from "../src/pages/home/snippets";
import type { Rates, Start } from "../src/pages/home/start";
import { testTrace } from "../src/pages/home/testtrace";
import type { ListedSession } from "../src/pages/sessions/types";

const page = { hostname: "kymo.example", origin: "https://kymo.example", base: "/x/" };

function start(http: string, grpc: string, secure = false): Start {
  const address = (address: string) => ({ address, secure });
  return {
    addresses: {
      http: address(http),
      otlp_grpc: address(grpc),
      otlp_http: address("127.0.0.1:4318"),
      expose_metrics: null,
      postgres: null,
      aliases: [],
    },
    base_path: "",
    external_url: null,
  } as unknown as Start;
}

/** The code of a snippet. */
function codeOf(where: Endpoints, wanted: string): string {
  return snippets(where).find(({ id }) => id === wanted)!.code;
}

test("addresses are those that listen, named as the browser reached the server", () => {
  const where = endpoints(start("0.0.0.0:3200", "10.1.2.3:5317", true), page);
  expect(where.grpc).toBe("https://10.1.2.3:5317");
  expect(endpoints(start("0.0.0.0:3200", "[::]:5317", true), page).grpc).toBe("https://kymo.example:5317");
  // The prefix is the one that the browser has, also where the server knows it from a proxy alone.
  expect(where.main).toBe("https://kymo.example/x");
  const named = { ...start("0.0.0.0:3200", "[::]:5317"), external_url: "https://obs.example/y/" };
  expect(endpoints(named, page).main).toBe("https://obs.example/y");
  expect(where.isLocal).toBe(false);
  expect(endpoints(start("127.0.0.1:1", "[::1]:2"), page).isLocal).toBe(true);
  expect(parts("[::1]:4317")).toEqual({ host: "[::1]", port: "4317" });
});

test("a port of the server's machine alone is no other's, who is led to the main port", () => {
  const far = endpoints(start("127.0.0.1:3200", "127.0.0.1:14317"), page);
  expect(far.grpc).toBe("http://127.0.0.1:14317");
  expect(far.http).toBe("http://127.0.0.1:4318");
  expect(far.fromHere).toBe("https://kymo.example/x");
  for (const { id, code } of snippets(far)) {
    expect(code, id).toContain("https://kymo.example/x");
    expect(code, id).not.toMatch(/127\.0\.0\.1/);
  }
  expect(codeOf(far, "curl")).toContain("https://kymo.example/x/v1/traces");
  const near = { hostname: "localhost", origin: "http://localhost:3200", base: "/" };
  expect(endpoints(start("127.0.0.1:3200", "127.0.0.1:14317"), near)).toMatchObject({
    grpc: "http://localhost:14317",
    fromHere: "http://localhost:4318",
  });
});

test("every snippet has an address of the server in it", () => {
  const where = endpoints(start("0.0.0.0:1", "0.0.0.0:7317"), page);
  const all = snippets(where);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  for (const { id, code } of all) expect(code, id).toMatch(/kymo\.example/);
});

test("what speaks gRPC where nothing is said is told to speak HTTP", () => {
  const here = { hostname: "localhost", origin: "http://localhost:3200", base: "/" };
  const where = endpoints(start("127.0.0.1:3200", "127.0.0.1:4317"), here);
  for (const { id, code } of snippets(where)) {
    expect(code, id).not.toMatch(/:4317/);
    if (!/OTLP_ENDPOINT/.test(code) || id === "node") continue;
    expect(code, id).toMatch(/OTEL_EXPORTER_OTLP_PROTOCOL(=|: )http\/protobuf/);
  }
  expect(codeOf(where, "go")).toContain('otlptracehttp.WithEndpointURL("http://localhost:4318/v1/traces")');
  expect(codeOf(where, "collector")).toMatch(/otlphttp\/kymo:\n +endpoint: http:\/\/localhost:4318\n/);
});

test("where the server wants to know who sends, every snippet says it, and whose data it is", () => {
  const where = endpoints(start("0.0.0.0:1", "0.0.0.0:2"), page);
  const all = snippets(where, { needsToken: true, tenant: "team a|team b" });
  for (const { id, code } of all) {
    expect(code, id).toMatch(/YOUR_TOKEN|secrets\.KYMO_TOKEN/);
    expect(code, id).toMatch(/X-Scope-OrgID\W+team(%20| )a\b/);
    expect(code, id).not.toContain("team b");
  }
  const code = (wanted: string) => all.find(({ id }) => id === wanted)!.code;
  const variable = "OTEL_EXPORTER_OTLP_HEADERS=Authorization=Bearer%20YOUR_TOKEN,X-Scope-OrgID=team%20a";
  expect(code("environment")).toMatch(new RegExp(`^export ${variable}$`, "m"));
  expect(code("session")).toContain(`  ${variable} \\\n  kymo run -- python train.py`);
  expect(code("actions")).toContain(
    `OTEL_EXPORTER_OTLP_HEADERS: Authorization=Bearer%20\${{ secrets.KYMO_TOKEN }},X-Scope-OrgID=team%20a\n`,
  );
  // Prometheus refuses to start where this one stands among headers.
  expect(code("prometheus")).not.toContain('"Authorization"');
  expect(code("prometheus")).toContain('headers: { "X-Scope-OrgID": "team a" }');
  for (const { id, code } of snippets(where)) expect(code, id).not.toMatch(/HEADERS|headers|YOUR_TOKEN/);
});

test("names of tenants do not break out of what they stand in", () => {
  const headers = headersOf({ needsToken: false, tenant: "it's (ours)" });
  expect(asVariable(headers)).toBe("X-Scope-OrgID=it%27s%20%28ours%29");
  expect(asArguments(headers)).toBe(" -H 'X-Scope-OrgID: it'\\''s (ours)'");
});

/** The actions of GitHub, as they are shipped. */
const ACTIONS = new URL("../../../deploy/github-actions/", import.meta.url);

test("the workflow that is shown has what the action asks for", () => {
  const code = codeOf(endpoints(start("0.0.0.0:1", "0.0.0.0:2"), page), "actions");
  const action = readFileSync(new URL("summarize/action.yml", ACTIONS), "utf8");
  const [, variable, value] = /if: env\.(\w+) == '(\w+)'/.exec(action)!;
  expect(code).toContain(`${variable}: "${value}"`);
  expect(code).toContain("kymograph/kymograph/deploy/github-actions/summarize@main");
  // As the example has it that is tested with them.
  const readme = readFileSync(new URL("README.md", ACTIONS), "utf8");
  const example = readme.slice(readme.indexOf("  telemetry-summarize:"));
  expect(/^ +permissions: \{ *(.*?) *\}$/m.exec(code)?.[1]).toBe(/permissions: \{(.*)\}/.exec(example)![1]);
  expect(code).toContain(/if: .*/.exec(example)![0]);
  expect(code).not.toContain("always()");
  expect(code).toMatch(/with kymo on the path/);
  expect(code).toMatch(/KYMO_URL: https:\/\/kymo\.example\/x$/m);
});

test("a test trace has one root that covers its children", () => {
  const trace = testTrace("0af7651916cd43dd8448eb211c80319c", 1_790_000_000_000) as {
    resourceSpans: { scopeSpans: { spans: Record<string, string>[] }[] }[];
  };
  const spans = trace.resourceSpans[0]!.scopeSpans[0]!.spans;
  const [root, ...below] = spans;
  expect(root!.parentSpanId).toBeUndefined();
  expect(root!.endTimeUnixNano).toBe("1790000000000000000");
  for (const span of below) {
    expect(span.parentSpanId).toBe(root!.spanId);
    expect(BigInt(span.startTimeUnixNano!) > BigInt(root!.startTimeUnixNano!)).toBe(true);
  }
});

test("what is worse than before or broken needs attention, the worst first", () => {
  const pipeline = {
    workflow: "pr",
    repository: "orbital/lattice",
    runs: 9,
    failure_rate: 0.4,
    hit_rate: 0.54,
    hit_rate_change: -0.37,
    median_change: 0.05,
  } as Pipeline;
  const texts = ofPipelines([pipeline]).map(({ text }) => text);
  expect(texts).toEqual([
    "pr of orbital/lattice: 40 % of runs fail",
    "pr of orbital/lattice: cache hits 91 % → 54 %",
  ]);
  expect(ofPipelines([{ ...pipeline, failure_rate: 0.1, hit_rate_change: null }])).toEqual([]);
  const other = { ...pipeline, workflow: "nightly", runs: 3, failures: 0 };
  expect(runsOf([{ ...pipeline, failures: 4 }, other])).toEqual({ runs: 12, failures: 4 });

  const gpu = (temperature: number) => ({ gpu: "3", uuid: "", model: "", figures: { temperature } });
  const host = { name: "gpu-2", instances: [], figures: { filesystem: 0.95 }, gpus: [gpu(60), gpu(91.04)] };
  const fleet = ofFleet({ hosts: [host], truncated: false, at: 0 });
  expect(fleet.map(({ text }) => text)).toEqual(["gpu-2 GPU 3: 91 °C", "gpu-2: a file system is 95 % full"]);

  const tasks = {
    created: 10,
    submitted: 10,
    running: 0,
    completed: 9,
    failed: 1,
    canceled: 0,
    unfinished: 0,
  };
  const session = {
    id: "a/b",
    name: "screen",
    state: "running",
    tasks,
    duration_seconds: 60,
  } as ListedSession;
  const [failed] = ofSessions([session]);
  expect(failed).toMatchObject({
    tone: "warn",
    text: "screen: 1 of 10 tasks failed",
    path: "/session/a%2Fb",
  });
  expect(ofSessions([{ ...session, state: "lost" }])[0]!.tone).toBe("bad");
  expect(ofSessions([session, { ...session, id: "earlier" }])).toHaveLength(1);
  expect(ordered([failed!, fleet[0]!])[0]!.tone).toBe("bad");
});

test("what is refused is told in a number that can be read", () => {
  const [refused] = ofIngest({ refused_per_second: 1 / 3 } as Rates);
  expect(refused?.text).toBe("0.3333 records or requests a second are refused");
  expect(ofIngest({ refused_per_second: 0 } as Rates)).toEqual([]);
});
