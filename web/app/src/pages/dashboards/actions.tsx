/** What can be done with a dashboard: edit, save, its settings, its versions, its JSON. */
import { useState } from "preact/hooks";
import { navigate, param, setParams } from "../../frame/router";
import { Button } from "../../ui/button";
import { FileButton } from "../../ui/file";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { save } from "../../ui/save";
import { asModel } from "./asmodel";
import { titleOf } from "./converted";
import { fileName } from "./csv";
import type { SetDraft } from "./drafts";
import { JsonDialog } from "./jsondialog";
import { menuItems } from "./menuitem";
import type { Json, Loaded, Saved } from "./model";
import { remove } from "./restore";
import { SaveDialog } from "./save";
import { SettingsDialog } from "./settings";
import { VersionsDialog } from "./versions";

type Open = "save" | "saveAs" | "settings" | "json" | "versions" | undefined;

interface ActionsProps {
  loaded: Loaded;
  draft: Json | undefined;
  /** The document that the draft was made of, where that is saved as it is. */
  written: Json | undefined;
  /** The version that the draft is a change of. */
  version: number;
  isEditing: boolean;
  onEdit: (isEditing: boolean) => void;
  onAdd: () => void;
  onAddRow: () => void;
  onDraft: SetDraft;
  onSaved: (saved: Saved) => void;
}

export function Actions(props: ActionsProps) {
  const { loaded, draft, written, version, isEditing, onEdit, onAdd, onAddRow, onDraft, onSaved } = props;
  const [open, setOpen] = useState<Open>(undefined);
  const [error, setError] = useState<Error | undefined>(undefined);
  const source = draft ?? loaded.model;
  // As it is saved, and so as it is shown to who wants to see or to have it.
  const text = written ?? source;
  const close = () => setOpen(undefined);
  const isOwn = loaded.meta.kind === "own" && loaded.meta.uid !== "";
  const saved = (as: Saved) => {
    close();
    onEdit(false);
    onSaved(as);
  };
  const removeIt = async () => {
    try {
      if (!(await remove({ uid: loaded.meta.uid, title: titleOf(source) }))) return;
      onDraft(undefined);
      navigate("/dashboards");
    } catch (failure) {
      setError(failure as Error);
    }
  };
  return (
    <>
      {error && (
        <span class="bad" role="alert">
          {error.message}
        </span>
      )}
      {loaded.meta.kind !== "own" && <span class="badge">{loaded.meta.kind}</span>}
      {draft && <span class="badge badge-warn">not saved</span>}
      {isEditing && (
        <>
          <Button icon="plus" onClick={onAdd}>
            Add panel
          </Button>
          <Button icon="plus" onClick={onAddRow}>
            Add row
          </Button>
        </>
      )}
      {draft && (
        <Button kind="primary" onClick={() => setOpen(isOwn || loaded.meta.uid === "" ? "save" : "saveAs")}>
          {isOwn || loaded.meta.uid === "" ? "Save" : "Save a copy"}
        </Button>
      )}
      {draft && draft !== loaded.model && <Button onClick={() => onDraft(undefined)}>Discard</Button>}
      <Button icon="edit" pressed={isEditing} onClick={() => onEdit(!isEditing)}>
        Edit
      </Button>
      <More loaded={loaded} source={text} isOwn={isOwn} onOpen={setOpen} onRemove={() => void removeIt()} />
      {(open === "save" || open === "saveAs") && (
        <SaveDialog
          dashboard={text}
          stored={loaded.dashboard}
          version={open === "saveAs" || loaded.meta.uid === "" ? undefined : version}
          isCopy={open === "saveAs"}
          close={close}
          onSaved={saved}
        />
      )}
      {open === "settings" && <SettingsDialog dashboard={source} onChange={onDraft} close={close} />}
      {open === "json" && (
        <JsonDialog
          title="JSON of the dashboard"
          value={text}
          onChange={async (value) => onDraft(await asModel(value), value)}
          close={close}
        />
      )}
      {open === "versions" && (
        <VersionsDialog
          uid={loaded.meta.uid}
          current={loaded.dashboard}
          close={close}
          onRestore={(model, document) => {
            close();
            onDraft(model, document);
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
  onRemove: () => void;
}

function More({ loaded, source, isOwn, onOpen, onRemove }: MoreProps) {
  const uid = loaded.meta.uid;
  const file = fileName(titleOf(source), "json");
  return (
    <Popover label="More" align="right" button={<Icon name="menu" />}>
      {(close) => {
        const item = menuItems(close);
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
            {isOwn && item("trash", "Delete", onRemove)}
          </div>
        );
      }}
    </Popover>
  );
}
