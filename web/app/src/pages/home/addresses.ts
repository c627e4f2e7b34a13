/**
 * Addresses as a program has to write them. A server that listens on all addresses, or on this machine
 * only, is named as the browser reached it; behind a proxy that is what others reach, too.
 */
import type { Address, Start } from "./start";

export interface Endpoints {
  /** OTLP over gRPC. */
  grpc: string;
  /** OTLP over HTTP, without `/v1/traces`. */
  http: string;
  /** The main port, with its prefix. */
  main: string;
  /** Whether only this machine reaches the server. */
  isLocal: boolean;
}

interface Page {
  hostname: string;
  origin: string;
}

/** Host and port of `127.0.0.1:4317` and `[::1]:4317`. */
export function parts(address: string): { host: string; port: string } {
  const at = address.lastIndexOf(":");
  return { host: address.slice(0, at), port: address.slice(at + 1) };
}

const ANYWHERE = new Set(["0.0.0.0", "[::]"]);
const LOOPBACK = /^(127\.|\[::1\]$)/;

function url({ address, secure }: Address, page: Page): string {
  const { host, port } = parts(address);
  const isReached = ANYWHERE.has(host) || LOOPBACK.test(host);
  const name = isReached ? page.hostname : host;
  return `${secure ? "https" : "http"}://${name}:${port}`;
}

export function endpoints(start: Start, page: Page): Endpoints {
  const { addresses, base_path, external_url } = start;
  const all = [addresses.http, addresses.otlp_grpc, addresses.otlp_http];
  return {
    grpc: url(addresses.otlp_grpc, page),
    http: url(addresses.otlp_http, page),
    main: external_url ?? `${page.origin}${base_path}`,
    isLocal: all.every(({ address }) => LOOPBACK.test(parts(address).host)),
  };
}
