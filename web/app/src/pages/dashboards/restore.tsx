/**
 * Dashboards that were deleted: their versions stay, and the newest can be saved again. That is offered where
 * one was just deleted, and at the address of one that is not there any more.
 */
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { Empty, ErrorBox } from "../../ui/states";
import { deleteDashboard, listVersions, loadVersion, type Saved, saveDashboard } from "./model";

export interface Deleted {
  uid: string;
  title: string;
}

/** The one that was deleted last, until the list is left. */
const deleted = signal<Deleted | undefined>(undefined);

/** Asks, and deletes. Says whether that was done. */
export async function remove(one: Deleted): Promise<boolean> {
  const isMeant = window.confirm(`Delete “${one.title}”? Its versions stay, and it can be restored.`);
  if (!isMeant) return false;
  await deleteDashboard(one.uid);
  deleted.value = one;
  return true;
}

/** Saves the newest version of a deleted dashboard again; there has to be one. */
export async function restore(uid: string): Promise<Saved> {
  const [newest] = (await listVersions(uid)).toSorted((a, b) => b.version - a.version);
  if (!newest) throw new Error("no version of it is kept");
  return saveDashboard(await loadVersion(uid, newest.version), "restored");
}

function RestoreButton({ uid, onDone }: { uid: string; onDone: () => void }) {
  const [error, setError] = useState<Error | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    try {
      await restore(uid);
      onDone();
    } catch (failure) {
      setError(failure as Error);
      setBusy(false);
    }
  };
  return (
    <>
      <Button disabled={isBusy} onClick={() => void run()}>
        Restore it
      </Button>
      {error && (
        <span class="bad" role="alert">
          {error.message}
        </span>
      )}
    </>
  );
}

/** What the list says of the dashboard that was deleted last. */
export function JustDeleted({ onRestored }: { onRestored: () => void }) {
  useEffect(
    () => () => {
      deleted.value = undefined;
    },
    [],
  );
  const one = deleted.value;
  if (!one) return null;
  const done = () => {
    deleted.value = undefined;
    onRestored();
  };
  return (
    <div class="row">
      <span role="status">“{one.title}” is deleted.</span>
      <RestoreButton key={one.uid} uid={one.uid} onDone={done} />
    </div>
  );
}

/** In the place of a dashboard that is not there: if it once was, it can be restored. */
export function Missing({ uid, error, again }: { uid: string; error: Error; again: () => void }) {
  const versions = useAsk((signal) => listVersions(uid, signal), [uid]);
  if (!versions.data?.length) return <ErrorBox error={error} again={again} />;
  return (
    <Empty title="This dashboard was deleted">
      <p>Its versions stay; the newest can be taken back.</p>
      <RestoreButton uid={uid} onDone={again} />
    </Empty>
  );
}
