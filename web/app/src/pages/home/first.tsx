/**
 * Where to send, what to copy, and something to begin with: the page before anything was recorded, and later
 * for whoever asks for it.
 */
import { useState } from "preact/hooks";
import { base, href } from "../../frame/base";
import { keep, kept } from "../../frame/kept";
import { link, pageLink, tenant } from "../../frame/router";
import { Button, CopyButton } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { Card, PageBody } from "../../ui/page";
import { ErrorBox, Warning } from "../../ui/states";
import { Tabs } from "../../ui/tabs";
import { endpoints } from "./addresses";
import { DemoButton } from "./demo";
import { TOKEN } from "./sender";
import { snippets } from "./snippets";
import type { Rates, Start } from "./start";
import { sendTestTrace } from "./testtrace";

const CHOSEN = "kymo.snippet";
const PAGE = { hostname: location.hostname, origin: location.origin, base };

export function FirstRun(props: { start: Start; rates?: Rates; hasData: boolean }) {
  const { start, rates, hasData } = props;
  const where = endpoints(start, PAGE);
  const isAdmin = start.user.roles.includes("admin");
  return (
    <PageBody
      title={hasData ? "Send data" : "Welcome"}
      actions={
        hasData && (
          <a class="button" href={href(pageLink("/"))}>
            <Icon name="home" /> Home
          </a>
        )
      }
    >
      <div class="stack">
        {!start.recording && (
          <Warning>
            Nothing is recorded: <code>recording.enabled</code> is false.
          </Warning>
        )}
        <Card title="Send OTLP here">
          <dl class="first-addresses">
            <Where name="OTLP over gRPC" address={where.grpc} />
            <Where name="OTLP over HTTP" address={where.http} hint="/v1/traces, /v1/metrics, /v1/logs" />
            <Where
              name="Everything on one port"
              address={where.main}
              hint="also remote-write and Loki's push"
            />
            {start.addresses.postgres && (
              <Where name="PostgreSQL, to ask in SQL" address={start.addresses.postgres} />
            )}
          </dl>
          {where.fromHere !== where.http && (
            <p class="muted">
              Only the server's own machine reaches its ports; from elsewhere, OTLP over HTTP goes to{" "}
              <code>{where.main}</code>.
            </p>
          )}
          {where.isLocal && where.fromHere === where.http && (
            <p class="muted">
              Only this machine reaches the server; <code>--http 0.0.0.0:3200</code> and its like open it.
            </p>
          )}
        </Card>
        <Snippets start={start} />
        <Card title={hasData ? "See that something arrives" : "Or begin with something to look at"}>
          <div class="row first-begin">
            {isAdmin && <DemoButton isRunning={rates?.demo ?? start.demo.running} primary={!hasData} />}
            <TestTrace />
            <span class="muted">
              <code>kymo demo</code> sends the same from a terminal.
            </span>
          </div>
        </Card>
        <Waiting rates={rates} hasData={hasData} />
      </div>
    </PageBody>
  );
}

function Where({ name, address, hint }: { name: string; address: string; hint?: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <code>{address}</code>
        <CopyButton text={address} label={`Copy ${address}`} />
        {hint && <span class="muted">{hint}</span>}
      </dd>
    </>
  );
}

/** What to copy, by kind of client; the choice is remembered. */
export function Snippets({ start }: { start: Start }) {
  const needsToken = start.user.is_known;
  const all = snippets(endpoints(start, PAGE), { needsToken, tenant: tenant.value });
  const [chosen, setChosen] = useState(kept(CHOSEN) ?? "environment");
  const snippet = all.find(({ id }) => id === chosen) ?? all[0]!;
  const choose = (id: string) => {
    setChosen(id);
    keep(CHOSEN, id);
  };
  return (
    <Card title="How to send">
      <Tabs tabs={all} current={snippet.id} onChange={choose} label="Kind of client" />
      <p class="first-about">{snippet.about}</p>
      {needsToken && (
        <p class="first-about">
          The server wants to know who sends: <code>{TOKEN}</code> stands for a token that may write, which
          <a href={href(pageLink("/admin/tokens"))}> Admin, Tokens</a> makes.
        </p>
      )}
      <div class="first-code">
        <pre tabIndex={0}>{snippet.code}</pre>
        <CopyButton text={snippet.code} label="Copy the snippet" />
      </div>
    </Card>
  );
}

function TestTrace() {
  const [sent, setSent] = useState<string>();
  const [error, setError] = useState<Error>();
  const send = () => {
    setError(undefined);
    sendTestTrace().then(setSent, setError);
  };
  return (
    <>
      <Button icon="traces" onClick={send}>
        Send a test trace
      </Button>
      {sent && <a href={href(link(`/trace/${sent}`))}>Open it</a>}
      {error && <ErrorBox error={error} again={send} />}
    </>
  );
}

function Waiting({ rates, hasData }: { rates?: Rates; hasData: boolean }) {
  const what = hasData ? "Since the server began" : "Waiting for the first record";
  return (
    <p class="first-waiting" role="status" aria-live="polite">
      <Icon name="live" />
      {rates
        ? `${what}: ${rates.received.traces} spans, ${rates.received.metrics} points, ${rates.received.logs} log records so far`
        : "Listening…"}
      {rates && rates.refused > 0 && <span class="bad"> · {rates.refused} refused: see Admin, Ingest</span>}
    </p>
  );
}
