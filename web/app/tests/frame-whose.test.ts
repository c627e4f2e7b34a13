/** Who is logged in and whose data is looked at, and the list that a page is below. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import "./panels-browser";
import { isAt, listAbove } from "../src/frame/crumb";
import { navigate, place, tenant } from "../src/frame/router";
import { lookAt, standingOf } from "../src/frame/whose";

const go = (_: unknown, __: string, to: string) => {
  location.href = new URL(to, location.href).href;
};

beforeEach(() => vi.stubGlobal("history", { pushState: go, replaceState: go }));
afterEach(() => vi.unstubAllGlobals());

describe("who looks at whose data", () => {
  const of = (name: string, tenants: string[], chosen?: string) =>
    standingOf({ name, is_known: name !== "", tenants }, chosen);
  it("is not shown where nobody logs in and there is one tenant", () => {
    for (const tenants of [[], ["default"]])
      expect(of("", tenants)).toEqual({ name: undefined, tenant: undefined, tenants: [], isTyped: false });
  });
  it("is a name, and the only tenant that who is logged in has", () => {
    expect(of("ada", ["default"])).toMatchObject({ name: "ada", tenant: undefined, tenants: [] });
    expect(of("ada", ["ml"])).toMatchObject({ name: "ada", tenant: "ml", tenants: [] });
  });
  it("is a choice where there are several, or where the address names one", () => {
    expect(of("", ["default", "ml"])).toMatchObject({ tenant: "default", tenants: ["default", "ml"] });
    expect(of("", ["default", "ml"], "ml")).toMatchObject({ tenant: "ml", isTyped: false });
    expect(of("", ["default"], "ml")).toMatchObject({ tenant: "ml", tenants: ["default"] });
    expect(of("", [], "ml")).toMatchObject({ tenant: "ml", tenants: [] });
  });
  it("is typed where not all are known, or where there are many", () => {
    expect(of("ada", ["*"])).toMatchObject({ tenant: "default", tenants: [], isTyped: true });
    const many = Array.from({ length: 13 }, (_, at) => `t${at}`);
    expect(of("ada", many)).toMatchObject({ isTyped: true });
  });
  it("is changed on the page that is shown", () => {
    navigate("/hosts?from=now-6h");
    lookAt("ml");
    expect(tenant.value).toBe("ml");
    expect([place.value.path, place.value.query.get("from")]).toEqual(["/hosts", "now-6h"]);
    lookAt("default");
    expect(tenant.value).toBeUndefined();
  });
});

describe("the list above a page", () => {
  it("is that of the rail that it belongs to", () => {
    const labels = ["/trace/1", "/ci/run/1", "/session/x", "/host/y", "/d/z", "/dashboards/import"].map(
      (at) => listAbove(at)?.label,
    );
    expect(labels).toEqual(["Traces", "CI", "Sessions", "Hosts, GPUs", "Dashboards", "Dashboards"]);
  });
  it("is none of lists, of parts of a page, and of what is no page", () => {
    for (const at of ["/", "/traces", "/hosts", "/admin/tokens", "/nothing/here"])
      expect(listAbove(at), at).toBeUndefined();
    expect(isAt("/traces", "/traces/flame")).toBe(true);
    expect(isAt("/", "/traces")).toBe(false);
  });
});
