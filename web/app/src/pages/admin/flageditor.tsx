/** The form of a flag. */
import { useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { AreaField, Check, SelectField, TextField } from "../../ui/field";
import { Card } from "../../ui/page";
import { ErrorBox } from "../../ui/states";
import { changed, created, type FlagForm, formOf, SIGNALS } from "./flag";
import type { Flag } from "./types";

const MODES: readonly (readonly [Flag["mode"], string])[] = [
  ["nobody", "Nobody"],
  ["everybody", "Everybody"],
  ["selected", "Selected users: who is listed, or matched, or within the percentage"],
];

interface FlagEditorProps {
  /** None for a new one. */
  flag?: Flag;
  onCancel: () => void;
  onCreate: (flag: Record<string, unknown>) => Promise<void>;
  onChange: (change: Record<string, unknown>) => Promise<void>;
  onDelete: () => Promise<void>;
}

export function FlagEditor({ flag, onCancel, onCreate, onChange, onDelete }: FlagEditorProps) {
  const [form, setForm] = useState<FlagForm>(() => formOf(flag));
  const [error, setError] = useState<Error>();
  const [isDoomed, setDoomed] = useState(false);
  const set = (change: Partial<FlagForm>) => setForm((before) => ({ ...before, ...change }));
  const [isBusy, setBusy] = useState(false);
  const attempt = (work: () => Promise<void>) => {
    setError(undefined);
    setBusy(true);
    work()
      .catch(setError)
      .finally(() => setBusy(false));
  };
  const save = () => attempt(() => (flag ? onChange(changed(form, flag)) : onCreate(created(form))));
  return (
    <Card title={flag ? `Edit ${flag.key}` : "New flag"}>
      {error && <ErrorBox error={error} />}
      <div class="admin-flag">
        {!flag && (
          <TextField
            label="Key, as programs ask for it"
            value={form.key}
            placeholder="flag_ot_traces"
            onChange={(key) => set({ key })}
          />
        )}
        <fieldset>
          <legend>Who is recorded</legend>
          {MODES.map(([mode, label]) => (
            <label key={mode} class="check">
              <input type="radio" name="mode" checked={form.mode === mode} onChange={() => set({ mode })} />
              {label}
            </label>
          ))}
        </fieldset>
        {form.mode === "selected" && <Selected form={form} set={set} isNew={!flag} />}
        <details>
          <summary>Which records, and what names a user</summary>
          <Records form={form} set={set} />
        </details>
        <div class="row">
          <Button kind="primary" disabled={isBusy || (!flag && form.key.trim() === "")} onClick={save}>
            Save
          </Button>
          <Button onClick={onCancel}>Cancel</Button>
          {flag && !isDoomed && (
            <Button kind="danger" onClick={() => setDoomed(true)}>
              Delete …
            </Button>
          )}
          {flag && isDoomed && (
            <>
              <span>It keeps nobody out any more, from the next request on.</span>
              <Button kind="danger" disabled={isBusy} onClick={() => attempt(onDelete)}>
                Delete {flag.key}
              </Button>
              <Button onClick={() => setDoomed(false)}>Keep it</Button>
            </>
          )}
        </div>
      </div>
    </Card>
  );
}

interface PartProps {
  form: FlagForm;
  set: (change: Partial<FlagForm>) => void;
}

function Selected({ form, set, isNew }: PartProps & { isNew: boolean }) {
  const unknown: (readonly [string, string])[] = [
    ["nobody", "are not recorded"],
    ["everybody", "are recorded"],
  ];
  if (isNew) unknown.unshift(["", "as configured"]);
  return (
    <fieldset>
      <legend>Selected users</legend>
      <AreaField
        label="Users, one in a line"
        value={form.users}
        rows={4}
        onChange={(users) => set({ users })}
      />
      <TextField
        label="Percentage of all users"
        type="number"
        value={form.percentage}
        onChange={(percentage) => set({ percentage })}
      />
      <TextField
        label="Regular expression of whole names"
        value={form.regex}
        placeholder=".*@example\.com"
        onChange={(regex) => set({ regex })}
      />
      <SelectField
        label="Records whose user is not known"
        value={form.unknown}
        options={unknown}
        onChange={(value) => set({ unknown: value })}
      />
    </fieldset>
  );
}

function Records({ form, set }: PartProps) {
  const toggle = (signal: string, isOn: boolean) =>
    set({ signals: isOn ? [...form.signals, signal] : form.signals.filter((one) => one !== signal) });
  return (
    <div class="admin-flag">
      <AreaField
        label="Attributes that name the user, one in a line"
        value={form.attributes}
        rows={2}
        onChange={(attributes) => set({ attributes })}
      />
      <div class="row">
        {SIGNALS.map((signal) => (
          <Check
            key={signal}
            label={signal}
            checked={form.signals.includes(signal)}
            onChange={(isOn) => toggle(signal, isOn)}
          />
        ))}
      </div>
      <TextField
        label="Condition of TraceQL"
        value={form.where}
        placeholder={'resource.service.name = "shop"'}
        onChange={(where) => set({ where })}
      />
      <TextField
        label="Description"
        value={form.description}
        onChange={(description) => set({ description })}
      />
      <Check
        label="Enabled: a flag that is not decides nothing"
        checked={form.enabled}
        onChange={(enabled) => set({ enabled })}
      />
    </div>
  );
}
