/** Versions of a dashboard: when, why, what was different, and back to one of them. */
import { useMemo, useState } from "preact/hooks";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { fullTime } from "../../ui/format";
import { Answer, Empty } from "../../ui/states";
import { Dialog } from "./dialog";
import { contextOf, diffLines } from "./diff";
import { type Json, listVersions, loadVersion } from "./model";

interface VersionsDialogProps {
  uid: string;
  current: Json;
  close: () => void;
  onRestore: (dashboard: Json) => void;
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
  onRestore: (dashboard: Json) => void;
}) {
  const asked = useAsk((signal) => loadVersion(uid, version, signal), [uid, version]);
  return (
    <Answer of={asked}>
      {(dashboard) => (
        <div class="stack">
          <Lines before={dashboard} after={current} />
          <div class="row">
            <Button onClick={() => onRestore(dashboard)}>Take this version back</Button>
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
