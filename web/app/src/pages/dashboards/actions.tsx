/** What can be done with a dashboard: edit, save, its settings, its versions, its JSON. */
import { useState } from "preact/hooks";
import { navigate, param, setParams } from "../../frame/router";
import { Button } from "../../ui/button";
import { FileButton } from "../../ui/file";
import { Icon, type IconName } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { save } from "../../ui/save";
import { addPanel } from "./change";
import { emptyPanel } from "./create";
import { fileName } from "./csv";
import { JsonDialog } from "./jsondialog";
import { deleteDashboard, type Json, type Loaded } from "./model";
import { SaveDialog } from "./save";
import { SettingsDialog } from "./settings";
import { VersionsDialog } from "./versions";

type Open = "save" | "saveAs" | "settings" | "json" | "versions" | undefined;

interface ActionsProps {
  loaded: Loaded;
  draft: Json | undefined;
  isEditing: boolean;
  onEdit: (isEditing: boolean) => void;
  onDraft: (draft: Json | undefined) => void;
  onSaved: (uid: string) => void;
}

export function Actions({ loaded, draft, isEditing, onEdit, onDraft, onSaved }: ActionsProps) {
  const [open, setOpen] = useState<Open>(undefined);
  const source = draft ?? loaded.model;
  const close = () => setOpen(undefined);
  const isOwn = loaded.meta.kind === "own" && loaded.meta.uid !== "";
  const saved = (uid: string) => {
    close();
    onEdit(false);
    onSaved(uid);
  };
  const add = () => {
    const { dashboard, id } = addPanel(source, emptyPanel());
    onDraft(dashboard);
    setParams({ editPanel: id });
  };
  return (
    <>
      {loaded.meta.kind !== "own" && <span class="badge">{loaded.meta.kind}</span>}
      {draft && <span class="badge badge-warn">not saved</span>}
      {isEditing && (
        <Button icon="plus" onClick={add}>
          Add panel
        </Button>
      )}
      {draft && (
        <Button kind="primary" onClick={() => setOpen(isOwn || loaded.meta.uid === "" ? "save" : "saveAs")}>
          {isOwn ? "Save" : loaded.meta.uid === "" ? "Save" : "Save a copy"}
        </Button>
      )}
      {draft && loaded.meta.uid !== "" && <Button onClick={() => onDraft(undefined)}>Discard</Button>}
      <Button icon="edit" pressed={isEditing} onClick={() => onEdit(!isEditing)}>
        Edit
      </Button>
      <More loaded={loaded} source={source} isOwn={isOwn} onOpen={setOpen} />
      {open === "save" && (
        <SaveDialog loaded={loaded} dashboard={source} isCopy={false} close={close} onSaved={saved} />
      )}
      {open === "saveAs" && (
        <SaveDialog loaded={loaded} dashboard={source} isCopy close={close} onSaved={saved} />
      )}
      {open === "settings" && <SettingsDialog dashboard={source} onChange={onDraft} close={close} />}
      {open === "json" && (
        <JsonDialog title="JSON of the dashboard" value={source} onChange={onDraft} close={close} />
      )}
      {open === "versions" && (
        <VersionsDialog
          uid={loaded.meta.uid}
          current={loaded.dashboard}
          close={close}
          onRestore={(dashboard) => {
            close();
            onDraft(dashboard);
          }}
        />
      )}
    </>
  );
}

interface MoreProps {
  loaded: Loaded;
  source: Json;
  isOwn: boolean;
  onOpen: (open: Open) => void;
}

function More({ loaded, source, isOwn, onOpen }: MoreProps) {
  const uid = loaded.meta.uid;
  const file = fileName(String(source.title ?? uid), "json");
  const remove = async () => {
    if (!window.confirm(`Delete “${String(source.title ?? uid)}”? Its versions go with it.`)) return;
    await deleteDashboard(uid);
    navigate("/dashboards");
  };
  return (
    <Popover label="More" align="right" button={<Icon name="menu" />}>
      {(close) => {
        const item = (icon: IconName, label: string, run: () => void) => (
          <button
            type="button"
            class="menu-item"
            onClick={() => {
              close();
              run();
            }}
          >
            <Icon name={icon} size={14} /> {label}
          </button>
        );
        return (
          <div>
            {item("admin", "Settings and variables", () => onOpen("settings"))}
            {item("logs", "JSON", () => onOpen("json"))}
            {isOwn && item("clock", "Versions", () => onOpen("versions"))}
            {uid === "" ? (
              item("download", "Export JSON", () =>
                save(file, "application/json", JSON.stringify(source, null, 2)),
              )
            ) : (
              <FileButton
                class="menu-item"
                path={`/api/dashboards/${encodeURIComponent(uid)}/export`}
                name={file}
                onDone={close}
              >
                <Icon name="download" size={14} /> Export JSON
              </FileButton>
            )}
            {uid !== "" && item("copy", "Save a copy", () => onOpen("saveAs"))}
            {item("external", "Without frame", () => setParams({ kiosk: param("kiosk") === undefined }))}
            {isOwn && item("trash", "Delete", () => void remove())}
          </div>
        );
      }}
    </Popover>
  );
}
