/**
 * A dashboard. What is shown is in the address: variables, time, which panel alone (`viewPanel`), which is
 * edited (`editPanel`), whether without a frame (`kiosk`).
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../frame/api";
import { useKeys } from "../../frame/keys";
import { link, navigate, param, setParams } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { ownZone, zone, zoneOf } from "../../panels/zone";
import { PageBody } from "../../ui/page";
import { Answer, Empty, ErrorBox, Warning } from "../../ui/states";
import type { PageProps } from "..";
import { Actions } from "./actions";
import { Switches } from "./annotations";
import { addPanel, duplicatePanel, findPanel, gridOf, movePanel, removePanel } from "./change";
import { titleOf } from "./converted";
import { emptyDashboard, emptyPanel } from "./create";
import { useDraft } from "./drafts";
import { EditPanel } from "./edit";
import { Grid } from "./grid";
import { Inspect } from "./inspect";
import { BoardLinks } from "./links";
import { type GridPos, type Json, type Layout, type Loaded, loadDashboard, type Placed } from "./model";
import type { PanelContext } from "./panel";
import { Missing } from "./restore";
import type { RowEditing } from "./rowform";
import { addPanelBelow, addRow } from "./rows";
import { beginTimes, useTimeRules, useUsualTimes } from "./timesettings";
import { useData } from "./usedata";
import { VariableBar } from "./variables";
import { wantUnits } from "./wantunits";
import "./dashboards.css";

export default function Page({ params }: PageProps) {
  const uid = params.uid!;
  const opened = useRef<string | undefined>(undefined);
  const asked = useAsk(
    async (signal) => {
      const loaded = uid === "new" ? emptyDashboard() : await loadDashboard(uid, signal);
      beginTimes(loaded.model, opened.current !== uid);
      opened.current = uid;
      return loaded;
    },
    [uid],
  );
  useEffect(wantUnits, []);
  useUsualTimes();
  if (asked.error && !asked.data) {
    const isMissing = asked.error instanceof ApiError && asked.error.status === 404;
    return (
      <PageBody title="Dashboard">
        {isMissing ? (
          <Missing uid={uid} error={asked.error} again={asked.again} />
        ) : (
          <ErrorBox error={asked.error} again={asked.again} />
        )}
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
  const [kept, setDraft, draftSaved] = useDraft(loaded);
  const draft = kept?.dashboard ?? (isNew ? loaded.model : undefined);
  const [isEditing, setEditing] = useState(draft !== undefined);
  const [inspected, setInspected] = useState<Placed | undefined>(undefined);
  useKiosk();
  const source = draft ?? loaded.model;
  const ownClock = useZone(source.timezone);
  useTimeRules(source);
  const { asked, loader, context, marked } = useData(loaded, draft, ownClock ?? ownZone());
  const layout = asked.data;
  const panelContext: PanelContext = {
    loader,
    range: { from: context.from, to: context.to },
    annotations: marked.annotations,
    sync: syncOf(loaded, layout),
    isEditing,
    onInspect: setInspected,
    onEdit: (panel) => setParams({ editPanel: panel.id }),
    onChange: isEditing
      ? (panel, what) =>
          setDraft(what === "remove" ? removePanel(source, panel.id) : duplicatePanel(source, panel.id))
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
  const title = titleOf(source);
  const editId = Number(param("editPanel")?.replace(/^panel-/, ""));
  const edited = Number.isFinite(editId) ? findPanel(source, editId) : undefined;
  // What was before a panel was added, for as long as that is edited: to discard it is to have no such panel.
  const added = useRef<{ id: number; before: Json | undefined } | undefined>(undefined);
  useEffect(() => {
    if (added.current?.id !== editId) added.current = undefined;
  }, [editId]);
  const add = (rowId?: number) => {
    const panel = emptyPanel();
    const { dashboard, id } =
      rowId === undefined ? addPanel(source, panel) : addPanelBelow(source, rowId, panel);
    added.current = { id, before: kept?.dashboard };
    setDraft(dashboard);
    setParams({ editPanel: id });
  };
  if (edited && layout) {
    return (
      <EditPanel
        key={editId}
        title={title}
        panel={edited}
        placed={layout.sections.flatMap(({ panels }) => panels).find(({ id }) => id === editId)}
        variables={layout.variables}
        context={panelContext}
        dashboard={source}
        onChange={setDraft}
        onDone={() => {
          setEditing(true);
          setParams({ editPanel: undefined });
        }}
        onDiscard={(before) => {
          setDraft(added.current?.id === editId ? added.current.before : before);
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
          written={kept?.written}
          version={kept?.version ?? loaded.meta.version}
          isEditing={isEditing}
          onEdit={setEditing}
          onAdd={() => add()}
          onAddRow={() => setDraft(addRow(source).dashboard)}
          onDraft={setDraft}
          onSaved={({ uid, version }) => {
            draftSaved(version);
            if (uid !== loaded.meta.uid) return navigate(link(`/d/${encodeURIComponent(uid)}`));
            reload();
          }}
        />
      }
    >
      {layout && (
        <div class="board-bar">
          <VariableBar variables={layout.variables} />
          <Switches listed={layout.annotations} />
          <BoardLinks links={layout.board.links ?? []} variables={layout.variables} />
          {ownClock && ownClock !== ownZone() && <span class="muted">Times in {ownClock}</span>}
        </div>
      )}
      {kept && kept.version < loaded.meta.version && (
        <Warning>
          Somebody has saved this dashboard since these changes were begun. They are of version {kept.version}
          , the newest is {loaded.meta.version}.
        </Warning>
      )}
      {[...(layout?.notices ?? []), ...marked.notices].map((notice) => (
        <Warning key={notice}>{notice}</Warning>
      ))}
      <Answer of={asked}>
        {(data) => (
          <Panels
            layout={data}
            context={panelContext}
            onMove={(panel, to) => setDraft(moved(source, panel, to))}
            rows={isEditing ? { dashboard: source, onChange: setDraft, onAdd: add } : undefined}
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

/**
 * The place in the document of a panel that was moved where it is laid out. It is moved by as much: keys may
 * be pressed again before the panel is laid out where they have moved it.
 */
function moved(source: Json, panel: Placed, to: GridPos): Json {
  const own = findPanel(source, panel.id);
  if (!own) return source;
  const [grid, from] = [gridOf(own), panel.gridPos];
  return movePanel(source, panel.id, {
    x: grid.x + to.x - from.x,
    y: grid.y + to.y - from.y,
    w: grid.w + to.w - from.w,
    h: grid.h + to.h - from.h,
  });
}

/** The dashboard's own zone, in which its panels show times while it is shown. */
function useZone(timezone: unknown): string | undefined {
  const own = zoneOf(timezone);
  useEffect(() => {
    zone.value = own;
    return () => {
      zone.value = undefined;
    };
  }, [own]);
  return own;
}

/** Without rail and bars, for screens on walls. */
function useKiosk(): void {
  const isKiosk = param("kiosk") !== undefined;
  useEffect(() => {
    document.documentElement.classList.toggle("kiosk", isKiosk);
    return () => document.documentElement.classList.remove("kiosk");
  }, [isKiosk]);
}

function syncOf(loaded: Loaded, layout: Layout | undefined): PanelContext["sync"] {
  const shared = layout?.board.graphTooltip ?? 0;
  return shared > 0 ? { key: `board ${loaded.meta.uid}`, values: shared === 2 } : undefined;
}

interface PanelsProps {
  layout: Layout;
  context: PanelContext;
  onMove: (panel: Placed, place: GridPos) => void;
  rows: RowEditing | undefined;
}

function Panels({ layout, context, onMove, rows }: PanelsProps) {
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
  return <Grid sections={layout.sections} context={context} onMove={onMove} rows={rows} />;
}
