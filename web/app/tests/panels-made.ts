/** Fields and frames for tests of panels. */
import type { Field, Frame } from "../src/panels/frame";

export function made(
  name: string,
  type: Field["type"],
  values: Field["values"],
  config: Field["config"] = {},
): Field {
  return { name, type, values, config, state: { displayName: name } };
}

export function timed(times: number[], fields: Field[], interval?: number): Frame {
  return { fields: [made("Time", "time", times, interval === undefined ? {} : { interval }), ...fields] };
}
