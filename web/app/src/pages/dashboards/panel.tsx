/**
 * A panel in its frame: title, what is wrong, menu, and the drawing when it is in sight. The frame stays
 * while data comes and goes.
 */
import { Component, type ComponentChildren, Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { setParams } from "../../frame/router";
import { type Range, setRange } from "../../frame/time";
import { needsData, viewOf } from "../../panels";
import { linkOf } from "../../panels/links";
import { NoData } from "../../panels/nodata";
import { Remembered } from "../../panels/remembered";
import { TablePanel } from "../../panels/table";
import { Marked } from "../../panels/text";
import { useSize } from "../../panels/usesize";
import { wrongRange } from "../../ui/editor/errors";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { marksFor } from "./annotations";
import { watch } from "./insight";
import type { Loader, PanelState } from "./loader";
import { PanelMenu } from "./menu";
import type { BoardLink, Mark, Placed } from "./model";
import { ownRange, timeWords } from "./owntime";

export interface PanelContext {
  loader: Loader;
  range: Range;
  annotations: readonly Mark[];
  sync?: { key: string; values: boolean };
  isEditing: boolean;
  onInspect: (panel: Placed) => void;
  onEdit: (panel: Placed) => void;
  onChange?: (panel: Placed, change: "duplicate" | "remove") => void;
}

export function Panel({ panel, context }: { panel: Placed; context: PanelContext }) {
  const root = useRef<HTMLDivElement>(null);
  const remembered = useRef(new Map<string, unknown>());
  const [isSeen, setSeen] = useState(false);
  const [isTable, setTable] = useState(false);
  useEffect(() => watch(root.current!, setSeen), []);
  const wantsData = needsData(panel.type);
  useEffect(() => {
    if (!isSeen || !wantsData) return;
    const points = Math.max(100, Math.round(root.current!.clientWidth));
    context.loader.want(panel, points);
    return () => context.loader.leave(panel.key);
    // A panel that has become wider, or is shown alone, has room for more points; a copy may be of other values.
  }, [isSeen, panel.key, JSON.stringify(panel.scope), wantsData, panel.gridPos.w]);
  const state = context.loader.state(panel.key).value;
  return (
    <div
      ref={root}
      role="group"
      class={`panel ${panel.transparent ? "panel-transparent" : ""}`}
      aria-label={panel.title || panel.type}
    >
      <Head
        panel={panel}
        state={wantsData ? state : { notices: [], errors: [], loading: false }}
        context={context}
        isTable={isTable}
        onTable={setTable}
      />
      <div class="panel-body">
        <Remembered.Provider value={remembered.current}>
          {isSeen && <Body panel={panel} state={state} context={context} isTable={isTable} />}
        </Remembered.Provider>
      </div>
    </div>
  );
}

interface HeadProps {
  panel: Placed;
  state: PanelState;
  context: PanelContext;
  isTable: boolean;
  onTable: (isTable: boolean) => void;
}

/** What there is to say of a panel: what of it is not supported, and what its answers came with. */
function noticesOf(panel: Placed, state: PanelState): string[] {
  const reasons = panel.status === "full" ? [] : (panel.reasons ?? []);
  const said = [...state.notices, ...(state.frames ?? []).flatMap((frame) => frame.notices ?? [])];
  return [...new Set([...reasons, ...said.map(({ text }) => text)])];
}

function Head({ panel, state, context, isTable, onTable }: HeadProps) {
  const notices = noticesOf(panel, state);
  return (
    <header class="panel-head">
      {state.loading && <span class="panel-progress" role="status" aria-label="Loading" />}
      {notices.length > 0 && (
        <Popover
          kind="quiet"
          label={notices.length === 1 ? "1 notice" : `${notices.length} notices`}
          button={
            <span class="warn">
              <Icon name="warning" size={14} />
            </span>
          }
        >
          {() => (
            <ul class="panel-notices">
              {notices.map((text) => (
                <li key={text}>{text}</li>
              ))}
            </ul>
          )}
        </Popover>
      )}
      {panel.description && (
        <Popover kind="quiet" label="What this shows" button={<Icon name="info" size={14} />}>
          {() => (
            <div class="panel-description">
              <Marked text={panel.description!} mode="markdown" />
            </div>
          )}
        </Popover>
      )}
      <h2 class="panel-title ellipsis" title={panel.title}>
        {panel.title}
      </h2>
      {!panel.hideTimeOverride && (panel.timeFrom || panel.timeShift) && (
        <span class="muted panel-time">
          <Icon name="clock" size={12} /> {timeWords(panel)}
        </span>
      )}
      <PanelLinks links={panel.links ?? []} />
      <PanelMenu panel={panel} state={state} context={context} isTable={isTable} onTable={onTable} />
    </header>
  );
}

function PanelLinks({ links }: { links: readonly BoardLink[] }) {
  return (
    <>
      {links.map((link) => {
        const made = linkOf({ title: link.title ?? "", url: link.url ?? "", targetBlank: link.targetBlank });
        if (made === undefined) return null;
        return (
          <a
            key={made.href}
            class="panel-link"
            href={made.href}
            target={made.isOutside ? "_blank" : undefined}
            rel="noopener noreferrer"
            title={made.title}
          >
            <Icon name="external" size={12} />
            <span class="hidden">{made.title}</span>
          </a>
        );
      })}
    </>
  );
}

interface BodyProps {
  panel: Placed;
  state: PanelState;
  context: PanelContext;
  isTable: boolean;
}

function Body({ panel, state, context, isTable }: BodyProps) {
  const [box, size] = useSize(0, 0);
  const View = isTable ? TablePanel : viewOf(panel.type);
  const wantsData = needsData(panel.type);
  const isReady = size.width > 0 && (!wantsData || state.frames !== undefined);
  const isEmpty = wantsData && (state.frames ?? []).length === 0;
  const isFailed = state.errors.length > 0;
  const notices = isEmpty ? noticesOf(panel, state) : [];
  const marks = useMemo(() => marksFor(context.annotations, panel.id), [context.annotations, panel.id]);
  return (
    <div
      class={state.loading && state.frames && wantsData ? "panel-content panel-old" : "panel-content"}
      ref={box}
    >
      {isFailed && wantsData && (
        <PanelFailure
          errors={state.errors}
          again={() => context.loader.retry(panel.key)}
          isOver={state.frames !== undefined && state.frames.length > 0}
        />
      )}
      {isReady && isEmpty && !isFailed && notices.length > 0 && <NoData frames={[]} notices={notices} />}
      {isReady && !(isEmpty && (isFailed || notices.length > 0)) && (
        <Guard key={isTable ? "table" : panel.type} of={state.frames}>
          <View
            panel={panel}
            frames={wantsData ? (state.frames ?? []) : []}
            shown={state.shown}
            width={size.width}
            height={size.height}
            range={ownRange(panel, context.range)}
            annotations={marks}
            sync={context.sync}
            onZoom={(from, to) => setRange(from, to)}
          />
        </Guard>
      )}
    </div>
  );
}

function PanelFailure({
  errors,
  again,
  isOver,
}: {
  errors: PanelState["errors"];
  again: () => void;
  isOver: boolean;
}) {
  return (
    <div class={isOver ? "panel-failure panel-failure-over" : "panel-failure"} role="alert">
      {errors.map(({ message, query, offset, status, requestId }, at) => (
        <Fragment key={at}>
          <p>
            <Icon name="error" size={14} /> {message}
            {status && ` (${status})`}
            {requestId && <span class="muted"> · request {requestId}</span>}
          </p>
          {query && <QueryAt query={query} offset={offset} />}
        </Fragment>
      ))}
      <button type="button" class="button" onClick={again}>
        Try again
      </button>
    </div>
  );
}

/** A query with the place that is wrong underlined. */
function QueryAt({ query, offset }: { query: string; offset?: number }) {
  if (offset === undefined) return <code class="panel-query">{query}</code>;
  const { from, to } = wrongRange(query, offset);
  return (
    <code class="panel-query">
      {query.slice(0, from)}
      <mark class="query-wrong">{query.slice(from, to)}</mark>
      {query.slice(to)}
    </code>
  );
}

/** Keeps what goes wrong while a panel is drawn to that panel. */
class Guard extends Component<{ children: ComponentChildren; of: unknown }, { error?: Error }> {
  override state: { error?: Error } = {};

  static override getDerivedStateFromError(error: Error) {
    return { error };
  }

  // Other data may well be drawn.
  override componentDidUpdate(before: { of: unknown }) {
    if (this.state.error && before.of !== this.props.of) this.setState({ error: undefined });
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div class="panel-failure" role="alert">
        This panel could not be drawn: {this.state.error.message}
      </div>
    );
  }
}

/** Shows one panel alone, or all again. */
export function viewAlone(panel: Placed | undefined): void {
  setParams({ viewPanel: panel?.key });
}
