/** The bar of variables: what is chosen of each, in the address as `var-name=value`. */
import { useMemo, useState } from "preact/hooks";
import { place, setParams } from "../../frame/router";
import { Button } from "../../ui/button";
import { Check, TextField } from "../../ui/field";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { Filters, written } from "./adhoc";
import { type Choice, HIDDEN, type Variable } from "./model";

/** What is chosen by the address, by variable. */
export function variablesOf(query: URLSearchParams): Record<string, string[]> {
  const found: Record<string, string[]> = {};
  for (const [name, value] of query) {
    if (name.startsWith("var-") && name.length > 4)
      found[name.slice(4)] = [...(found[name.slice(4)] ?? []), value];
  }
  return found;
}

/** Sets what is chosen of a variable; nothing leaves it to the dashboard. */
export function setVariable(name: string, values: readonly string[] | undefined): void {
  setParams({ [`var-${name}`]: values });
}

export function VariableBar({ variables }: { variables: readonly Variable[] }) {
  const shown = variables.filter(({ hide, type }) => hide !== HIDDEN && type !== "constant");
  if (shown.length === 0) return null;
  return (
    <div class="variable-bar" role="group" aria-label="Variables">
      {shown.map((variable) => (
        <div key={variable.name} class="variable" title={variable.description || undefined}>
          {variable.hide !== 1 && <span class="field-label">{variable.label || variable.name}</span>}
          <Control variable={variable} />
          {variable.error && (
            <span class="bad variable-error" role="alert" title={variable.error}>
              <Icon name="error" size={14} />
              <span class="ellipsis">{variable.error}</span>
            </span>
          )}
          {!variable.error && variable.warning && (
            <span class="warn" role="note" aria-label={variable.warning} title={variable.warning}>
              <Icon name="warning" size={14} />
            </span>
          )}
        </div>
      ))}
    </div>
  );
}

function Control({ variable }: { variable: Variable }) {
  switch (variable.type) {
    case "textbox":
      return <TextVariable variable={variable} />;
    case "adhoc":
      return <Filters variable={variable} />;
    case "switch":
      return <SwitchVariable variable={variable} />;
    default:
      return <Choices variable={variable} />;
  }
}

function TextVariable({ variable }: { variable: Variable }) {
  const current = variable.chosen[0]?.value ?? "";
  const [text, setText] = useState<string | undefined>(undefined);
  const apply = () => {
    if (text !== undefined && text !== current) setVariable(variable.name, [text]);
    setText(undefined);
  };
  return (
    <span onFocusOut={apply}>
      <TextField
        label={variable.label || variable.name}
        hideLabel
        value={text ?? current}
        onChange={setText}
        onEnter={apply}
        width="150px"
      />
    </span>
  );
}

function SwitchVariable({ variable }: { variable: Variable }) {
  const [on, off] = [variable.options[0]?.value ?? "true", variable.options[1]?.value ?? "false"];
  const isOn = variable.chosen[0]?.value === on;
  return (
    <Check
      label={<span class="hidden">{variable.label || variable.name}</span>}
      checked={isOn}
      onChange={(checked) => setVariable(variable.name, [checked ? on : off])}
    />
  );
}

/** What is on the button. */
function label(variable: Variable): string {
  if (variable.isAll) return "All";
  if (variable.chosen.length === 0) return "Nothing";
  if (variable.chosen.length <= 3) return variable.chosen.map(({ text }) => text).join(" + ");
  return `${variable.chosen.length} chosen`;
}

function Choices({ variable }: { variable: Variable }) {
  return (
    <Popover
      label={variable.label || variable.name}
      button={
        <>
          <span class="ellipsis variable-value">{label(variable)}</span>
          <Icon name="down" size={12} />
        </>
      }
    >
      {(close) => <ChoiceList variable={variable} close={close} />}
    </Popover>
  );
}

const MOST_SHOWN = 200;
const ALL = "$__all";

function ChoiceList({ variable, close }: { variable: Variable; close: () => void }) {
  const [search, setSearch] = useState("");
  const [picked, setPicked] = useState<ReadonlySet<string>>(
    () => new Set(variable.isAll ? [ALL] : variable.chosen.map(({ value }) => value)),
  );
  const found = useMemo(() => {
    const missing: Choice[] = variable.missing.map((value) => ({ text: value, value }));
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    return [...missing, ...variable.options.filter(({ value }) => value !== ALL)].filter(({ text }) =>
      words.every((word) => text.toLowerCase().includes(word)),
    );
  }, [variable, search]);
  const apply = (values: ReadonlySet<string>) => {
    close();
    setVariable(variable.name, values.size === 0 ? undefined : [...values]);
  };
  const choose = (value: string) => {
    if (!variable.multi) return apply(new Set([value]));
    const next = new Set(value === ALL ? [] : picked);
    next.delete(ALL);
    if (value === ALL) next.add(ALL);
    else if (!next.delete(value)) next.add(value);
    setPicked(next);
  };
  const isOther = search !== "" && variable.allowsOther && !found.some(({ value }) => value === search);
  const rows: Choice[] = [
    ...(variable.includeAll && search === "" ? [{ text: "All", value: ALL }] : []),
    ...found.slice(0, MOST_SHOWN),
  ];
  return (
    <div class="choices">
      <TextField
        type="search"
        label={`Search ${variable.label || variable.name}`}
        hideLabel
        placeholder="Search"
        value={search}
        onChange={setSearch}
        onEnter={() =>
          found[0] && search !== "" ? choose(found[0].value) : isOther ? choose(search) : apply(picked)
        }
      />
      <div
        class="choice-list"
        role="listbox"
        aria-multiselectable={variable.multi}
        aria-label={variable.label || variable.name}
      >
        {rows.map(({ text, value }) => (
          <button
            key={value}
            type="button"
            role="option"
            class="menu-item"
            aria-selected={picked.has(value)}
            onClick={() => choose(value)}
          >
            <span class="choice-mark">{picked.has(value) && <Icon name="check" size={13} />}</span>
            <span class="ellipsis">{text || "(empty)"}</span>
            {variable.missing.includes(value) && <span class="badge badge-warn">not in this time</span>}
          </button>
        ))}
        {isOther && (
          <button
            type="button"
            role="option"
            class="menu-item"
            aria-selected={false}
            onClick={() => choose(search)}
          >
            <Icon name="plus" size={13} /> Use “{search}”
          </button>
        )}
        {rows.length === 0 && !isOther && (
          <p class="muted">
            {variable.options.length === 0 ? "Nothing found in this time" : "Nothing like that"}
          </p>
        )}
        {found.length > MOST_SHOWN && <p class="muted">{found.length - MOST_SHOWN} more: search for them</p>}
      </div>
      {variable.multi && (
        <div class="row">
          <Button kind="primary" onClick={() => apply(picked)}>
            Apply
          </Button>
          <Button kind="quiet" onClick={() => setPicked(new Set(found.map(({ value }) => value)))}>
            Choose {search === "" ? "each" : "these"}
          </Button>
          <Button kind="quiet" onClick={() => setPicked(new Set())}>
            None
          </Button>
        </div>
      )}
    </div>
  );
}

/** Parameters that a link to another dashboard takes along: those of the address, and variables that it leaves out. */
export function carried(
  keepsTime: boolean,
  includesVariables: boolean,
  variables: readonly Variable[],
): [string, string][] {
  const query = [...place.value.query];
  const said = query.filter(
    ([name]) =>
      (keepsTime && /^(from|to|refresh)$/.test(name)) || (includesVariables && name.startsWith("var-")),
  );
  if (!includesVariables) return said;
  const others = variables.filter(({ name }) => !query.some(([one]) => one === `var-${name}`));
  return [...said, ...others.flatMap(writtenOf)];
}

/** What is chosen of a variable as the address has it; a constant is its dashboard's own. */
function writtenOf({ name, type, skipUrlSync, isAll, chosen, filters }: Variable): [string, string][] {
  if (skipUrlSync || type === "constant") return [];
  const values = type === "adhoc" ? filters.map(written) : isAll ? [ALL] : chosen.map(({ value }) => value);
  return values.map((value) => [`var-${name}`, value]);
}
