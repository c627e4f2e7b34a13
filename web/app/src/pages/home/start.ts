/** What the server says of itself at the start (`/api/start`), and each second (`/api/live`). */
import { useEffect, useState } from "preact/hooks";
import { events } from "../../frame/events";

export interface Address {
  address: string;
  secure: boolean;
}

export interface DemoState {
  running: boolean;
  started_millis?: number;
  records?: number;
  refused?: number;
  told_until_millis?: number;
}

export interface Start {
  version: string;
  started_millis: number;
  user: { name: string; is_known: boolean; roles: string[]; tenants: string[] };
  parts: Record<string, boolean>;
  base_path: string;
  external_url: string | null;
  addresses: {
    http: Address;
    otlp_grpc: Address;
    otlp_http: Address;
    expose_metrics: string | null;
    postgres: string | null;
    aliases: { address: string; prefix: string }[];
  };
  recording: boolean;
  store: boolean;
  has_data: boolean;
  received: Counts;
  demo: DemoState;
}

export interface Counts {
  traces: number;
  metrics: number;
  logs: number;
}

export interface Rates {
  per_second: Counts;
  received: Counts;
  refused_per_second: number;
  refused: number;
  sessions_running: number | null;
  has_data: boolean;
  demo: boolean;
}

/** How many seconds are remembered, for a small line beside the numbers. */
const REMEMBERED = 60;

/** What comes in, the newest last; while the component is shown. */
export function useRates(): readonly Rates[] {
  const [heard, setHeard] = useState<readonly Rates[]>([]);
  useEffect(
    () =>
      events(
        "/api/live",
        {},
        {
          rates: (data) => setHeard((before) => [...before.slice(1 - REMEMBERED), data as Rates]),
        },
      ),
    [],
  );
  return heard;
}

/** Records of all signals. */
export function sum({ traces, metrics, logs }: Counts): number {
  return traces + metrics + logs;
}
