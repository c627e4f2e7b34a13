/** Fields of the panel form: a member of the panel's JSON, as a text, a number, a choice, a switch or JSON. */
import { useEffect, useState } from "preact/hooks";
import { Editor } from "../../../ui/editor";
import { Check, SelectField, TextField } from "../../../ui/field";
import { member, withMember } from "../change";
import type { Json } from "../model";

/** What a form changes, and how. */
export interface Form {
  panel: Json;
  set: (path: readonly string[], value: unknown) => void;
}

export function formOf(panel: Json, onChange: (panel: Json) => void): Form {
  return { panel, set: (path, value) => onChange(withMember(panel, path, value)) };
}

interface Of {
  form: Form;
  path: readonly string[];
  label: string;
}

export function TextOf({ form, path, label }: Of) {
  const value = member(form.panel, path);
  return (
    <TextField
      label={label}
      value={value === undefined || value === null ? "" : String(value)}
      onChange={(text) => form.set(path, text === "" ? undefined : text)}
    />
  );
}

export function NumberOf({ form, path, label }: Of) {
  const value = member(form.panel, path);
  return (
    <TextField
      label={label}
      type="number"
      width="110px"
      value={typeof value === "number" ? String(value) : ""}
      onChange={(text) =>
        form.set(path, text === "" || Number.isNaN(Number(text)) ? undefined : Number(text))
      }
    />
  );
}

export function ChoiceOf({
  form,
  path,
  label,
  options,
  otherwise,
}: Of & { options: readonly (readonly [string, string])[]; otherwise: string }) {
  const value = member(form.panel, path);
  const current = typeof value === "string" ? value : otherwise;
  const known = options.some(([id]) => id === current) ? options : [...options, [current, current] as const];
  return (
    <SelectField label={label} value={current} options={known} onChange={(next) => form.set(path, next)} />
  );
}

export function SwitchOf({ form, path, label, otherwise = false }: Of & { otherwise?: boolean }) {
  const value = member(form.panel, path);
  return (
    <Check
      label={label}
      checked={typeof value === "boolean" ? value : otherwise}
      onChange={(next) => form.set(path, next)}
    />
  );
}

/** JSON of any kind; it is taken over as soon as it can be read. */
export function JsonField({
  label,
  value,
  onChange,
  lines = 6,
}: {
  label: string;
  value: unknown;
  onChange: (value: unknown) => void;
  lines?: number;
}) {
  const written = JSON.stringify(value, null, 2) ?? "";
  const [text, setText] = useState(written);
  const [error, setError] = useState<{ message: string } | undefined>(undefined);
  useEffect(() => {
    // Somebody else changed it: what is typed here and means the same stays as it is typed.
    if (compact(text) !== compact(written)) setText(written);
  }, [written]);
  return (
    <div class="stack">
      <span class="field-label">{label}</span>
      <Editor
        language="json"
        label={label}
        value={text}
        lines={lines}
        error={error}
        onChange={(next) => {
          setText(next);
          try {
            const read: unknown = JSON.parse(next);
            setError(undefined);
            onChange(read);
          } catch (failure) {
            setError({ message: (failure as Error).message });
          }
        }}
      />
      {error && <span class="bad">{error.message}</span>}
    </div>
  );
}

function compact(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}
