/** Tokens: who may send, read or look after the server. A new one is shown once. */
import { useState } from "preact/hooks";
import { getJson, sendJson } from "../../frame/api";
import { refreshes } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { Button, CopyButton } from "../../ui/button";
import { Check, SelectField, TextField } from "../../ui/field";
import { day, time } from "../../ui/format";
import { Card } from "../../ui/page";
import { Answer, Empty, ErrorBox } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import type { Token } from "./types";

const ROLES = ["write", "read", "admin"] as const;
const LIFETIMES: readonly (readonly [string, string])[] = [
  ["", "never"],
  ["7", "in a week"],
  ["90", "in 90 days"],
  ["365", "in a year"],
];
const DAY_SECONDS = 86_400;

/** What is asked for when a token is made. */
export function newToken(
  form: { name: string; roles: readonly string[]; tenants: string; days: string },
  nowMillis: number,
): Record<string, unknown> {
  const tenants = form.tenants
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean);
  const wanted: Record<string, unknown> = { name: form.name.trim(), roles: form.roles };
  if (tenants.length > 0) wanted.tenants = tenants;
  if (form.days !== "")
    wanted.expires_unix_secs = Math.round(nowMillis / 1000) + Number(form.days) * DAY_SECONDS;
  return wanted;
}

export function Tokens() {
  const asked = useAsk(
    (signal) => getJson<{ tokens: Token[] }>("/api/tokens", {}, signal),
    [refreshes.value],
  );
  const [error, setError] = useState<Error>();
  const [doomed, setDoomed] = useState<string>();
  const revoke = (id: string) => {
    setDoomed(undefined);
    setError(undefined);
    sendJson("DELETE", `/api/tokens/${encodeURIComponent(id)}`).then(asked.again, setError);
  };
  const columns: Column<Token>[] = [
    {
      id: "name",
      title: "Name",
      width: "minmax(160px, 2fr)",
      value: (row) => row.name,
      render: (row) => row.name,
    },
    { id: "roles", title: "Roles", value: (row) => row.roles.join(), render: (row) => row.roles.join(", ") },
    { id: "tenants", title: "Tenants", render: (row) => tenantsOf(row) },
    { id: "ending", title: "Ends with", width: "100px", render: (row) => <code>…{row.ending}</code> },
    {
      id: "made",
      title: "Made",
      width: "110px",
      value: (row) => row.created_unix_secs,
      render: (row) => day(row.created_unix_secs * 1000),
    },
    {
      id: "expires",
      title: "Expires",
      width: "150px",
      value: (row) => row.expires_unix_secs ?? undefined,
      render: (row) => <Expiry secs={row.expires_unix_secs} />,
    },
    {
      id: "revoke",
      title: "",
      width: "190px",
      align: "right",
      render: (row) =>
        doomed === row.id ? (
          <>
            <Button kind="danger" onClick={() => revoke(row.id)}>
              Revoke it
            </Button>
            <Button kind="quiet" onClick={() => setDoomed(undefined)}>
              Keep
            </Button>
          </>
        ) : (
          <Button kind="quiet" icon="trash" label={`Revoke ${row.name}`} onClick={() => setDoomed(row.id)} />
        ),
    },
  ];
  return (
    <div class="stack">
      <NewToken onMade={asked.again} />
      {error && <ErrorBox error={error} />}
      <Answer of={asked}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <Empty title="There are no tokens">
              <p>
                They count where <code>auth</code> has <code>bearer</code> in it.
              </p>
            </Empty>
          ) : (
            <Table columns={columns} rows={tokens} label="Tokens" rowKey={(row) => row.id} rowHeight={34} />
          )
        }
      </Answer>
    </div>
  );
}

function tenantsOf({ tenants }: Token): string {
  const names = Array.isArray(tenants) ? tenants : [tenants];
  return names.includes("*") ? "all" : names.join(", ");
}

function Expiry({ secs }: { secs: number | null }) {
  if (secs === null) return <span class="muted">never</span>;
  const isOver = secs * 1000 < Date.now();
  return <span class={isOver ? "bad" : ""}>{isOver ? "has expired" : time(secs * 1000)}</span>;
}

function NewToken({ onMade }: { onMade: () => void }) {
  const [name, setName] = useState("");
  const [roles, setRoles] = useState<readonly string[]>(["write"]);
  const [tenants, setTenants] = useState("");
  const [days, setDays] = useState("");
  const [made, setMade] = useState<string>();
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const isReady = name.trim() !== "" && roles.length > 0 && !isBusy;
  const make = async () => {
    // Enter comes here too, and a second click while the first is on its way.
    if (!isReady) return;
    setBusy(true);
    setError(undefined);
    setMade(undefined);
    try {
      const wanted = newToken({ name, roles, tenants, days }, Date.now());
      setMade((await sendJson<{ token: string }>("POST", "/api/tokens", wanted)).token);
      setName("");
      onMade();
    } catch (failure) {
      setError(failure as Error);
    }
    setBusy(false);
  };
  const toggle = (role: string, isOn: boolean) =>
    setRoles((before) => (isOn ? [...before, role] : before.filter((one) => one !== role)));
  return (
    <Card title="A new token">
      <div class="row admin-form">
        <TextField label="What it is for" value={name} onChange={setName} placeholder="ci" onEnter={make} />
        {ROLES.map((role) => (
          <Check
            key={role}
            label={role}
            checked={roles.includes(role)}
            onChange={(isOn) => toggle(role, isOn)}
          />
        ))}
        <TextField label="Tenants" value={tenants} onChange={setTenants} placeholder="all" />
        <SelectField label="Expires" value={days} onChange={setDays} options={LIFETIMES} />
        <Button kind="primary" disabled={!isReady} onClick={make}>
          Make it
        </Button>
      </div>
      {error && <ErrorBox error={error} />}
      {made && (
        <p role="status">
          The token, which is shown once: <code>{made}</code>{" "}
          <CopyButton text={made} label="Copy the token" />
        </p>
      )}
    </Card>
  );
}
