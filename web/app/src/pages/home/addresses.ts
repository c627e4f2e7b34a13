/**
 * Addresses as a program has to write them. A server that listens on all addresses is named as the browser
 * reached it. One that listens on its own machine only is named so where the browser is elsewhere: then there
 * is a proxy between them, which leads to the main port and perhaps to no other.
 */
import type { Address, Start } from "./start";

export interface Endpoints {
  /** OTLP over gRPC. */
  grpc: string;
  /** OTLP over HTTP, without `/v1/traces`. */
  http: string;
  /** The main port, with its prefix. */
  main: string;
  /** What takes OTLP over HTTP from where the browser is: what clients are told to send to. */
  fromHere: string;
  /** Whether only this machine reaches the server. */
  isLocal: boolean;
}

/** Where the browser has the page from. */
interface Page {
  hostname: string;
  origin: string;
  /** Below which prefix, with a slash at its end: proxies may have one of which the server's rules do not tell. */
  base: string;
}

/** Host and port of `127.0.0.1:4317` and `[::1]:4317`. */
export function parts(address: string): { host: string; port: string } {
  const at = address.lastIndexOf(":");
  return { host: address.slice(0, at), port: address.slice(at + 1) };
}

const ANYWHERE = new Set(["0.0.0.0", "[::]"]);
const LOOPBACK = /^(127\.|\[::1\]$)/;

/** Whether an address is one of the server's machine, and the browser is on another. */
function isFar({ address }: Address, page: Page): boolean {
  return LOOPBACK.test(parts(address).host) && page.hostname !== "localhost" && !LOOPBACK.test(page.hostname);
}

function url(where: Address, page: Page): string {
  const { host, port } = parts(where.address);
  const isReached = ANYWHERE.has(host) || (LOOPBACK.test(host) && !isFar(where, page));
  const name = isReached ? page.hostname : host;
  return `${where.secure ? "https" : "http"}://${name}:${port}`;
}

export function endpoints(start: Start, page: Page): Endpoints {
  const { addresses, external_url } = start;
  const all = [addresses.http, addresses.otlp_grpc, addresses.otlp_http];
  const http = url(addresses.otlp_http, page);
  const main = (external_url ?? `${page.origin}${page.base}`).replace(/\/$/, "");
  return {
    grpc: url(addresses.otlp_grpc, page),
    http,
    main,
    fromHere: isFar(addresses.otlp_http, page) ? main : http,
    isLocal: all.every(({ address }) => LOOPBACK.test(parts(address).host)),
  };
}
