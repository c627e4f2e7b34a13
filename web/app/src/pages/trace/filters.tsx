/** Which spans are shown: errors, the critical path, matches, some services, one subtree. */
import { param, paramAll, setParams } from "../../frame/router";
import { Button } from "../../ui/button";
import { colorOf } from "../../ui/colors";
import { Check } from "../../ui/field";
import { count } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { nameOf } from "./columns";
import type { TraceState } from "./state";

const ONLY: readonly (readonly [string, string])[] = [
  ["errors", "Errors"],
  ["critical", "The critical path"],
  ["matches", "What was found"],
];

export function Filters({ state }: { state: TraceState }) {
  const only = param("only");
  const services = paramAll("service");
  const root = param("root");
  const parts = (only ? 1 : 0) + services.length;
  const rows = state.rows.value;
  state.changes.value;
  return (
    <div class="filters">
      <Button
        icon="flag"
        pressed={state.showsCritical.value}
        title="Critical path (c)"
        onClick={() => setParams({ critical: state.showsCritical.value ? "0" : null }, { replace: true })}
      >
        Critical path
      </Button>
      <Popover
        label="Filter spans"
        align="right"
        button={
          <>
            <Icon name="filter" /> Filter{parts > 0 && <span class="badge badge-accent">{parts}</span>}
          </>
        }
      >
        {() => <FilterChoice state={state} only={only} services={services} />}
      </Popover>
      {root !== undefined && rows.isolated >= 0 && (
        <Button icon="close" title="Show all (x)" onClick={() => state.filter({ root: null })}>
          <span class="ellipsis filter-root">Below {nameOf(state.trace.value, rows.isolated)}</span>
        </Button>
      )}
      {(rows.isFiltered || rows.isolated >= 0) && (
        <span class="muted" role="status">
          {count(rows.count)} of {count(state.trace.value.spans)}
        </span>
      )}
    </div>
  );
}

function FilterChoice({
  state,
  only,
  services,
}: {
  state: TraceState;
  only: string | undefined;
  services: readonly string[];
}) {
  const { header } = state.trace.value;
  return (
    <div class="stack filter-choice">
      <h3>Only</h3>
      {ONLY.map(([value, label]) => (
        <Check
          key={value}
          label={label}
          checked={only === value}
          onChange={(isChosen) => state.filter({ only: isChosen ? value : null })}
        />
      ))}
      <h3>Services</h3>
      {header.services.map(({ name, spans, errors }) => (
        <Check
          key={name}
          checked={services.includes(name)}
          onChange={(isChosen) =>
            state.filter({
              service: isChosen ? [...services, name] : services.filter((one) => one !== name),
            })
          }
          label={
            <span class="row filter-service">
              <span class="swatch" style={{ background: colorOf(name) }} />
              <span class="ellipsis">{name || "(no service)"}</span>
              <span class="muted">
                {count(spans)}
                {errors > 0 && <span class="bad"> ✖ {count(errors)}</span>}
              </span>
            </span>
          }
        />
      ))}
      {(only || services.length > 0) && (
        <Button onClick={() => state.filter({ only: null, service: null })}>Show all</Button>
      )}
    </div>
  );
}
