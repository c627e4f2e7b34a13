/** Saving: what was changed, or a copy under another name. */
import { useState } from "preact/hooks";
import { ApiError } from "../../frame/api";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/field";
import { ErrorBox } from "../../ui/states";
import { Dialog } from "./dialog";
import { type Json, type Loaded, saveDashboard } from "./model";

interface SaveDialogProps {
  loaded: Loaded;
  dashboard: Json;
  isCopy: boolean;
  close: () => void;
  onSaved: (uid: string) => void;
}

export function SaveDialog({ loaded, dashboard, isCopy, close, onSaved }: SaveDialogProps) {
  const title = String(dashboard.title ?? "Dashboard");
  const [name, setName] = useState(isCopy ? `${title} (copy)` : title);
  const [message, setMessage] = useState("");
  const [error, setError] = useState<Error | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const isTaken = error instanceof ApiError && (error.status === 409 || error.status === 412);
  const save = async (overwrite = false) => {
    setBusy(true);
    try {
      const { id: _, ...rest } = dashboard;
      const next = isCopy ? { ...rest, title: name, uid: undefined } : { ...dashboard, title: name };
      const saved = await saveDashboard(
        next,
        message,
        isCopy || loaded.meta.uid === "" ? undefined : loaded.meta.version,
        overwrite,
      );
      onSaved(saved.uid);
    } catch (failure) {
      setError(failure as Error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={isCopy ? "Save a copy" : "Save the dashboard"} close={close}>
      <div class="stack form">
        <TextField label="Title" value={name} onChange={setName} />
        <TextField
          label="What has changed"
          value={message}
          onChange={setMessage}
          onEnter={() => void save()}
        />
        {error && <ErrorBox error={error} />}
        <div class="row">
          <Button kind="primary" disabled={isBusy || name.trim() === ""} onClick={() => void save()}>
            Save
          </Button>
          {isTaken && (
            <Button kind="danger" disabled={isBusy} onClick={() => void save(true)}>
              Save over it
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}
