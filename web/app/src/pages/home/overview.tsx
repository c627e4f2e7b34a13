/** The page when there is data: what runs, what fails, what comes in, where one was. */
import { useState } from "preact/hooks";
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { pins, queries, type Recent, recents, togglePin } from "../../frame/recents";
import { link, pageLink } from "../../frame/router";
import { useEverySeen } from "../../frame/seen";
import { range, refreshes } from "../../frame/time";
import { type Asked, useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { count, duration, percent } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Card, Figure, PageBody } from "../../ui/page";
import { Spark } from "../../ui/spark";
import { Answer, Empty, ErrorBox, Skeleton } from "../../ui/states";
import "../ci/ci.css";
import { Change, pipelineLink, RunBars, seconds } from "../ci/bits";
import type { Pipelines } from "../ci/types";
import type { Fleet } from "../hosts/fleet";
import type { ListedSession, Sessions } from "../sessions/types";
import { type Concern, ofFleet, ofIngest, ofPipelines, ofSessions, ordered, runsOf } from "./attention";
import { DemoButton } from "./demo";
import { type Rates, type Start, sum } from "./start";

const DAY_MILLIS = 86_400_000;
/** How often what nothing tells of is asked for. */
const ASK_MILLIS = 60_000;
const SHOWN = 6;

export function Overview({ start, heard }: { start: Start; heard: readonly Rates[] }) {
  const rates = heard.at(-1);
  const { from, to } = range.value;
  const turn = refreshes.value;
  // This page is about now: it asks again by itself.
  const [minute, setMinute] = useState(0);
  useEverySeen(ASK_MILLIS, () => setMinute((before) => before + 1));
  const sessions = useAsk(
    (signal) => getJson<Sessions>("/api/sessions", { since: "24h", limit: 50 }, signal),
    [turn, minute, rates?.sessions_running],
  );
  const pipelines = useAsk(
    (signal) => getJson<Pipelines>("/api/ci/pipelines", lastDay(), signal),
    [turn, minute],
  );
  const fleet = useAsk(
    (signal) => {
      const end = Date.now();
      return getJson<Fleet>("/api/fleet", { start: Math.round(end - (to - from)), end }, signal);
    },
    [range.value, minute],
  );
  const concerns = ordered([
    ...ofIngest(rates),
    ...(fleet.data ? ofFleet(fleet.data) : []),
    ...(pipelines.data ? ofPipelines(pipelines.data.pipelines) : []),
    ...(sessions.data ? ofSessions(sessions.data.sessions) : []),
  ]);
  const isDemo = rates?.demo ?? start.demo.running;
  const isAdmin = start.user.roles.includes("admin");
  return (
    <PageBody
      title="Home"
      actions={
        <>
          {isAdmin && isDemo && <DemoButton isRunning />}
          <a class="button" href={href(pageLink("/", { send: true }))}>
            <Icon name="upload" /> Send data
          </a>
        </>
      }
    >
      <Strip heard={heard} sessions={sessions.data} pipelines={pipelines.data} fleet={fleet.data} />
      {/* What is asked for again by itself is not dimmed every time. */}
      <div class="cards home-cards">
        <Card title="Sessions" actions={<a href={href(pageLink("/live"))}>All</a>}>
          <Answer of={{ ...sessions, loading: false }} lines={4}>
            {(data) => <SessionList sessions={data.sessions} />}
          </Answer>
        </Card>
        <Card title="CI, 24 hours" actions={<a href={href(pageLink("/ci"))}>All</a>}>
          <Answer of={{ ...pipelines, loading: false }} lines={4}>
            {(data) => <PipelineList pipelines={data} />}
          </Answer>
        </Card>
        <Card title="Needs attention">
          <Concerns concerns={concerns} of={[fleet, pipelines, sessions]} />
        </Card>
        <Card title="Lately">
          <Lately />
        </Card>
      </div>
    </PageBody>
  );
}

function lastDay(): { start: number; end: number } {
  const end = Date.now();
  return { start: end - DAY_MILLIS, end };
}

interface Known {
  heard: readonly Rates[];
  sessions?: Sessions;
  pipelines?: Pipelines;
  fleet?: Fleet;
}

function Strip({ heard, sessions, pipelines, fleet }: Known) {
  const rates = heard.at(-1);
  const running = sessions?.sessions.filter(({ state }) => state === "running") ?? [];
  const tasks = running.reduce((all, session) => all + session.tasks.running, 0);
  const gpus = fleet?.hosts.flatMap((host) => host.gpus) ?? [];
  const busy = gpus.filter(({ figures }) => (figures.utilisation ?? 0) > 10).length;
  const ci = runsOf(pipelines?.pipelines ?? []);
  return (
    <div class="figures">
      <Figure
        label="Sessions that run"
        value={rates?.sessions_running ?? running.length}
        hint={`${count(tasks)} tasks running`}
      />
      {ci.runs > 0 && (
        <Figure
          label="CI runs failed"
          value={count(ci.failures)}
          hint={<a href={href(pageLink("/ci"))}>of {count(ci.runs)} in 24 hours</a>}
          tone={ci.failures > 0 ? "bad" : undefined}
        />
      )}
      {gpus.length > 0 && <Figure label="GPUs busy" value={`${busy} of ${gpus.length}`} />}
      <Figure
        label="Coming in"
        value={rates ? `${count(sum(rates.per_second))} /s` : "–"}
        hint={
          <span class="home-rate">
            <Spark
              values={heard.map(({ per_second }) => sum(per_second))}
              label="Records of the last minute"
              width={120}
            />
          </span>
        }
      />
      {rates && (
        <Figure
          label="Spans, points, logs"
          value={[rates.per_second.traces, rates.per_second.metrics, rates.per_second.logs]
            .map((each) => count(Math.round(each)))
            .join(" · ")}
          hint="each second"
        />
      )}
      <Figure
        label="Refused"
        value={rates ? `${count(rates.refused_per_second)} /s` : "–"}
        hint={
          rates && rates.refused > 0 ? (
            <a href={href(pageLink("/admin/ingest"))}>{count(rates.refused)} in all</a>
          ) : (
            "none"
          )
        }
        tone={rates && rates.refused_per_second > 0 ? "bad" : undefined}
      />
    </div>
  );
}

function SessionList({ sessions }: { sessions: readonly ListedSession[] }) {
  if (sessions.length === 0)
    return (
      <Empty title="No sessions in 24 hours">
        <p>
          <code>kymo run -- your command</code> makes one of any command.
        </p>
      </Empty>
    );
  const shown = [...sessions].sort((a, b) => Number(b.state === "running") - Number(a.state === "running"));
  return (
    <ul class="home-list">
      {shown.slice(0, SHOWN).map((session) => (
        <SessionRow key={session.id} session={session} />
      ))}
    </ul>
  );
}

function SessionRow({ session }: { session: ListedSession }) {
  const { id, name, state, tasks, duration_seconds } = session;
  const ended = tasks.completed + tasks.failed + tasks.canceled;
  // Of tasks whose beginning was not heard of, only the end counts.
  const part = tasks.created > 0 ? Math.min(1, ended / tasks.created) : undefined;
  const tone = state === "running" ? "accent" : state === "lost" ? "bad" : "";
  return (
    <li>
      <a class="ellipsis grow" href={href(link(`/session/${encodeURIComponent(id)}`))}>
        {name}
      </a>
      {part !== undefined && (
        <span class="home-progress" role="img" aria-label={`${percent(part)} of tasks have ended`}>
          <span style={{ width: `${part * 100}%` }} />
        </span>
      )}
      {tasks.failed > 0 && <span class="bad">{tasks.failed} failed</span>}
      <span class="muted home-time">{duration_seconds === null ? "" : duration(duration_seconds * 1e9)}</span>
      <span class={`badge badge-${tone}`}>{state}</span>
    </li>
  );
}

function PipelineList({ pipelines }: { pipelines: Pipelines }) {
  if (pipelines.pipelines.length === 0)
    return (
      <Empty title="No runs in 24 hours">
        <p>
          Send a run with <code>kymo ci summarize</code>, or by a webhook of GitHub.
        </p>
      </Empty>
    );
  return (
    <ul class="home-list">
      {pipelines.pipelines.slice(0, SHOWN).map((pipeline) => (
        <li key={`${pipeline.repository}/${pipeline.workflow}`}>
          <a class="ellipsis grow" href={pipelineLink(pipeline.workflow, pipeline.repository)}>
            {pipeline.workflow} <span class="muted">{pipeline.repository}</span>
          </a>
          {pipeline.failures > 0 && <span class="bad">{count(pipeline.failures)} failed</span>}
          <RunBars runs={pipeline.last_runs.slice(-12)} width={110} />
          <span class="home-time">{seconds(pipeline.median_seconds)}</span>
          <span class="home-time">
            <Change value={pipeline.median_change} />
          </span>
        </li>
      ))}
    </ul>
  );
}

/** What needs attention, `of` the questions that tell it: nothing is said to be well before they are answered. */
function Concerns({ concerns, of }: { concerns: readonly Concern[]; of: readonly Asked<unknown>[] }) {
  const failed = of.find(({ error }) => error);
  const isWaiting = of.some(({ data, loading }) => loading && data === undefined);
  return (
    <>
      {failed?.error && <ErrorBox error={failed.error} again={failed.again} />}
      {concerns.length > 0 ? (
        <ConcernList concerns={concerns} />
      ) : isWaiting ? (
        <Skeleton lines={4} />
      ) : (
        !failed && <Empty title="Nothing to see to" />
      )}
    </>
  );
}

function ConcernList({ concerns }: { concerns: readonly Concern[] }) {
  return (
    <ul class="home-list">
      {concerns.slice(0, 2 * SHOWN).map(({ tone, text, path }) => (
        <li key={path + text}>
          <span class={tone}>
            <Icon name={tone === "bad" ? "error" : "warning"} size={14} />
          </span>
          <a class="grow" href={href(path)}>
            {text}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Pages and queries that were looked at, as the browser remembers them. */
function Lately() {
  const pinned = pins.value;
  const isPin = ({ path }: Recent) => pinned.some((pin) => pin.path === path);
  const pages = recents.value.filter((one) => !isPin(one)).slice(0, SHOWN);
  const asked = queries("traceql").slice(0, 3);
  if (pages.length === 0 && asked.length === 0 && pinned.length === 0)
    return <Empty title="Traces, sessions and dashboards that you open are listed here" />;
  return (
    <ul class="home-list">
      {[...pinned, ...pages].map((page, at) => (
        <li key={page.path}>
          <a class="ellipsis grow" href={href(page.path)}>
            {page.title}
          </a>
          <Button
            kind="quiet"
            icon={at < pinned.length ? "starred" : "star"}
            label={at < pinned.length ? `Unpin ${page.title}` : `Pin ${page.title}`}
            onClick={() => togglePin(page.path, page.title)}
          />
        </li>
      ))}
      {asked.map((query) => (
        <li key={query}>
          <a class="ellipsis grow mono" href={href(link("/traces", { q: query }))}>
            {query}
          </a>
        </li>
      ))}
    </ul>
  );
}
