/** Thresholds and mappings of a panel. */

import { useState } from "preact/hooks";
import { color } from "../../../panels/colors";
import type { Mapping, ThresholdStep } from "../../../panels/frame";
import { Button } from "../../../ui/button";
import { SelectField, TextField } from "../../../ui/field";
import { member } from "../change";
import { type Form, NumberText } from "./fields";

const COLORS = [
  "green",
  "yellow",
  "orange",
  "red",
  "blue",
  "purple",
  "gray",
  "dark-green",
  "dark-red",
  "light-blue",
  "text",
  "transparent",
];

export function ColorChoice({
  value,
  label,
  onChange,
}: {
  value: string;
  label: string;
  onChange: (value: string) => void;
}) {
  const known = COLORS.includes(value) ? COLORS : [...COLORS, value];
  return (
    <span class="row">
      <span class="swatch" style={{ background: color(value) }} />
      <SelectField
        label={label}
        hideLabel
        value={value}
        options={known.map((one) => [one, one] as const)}
        onChange={onChange}
      />
    </span>
  );
}

const MODES = [
  ["absolute", "Values"],
  ["percentage", "Percent of the scale"],
] as const;

export function Thresholds({ form }: { form: Form }) {
  const path = ["fieldConfig", "defaults", "thresholds"];
  const given = (member(form.panel, path) ?? {}) as { mode?: string; steps?: ThresholdStep[] };
  const steps = given.steps ?? [{ value: null, color: "green" }];
  const set = (next: ThresholdStep[]) => form.set(path, { mode: given.mode ?? "absolute", steps: next });
  const change = (at: number, part: Partial<ThresholdStep>) =>
    set(steps.map((step, index) => (index === at ? { ...step, ...part } : step)));
  return (
    <fieldset class="stack form-part">
      <legend>Thresholds</legend>
      <SelectField
        label="By"
        value={given.mode ?? "absolute"}
        options={MODES}
        onChange={(mode) => form.set(path, { mode, steps })}
      />
      {steps.map((step, at) => (
        <div key={at} class="row">
          <ColorChoice
            label={`Colour ${at + 1}`}
            value={step.color}
            onChange={(value) => change(at, { color: value })}
          />
          {at === 0 ? (
            <span class="muted">from the beginning</span>
          ) : (
            <>
              <NumberText
                label={`From ${at + 1}`}
                hideLabel
                width="90px"
                value={step.value ?? undefined}
                onChange={(value) => change(at, { value: value ?? null })}
              />
              <Button
                kind="quiet"
                icon="trash"
                label={`Remove threshold ${at + 1}`}
                onClick={() => set(steps.filter((_, index) => index !== at))}
              />
            </>
          )}
        </div>
      ))}
      <Button
        icon="plus"
        onClick={() => set([...steps, { value: (steps.at(-1)?.value ?? 0) + 10, color: "red" }])}
      >
        Add threshold
      </Button>
    </fieldset>
  );
}

interface Word {
  text?: string;
  color?: string;
  index?: number;
}

/** A number that has no word yet. */
export function freeValue(entries: readonly (readonly [string, unknown])[]): string {
  const taken = new Set(entries.map(([value]) => value));
  let free = entries.length;
  while (taken.has(String(free))) free += 1;
  return String(free);
}

/** Mappings of single values; others, by range or pattern, are in the JSON and stay. */
export function Mappings({ form }: { form: Form }) {
  const path = ["fieldConfig", "defaults", "mappings"];
  const all = (member(form.panel, path) ?? []) as Mapping[];
  const at = all.findIndex(({ type }) => type === "value");
  const options = (at < 0 ? {} : all[at]!.options) as Record<string, Word>;
  const stored = Object.entries(options).sort(([, a], [, b]) => (a.index ?? 0) - (b.index ?? 0));
  // On the way to a value one may type another that there is; in the JSON, one of them would be lost.
  const [twice, setTwice] = useState<typeof stored | undefined>(undefined);
  const entries = twice ?? stored;
  const set = (next: typeof entries) => {
    const isTwice = new Set(next.map(([value]) => value)).size < next.length;
    setTwice(isTwice ? next : undefined);
    if (isTwice) return;
    const mapping = {
      type: "value",
      options: Object.fromEntries(next.map(([value, result], index) => [value, { ...result, index }])),
    };
    const others = all.filter((_, index) => index !== at);
    form.set(path, next.length > 0 ? [mapping, ...others] : others);
  };
  const change = (index: number, entry: (typeof entries)[number]) =>
    set(entries.map((one, other) => (other === index ? entry : one)));
  return (
    <fieldset class="stack form-part">
      <legend>Values as words</legend>
      {entries.map(([value, result], index) => (
        <div key={index} class="row">
          <TextField
            label="Value"
            hideLabel
            width="90px"
            value={value}
            onChange={(text) => change(index, [text, result])}
          />
          <TextField
            label="Word"
            hideLabel
            width="120px"
            value={result.text ?? ""}
            onChange={(text) => change(index, [value, { ...result, text }])}
          />
          <ColorChoice
            label="Colour"
            value={result.color ?? "text"}
            onChange={(next) => change(index, [value, { ...result, color: next }])}
          />
          <Button
            kind="quiet"
            icon="trash"
            label={`Remove ${value}`}
            onClick={() => set(entries.filter((_, other) => other !== index))}
          />
        </div>
      ))}
      {twice && <p class="bad">A value stands here twice. It is taken over when each is there once.</p>}
      {all.length > (at < 0 ? 0 : 1) && (
        <p class="muted">{all.length - (at < 0 ? 0 : 1)} more by range or pattern: see the JSON.</p>
      )}
      <Button
        icon="plus"
        onClick={() => set([...entries, [freeValue(entries), { text: "", color: "text" }]])}
      >
        Add
      </Button>
    </fieldset>
  );
}
