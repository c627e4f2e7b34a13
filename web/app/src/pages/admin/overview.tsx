/** The server at a glance: what it is, where it listens, what it can do. */
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { pageLink } from "../../frame/router";
import { ago, bytes, count, fullTime } from "../../ui/format";
import { Card, Figure } from "../../ui/page";
import { Answer, ErrorBox } from "../../ui/states";
import { DemoButton } from "../home/demo";
import { type Start, sum, useRates } from "../home/start";
import type { QueriesState, StorageState } from "./types";
import { useEvery } from "./useevery";

export function Overview() {
  const start = useEvery(10, (signal) => getJson<Start>("/api/start", {}, signal));
  const storage = useEvery(10, (signal) => getJson<StorageState>("/api/admin/storage", {}, signal));
  const queries = useEvery(5, (signal) => getJson<QueriesState>("/api/admin/queries", {}, signal));
  const rates = useRates().at(-1);
  return (
    <div class="stack">
      <div class="figures">
        <Figure
          label="Coming in"
          value={rates ? `${count(sum(rates.per_second))} /s` : "–"}
          hint={<a href={href(pageLink("/admin/ingest"))}>Ingest</a>}
        />
        <Figure
          label="Refused"
          value={rates ? count(rates.refused) : "–"}
          tone={rates && rates.refused_per_second > 0 ? "bad" : undefined}
          hint="since the start"
        />
        <Figure
          label="Stored"
          value={storage.data ? bytes(storage.data.totals.bytes) : "–"}
          hint={<a href={href(pageLink("/admin/storage"))}>Storage</a>}
        />
        <Figure
          label="Queries"
          value={queries.data ? `${queries.data.running.length} running` : "–"}
          hint={<a href={href(pageLink("/admin/queries"))}>{queries.data?.slow.length ?? 0} slow lately</a>}
        />
      </div>
      {[storage, queries].map(
        ({ error, again }, at) => error && <ErrorBox key={at} error={error} again={again} />,
      )}
      <Answer of={start}>
        {(state) => <Shown start={state} isDemo={rates?.demo ?? state.demo.running} />}
      </Answer>
    </div>
  );
}

function Shown({ start, isDemo }: { start: Start; isDemo: boolean }) {
  const { addresses } = start;
  const rows: (readonly [string, string | null])[] = [
    ["Main port", shown(addresses.http)],
    ["OTLP over gRPC", shown(addresses.otlp_grpc)],
    ["OTLP over HTTP", shown(addresses.otlp_http)],
    ["Received metrics", addresses.expose_metrics],
    ["PostgreSQL", addresses.postgres],
    ...addresses.aliases.map(({ address, prefix }) => [`As ${prefix}`, address] as const),
  ];
  return (
    <div class="cards">
      <Card title="Server">
        <dl class="admin-facts">
          <Fact name="Version" value={start.version} />
          <Fact name="Started" value={`${fullTime(start.started_millis)}, ${ago(start.started_millis)}`} />
          <Fact name="Prefix" value={start.base_path || "none"} />
          <Fact name="Keeps records" value={start.store && start.recording ? "yes" : "no"} />
          <Fact name="You are" value={`${start.user.name}: ${start.user.roles.join(", ")}`} />
          <Fact name="Tenants" value={start.user.tenants.join(", ") || "none yet"} />
        </dl>
      </Card>
      <Card title="Listens on">
        <dl class="admin-facts">
          {rows
            .filter(([, address]) => address !== null)
            .map(([name, address]) => (
              <Fact key={name} name={name} value={address!} />
            ))}
        </dl>
      </Card>
      <Card title="Parts">
        <p class="admin-parts">
          {Object.entries(start.parts).map(([name, isOn]) => (
            <span key={name} class={`badge ${isOn ? "badge-good" : ""}`}>
              {name}: {isOn ? "on" : "off"}
            </span>
          ))}
        </p>
      </Card>
      <Card title="Demo" actions={<DemoButton isRunning={isDemo} />}>
        <p>
          {isDemo
            ? `Living data is being sent: ${count(start.demo.records ?? 0)} records so far.`
            : "Living data of a shop, CI runs, a training and a workflow, to look around with."}{" "}
          Everything has the resource attribute <code>kymo.demo</code>; <code>kymo delete</code> removes it.
        </p>
      </Card>
    </div>
  );
}

function shown({ address, secure }: { address: string; secure: boolean }): string {
  return `${address}${secure ? ", TLS" : ""}`;
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}
