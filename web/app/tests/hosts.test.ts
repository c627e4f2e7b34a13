import { expect, test } from "vitest";
import "./panels-browser";
import { errorMoments, GPU_SHADES, type Gpu, gpuFaults, throttleReasons } from "../src/pages/hosts/fleet";

const gpu = (figures: Record<string, number>): Gpu => ({ gpu: "3", uuid: "u", model: "m", figures });
const shade = (id: string) => GPU_SHADES.find((one) => one.id === id)!;

test("a GPU that is idle or at the power it is allowed has no fault, one that is too hot has", () => {
  expect(throttleReasons(0x1)).toEqual([]);
  expect(gpuFaults(gpu({ throttling: 0x1 }))).toEqual([]);
  expect(gpuFaults(gpu({ throttling: 0x4 }))).toEqual([]);
  expect(gpuFaults(gpu({ throttling: 0x24 }))).toEqual(["throttled: heat"]);
  const parts = [0x1, 0x4, 0x24].map((throttling) => shade("throttling").part(gpu({ throttling })));
  expect(parts).toEqual([0, 0.7, 1]);
  expect(shade("throttling").text(gpu({ throttling: 0x24 }))).toBe("power cap, heat");
});

test("errors of memory colour a GPU, those that were not corrected are a fault", () => {
  expect(shade("ecc").part(gpu({}))).toBeUndefined();
  expect(shade("ecc").part(gpu({ ecc_corrected: 0 }))).toBe(0);
  expect(shade("ecc").part(gpu({ ecc_corrected: 3, ecc_uncorrected: 0 }))).toBe(0.7);
  expect(shade("ecc").part(gpu({ ecc_uncorrected: 1 }))).toBe(1);
  expect(gpuFaults(gpu({ ecc_uncorrected: 1 }))).toEqual(["ECC errors not corrected: 1"]);
  expect(gpuFaults(gpu({ ecc_corrected: 9 }))).toEqual([]);
});

test("an error is at the moment at which the number of the last one changes", () => {
  const series = [
    { label: "GPU 0", values: [31, 31, null, 63, 0, 0] },
    { label: "GPU 1", values: [null, 0, 0, 0, 0, 48] },
  ];
  const measures = [{ of: "gpu" as const, name: "xid", unit: "short", query: "", series }];
  expect(errorMoments([10, 20, 30, 40, 50, 60], measures)).toEqual([
    { time: 40, at: 3, gpu: "GPU 0", xid: 63 },
    { time: 60, at: 5, gpu: "GPU 1", xid: 48 },
  ]);
  expect(errorMoments([], [])).toEqual([]);
});
