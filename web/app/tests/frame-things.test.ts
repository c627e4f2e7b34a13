/** What the palette finds by name: things of the data, each kind by itself. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { found } from "../src/frame/palette";
import { place } from "../src/frame/router";
import { findThings, type Thing } from "../src/frame/things";

const ANSWERS: Record<string, object> = {
  "/api/dashboards": { dashboards: [{ uid: "d 1", title: "Nodes" }] },
  "/api/sessions": { sessions: [{ id: "s1", name: "resnet training" }] },
  "/api/fleet": { hosts: [{ name: "gpu07" }] },
  "/api/ci/pipelines": { pipelines: [{ workflow: "nightly", repository: "a/b" }] },
};

let serve: (path: string, signal: AbortSignal) => Promise<Response>;

beforeEach(() => {
  vi.useFakeTimers();
  const go = (_: unknown, __: string, to: string) => {
    location.href = new URL(to, location.href).href;
  };
  vi.stubGlobal("history", { pushState: go, replaceState: go });
  vi.stubGlobal("fetch", (asked: string, { signal }: { signal: AbortSignal }) =>
    serve(asked.split("?")[0]!, signal),
  );
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function things(): Promise<Thing[]> {
  const all: Thing[] = [];
  findThings((more) => all.push(...more));
  await vi.advanceTimersByTimeAsync(10_000);
  return all;
}

describe("the palette", () => {
  it("finds sessions, hosts and workflows by name, and leads to them", async () => {
    serve = async (path) => new Response(JSON.stringify(ANSWERS[path]));
    const all = await things();
    for (const [typed, hint, to] of [
      ["Nodes", "dashboard", "/d/d%201"],
      ["resnet", "session", "/session/s1"],
      ["gpu07", "host", "/host/gpu07"],
      ["nightly", "CI workflow", "/ci/pipeline?workflow=nightly&repository=a%2Fb"],
    ] as const) {
      const choice = found(typed, all).find((one) => one.hint === hint);
      choice?.run();
      expect(place.value.path + location.search, typed).toBe(to);
    }
  });
  it("finds the others where one kind fails or takes too long, and waits for none when it is closed", async () => {
    let given = 0;
    serve = (path, signal) => {
      if (path === "/api/sessions") return Promise.resolve(new Response("no", { status: 500 }));
      if (path !== "/api/ci/pipelines") return Promise.resolve(new Response(JSON.stringify(ANSWERS[path])));
      return new Promise((_, refuse) => {
        signal.addEventListener("abort", () => {
          given += 1;
          refuse(new DOMException("aborted", "AbortError"));
        });
      });
    };
    expect((await things()).map(({ hint }) => hint)).toEqual(["dashboard", "host"]);
    expect(given).toBe(1);
    findThings(() => {})();
    expect(given).toBe(2);
  });
});
