/** What Admin computes: flags, rates, tokens, where queries are asked again. */
import { expect, test } from "vitest";
import "./panels-browser";
import { rowBytes, serviceRows } from "../src/pages/admin/byservice";
import { metricQuery } from "../src/pages/admin/cardinality";
import { auditLines, changed, created, formOf, whom } from "../src/pages/admin/flag";
import { countedFrom, flows } from "../src/pages/admin/ingest";
import { pageOf } from "../src/pages/admin/queries";
import { dayName } from "../src/pages/admin/storage";
import { newToken } from "../src/pages/admin/tokens";
import type { Flag, IngestState, Partition, ShownQuery } from "../src/pages/admin/types";

const flag: Flag = {
  key: "flag_ot_traces",
  description: "",
  enabled: true,
  mode: "selected",
  users: ["ada", "bob"],
  percentage: 10,
  regex: null,
  attributes: ["user.id"],
  unknown: "nobody",
  where: null,
  signals: ["traces", "metrics", "logs"],
  updated_at_millis: 0,
  updated_by: "root",
};

test("a change has what differs and nothing else, users one by one", () => {
  expect(changed(formOf(flag), flag)).toEqual({});
  const form = { ...formOf(flag), users: "ada\ncarol\n carol ", regex: ".*@x", percentage: "20" };
  expect(changed(form, flag)).toEqual({
    regex: ".*@x",
    percentage: 20,
    add_users: ["carol"],
    remove_users: ["bob"],
  });
});

test("a new flag leaves to the configuration what was left open", () => {
  const made = created({ ...formOf(), key: " f " });
  expect(made).toMatchObject({ key: "f", mode: "nobody", enabled: true });
  expect(made).not.toHaveProperty("unknown");
  expect(made).not.toHaveProperty("attributes");
});

test("a flag and its changes are told in words", () => {
  expect(whom(flag)).toBe("Selected: 2 users, 10 %. Unknown users: not recorded");
  expect(whom({ ...flag, mode: "nobody" })).toBe("Nobody");
  const entry = { key: "f", by: "root", at_millis: 0, action: "change" };
  const lines = auditLines({
    ...entry,
    before: { percentage: 0, users: ["bob"] },
    after: { percentage: 10, users: ["ada"], users_left_out: 3 },
  });
  expect(lines).toEqual(["percentage: 0 → 10", "users: + ada and 3 more", "users: − bob"]);
});

test("rates are those between two answers", () => {
  const state = (count: number, now: number): IngestState =>
    ({
      now_millis: now,
      requests: [{ tenant: "a", signal: "traces", protocol: "grpc", count }],
      bytes: [{ tenant: "a", signal: "traces", protocol: "grpc", count: 10 * count }],
    }) as unknown as IngestState;
  expect(flows(state(30, 2000))[0]).toMatchObject({ requests: 30, bytes: 300, rate: undefined });
  expect(flows(state(30, 2000), state(10, 0))[0]!.rate).toBe(10);
});

test("a slow query leads to where it can be asked again", () => {
  const query = (kind: string, text: string) => ({ kind, text }) as ShownQuery;
  expect(pageOf(query("traceql", "{ status = error }"))).toBe("/traces?q=%7B+status+%3D+error+%7D");
  expect(pageOf(query("traceql", "tags"))).toBeUndefined();
  expect(pageOf(query("trace", "ab12"))).toBe("/trace/ab12");
  expect(pageOf(query("export", "log records"))).toBeUndefined();
  expect(pageOf({ ...query("sql", "SELECT 1…"), is_cut: true })).toBeUndefined();
});

test("a token is asked for with what was said", () => {
  expect(newToken({ name: " ci ", roles: ["write"], tenants: "", days: "" }, 0)).toEqual({
    name: "ci",
    roles: ["write"],
  });
  const wanted = newToken({ name: "ci", roles: ["read"], tenants: "a, b,", days: "7" }, 1_000_000);
  expect(wanted).toMatchObject({ tenants: ["a", "b"], expires_unix_secs: 1000 + 7 * 86_400 });
});

test("days are named, and what came late is", () => {
  expect(dayName(20_775)).toBe("2026-11-18");
  expect(dayName(-9_223_372_036_854)).toBe("late");
});

test("nothing is counted from an answer of a server that was started anew since", () => {
  const state = (started_millis: number) => ({ started_millis }) as IngestState;
  const before = state(1);
  expect(countedFrom(state(1), before)).toBe(before);
  expect(countedFrom(state(2), before)).toBeUndefined();
  expect(countedFrom(state(2))).toBeUndefined();
});

test("sizes by service are records times the mean size of a row", () => {
  const of = (tenant: string, rows: number, size: number) =>
    ({ tenant, signal: "logs", rows, bytes: size }) as Partition;
  const partitions = [of("a", 10, 100), of("a", 30, 500), of("b", 10, 900)];
  expect(rowBytes(partitions, "logs", "a")).toBe(15);
  expect(rowBytes(partitions, "logs")).toBe(30);
  expect(rowBytes(partitions, "traces")).toBeUndefined();
  expect(
    serviceRows(
      "logs",
      [
        ["shop", 30],
        [null, 10],
      ],
      15,
    ),
  ).toEqual([
    { service: "shop", signal: "logs", records: 30, part: 0.75, bytes: 450 },
    { service: "without a name", signal: "logs", records: 10, part: 0.25, bytes: 150 },
  ]);
  expect(serviceRows("logs", [["shop", 1]], undefined)[0]!.bytes).toBeUndefined();
});

test("a metric of any name can be asked for", () => {
  expect(metricQuery("job:rate:5m")).toBe("job:rate:5m");
  expect(metricQuery('http.server"duration')).toBe('{"http.server\\"duration"}');
});
