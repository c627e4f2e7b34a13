/** What is done with a row while a dashboard is edited: its title, its repetition, a panel more, and its end. */
import { useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { Check, SelectField, TextField } from "../../ui/field";
import { findPanel, member } from "./change";
import { Dialog } from "./dialog";
import type { Json, Section } from "./model";
import { changeRow, headingOf, panelsBelow, removeRow } from "./rows";

/** How rows are edited. */
export interface RowEditing {
  dashboard: Json;
  onChange: (dashboard: Json) => void;
  /** A panel more is wanted below the row. */
  onAdd: (rowId: number) => void;
}

/** The row of the document that a heading is a copy of. */
function writtenRow(editing: RowEditing, key: string): Json | undefined {
  return findPanel(editing.dashboard, Number.parseInt(key, 10));
}

/** Buttons beside a heading. */
export function RowTools({ row, editing }: { row: NonNullable<Section["row"]>; editing: RowEditing }) {
  const [isOpen, setOpen] = useState(false);
  const written = writtenRow(editing, row.key);
  if (!written) return null;
  const name = row.title || "the row";
  return (
    <>
      <Button
        kind="quiet"
        icon="plus"
        label={`New panel in ${name}`}
        onClick={() => editing.onAdd(written.id as number)}
      />
      <Button kind="quiet" icon="edit" label={`Settings of ${name}`} onClick={() => setOpen(true)} />
      {isOpen && <RowForm row={written} editing={editing} close={() => setOpen(false)} />}
    </>
  );
}

function RowForm({ row, editing, close }: { row: Json; editing: RowEditing; close: () => void }) {
  const { dashboard, onChange } = editing;
  const [before] = useState(() => headingOf(row));
  const [heading, setHeading] = useState(before);
  const id = row.id as number;
  const count = panelsBelow(dashboard, id).length;
  const finish = (next: Json) => {
    onChange(next);
    close();
  };
  const apply = () => finish(changeRow(dashboard, id, heading));
  return (
    <Dialog title="Row" close={close} isChanged={heading !== before}>
      <div class="stack form">
        <TextField
          label="Title"
          value={heading.title}
          onChange={(title) => setHeading({ ...heading, title })}
          onEnter={apply}
        />
        <SelectField
          label="Repeat for each value of"
          value={heading.repeat}
          options={repeatOptions(dashboard, heading.repeat)}
          onChange={(repeat) => setHeading({ ...heading, repeat })}
        />
        <Check
          label="Closed when the dashboard is opened"
          checked={heading.isClosed}
          onChange={(isClosed) => setHeading({ ...heading, isClosed })}
        />
        <div class="row">
          <Button kind="primary" onClick={apply}>
            Apply
          </Button>
          <span class="grow" />
          <Button kind="danger" onClick={() => finish(removeRow(dashboard, id, false))}>
            Remove the heading
          </Button>
          {count > 0 && (
            <Button kind="danger" onClick={() => finish(removeRow(dashboard, id, true))}>
              {count === 1 ? "Remove with its panel" : `Remove with its ${count} panels`}
            </Button>
          )}
        </div>
      </div>
    </Dialog>
  );
}

/** Variables that have values to repeat by, and the one that is written, whatever it is. */
export function repeatOptions(dashboard: Json, current: string): (readonly [string, string])[] {
  const list = member(dashboard, ["templating", "list"]);
  const names = (Array.isArray(list) ? (list as Json[]) : [])
    .filter(({ type }) => type !== "adhoc" && type !== "constant")
    .map(({ name }) => String(name ?? ""))
    .filter(Boolean);
  const all = current === "" || names.includes(current) ? names : [...names, current];
  return [["", "Nothing"], ...all.map((name) => [name, `$${name}`] as const)];
}
