/** Settings of a dashboard: what it is called, which time it begins with, its variables, its links. */
import { useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { SelectField, TextField } from "../../ui/field";
import { Tabs } from "../../ui/tabs";
import { member, withMember } from "./change";
import { Dialog } from "./dialog";
import { JsonField } from "./edit/fields";
import type { Json } from "./model";
import { VariablesForm } from "./variablesform";

interface SettingsDialogProps {
  dashboard: Json;
  onChange: (dashboard: Json) => void;
  close: () => void;
}

const TABS = [
  { id: "general", label: "General" },
  { id: "variables", label: "Variables" },
  { id: "links", label: "Links and annotations" },
] as const;

export function SettingsDialog({ dashboard, onChange, close }: SettingsDialogProps) {
  const [draft, setDraft] = useState(dashboard);
  const [tab, setTab] = useState<string>("general");
  const set = (path: readonly string[], value: unknown) => setDraft(withMember(draft, path, value));
  return (
    <Dialog title="Settings of the dashboard" close={close} isWide isChanged={draft !== dashboard}>
      <div class="stack">
        <Tabs label="Settings" tabs={TABS} current={tab} onChange={setTab} />
        {tab === "general" && <General draft={draft} set={set} />}
        {tab === "variables" && (
          <VariablesForm
            list={(member(draft, ["templating", "list"]) as Json[] | undefined) ?? []}
            onChange={(list) => set(["templating", "list"], list)}
          />
        )}
        {tab === "links" && (
          <>
            <JsonField
              label="Links"
              expected="list"
              value={draft.links ?? []}
              onChange={(value) => set(["links"], value)}
            />
            <JsonField
              label="Annotations"
              expected="list"
              value={member(draft, ["annotations", "list"]) ?? []}
              onChange={(value) => set(["annotations", "list"], value)}
            />
          </>
        )}
        <div class="row">
          <Button
            kind="primary"
            onClick={() => {
              onChange(draft);
              close();
            }}
          >
            Apply
          </Button>
          <Button onClick={close}>Cancel</Button>
        </div>
      </div>
    </Dialog>
  );
}

const CURSORS = [
  ["0", "Each panel its own"],
  ["1", "Shared cursor"],
  ["2", "Shared cursor and values"],
] as const;

function General({ draft, set }: { draft: Json; set: (path: readonly string[], value: unknown) => void }) {
  const text = (path: readonly string[]) => String(member(draft, path) ?? "");
  return (
    <div class="form stack">
      <TextField label="Title" value={text(["title"])} onChange={(value) => set(["title"], value)} />
      <TextField
        label="Description"
        value={text(["description"])}
        onChange={(value) => set(["description"], value)}
      />
      <TagsField tags={draft.tags} onChange={(tags) => set(["tags"], tags)} />
      <TextField
        label="From"
        value={text(["time", "from"])}
        onChange={(value) => set(["time", "from"], value)}
      />
      <TextField label="To" value={text(["time", "to"])} onChange={(value) => set(["time", "to"], value)} />
      <TextField
        label="Refresh, as 30s; empty for never"
        value={text(["refresh"])}
        onChange={(value) => set(["refresh"], value)}
      />
      <TextField
        label="Time zone: browser, utc, or one such as Europe/Berlin"
        value={text(["timezone"])}
        onChange={(value) => set(["timezone"], value.trim())}
      />
      <SelectField
        label="Cursor"
        value={text(["graphTooltip"]) || "0"}
        options={CURSORS}
        onChange={(value) => set(["graphTooltip"], Number(value))}
      />
    </div>
  );
}

/** Keeps what is typed: the list has neither the comma nor the space that a next tag begins with. */
function TagsField({ tags, onChange }: { tags: unknown; onChange: (tags: string[]) => void }) {
  const [text, setText] = useState(() => (Array.isArray(tags) ? tags.join(", ") : ""));
  const type = (typed: string) => {
    setText(typed);
    onChange(
      typed
        .split(",")
        .map((tag) => tag.trim())
        .filter(Boolean),
    );
  };
  return <TextField label="Tags, with commas" value={text} onChange={type} />;
}
