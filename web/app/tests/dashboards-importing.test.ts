/** Files of dashboards: what of them was saved, and what can be saved over others. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { ApiError } from "../src/frame/api";
import { leftOf, type Outcome, takenOf, triedAgain } from "../src/pages/dashboards/importing";

const [several, single, whole] = ["several", "single", "whole"].map((name) => ({ name, text: "{}" }));
const FILES = [several!, single!, whole!];
const first: Outcome[] = [
  { of: several!, found: [{ uid: "a" }, { name: "b", error: "there is one", taken: true }] },
  { of: single!, found: [], error: new ApiError("there is one", 409) },
  { of: whole!, found: [{ uid: "c" }] },
];

describe("files of dashboards", () => {
  it("of which some have ids that are taken can still be saved, over those", () => {
    expect(first.map(takenOf)).toEqual([1, 1, 0]);
    expect(leftOf(FILES, [])).toEqual(FILES);
    expect(leftOf(FILES, first)).toEqual([several, single]);
  });
  it("that were sent again are told of once, as they came out last", () => {
    const then = triedAgain(first, [{ of: several!, found: [{ uid: "a" }, { uid: "b" }] }]);
    expect(then.flatMap(({ found }) => found.map(({ uid }) => uid))).toEqual(["c", "a", "b"]);
    expect(leftOf(FILES, then)).toEqual([single]);
  });
  it("that failed otherwise are left, and there is nothing to save over", () => {
    const broken = [{ of: single!, found: [], error: new ApiError("no", 500) }];
    expect(broken.map(takenOf)).toEqual([0]);
    expect(leftOf([single!], broken)).toEqual([single]);
  });
});
