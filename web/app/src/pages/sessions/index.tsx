/**
 * The board of a session: where tasks stand, how fast they go, where they run, what stands out; as it is
 * now, heard live, or as it was at a moment of a replay.
 */
import { getJson, needsHeaders } from "../../frame/api";
import { href } from "../../frame/base";
import { useKeys } from "../../frame/keys";
import { link, param, setParams } from "../../frame/router";
import { refreshes } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { colorAt } from "../../ui/colors";
import { FileButton } from "../../ui/file";
import { count, fullTime } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Card, Figure, PageBody } from "../../ui/page";
import { Answer, Warning } from "../../ui/states";
import { TimeChart } from "../../ui/timechart";
import type { PageProps } from "..";
import { seconds } from "../ci/bits";
import { perSecond, SessionState } from "./bits";
import { Failures, IdleGpus, Stragglers } from "./callouts";
import { Funnel } from "./funnel";
import { LanesChart } from "./lanes";
import { useLive } from "./live";
import { Replay } from "./replay";
import "./sessions.css";
import { TaskTable, useTasks } from "./tasks";
import type { Board } from "./types";

function Figures({ board }: { board: Board }) {
  const { waits, session } = board;
  return (
    <div class="figures">
      <Figure
        label={session.state === "running" ? "Runs for" : "Took"}
        value={seconds(session.seconds)}
        hint={session.start_ms === null ? undefined : `from ${fullTime(session.start_ms).slice(0, 19)}`}
      />
      <Figure
        label="Rate"
        value={perSecond(board.rate_per_second)}
        hint={`${perSecond(board.throughput.max_per_second)} at most`}
      />
      <Figure
        label="Left"
        value={board.eta_seconds === null ? "–" : seconds(board.eta_seconds)}
        hint={board.eta_seconds === null ? "no estimate" : "at the rate of now"}
      />
      <Figure
        label="A task runs"
        value={seconds(waits.run_p50_seconds)}
        hint={`p95 ${seconds(waits.run_p95_seconds)}`}
      />
      <Figure
        label="A task waits"
        value={seconds(waits.queue_p50_seconds)}
        hint={`p95 ${seconds(waits.queue_p95_seconds)}`}
      />
    </div>
  );
}

function Speed({ board }: { board: Board }) {
  const begin = board.session.start_ms ?? board.replay.start_ms;
  const { bins, bin_seconds } = board.throughput;
  const scale = 1 / Math.max(bin_seconds, 1e-9);
  return (
    <div class="session-charts">
      <Card title="Tasks that ended">
        <TimeChart
          times={bins.map((bin) => begin + bin.at_seconds * 1000)}
          height={120}
          label="Tasks that ended per second"
          format={perSecond}
          min={0}
          sync="session"
          lines={[
            {
              label: "completed",
              color: colorAt(2),
              values: bins.map((bin) => bin.completed * scale),
              steps: true,
              fill: 0.25,
            },
            {
              label: "failed",
              color: colorAt(9),
              values: bins.map((bin) => bin.failed * scale),
              steps: true,
              fill: 0.5,
            },
          ]}
        />
      </Card>
      <Card title="Tasks that run">
        <TimeChart
          times={board.concurrency.map((point) => begin + point.at_seconds * 1000)}
          height={120}
          label="Tasks that run at once"
          format={count}
          min={0}
          sync="session"
          lines={[
            {
              label: "mean",
              color: colorAt(0),
              values: board.concurrency.map((point) => point.mean),
              steps: true,
              fill: 0.2,
            },
            {
              label: "most",
              color: colorAt(1),
              values: board.concurrency.map((point) => point.max),
              steps: true,
              dash: [3, 3],
            },
          ]}
        />
      </Card>
    </div>
  );
}

/** A board, and the moment that was asked for. */
interface Shown {
  board: Board;
  at: string | undefined;
}

function Parts({ shown, isAsking }: { shown: Shown; isAsking: boolean }) {
  const { board, at } = shown;
  const { session, lanes } = board;
  const tasks = useTasks(session.id, at, board);
  return (
    <div class="stack">
      <p class="session-facts">
        <SessionState state={session.state} />
        {[session.id, session.service, session.backend, session.host].filter(Boolean).map((fact, at) => (
          <span key={at} class="muted">
            {fact}
          </span>
        ))}
        {board.is_replay && <b class="warn">as it was {fullTime(board.at_ms)}</b>}
        {session.error && <span class="bad">{session.error}</span>}
      </p>
      <Card>
        <Funnel funnel={board.funnel} />
        <Replay board={board} isAsking={isAsking || tasks.loading} />
      </Card>
      <Figures board={board} />
      <Card
        title="Nodes and GPUs"
        actions={
          <span class="lanes-legend muted">
            <i class="lanes-swatch-busy" /> busy GPU <i class="lanes-swatch-idle" /> idle GPU
            <i class="lanes-swatch-cpu" /> busy CPU
            <i class="lanes-swatch-failed" /> failed task
          </span>
        }
      >
        {lanes.is_truncated && <Warning>There are more tasks or nodes than are drawn.</Warning>}
        <LanesChart lanes={lanes} onPick={(q) => setParams({ q, offset: undefined }, { replace: true })} />
      </Card>
      <div class="session-charts">
        <Stragglers board={board} />
        <IdleGpus board={board} />
        <Failures board={board} />
      </div>
      <Speed board={board} />
      <TaskTable
        asked={tasks}
        trace={session.trace_id}
        begin={session.start_ms ?? board.replay.start_ms}
        nodes={lanes.nodes.map((node) => node.node).filter(Boolean)}
      />
      {board.notes.length > 0 && (
        <ul class="session-notes muted">
          {board.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </div>
  );
}

export default function Page({ params }: PageProps) {
  const id = params.id ?? "";
  const at = param("at");
  const isPaused = param("pause") === "1";
  const asked = useAsk(
    async (signal): Promise<Shown> => ({
      board: await getJson<Board>(`/api/board/${encodeURIComponent(id)}`, { at }, signal),
      at,
    }),
    [id, at, refreshes.value],
  );
  const board = asked.data?.board;
  const state = board?.is_replay ? undefined : board?.session.state;
  const goesOn = state === "running";
  // What is lost may be heard of again; until then nothing of it changes.
  const isHeard = (goesOn || state === "lost") && !isPaused && at === undefined;
  useLive(id, isHeard, asked, goesOn);
  const pause = () => setParams({ pause: isPaused ? undefined : "1" }, { replace: true });
  useKeys("Session", [{ keys: "p", label: "Pause or go on", run: pause }], [isPaused]);
  // What is asked again while it runs is not dimmed every second.
  const shown = board ? { ...asked, loading: false } : asked;
  return (
    <PageBody
      title={board?.session.name ?? id}
      actions={
        board && (
          <>
            {goesOn && (
              <Button icon={isPaused ? "play" : "pause"} pressed={isPaused} onClick={pause}>
                {isPaused ? "Paused" : "Live"}
              </Button>
            )}
            {board.session.trace_id && (
              <a class="button" href={href(link(`/trace/${board.session.trace_id}`))}>
                <Icon name="traces" /> Trace
              </a>
            )}
            <Report id={id} />
            <a class="button" href={href(link("/sessions/compare", { a: id }))}>
              <Icon name="compare" /> Compare
            </a>
          </>
        )
      }
    >
      <Answer of={shown} lines={14}>
        {(told) => <Parts shown={told} isAsking={asked.loading} />}
      </Answer>
    </PageBody>
  );
}

/** The analysis as a page of its own: in another tab, or as a file where a tab could not ask for it. */
function Report({ id }: { id: string }) {
  const path = `/api/sessions/${encodeURIComponent(id)}/report`;
  if (needsHeaders()) {
    return (
      <FileButton path={path} name={`session-${id.replace(/[^\w.-]+/g, "-")}.html`}>
        <Icon name="download" /> Report
      </FileButton>
    );
  }
  return (
    <a class="button" href={href(path)} target="_blank" rel="noreferrer">
      <Icon name="external" /> Report
    </a>
  );
}
