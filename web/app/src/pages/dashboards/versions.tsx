/** Versions of a dashboard: when, why, what was different, and back to one of them. */
import { useMemo, useState } from "preact/hooks";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { fullTime } from "../../ui/format";
import { Answer, Empty, ErrorBox } from "../../ui/states";
import { asModel } from "./asmodel";
import { Dialog } from "./dialog";
import { contextOf, diffLines } from "./diff";
import { type Json, listVersions, loadVersion, versionModel } from "./model";

interface VersionsDialogProps {
  uid: string;
  current: Json;
  close: () => void;
  onRestore: (model: Json, written: Json) => void;
}

export function VersionsDialog({ uid, current, close, onRestore }: VersionsDialogProps) {
  const asked = useAsk((signal) => listVersions(uid, signal), [uid]);
  const [chosen, setChosen] = useState<number | undefined>(undefined);
  return (
    <Dialog title="Versions" close={close} isWide>
      <Answer of={asked}>
        {(versions) => (
          <div class="stack">
            {versions.length === 0 && <Empty title="There are no earlier versions" />}
            <ul class="versions">
              {versions.map((version) => (
                <li key={version.version}>
                  <button
                    type="button"
                    class="menu-item"
                    aria-expanded={chosen === version.version}
                    onClick={() => setChosen(chosen === version.version ? undefined : version.version)}
                  >
                    <b>{version.version}</b>
                    <span class="muted">{fullTime(version.saved)}</span>
                    <span class="grow ellipsis">{version.message}</span>
                    <span class="muted">{version.by}</span>
                  </button>
                  {chosen === version.version && (
                    <Difference uid={uid} version={version.version} current={current} onRestore={onRestore} />
                  )}
                </li>
              ))}
            </ul>
          </div>
        )}
      </Answer>
    </Dialog>
  );
}

function Difference({
  uid,
  version,
  current,
  onRestore,
}: {
  uid: string;
  version: number;
  current: Json;
  onRestore: (model: Json, written: Json) => void;
}) {
  const asked = useAsk((signal) => loadVersion(uid, version, signal), [uid, version]);
  const [error, setError] = useState<Error | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const restore = async (dashboard: Json) => {
    setBusy(true);
    try {
      const model = await versionModel(uid, version);
      onRestore(model ?? (await asModel(dashboard)), dashboard);
    } catch (failure) {
      setError(failure as Error);
      setBusy(false);
    }
  };
  return (
    <Answer of={asked}>
      {(dashboard) => (
        <div class="stack">
          <Lines before={dashboard} after={current} />
          {error && <ErrorBox error={error} />}
          <div class="row">
            <Button disabled={isBusy} onClick={() => void restore(dashboard)}>
              Take this version back
            </Button>
          </div>
        </div>
      )}
    </Answer>
  );
}

const SIGNS = { same: " ", added: "+", removed: "−" } as const;

function Lines({ before, after }: { before: Json; after: Json }) {
  const lines = useMemo(() => {
    const text = (of: Json) => JSON.stringify(of, null, 2).split("\n");
    return contextOf(diffLines(text(before), text(after)));
  }, [before, after]);
  if (lines.every(({ kind }) => kind === "skip"))
    return <p class="muted">Nothing differs from what is stored now.</p>;
  return (
    <pre class="diff" tabIndex={0} role="group" aria-label="What has changed since then">
      {lines.map((line, at) =>
        line.kind === "skip" ? (
          <span key={at} class="diff-skip">
            … {line.count} lines
          </span>
        ) : (
          <span key={at} class={`diff-${line.kind}`}>
            {SIGNS[line.kind]} {line.text}
          </span>
        ),
      )}
    </pre>
  );
}
