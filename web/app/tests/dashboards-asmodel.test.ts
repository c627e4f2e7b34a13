/** What is edited is the model of today, whatever form a version or what somebody pasted has. */
import { afterEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { asModel } from "../src/pages/dashboards/asmodel";
import { addPanel } from "../src/pages/dashboards/change";
import { type Json, versionModel } from "../src/pages/dashboards/model";

const PANEL = { id: 1, type: "stat", gridPos: { x: 0, y: 0, w: 12, h: 4 } };

function server(answer: object): Json[] {
  const asked: Json[] = [];
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    asked.push(JSON.parse(String(init.body)) as Json);
    return new Response(JSON.stringify({ dashboards: [answer] }));
  });
  return asked;
}

afterEach(() => vi.unstubAllGlobals());

describe("a document", () => {
  it("of another form is made the model of today by the server, and loses no panels by one more", async () => {
    const model = { title: "x", schemaVersion: 42, panels: [PANEL] };
    for (const document of [
      { title: "x", rows: [{ panels: [PANEL] }] },
      { dashboard: { title: "x", panels: [PANEL] }, meta: {} },
      { kind: "Dashboard", spec: { title: "x", elements: {}, layout: {} } },
    ]) {
      const asked = server({ name: "", model });
      const { dashboard } = addPanel(await asModel(document), { type: "text" });
      expect((dashboard.panels as Json[]).map(({ id }) => id)).toEqual([2, 1]);
      expect(asked).toEqual([document]);
    }
  });
  it("of today is taken as it is, and nobody is asked", async () => {
    const asked = server({});
    const document = { title: "x", schemaVersion: 42, panels: [PANEL] };
    expect(await asModel(document)).toBe(document);
    expect(asked).toEqual([]);
  });
  it("that is a version is made so where it is kept", async () => {
    const fetched = vi.fn(
      async (_: string) => new Response('{"dashboard":{"rows":[]},"model":{"panels":[]}}'),
    );
    vi.stubGlobal("fetch", fetched);
    expect(await versionModel("a b", 3)).toEqual({ panels: [] });
    expect(fetched.mock.calls[0]![0]).toBe("/api/dashboards/a%20b/versions/3?model=1");
  });
  it("that is none, or that nobody brings up to date, is not taken", async () => {
    server({ name: "", error: "expected a dashboard" });
    await expect(asModel({ a: 1 })).rejects.toThrow("expected a dashboard");
    server({ name: "" });
    await expect(asModel({ title: "x", rows: [] })).rejects.toThrow("cannot be edited here");
    expect(await asModel({ dashboard: { title: "x", panels: [] } })).toEqual({ title: "x", panels: [] });
  });
});
