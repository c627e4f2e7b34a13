/** Fields of forms: a text, a choice, a switch. Each has its label. */
import type { ComponentChildren } from "preact";
import { useUniqueId } from "./id";

export function TextField({
  label,
  value,
  onChange,
  placeholder,
  hideLabel,
  onEnter,
  type = "text",
  width,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  hideLabel?: boolean;
  onEnter?: () => void;
  type?: "text" | "search" | "number" | "password";
  width?: string;
}) {
  const id = useUniqueId();
  return (
    <span class="field">
      <label for={id} class={hideLabel ? "hidden" : "field-label"}>
        {label}
      </label>
      <input
        id={id}
        type={type}
        value={value}
        placeholder={placeholder}
        style={{ width }}
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Enter" && onEnter?.()}
      />
    </span>
  );
}

export function SelectField({
  label,
  value,
  options,
  onChange,
  hideLabel,
}: {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
  hideLabel?: boolean;
}) {
  const id = useUniqueId();
  return (
    <span class="field">
      <label for={id} class={hideLabel ? "hidden" : "field-label"}>
        {label}
      </label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </span>
  );
}

export function Check({
  label,
  checked,
  onChange,
}: {
  label: ComponentChildren;
  checked: boolean;
  onChange: (checked: boolean) => void;
}) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  );
}

/** A text of several lines. */
export function AreaField({
  label,
  value,
  onChange,
  rows = 3,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  rows?: number;
}) {
  const id = useUniqueId();
  return (
    <span class="field">
      <label for={id} class="field-label">
        {label}
      </label>
      <textarea
        id={id}
        rows={rows}
        cols={40}
        value={value}
        spellcheck={false}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </span>
  );
}
