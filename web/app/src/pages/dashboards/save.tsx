/** Saving: what was changed, or a copy under another name. */
import { useState } from "preact/hooks";
import { ApiError } from "../../frame/api";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/field";
import { ErrorBox } from "../../ui/states";
import { Dialog } from "./dialog";
import { type Json, saveDashboard } from "./model";

interface SaveDialogProps {
  dashboard: Json;
  /** The version that it is a change of; none for what is new. */
  version: number | undefined;
  isCopy: boolean;
  close: () => void;
  onSaved: (uid: string) => void;
}

export function SaveDialog({ dashboard, version, isCopy, close, onSaved }: SaveDialogProps) {
  const title = String(dashboard.title ?? "Dashboard");
  const [name, setName] = useState(isCopy ? `${title} (copy)` : title);
  const [message, setMessage] = useState("");
  const [error, setError] = useState<Error | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const isReady = !isBusy && name.trim() !== "";
  const isTaken = error instanceof ApiError && (error.status === 409 || error.status === 412);
  const save = async (overwrite = false) => {
    if (!isReady) return;
    setBusy(true);
    try {
      const { id: _, ...rest } = dashboard;
      const next = isCopy ? { ...rest, title: name, uid: undefined } : { ...dashboard, title: name };
      onSaved((await saveDashboard(next, message, version, overwrite)).uid);
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
          <Button kind="primary" disabled={!isReady} onClick={() => void save()}>
            Save
          </Button>
          {isTaken && (
            <Button kind="danger" disabled={!isReady} onClick={() => void save(true)}>
              Save over it
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}
