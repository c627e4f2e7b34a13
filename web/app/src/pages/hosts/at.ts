/** The way to a host as it was at a moment: what else there says something about what happened then. */
import { link } from "../../frame/router";

const MARGIN_MILLIS = 900_000;

export function hostAt(host: string, millis: number): string {
  const [from, to] = [millis - MARGIN_MILLIS, millis + MARGIN_MILLIS].map(Math.round);
  return link(`/host/${encodeURIComponent(host)}`, { from, to });
}
