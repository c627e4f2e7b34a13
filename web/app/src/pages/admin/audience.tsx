/** Who is recorded: flags, made, changed and deleted, and the last changes. */
import { useState } from "preact/hooks";
import { getJson, sendJson } from "../../frame/api";
import { refreshes } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { fullTime } from "../../ui/format";
import { Card } from "../../ui/page";
import { Answer, Empty } from "../../ui/states";
import { auditLines, whom } from "./flag";
import { FlagEditor } from "./flageditor";
import type { AuditEntry, Flag } from "./types";

interface Known {
  flags: Flag[];
  audit: AuditEntry[];
}

export function Audience() {
  const asked = useAsk<Known>(
    async (signal) => {
      const { flags } = await getJson<{ flags: Flag[] }>("/api/audience/flags", {}, signal);
      const { audit } = await getJson<{ audit: AuditEntry[] }>("/api/audience/audit", {}, signal);
      return { flags, audit };
    },
    [refreshes.value],
  );
  const [edited, setEdited] = useState<Flag | "new">();
  const [message, setMessage] = useState("");
  const change = async (work: () => Promise<unknown>, done: string) => {
    await work();
    setEdited(undefined);
    setMessage(done);
    asked.again();
  };
  const key = edited !== "new" ? edited?.key : undefined;
  const path = `/api/audience/flags${key ? `/${encodeURIComponent(key)}` : ""}`;
  return (
    <div class="stack">
      <p class="muted">
        A record is kept if every flag that is about it allows its user; without a flag everybody is recorded.
        A change is in force for the next request, and takes nothing back that was recorded before.
      </p>
      {message && (
        <p class="good" role="status">
          {message}
        </p>
      )}
      {edited && (
        <FlagEditor
          key={key ?? "new"}
          flag={edited === "new" ? undefined : edited}
          onCancel={() => setEdited(undefined)}
          onCreate={(flag) => change(() => sendJson("POST", path, flag), `${flag.key} is made and in force.`)}
          onChange={(what) => change(() => sendJson("PATCH", path, what), `${key} is saved and in force.`)}
          onDelete={() =>
            change(() => sendJson("DELETE", path), `${key} is deleted: it keeps nobody out any more.`)
          }
        />
      )}
      <Answer of={asked}>
        {({ flags, audit }) => (
          <div class="stack">
            <Card
              title="Flags"
              actions={
                <Button kind="primary" icon="plus" onClick={() => setEdited("new")}>
                  New flag
                </Button>
              }
            >
              {flags.length === 0 ? (
                <Empty title="There is no flag: everybody is recorded" />
              ) : (
                <Flags flags={flags} onEdit={setEdited} />
              )}
            </Card>
            <Card title="Last changes">
              {audit.length === 0 ? <Empty title="Nothing was changed yet" /> : <Audit audit={audit} />}
            </Card>
          </div>
        )}
      </Answer>
    </div>
  );
}

function Flags({ flags, onEdit }: { flags: readonly Flag[]; onEdit: (flag: Flag) => void }) {
  return (
    <table class="admin-table">
      <thead>
        <tr>
          <th scope="col">Flag</th>
          <th scope="col">Who is recorded</th>
          <th scope="col">Of which records</th>
          <th scope="col">Last change</th>
          <th scope="col">
            <span class="hidden">Edit</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {flags.map((flag) => (
          <tr key={flag.key} class={flag.enabled ? "" : "muted"}>
            <td>
              <code>{flag.key}</code>
              {!flag.enabled && <small>not enabled: decides nothing</small>}
              {flag.description && <small>{flag.description}</small>}
            </td>
            <td>{whom(flag)}</td>
            <td>
              {flag.signals.join(", ")}
              {flag.where && (
                <small>
                  <code>{flag.where}</code>
                </small>
              )}
              <small>user: {flag.attributes.join(", ")}</small>
            </td>
            <td>
              {fullTime(flag.updated_at_millis)}
              <small>by {flag.updated_by}</small>
            </td>
            <td>
              <Button icon="edit" label={`Edit ${flag.key}`} onClick={() => onEdit(flag)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Audit({ audit }: { audit: readonly AuditEntry[] }) {
  return (
    <table class="admin-table">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Who</th>
          <th scope="col">Flag</th>
          <th scope="col">What</th>
        </tr>
      </thead>
      <tbody>
        {audit.map((entry) => (
          <tr key={`${entry.at_millis}/${entry.key}/${entry.action}`}>
            <td>{fullTime(entry.at_millis)}</td>
            <td>{entry.by}</td>
            <td>
              <code>{entry.key}</code>
            </td>
            <td>
              {entry.action}
              {auditLines(entry).map((line) => (
                <small key={line}>{line}</small>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
