/**
 * Attributes as they are, each with what can be done with its value: search traces by it, leave it out,
 * group the trace by it, show it as a column, copy it. Values are text, whatever is in them.
 */
import { useState } from "preact/hooks";
import { href } from "../../frame/base";
import { link, setParams } from "../../frame/router";
import { copyText } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { fieldName, quote } from "../../ui/quote";
import { type Attribute, valueText } from "./asked";
import { chooseColumns, chosenColumns } from "./attributecolumns";
import type { Stretch } from "./leads";

/** Where an attribute belongs, as TraceQL calls it. */
export type AttributeScope = "span" | "resource" | "instrumentation" | "event" | "link";

/** A condition of TraceQL for a value; `undefined` for values that it cannot compare. */
export function condition(
  scope: AttributeScope,
  { key, type, value }: Attribute,
  operator: "=" | "!=",
): string | undefined {
  const written = literal(type, String(value));
  return written && `${fieldName(scope, key)} ${operator} ${written}`;
}

/** The least whole number, which is written as a name: its digits alone are one too many. */
const LEAST_INT = "-9223372036854775808";

/** A value as TraceQL writes it. Whole numbers that JavaScript would round come as text, and are none. */
function literal(type: string, text: string): string | undefined {
  switch (type) {
    case "string":
      return quote(text);
    case "int":
      return text === LEAST_INT ? "minInt" : text;
    case "bool":
      return text;
    case "double":
      // NaN and infinities cannot be written.
      return Number.isFinite(Number(text)) ? text : undefined;
    default:
      return undefined;
  }
}

/** What is longer is in no address. */
const FOUND_LETTERS = 500;

/** A search inside the trace for a value; `undefined` where there is none for it. */
export function findText(scope: AttributeScope, { key, value }: Attribute): string | undefined {
  const text = valueText(value);
  // Quotes hold words together and cannot be looked for; an equals sign in a key ends it.
  if (scope === "link" || text.length > FOUND_LETTERS || /"/.test(key + text) || key.includes("=")) return;
  const quoted = (part: string) => (/\s/.test(part) ? `"${part}"` : part);
  return `${quoted(`${scope}.${key}`)}=${quoted(text)}`;
}

/** What statistics of the trace are grouped by for an attribute; not for those of links. */
export function grouping(scope: AttributeScope, key: string): string | undefined {
  return scope === "link" ? undefined : `${scope}.${key}`;
}

const LONG = 240;

export function Attributes({
  list,
  scope,
  during,
  dropped = 0,
}: {
  list: readonly Attribute[];
  scope: AttributeScope;
  /** When other traces with a value are looked for. */
  during: Stretch;
  dropped?: number;
}) {
  if (list.length === 0 && dropped === 0) return <p class="muted">None</p>;
  const sorted = [...list].sort((a, b) => a.key.localeCompare(b.key));
  return (
    <>
      <dl class="values">
        {sorted.map((attribute, at) => (
          <div key={`${attribute.key}${at}`} class="value-row">
            <dt title={attribute.type}>{attribute.key}</dt>
            <dd>
              <Value attribute={attribute} />
              <ValueMenu attribute={attribute} scope={scope} during={during} />
            </dd>
          </div>
        ))}
      </dl>
      {dropped > 0 && <p class="warn">{dropped} more were dropped by the sender.</p>}
    </>
  );
}

/** A value; one that is long is cut until somebody wants all. */
function Value({ attribute: { value, type } }: { attribute: Attribute }) {
  const [isOpen, setOpen] = useState(false);
  const text = valueText(value);
  const isLong = text.length > LONG;
  const link = type === "string" && /^https?:\/\/\S+$/.test(text) ? text : undefined;
  const shown = isLong && !isOpen ? `${text.slice(0, LONG)}…` : text;
  return (
    <span class={`value value-${type}`}>
      {link ? (
        <a href={link} target="_blank" rel="noopener noreferrer">
          {shown}
        </a>
      ) : (
        shown || <span class="muted">(empty)</span>
      )}
      {isLong && (
        <button type="button" class="trace-more" onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Less" : `All ${text.length} letters`}
        </button>
      )}
    </span>
  );
}

/** Where the traces are for which a condition holds. */
export function tracesWith(condition: string, { from, to }: Stretch): string {
  return link("/traces", { q: `{ ${condition} }`, from, to });
}

function ValueMenu({
  attribute,
  scope,
  during,
}: {
  attribute: Attribute;
  scope: AttributeScope;
  during: Stretch;
}) {
  const equal = condition(scope, attribute, "=");
  const other = condition(scope, attribute, "!=");
  const find = findText(scope, attribute);
  const by = grouping(scope, attribute.key);
  const column = scope === "span" || scope === "resource" ? `${scope}.${attribute.key}` : undefined;
  return (
    <span class="value-menu">
      <Popover
        label={`What to do with ${attribute.key}`}
        kind="quiet"
        align="right"
        button={<Icon name="menu" size={12} />}
      >
        {(close) => (
          <div>
            {equal && (
              <a class="menu-item" href={href(tracesWith(equal, during))}>
                <Icon name="filter" /> Traces with this value
              </a>
            )}
            {other && (
              <a class="menu-item" href={href(tracesWith(other, during))}>
                <Icon name="minus" /> Traces with another value
              </a>
            )}
            {find && (
              <button
                type="button"
                class="menu-item"
                onClick={() => {
                  setParams({ find }, { replace: true });
                  close();
                }}
              >
                <Icon name="search" /> Find in this trace
              </button>
            )}
            {by && (
              <button
                type="button"
                class="menu-item"
                onClick={() => {
                  setParams({ view: "stats", by });
                  close();
                }}
              >
                <Icon name="metrics" /> Statistics by this
              </button>
            )}
            {column && !chosenColumns().includes(column) && (
              <button
                type="button"
                class="menu-item"
                onClick={() => {
                  chooseColumns([...chosenColumns(), column], { view: null });
                  close();
                }}
              >
                <Icon name="columns" /> Show as a column
              </button>
            )}
            <CopyItem label="Copy value" text={valueText(attribute.value)} close={close} />
            <CopyItem label="Copy key" text={attribute.key} close={close} />
          </div>
        )}
      </Popover>
    </span>
  );
}

function CopyItem({ label, text, close }: { label: string; text: string; close: () => void }) {
  return (
    <button
      type="button"
      class="menu-item"
      onClick={() => {
        void copyText(text);
        close();
      }}
    >
      <Icon name="copy" /> {label}
    </button>
  );
}
