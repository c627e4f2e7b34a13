/** Fields of the panel form: a member of the panel's JSON, as a text, a number, a choice, a switch or JSON. */
import { useEffect, useState } from "preact/hooks";
import { Editor } from "../../../ui/editor";
import { Check, SelectField, TextField } from "../../../ui/field";
import { member, withMember } from "../change";
import type { Json } from "../model";
import { type Expected, readJson, type Unreadable } from "../readjson";

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
    <NumberText
      label={label}
      width="110px"
      value={typeof value === "number" ? value : undefined}
      onChange={(number) => form.set(path, number)}
    />
  );
}

/** A number that is typed. What is none yet, as a sign alone, stays as it is typed. */
export function NumberText({
  value,
  onChange,
  ...rest
}: {
  label: string;
  hideLabel?: boolean;
  width: string;
  value: number | undefined;
  onChange: (value: number | undefined) => void;
}) {
  const [typed, setTyped] = useState<{ text: string; is: number | undefined } | undefined>(undefined);
  const isTyped = typed !== undefined && typed.is === value;
  return (
    <TextField
      {...rest}
      type="number"
      value={isTyped ? typed.text : String(value ?? "")}
      onChange={(text) => {
        const number = text.trim() === "" || Number.isNaN(Number(text)) ? undefined : Number(text);
        setTyped({ text, is: number });
        onChange(number);
      }}
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
  expected = "any",
  lines = 6,
}: {
  label: string;
  value: unknown;
  onChange: (value: unknown) => void;
  /** What else is not taken over. */
  expected?: Expected;
  lines?: number;
}) {
  const written = JSON.stringify(value, null, 2) ?? "";
  const [text, setText] = useState(written);
  const [error, setError] = useState<Unreadable | undefined>(undefined);
  useEffect(() => {
    // Somebody else changed it: what is typed here and means the same stays as it is typed.
    if (compact(text) === compact(written)) return;
    setText(written);
    setError(undefined);
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
          const read = readJson(next, expected);
          setError("error" in read ? read.error : undefined);
          if ("value" in read) onChange(read.value);
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
