/** Sessions of some time: which run, how far they are, what failed. */
import { useEffect } from "preact/hooks";
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { link, navigate, param, setParams } from "../../frame/router";
import { useEverySeen } from "../../frame/seen";
import { range, rangeText, refresh } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { SelectField } from "../../ui/field";
import { ago, count, fullTime } from "../../ui/format";
import { Card, Figure, PageBody } from "../../ui/page";
import { addressSorting } from "../../ui/sorting";
import { Answer, Empty, Warning } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { seconds } from "../ci/bits";
import { figure } from "../ci/columns";
import { Mark } from "../ci/mark";
import { SessionState } from "./bits";
import "./sessions.css";
import type { ListedSession, Sessions } from "./types";

/** How long after an answer the list is asked for again: with sessions that run, and without. */
const RUNNING_MILLIS = 5000;
const CALM_MILLIS = 15_000;

/** How far a session is: what ended well, what failed, what runs. */
function Progress({ session: { tasks } }: { session: ListedSession }) {
  if (tasks.created === 0) return <span class="muted">no tasks</span>;
  const part = (number: number) => `${(number / tasks.created) * 100}%`;
  const ended = tasks.completed + tasks.failed + tasks.canceled;
  return (
    <span
      class="session-progress"
      role="img"
      aria-label={`${ended} of ${tasks.created} tasks ended, ${tasks.failed} failed, ${tasks.running} run`}
      title={`${ended} of ${tasks.created} ended, ${tasks.failed} failed, ${tasks.running} run`}
    >
      <span class="session-done" style={{ width: part(tasks.completed + tasks.canceled) }} />
      <span class="session-failed" style={{ width: part(tasks.failed) }} />
      <span class="session-running" style={{ width: part(tasks.running) }} />
    </span>
  );
}

const millis = (text: string | null) => (text ? Date.parse(text) : undefined);

const COLUMNS: Column<ListedSession>[] = [
  {
    id: "name",
    title: "Session",
    width: "minmax(200px, 2fr)",
    value: (row) => row.name,
    render: (row) => (
      <span class="ellipsis">
        <a class="told-link" href={href(link(`/session/${encodeURIComponent(row.id)}`))}>
          {row.name}
        </a>{" "}
        <span class="muted">{row.id === row.name ? row.service : row.id}</span>
      </span>
    ),
  },
  {
    id: "state",
    title: "State",
    width: "100px",
    value: (row) => row.state,
    render: (row) => <SessionState state={row.state} />,
  },
  {
    id: "progress",
    title: "Tasks",
    width: "170px",
    value: (row) => row.tasks.created,
    render: (row) => <Progress session={row} />,
  },
  {
    id: "done",
    title: "Ended",
    width: "120px",
    align: "right",
    value: (row) => row.tasks.completed,
    render: (row) => `${count(row.tasks.completed)} of ${count(row.tasks.created)}`,
  },
  figure("running", "Run", (row) => row.tasks.running, count, "64px"),
  {
    id: "failed",
    title: "Failed",
    width: "70px",
    align: "right",
    value: (row) => row.tasks.failed,
    render: (row) => <span class={row.tasks.failed > 0 ? "bad" : "muted"}>{count(row.tasks.failed)}</span>,
  },
  figure("duration", "For", (row) => row.duration_seconds, seconds, "92px"),
  {
    id: "started",
    title: "Began",
    width: "126px",
    value: (row) => millis(row.started),
    render: (row) => {
      const at = millis(row.started);
      return at === undefined ? "–" : <span title={fullTime(at)}>{ago(at)}</span>;
    },
  },
  {
    id: "host",
    title: "Host",
    width: "minmax(90px, 1fr)",
    value: (row) => row.host ?? "",
    render: (row) =>
      row.host ? (
        <a class="ellipsis" href={href(link(`/host/${encodeURIComponent(row.host)}`))}>
          {row.host}
        </a>
      ) : null,
  },
  {
    id: "mark",
    title: "",
    width: "92px",
    render: (row) => <Mark id={row.id} compare="/sessions/compare" />,
  },
];

function Figures({ sessions }: { sessions: readonly ListedSession[] }) {
  const running = sessions.filter((session) => session.state === "running");
  const sum = (of: (session: ListedSession) => number) => sessions.reduce((total, one) => total + of(one), 0);
  const failed = sum((session) => session.tasks.failed);
  return (
    <div class="figures">
      <Figure label="Running" value={running.length} hint={`of ${sessions.length} sessions`} />
      <Figure label="Tasks that run" value={count(sum((session) => session.tasks.running))} />
      <Figure label="Tasks completed" value={count(sum((session) => session.tasks.completed))} />
      <Figure label="Tasks failed" value={count(failed)} tone={failed > 0 ? "bad" : undefined} />
    </div>
  );
}

export default function Page() {
  useEffect(() => {
    if (param("from") === undefined) setParams({ from: "now-24h", to: "now" }, { replace: true });
  }, []);
  const { from, to } = range.value;
  const state = param("state");
  const moment = (at: number) => (at / 1000).toFixed(3);
  const asked = useAsk(
    (signal) =>
      getJson<Sessions>(
        "/api/sessions",
        { since: moment(from), until: moment(to), state, limit: 500 },
        signal,
      ),
    [range.value, state],
  );
  const hasRunning = asked.data?.sessions.some((session) => session.state === "running");
  const isLive = rangeText.value.to.startsWith("now");
  const isResting = asked.loading || (!isLive && !hasRunning);
  // Time goes on: sessions that begin after the page was opened are to be there too.
  const again = isLive ? refresh : asked.again;
  useEverySeen(isResting ? 0 : hasRunning ? RUNNING_MILLIS : CALM_MILLIS, again);
  // What is asked for again by itself is not dimmed every few seconds.
  const shown = { ...asked, loading: false };
  return (
    <PageBody
      title="Sessions"
      actions={
        <SelectField
          label="State"
          hideLabel
          value={state ?? ""}
          options={[
            ["", "All states"],
            ["running", "Running"],
            ["ended", "Ended"],
            ["lost", "Lost"],
          ]}
          onChange={(next) => setParams({ state: next || undefined })}
        />
      }
    >
      <Answer of={shown}>
        {({ sessions, truncated }) =>
          sessions.length === 0 && state ? (
            <Empty title={`No session of this time is ${state}`}>
              <Button onClick={() => setParams({ state: undefined })}>All states</Button>
            </Empty>
          ) : sessions.length === 0 ? (
            <Empty title="No sessions in this time">
              <p>
                A session is whatever is sent with one resource attribute <code>session_id</code>: by{" "}
                <code>kymo run -- COMMAND</code>, by the Python package, or by any OpenTelemetry client.
              </p>
            </Empty>
          ) : (
            <div class="stack">
              {truncated && <Warning>There are more sessions: choose less time or one state.</Warning>}
              <Figures sessions={sessions} />
              <Card>
                <Table
                  columns={COLUMNS}
                  rows={sessions}
                  label="Sessions"
                  rowKey={(row) => row.id}
                  rowHeight={32}
                  isSelected={(row) => row.id === param("mark")}
                  onOpen={(row) => navigate(`/session/${encodeURIComponent(row.id)}`)}
                  {...addressSorting()}
                />
              </Card>
            </div>
          )
        }
      </Answer>
    </PageBody>
  );
}
