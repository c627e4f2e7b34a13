/** The builder: conditions as rows. It and the text of the query are two views of the same. */
import { useState } from "preact/hooks";
import { Button } from "../../ui/button";
import { tagScopes, tagValues } from "../../ui/editor/tags";
import { COMPARISONS } from "../../ui/editor/traceqltokens";
import { fieldName, quote, unquote } from "../../ui/quote";
import { Suggest } from "../../ui/suggest";
import { type Built, type Condition, typedOf, write, writtenField, writtenValue } from "./query";

interface BuilderProps {
  built: Built;
  onChange: (query: string) => void;
  onRun: () => void;
}

interface Fixed {
  label: string;
  field: string;
  operator: string;
  placeholder: string;
}

/** What is asked for most, always in sight. */
const FIXED: readonly Fixed[] = [
  { label: "Service", field: "resource.service.name", operator: "=", placeholder: "any" },
  { label: "Operation", field: "name", operator: "=", placeholder: "any" },
  { label: "Status", field: "status", operator: "=", placeholder: "any" },
  { label: "Kind", field: "kind", operator: "=", placeholder: "any" },
  { label: "Longer than", field: "duration", operator: ">", placeholder: "100ms" },
  { label: "Shorter than", field: "duration", operator: "<", placeholder: "10s" },
];

function isFixed(condition: Condition): boolean {
  return FIXED.some((one) => one.field === condition.field && one.operator === condition.operator);
}

/** What holds for values of a condition: all the others. */
function others(built: Built, condition?: Condition): string {
  return write({ conditions: built.conditions.filter((one) => one !== condition), stages: "" });
}

export function Builder({ built, onChange, onRun }: BuilderProps) {
  const set = (conditions: Condition[]) => onChange(write({ ...built, conditions }));
  const setFixed = (fixed: Fixed, typed: string) => {
    const at = built.conditions.findIndex(
      (one) => one.field === fixed.field && one.operator === fixed.operator,
    );
    const rest = built.conditions.filter((_, index) => index !== at);
    if (typed.trim() === "") return set(rest);
    const made = { field: fixed.field, operator: fixed.operator, value: writtenValue(fixed.field, typed) };
    set(at < 0 ? [...rest, made] : built.conditions.map((one, index) => (index === at ? made : one)));
  };
  const free = built.conditions.filter((one, index) => {
    const first = built.conditions.findIndex(
      (other) => other.field === one.field && other.operator === one.operator,
    );
    return !isFixed(one) || first !== index;
  });
  return (
    <div class="builder">
      <div class="builder-fixed">
        {FIXED.map((fixed) => {
          const condition = built.conditions.find(
            (one) => one.field === fixed.field && one.operator === fixed.operator,
          );
          return (
            <Suggest
              key={fixed.label}
              label={fixed.label}
              value={condition ? typedOf(condition) : ""}
              placeholder={fixed.placeholder}
              suggestions={
                fixed.field === "duration"
                  ? undefined
                  : (typed) => valuesOf(fixed.field, others(built, condition), typed)
              }
              asksTyped
              onChange={(typed) => setFixed(fixed, typed)}
              onEnter={onRun}
            />
          );
        })}
        <NewCondition given={others(built)} onAdd={(made) => set([...built.conditions, made])} />
      </div>
      {free.map((condition, index) => (
        <ConditionRow
          key={index}
          condition={condition}
          given={others(built, condition)}
          onChange={(next) => set(built.conditions.map((one) => (one === condition ? next : one)))}
          onRemove={() => set(built.conditions.filter((one) => one !== condition))}
          onEnter={onRun}
        />
      ))}
    </div>
  );
}

/** Values to choose from, as people type them: a text that looks like a number keeps its quotes. */
async function valuesOf(field: string, given: string, typed: string): Promise<string[]> {
  const { values } = await tagValues(field, given, unquote(typed.trim()));
  return values.map(({ type, value }) =>
    type === "string" ? typedOf({ field, operator: "=", value: quote(value) }) : value,
  );
}

/** All fields as they are written in queries. */
export async function allFields(): Promise<string[]> {
  const { scopes } = await tagScopes();
  return scopes.flatMap(({ name, tags }) => tags.map((tag) => fieldName(name, tag)));
}

function ConditionRow(props: {
  condition: Condition;
  given: string;
  onChange: (condition: Condition) => void;
  onRemove: () => void;
  onEnter: () => void;
}) {
  const { condition, given, onChange } = props;
  return (
    <div class="builder-row">
      <Suggest
        label="Attribute"
        hideLabel
        value={condition.field}
        suggestions={allFields}
        onChange={(field) => onChange({ ...condition, field: writtenField(field) || condition.field })}
        width="240px"
      />
      <select
        aria-label={`Comparison of ${condition.field}`}
        value={condition.operator}
        onChange={(event) => {
          const operator = event.currentTarget.value;
          const value = writtenValue(condition.field, typedOf(condition), operator);
          onChange({ ...condition, operator, value });
        }}
      >
        {COMPARISONS.map((operator) => (
          <option key={operator}>{operator}</option>
        ))}
      </select>
      <Suggest
        label={`Value of ${condition.field}`}
        hideLabel
        value={typedOf(condition)}
        suggestions={(typed) => valuesOf(condition.field, given, typed)}
        asksTyped
        onChange={(typed) =>
          onChange({ ...condition, value: writtenValue(condition.field, typed, condition.operator) })
        }
        onEnter={props.onEnter}
        width="260px"
      />
      <Button kind="quiet" icon="close" label={`Remove ${condition.field}`} onClick={props.onRemove} />
    </div>
  );
}

function NewCondition({ given, onAdd }: { given: string; onAdd: (condition: Condition) => void }) {
  const [field, setField] = useState("");
  const [operator, setOperator] = useState("=");
  const [value, setValue] = useState("");
  const add = (typed: string) => {
    const name = writtenField(field);
    if (name === "" || typed.trim() === "") return;
    onAdd({ field: name, operator, value: writtenValue(name, typed, operator) });
    setField("");
    setValue("");
  };
  return (
    <div class="builder-row">
      <Suggest
        label="Another attribute"
        hideLabel
        value={field}
        placeholder="add an attribute…"
        suggestions={allFields}
        onChange={setField}
        width="190px"
      />
      {field !== "" && (
        <>
          <select
            aria-label="Comparison"
            value={operator}
            onChange={(event) => setOperator(event.currentTarget.value)}
          >
            {COMPARISONS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
          <Suggest
            label="Value"
            hideLabel
            value={value}
            suggestions={(typed) => valuesOf(field, given, typed)}
            asksTyped
            onChange={add}
            width="260px"
          />
        </>
      )}
    </div>
  );
}
