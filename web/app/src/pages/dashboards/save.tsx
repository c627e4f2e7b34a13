/** Saving: what was changed, or a copy under another name. */
import { useState } from "preact/hooks";
import { ApiError } from "../../frame/api";
import { Button } from "../../ui/button";
import { TextField } from "../../ui/field";
import { ErrorBox, Warning } from "../../ui/states";
import { conversions, copyOf, titleOf, withTitle } from "./converted";
import { Dialog } from "./dialog";
import { type Json, type Saved, saveDashboard } from "./model";

interface SaveDialogProps {
  dashboard: Json;
  /** As it is stored, which may be of an older form. */
  stored: Json;
  /** The version that it is a change of; none for what is new. */
  version: number | undefined;
  isCopy: boolean;
  close: () => void;
  onSaved: (saved: Saved) => void;
}

export function SaveDialog({ dashboard, stored, version, isCopy, close, onSaved }: SaveDialogProps) {
  const title = titleOf(dashboard);
  const converted = conversions(stored, dashboard);
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
      const next = isCopy ? copyOf(dashboard, name) : withTitle(dashboard, name);
      onSaved(await saveDashboard(next, message, version, overwrite));
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
        {converted.length > 0 && (
          <Warning>
            {converted.map((text) => (
              <p key={text}>{text}</p>
            ))}
            <p>
              {isCopy
                ? "What it is a copy of stays as it is."
                : "As it came it stays among its versions, from where it can be taken back."}
            </p>
          </Warning>
        )}
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
