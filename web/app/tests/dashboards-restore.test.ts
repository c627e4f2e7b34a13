/** Dashboards that are deleted: what is said before that, and the way back. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { remove, restore } from "../src/pages/dashboards/restore";

const VERSIONS = [
  { version: 2, saved: 2 },
  { version: 4, saved: 4 },
];
let asked: [method: string, path: string, body?: unknown][];
let versions: object[];

beforeEach(() => {
  asked = [];
  versions = VERSIONS;
  vi.stubGlobal("fetch", async (path: string, { method = "GET", body }: RequestInit) => {
    asked.push([method, path, ...(body ? [JSON.parse(String(body))] : [])] as (typeof asked)[number]);
    if (path.endsWith("/versions")) return new Response(JSON.stringify({ versions }));
    if (path.endsWith("/versions/4")) return new Response('{"dashboard":{"uid":"a","title":"A"}}');
    return new Response('{"uid":"a","version":6}');
  });
});
afterEach(() => vi.unstubAllGlobals());

describe("a deleted dashboard", () => {
  it("is told to keep its versions, and deleted only if that is meant", async () => {
    const confirm = vi.fn(() => false);
    vi.stubGlobal("confirm", confirm);
    expect(await remove({ uid: "a", title: "A" })).toBe(false);
    expect(confirm.mock.calls).toEqual([["Delete “A”? Its versions stay, and it can be restored."]]);
    expect(asked).toEqual([]);
    vi.stubGlobal("confirm", () => true);
    expect(await remove({ uid: "a", title: "A" })).toBe(true);
    expect(asked).toEqual([["DELETE", "/api/dashboards/a"]]);
  });
  it("is restored as its newest version, over nothing that is there by then", async () => {
    expect(await restore("a")).toEqual({ uid: "a", version: 6 });
    const dashboard = { uid: "a", title: "A" };
    expect(asked.at(-1)).toEqual([
      "POST",
      "/api/dashboards",
      { dashboard, message: "restored", overwrite: false },
    ]);
    versions = [];
    await expect(restore("a")).rejects.toThrow("no version of it is kept");
  });
});
