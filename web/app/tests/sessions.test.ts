/** Lanes of nodes: where they are, and what is below a point. */
import { describe, expect, it } from "vitest";
import "./panels-browser";
import { numberOf } from "../src/pages/sessions/callouts";
import {
  HEAD,
  LANE,
  partOf,
  placed,
  pointed,
  STRIP,
  stripsOf,
  valueAt,
} from "../src/pages/sessions/lanesview";
import type { LaneNode, Lanes } from "../src/pages/sessions/types";

function node(name: string, more: Partial<LaneNode> = {}): LaneNode {
  return {
    node: name,
    lanes: 2,
    running: 0,
    lane: [0, 1],
    start_ms: [0, 50],
    end_ms: [40, 100],
    status: ["completed", "running"],
    name: [0, 0],
    task: ["t1", "t2"],
    cpu_percent: null,
    gpus: [],
    ...more,
  };
}

const gpu = { gpu: "0", last_percent: 0, mean_percent: 10, series: [0, 50, null, 100], idle_share: null };

function lanes(): Lanes {
  return {
    series_start_ms: 0,
    series_end_ms: 100,
    nodes: [node("n1", { gpus: [gpu] }), node("n2")],
    names: ["simulate"],
    is_truncated: false,
  };
}

describe("lanes", () => {
  it("are shown in the part that an address names", () => {
    expect(partOf("20,70", 100)).toEqual({ from: 20, to: 70 });
    // A session that is shorter than it was said to be.
    expect(partOf("80,130", 100)).toEqual({ from: 50, to: 100 });
    for (const text of [undefined, "", "20", "70,20", "-1,20", "a,b"])
      expect(partOf(text, 100)).toBe(undefined);
  });
  it("stand one below the other", () => {
    const { nodes, height } = placed(lanes());
    expect(nodes[0]!.top).toBe(HEAD);
    expect(nodes[1]!.top).toBe(nodes[0]!.top + nodes[0]!.height);
    expect(height).toBe(nodes[1]!.top + nodes[1]!.height);
    expect(nodes[0]!.stripsTop).toBe(HEAD + 2 * LANE + 2);
  });

  it("have a strip for the processors of a node above those of its GPUs", () => {
    const busy = node("n3", { cpu_percent: [10, null, 40], gpus: [gpu] });
    expect(stripsOf(busy).map(({ label, isGpu, mean }) => [label, isGpu, mean])).toEqual([
      ["CPU", false, 25],
      ["GPU 0", true, 10],
    ]);
    expect(stripsOf(node("n4", { cpu_percent: [null] }))[0]?.mean).toBe(null);
    expect(stripsOf(node("n5"))).toEqual([]);
    const [place] = placed({ ...lanes(), nodes: [busy] }).nodes;
    const below = (nth: number) => pointed([place!], 10, place!.stripsTop + (nth + 0.5) * STRIP, 20, 0);
    expect([0, 1, 2].map(below).map((at) => at && "strip" in at && at.strip.label)).toEqual([
      "CPU",
      "GPU 0",
      undefined,
    ]);
  });

  it("tell what is below a point", () => {
    const { nodes } = placed(lanes());
    const at = pointed(nodes, 10, HEAD + LANE + 2, 60, 0);
    expect(at && "bar" in at && at.node.task[at.bar]).toBe("t2");
    expect(pointed(nodes, 10, HEAD + LANE + 2, 20, 0)).toBeUndefined();
    expect(pointed(nodes, -5, HEAD + 2, 20, 0)).toBeUndefined();
    const below = pointed(nodes, 10, nodes[0]!.stripsTop + STRIP / 2, 20, 0);
    expect(below && "strip" in below && below.strip.label).toBe("GPU 0");
  });

  it("have values in equal parts of their time", () => {
    expect(valueAt(gpu.series, lanes(), 30)).toBe(50);
    expect(valueAt(gpu.series, lanes(), 60)).toBe(null);
    expect(valueAt(gpu.series, lanes(), 100)).toBe(100);
    expect(valueAt(gpu.series, lanes(), 101)).toBe(null);
  });
});

describe("what stands out", () => {
  it("is counted as far as it is told", () => {
    expect(numberOf(new Array(49).fill(0))).toBe("49");
    expect(numberOf(new Array(50).fill(0))).toBe("50 or more");
  });
});
