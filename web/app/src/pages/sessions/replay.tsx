/**
 * The slider of a session: its whole time with how much happened when. Moving it shows the board as it was
 * then; letting it play runs through the session in half a minute. Where it stands is `at` of the address.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "../../frame/keys";
import { param, setParams } from "../../frame/router";
import { Button } from "../../ui/button";
import { highest } from "../../ui/ends";
import { duration, fullTime } from "../../ui/format";
import type { Board, Replay as Told } from "./types";

/** How long a session takes when it is played, and how often the board moves on. */
const PLAY_MILLIS = 30_000;
const STEP_MILLIS = 250;
/** How long a slider rests before the board is asked for. */
const REST_MILLIS = 80;

/** What happened when, as bars: starts above, failures marked below. */
function Density({ replay }: { replay: Told }) {
  const most = highest(
    replay.started.map((started, at) => started + replay.ended[at]! + replay.failed[at]!),
    1,
  );
  const width = 1000 / replay.started.length;
  return (
    <svg class="replay-density" viewBox="0 0 1000 30" preserveAspectRatio="none" aria-hidden="true">
      {replay.started.map((started, at) => {
        const all = started + replay.ended[at]! + replay.failed[at]!;
        if (all === 0) return null;
        const height = Math.max(2, (all / most) * 26);
        const failed = replay.failed[at]! > 0;
        return (
          <g key={at}>
            <rect class="replay-some" x={at * width} y={28 - height} width={width * 0.9} height={height} />
            {failed && <rect class="replay-failed" x={at * width} y={26} width={width * 0.9} height={4} />}
          </g>
        );
      })}
    </svg>
  );
}

/** Sets the moment that is shown; none for now. */
function show(at: number | undefined): void {
  setParams({ at: at === undefined ? undefined : Math.round(at) }, { replace: true });
}

export function Replay({ board, isAsking }: { board: Board; isAsking: boolean }) {
  const { replay } = board;
  const length = Math.max(1, replay.end_ms - replay.start_ms);
  const chosen = param("at") === undefined ? undefined : Number(param("at"));
  const [dragged, setDragged] = useState<number>();
  const [isPlaying, setPlaying] = useState(false);
  const rest = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const at = dragged ?? chosen ?? replay.end_ms;
  const move = (to: number) => {
    const next = Math.min(replay.end_ms, Math.max(replay.start_ms, to));
    setDragged(next);
    clearTimeout(rest.current);
    rest.current = setTimeout(() => {
      show(next);
      setDragged(undefined);
    }, REST_MILLIS);
  };
  // A page that is left is not moved any more.
  useEffect(() => () => clearTimeout(rest.current), []);
  const newest = useRef({ at, isAsking });
  newest.current = { at, isAsking };
  useEffect(() => {
    if (!isPlaying) return;
    let last = performance.now();
    const timer = setInterval(() => {
      // Asking for the next moment would end the question for this one: a slow board moves on by more.
      if (newest.current.isAsking) return;
      const now = performance.now();
      const next = newest.current.at + length * ((now - last) / PLAY_MILLIS);
      last = now;
      if (next >= replay.end_ms) setPlaying(false);
      show(Math.min(next, replay.end_ms));
    }, STEP_MILLIS);
    return () => clearInterval(timer);
  }, [isPlaying, length]);
  const play = () => {
    if (!isPlaying && at >= replay.end_ms) show(replay.start_ms);
    setPlaying(!isPlaying);
  };
  const now = () => {
    setPlaying(false);
    clearTimeout(rest.current);
    setDragged(undefined);
    show(undefined);
  };
  useKeys(
    "Replay",
    [
      { keys: " ", label: "Play or pause", run: play },
      { keys: "ArrowLeft", label: "A little before", run: () => move(at - length / 100) },
      { keys: "ArrowRight", label: "A little later", run: () => move(at + length / 100) },
      { keys: "Escape", label: "Back to now", run: now },
    ],
    [isPlaying, at, length],
  );
  return (
    <div class="replay">
      <Button
        kind="quiet"
        icon={isPlaying ? "pause" : "play"}
        label={isPlaying ? "Pause" : "Replay the session"}
        onClick={play}
      />
      <div class="replay-slide">
        <Density replay={replay} />
        <input
          type="range"
          min={0}
          max={1000}
          value={((at - replay.start_ms) / length) * 1000}
          aria-label="Moment of the session"
          aria-valuetext={`${duration((at - replay.start_ms) * 1e6)} after the beginning`}
          onInput={(event) => move(replay.start_ms + (Number(event.currentTarget.value) / 1000) * length)}
        />
      </div>
      <span class="replay-at" title={fullTime(at)}>
        {duration(Math.max(0, at - replay.start_ms) * 1e6)}
        <span class="muted"> of {duration(length * 1e6)}</span>
      </span>
      <Button kind="quiet" pressed={chosen === undefined} onClick={now}>
        {board.session.state === "running" || board.is_replay ? "Now" : "End"}
      </Button>
    </div>
  );
}
