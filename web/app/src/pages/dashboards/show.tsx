/**
 * A dashboard. What is shown is in the address: variables, time, which panel alone (`viewPanel`), which is
 * edited (`editPanel`), whether without a frame (`kiosk`).
 */
import { useEffect, useMemo, useState } from "preact/hooks";
import { useKeys } from "../../frame/keys";
import { link, navigate, param, place, setParams } from "../../frame/router";
import { range } from "../../frame/time";
import { type Asked, useAsk } from "../../frame/useask";
import { PageBody } from "../../ui/page";
import { Answer, Empty, ErrorBox, Warning } from "../../ui/states";
import { loadUnits } from "../../ui/units";
import type { PageProps } from "..";
import { Actions } from "./actions";
import { duplicatePanel, findPanel, gridOf, movePanel, removePanel } from "./change";
import { emptyDashboard } from "./create";
import { EditPanel } from "./edit";
import { Grid } from "./grid";
import { Inspect } from "./inspect";
import { layOut } from "./layout";
import { BoardLinks } from "./links";
import { Loader } from "./loader";
import {
  type GridPos,
  type Json,
  type Layout,
  type Loaded,
  loadDashboard,
  type Placed,
  type Which,
} from "./model";
import type { PanelContext } from "./panel";
import { VariableBar, variablesOf } from "./variables";
import "./dashboards.css";

export default function Page({ params }: PageProps) {
  const uid = params.uid!;
  const asked = useAsk(
    async (signal) => withOwnTime(uid === "new" ? emptyDashboard() : await loadDashboard(uid, signal)),
    [uid],
  );
  useEffect(() => void loadUnits(), []);
  if (asked.error && !asked.data) {
    return (
      <PageBody title="Dashboard">
        <ErrorBox error={asked.error} again={asked.again} />
      </PageBody>
    );
  }
  if (!asked.data) return <PageBody title="Dashboard">{<Answer of={asked}>{() => null}</Answer>}</PageBody>;
  return (
    <Dashboard key={asked.data.meta.uid} loaded={asked.data} reload={asked.again} isNew={uid === "new"} />
  );
}

interface DashboardProps {
  loaded: Loaded;
  reload: () => void;
  isNew: boolean;
}

function Dashboard({ loaded, reload, isNew }: DashboardProps) {
  const [draft, setDraft] = useState<Json | undefined>(isNew ? loaded.dashboard : undefined);
  const [isEditing, setEditing] = useState(isNew);
  const [inspected, setInspected] = useState<Placed | undefined>(undefined);
  useKiosk();
  // What was saved is what is stored: a draft that is older goes.
  useEffect(() => {
    if (!isNew) setDraft(undefined);
  }, [loaded]);
  const { asked, loader, context } = useData(loaded, draft);
  const layout = asked.data;
  const source = draft ?? loaded.model;
  const change = (next: Json) => setDraft(next);
  const panelContext: PanelContext = {
    loader,
    range: { from: context.from, to: context.to },
    annotations: layout?.annotations ?? [],
    sync: syncOf(loaded, layout),
    isEditing,
    onInspect: setInspected,
    onEdit: (panel) => setParams({ editPanel: panel.id }),
    onChange: isEditing
      ? (panel, what) =>
          change(what === "remove" ? removePanel(source, panel.id) : duplicatePanel(source, panel.id))
      : undefined,
  };
  useKeys(
    "Dashboard",
    [
      { keys: "e", label: "Edit the dashboard", run: () => setEditing(!isEditing) },
      {
        keys: "Escape",
        label: "All panels again",
        run: () => param("viewPanel") && setParams({ viewPanel: undefined }),
      },
      {
        keys: "f",
        label: "Without frame, or with it",
        run: () => setParams({ kiosk: param("kiosk") === undefined }),
      },
    ],
    [isEditing],
  );
  const title = String(source.title ?? "Dashboard");
  const editId = Number(param("editPanel")?.replace(/^panel-/, ""));
  const edited = Number.isFinite(editId) ? findPanel(source, editId) : undefined;
  if (edited && layout) {
    return (
      <EditPanel
        title={title}
        panel={edited}
        placed={layout.sections.flatMap(({ panels }) => panels).find(({ id }) => id === editId)}
        variables={layout.variables}
        context={panelContext}
        dashboard={source}
        onChange={change}
        onDone={() => {
          setEditing(true);
          setParams({ editPanel: undefined });
        }}
        onDiscard={() => {
          setDraft(undefined);
          setParams({ editPanel: undefined });
        }}
      />
    );
  }
  return (
    <PageBody
      title={title}
      actions={
        <Actions
          loaded={loaded}
          draft={draft}
          isEditing={isEditing}
          onEdit={setEditing}
          onDraft={setDraft}
          onSaved={(saved) =>
            saved === loaded.meta.uid ? reload() : navigate(link(`/d/${encodeURIComponent(saved)}`))
          }
        />
      }
    >
      {layout && (layout.variables.length > 0 || layout.board.links?.length) ? (
        <div class="board-bar">
          <VariableBar variables={layout.variables} />
          <BoardLinks links={layout.board.links ?? []} />
        </div>
      ) : null}
      {layout?.notices.map((notice) => (
        <Warning key={notice}>{notice}</Warning>
      ))}
      <Answer of={asked}>
        {(data) => (
          <Panels
            layout={data}
            context={panelContext}
            onMove={(panel, to) => change(moved(source, panel, to))}
          />
        )}
      </Answer>
      {inspected && (
        <Inspect
          panel={inspected}
          state={loader.state(inspected.key).value}
          source={findPanel(source, inspected.id)}
          range={panelContext.range}
          close={() => setInspected(undefined)}
        />
      )}
    </PageBody>
  );
}

/** The place in the document of a panel that was moved where it is laid out. */
function moved(source: Json, panel: Placed, to: GridPos): Json {
  const own = findPanel(source, panel.id);
  if (!own) return source;
  const grid = gridOf(own);
  return movePanel(source, panel.id, { x: to.x, w: to.w, h: to.h, y: grid.y + to.y - panel.gridPos.y });
}

/** A dashboard that is opened without a time has its own. */
function withOwnTime(loaded: Loaded): Loaded {
  const time = (loaded.model.time ?? {}) as { from?: string; to?: string };
  const { refresh } = loaded.model;
  const set: Record<string, string> = {};
  if (param("from") === undefined && time.from) Object.assign(set, { from: time.from, to: time.to || "now" });
  if (param("refresh") === undefined && typeof refresh === "string" && refresh !== "") set.refresh = refresh;
  if (Object.keys(set).length > 0) setParams(set, { replace: true });
  return loaded;
}

/** Without rail and bars, for screens on walls. */
function useKiosk(): void {
  const isKiosk = param("kiosk") !== undefined;
  useEffect(() => {
    document.documentElement.classList.toggle("kiosk", isKiosk);
    return () => document.documentElement.classList.remove("kiosk");
  }, [isKiosk]);
}

/** The zone that the server writes dates in. */
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** A dashboard that is being typed is laid out when its author pauses. */
const PAUSE_MILLIS = 250;

function useData(loaded: Loaded, draft: Json | undefined) {
  const loader = useMemo(() => new Loader(), []);
  const [settledDraft, setSettledDraft] = useState(draft);
  useEffect(() => {
    const timer = setTimeout(() => setSettledDraft(draft), PAUSE_MILLIS);
    return () => clearTimeout(timer);
  }, [draft]);
  const chosen = JSON.stringify(variablesOf(place.value.query));
  const { from, to } = range.value;
  const which: Which = useMemo(
    () => (settledDraft ? { dashboard: settledDraft } : { uid: loaded.meta.uid }),
    [settledDraft, loaded],
  );
  const context = useMemo(
    () => ({
      variables: JSON.parse(chosen) as Record<string, string[]>,
      timezone: ZONE,
      from: Math.round(from),
      to: Math.round(to),
    }),
    [chosen, from, to],
  );
  const asked: Asked<Layout> = useAsk((signal) => layOut(which, context, signal), [which, context]);
  // Data is asked for when it is known which variables hold, so that panels are asked for once.
  useEffect(() => {
    if (asked.data && !asked.loading) loader.begin(which, context);
  }, [asked.data]);
  useEffect(() => () => loader.stop(), []);
  return { asked, loader, context };
}

function syncOf(loaded: Loaded, layout: Layout | undefined): PanelContext["sync"] {
  const shared = layout?.board.graphTooltip ?? 0;
  return shared > 0 ? { key: `board ${loaded.meta.uid}`, values: shared === 2 } : undefined;
}

interface PanelsProps {
  layout: Layout;
  context: PanelContext;
  onMove: (panel: Placed, place: GridPos) => void;
}

function Panels({ layout, context, onMove }: PanelsProps) {
  const wanted = param("viewPanel")?.replace(/^panel-/, "");
  const all = layout.sections.flatMap(({ panels }) => panels);
  const alone =
    wanted === undefined
      ? undefined
      : (all.find(({ key }) => key === wanted) ?? all.find(({ id }) => String(id) === wanted));
  if (alone) {
    const placed = { ...alone, gridPos: { x: 0, y: 0, w: 24, h: 20 } };
    return (
      <Grid
        sections={[{ collapsed: false, panels: [placed] }]}
        context={{ ...context, isEditing: false }}
        onMove={onMove}
      />
    );
  }
  if (all.length === 0 && layout.sections.length === 0) {
    return (
      <Empty title="This dashboard has no panels">
        <p>Edit it and add the first.</p>
      </Empty>
    );
  }
  return <Grid sections={layout.sections} context={context} onMove={onMove} />;
}
