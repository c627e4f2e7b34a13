/**
 * Data of the panels that are in sight. Panels that come into sight at the same moment are asked for
 * together; the server answers each as soon as it has it. What goes out of sight before its answer came is
 * asked for no more. Data that is there stays, dimmed, until newer data is.
 */
import { type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { ApiError, eachLine } from "../../frame/api";
import { linkTraces } from "../../panels/exemplars";
import { decode, type Frame, type Notice, type ShownValue } from "../../panels/frame";
import { positionIn } from "../../ui/editor/errors";
import type { Context, Placed, Which } from "./model";

export interface PanelState {
  frames?: Frame[];
  notices: Notice[];
  /** What went wrong: of each query that failed, or of the whole. */
  errors: readonly PanelError[];
  loading: boolean;
  /** Single values, for the kinds of panels that show such. */
  shown?: ShownValue[];
  /** What was asked, after variables were put in. */
  queries?: AskedQuery[];
  tookMillis?: number;
}

export interface AskedQuery {
  refId: string;
  language: string;
  query: string;
}

export interface PanelError {
  message: string;
  /** Which of its queries. */
  refId?: string;
  /** The query as it was asked. */
  query?: string;
  /** Where in the query, in characters from its beginning. */
  offset?: number;
  /** HTTP's status, that of the query or of the whole question. */
  status?: number;
  /** What the server calls the request in its log, if it refused the whole of it. */
  requestId?: string;
}

/** A line of the answer. */
interface Line {
  panel: string;
  frames?: Frame[];
  shown?: ShownValue[];
  queries?: AskedQuery[];
  notices?: Notice[];
  error?: Failure;
  /** Those of all queries that failed, the first of which is `error`. */
  errors?: Failure[];
}

interface Failure {
  message: string;
  query?: string;
  refId?: string;
  position?: number;
  status?: number;
}

interface Wanted {
  panel: Placed;
  points: number;
}

interface Batch {
  controller: AbortController;
  waiting: Set<string>;
}

/** Panels in one question: a question that is given up costs no more than these. */
const MOST_IN_BATCH = 24;
/** How many times as many points are worth another question. */
const MUCH_WIDER = 1.5;
/** How long is waited for others that come into sight. */
const GATHER_MILLIS = 12;

export class Loader {
  readonly #states = new Map<string, Signal<PanelState>>();
  readonly #wanted = new Map<string, Wanted>();
  /** The values that each copy of a panel was last wanted for: keys number copies, whatever they are for. */
  readonly #scopes = new Map<string, string>();
  /** What need not be asked for again, and how many points it was asked for. */
  readonly #fresh = new Map<string, number>();
  readonly #queue = new Set<string>();
  readonly #batches = new Set<Batch>();
  readonly #isBusy = signal(false);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #which: Which | undefined;
  #context: Context | undefined;

  /** How a panel stands. */
  state(key: string): Signal<PanelState> {
    let found = this.#states.get(key);
    if (!found) {
      found = signal<PanelState>({ notices: [], errors: [], loading: true });
      this.#states.set(key, found);
    }
    return found;
  }

  /** Whether anything is under way. */
  get isBusy(): ReadonlySignal<boolean> {
    return this.#isBusy;
  }

  /** Everything is about something else now: asks again for what is in sight, and forgets all but `keys`. */
  begin(which: Which, context: Context, keys: ReadonlySet<string>): void {
    this.stop();
    this.#which = which;
    this.#context = context;
    this.#fresh.clear();
    for (const key of this.#states.keys()) if (!keys.has(key)) this.#forget(key);
    for (const state of this.#states.values()) state.value = { ...state.peek(), loading: true };
    for (const key of this.#wanted.keys()) this.#enqueue(key);
  }

  /** A panel is in sight. */
  want(panel: Placed, points: number): void {
    this.#wanted.set(panel.key, { panel, points });
    const scope = JSON.stringify(panel.scope);
    const before = this.#scopes.get(panel.key);
    this.#scopes.set(panel.key, scope);
    if (before !== undefined && before !== scope) {
      // What is there is of other values, and nothing to look at meanwhile.
      this.state(panel.key).value = { notices: [], errors: [], loading: true };
      this.#fresh.delete(panel.key);
    }
    const asked = this.#fresh.get(panel.key);
    if (asked === undefined || points > asked * MUCH_WIDER) this.retry(panel.key);
  }

  /** A panel is out of sight. */
  leave(key: string): void {
    this.#wanted.delete(key);
    this.#queue.delete(key);
    this.#giveUp(key);
    this.#settle();
  }

  /** Asks again for one panel. */
  retry(key: string): void {
    this.#giveUp(key);
    this.#fresh.delete(key);
    const state = this.state(key);
    state.value = { ...state.peek(), loading: true };
    this.#enqueue(key);
  }

  /** Gives up everything that is under way. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#queue.clear();
    for (const batch of this.#batches) batch.controller.abort();
    this.#batches.clear();
    this.#settle();
  }

  #forget(key: string): void {
    this.#states.delete(key);
    this.#scopes.delete(key);
  }

  /** What is under way for a panel is not waited for any more. */
  #giveUp(key: string): void {
    for (const batch of this.#batches) {
      if (!batch.waiting.delete(key)) continue;
      this.#fresh.delete(key);
      if (batch.waiting.size === 0) batch.controller.abort();
    }
  }

  #settle(): void {
    this.#isBusy.value = this.#queue.size > 0 || this.#batches.size > 0;
  }

  #enqueue(key: string): void {
    if (!this.#which || !this.#context) return;
    this.#queue.add(key);
    this.#settle();
    this.#timer ??= setTimeout(() => this.#flush(), GATHER_MILLIS);
  }

  #flush(): void {
    this.#timer = undefined;
    const keys = [...this.#queue].filter((key) => this.#wanted.has(key));
    this.#queue.clear();
    for (let at = 0; at < keys.length; at += MOST_IN_BATCH)
      void this.#ask(keys.slice(at, at + MOST_IN_BATCH));
    this.#settle();
  }

  async #ask(keys: string[]): Promise<void> {
    const batch: Batch = { controller: new AbortController(), waiting: new Set(keys) };
    this.#batches.add(batch);
    for (const key of keys) this.#fresh.set(key, this.#wanted.get(key)!.points);
    const began = performance.now();
    const panels = keys.map((key) => {
      const { panel, points } = this.#wanted.get(key)!;
      return { key, scope: panel.scope, maxDataPoints: points };
    });
    try {
      await eachLine<Line>(
        "/api/dashboards/query",
        {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ ...this.#which, ...this.#context, panels }),
          signal: batch.controller.signal,
        },
        (line) => {
          // What was asked for again, or is out of sight, has another answer.
          if (batch.waiting.delete(line.panel)) this.#take(line, performance.now() - began);
        },
      );
      const message = "the server sent no answer for this panel";
      for (const key of batch.waiting) this.#fail(key, { message });
    } catch (error) {
      if ((error as Error).name === "AbortError") return;
      for (const key of batch.waiting) this.#fail(key, refusalOf(error as Error));
    } finally {
      this.#batches.delete(batch);
      this.#settle();
    }
  }

  #take(line: Line, tookMillis: number): void {
    const state = this.state(line.panel);
    const frames = line.frames ? linkTraces(decode(line.frames)) : [];
    const before = state.peek();
    const failures = line.errors ?? (line.error ? [line.error] : []);
    const isOld = failures.length > 0 && frames.length === 0;
    state.value = {
      // What failed keeps what it showed before.
      frames: isOld ? before.frames : frames,
      shown: isOld ? before.shown : line.shown,
      queries: line.queries,
      notices: line.notices ?? [],
      errors: failures.map(failureOf),
      loading: false,
      tookMillis,
    };
  }

  #fail(key: string, error: PanelError): void {
    const state = this.state(key);
    this.#fresh.delete(key);
    state.value = { ...state.peek(), errors: [error], loading: false };
  }
}

/** Why no panel of a question was answered. */
function refusalOf(error: Error): PanelError {
  const { status, requestId } = error instanceof ApiError ? error : {};
  return { message: error.message, status: status || undefined, requestId };
}

/** What went wrong, with the query that it is of. */
function failureOf({ message, query, refId, position, status }: Failure): PanelError {
  return {
    message: refId ? `${refId}: ${message}` : message,
    refId,
    query: query || undefined,
    status,
    // Names that there are none of have no place of their own, but are in the words.
    offset: position ?? (query ? positionIn(query, message) : undefined),
  };
}
