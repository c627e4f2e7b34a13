/** Alerts that fire or wait, and the rules they come from. */
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { pageLink, param, setParams } from "../../frame/router";
import { refreshes } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { ago, count, duration } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { Figure, PageBody } from "../../ui/page";
import { Answer, Empty } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { Tabs } from "../../ui/tabs";
import { type Alert, type GroupedRule, grouped, momentOf, numberOf, type RuleGroup, rank } from "./rules";
import "./alerts.css";

interface AlertRow extends Alert {
  rule: GroupedRule;
}

export default function AlertsPage() {
  const asked = useAsk(
    async (signal) => {
      const answer = await getJson<{ data: { groups: RuleGroup[] } }>("/prometheus/api/v1/rules", {}, signal);
      return grouped(answer.data.groups);
    },
    [refreshes.value],
  );
  return (
    <PageBody
      title="Alerts"
      actions={
        <a class="button button-plain" href={href(pageLink("/targets"))}>
          Targets
        </a>
      }
    >
      <Answer of={asked}>{(rules) => (rules.length === 0 ? <NoRules /> : <Rules rules={rules} />)}</Answer>
    </PageBody>
  );
}

function NoRules() {
  return (
    <Empty title="No rules are set up">
      <p>
        A configuration file of Prometheus with <code>rule_files</code> brings alerts and recorded series:{" "}
        <code>kymo serve --prometheus-config prometheus.yml</code>
      </p>
    </Empty>
  );
}

function Rules({ rules }: { rules: readonly GroupedRule[] }) {
  const alerts = rules.flatMap((rule) => (rule.alerts ?? []).map((alert) => ({ ...alert, rule })));
  const firing = alerts.filter(({ state }) => state === "firing").length;
  const pending = alerts.filter(({ state }) => state === "pending").length;
  const broken = rules.filter(({ health }) => health === "err").length;
  const view = param("view") ?? (alerts.length > 0 ? "alerts" : "rules");
  return (
    <div class="stack">
      <div class="figures">
        <Figure label="Firing" value={count(firing)} tone={firing > 0 ? "bad" : "good"} />
        <Figure label="Pending" value={count(pending)} tone={pending > 0 ? "warn" : undefined} />
        <Figure label="Rules" value={count(rules.length)} />
        <Figure label="Rules that fail" value={count(broken)} tone={broken > 0 ? "bad" : undefined} />
      </div>
      <Tabs
        label="What is shown"
        current={view}
        tabs={[
          { id: "alerts", label: "Alerts", count: count(alerts.length) },
          { id: "rules", label: "Rules", count: count(rules.length) },
        ]}
        onChange={(id) => setParams({ view: id }, { replace: true })}
      />
      {view === "alerts" ? (
        alerts.length === 0 ? (
          <Empty title="Nothing fires" />
        ) : (
          <Table
            label="Alerts"
            columns={ALERT_COLUMNS}
            rows={alerts}
            rowKey={(_, at) => at}
            rowHeight={46}
            sorting={{ column: "state", descending: true }}
          />
        )
      ) : (
        <Table
          label="Rules"
          columns={RULE_COLUMNS}
          rows={rules}
          rowKey={({ group, name }, at) => `${group} ${name} ${at}`}
          rowHeight={46}
          sorting={{ column: "state", descending: true }}
        />
      )}
    </div>
  );
}

/** How a state is said: by an icon and a word, not by colour alone. */
export function State({ state }: { state: string }) {
  const kinds: Record<string, readonly [string, "error" | "warning" | "check" | "clock"]> = {
    firing: ["badge-bad", "error"],
    err: ["badge-bad", "error"],
    down: ["badge-bad", "error"],
    pending: ["badge-warn", "clock"],
    unknown: ["badge-warn", "clock"],
    inactive: ["badge-good", "check"],
    ok: ["badge-good", "check"],
    up: ["badge-good", "check"],
  };
  const [tone, icon] = kinds[state] ?? ["", "clock"];
  return (
    <span class={`badge ${tone}`}>
      <Icon name={icon} size={11} /> {state === "err" ? "fails" : state}
    </span>
  );
}

/** Labels as small words. */
export function LabelWords({
  labels,
  without = [],
}: {
  labels: Readonly<Record<string, string>>;
  without?: readonly string[];
}) {
  const shown = Object.entries(labels).filter(([name]) => !without.includes(name));
  const text = shown.map(([name, value]) => `${name}=${value}`).join(", ");
  return (
    <span class="muted" title={text}>
      {text}
    </span>
  );
}

function queryLink(query: string): string {
  return href(pageLink("/explore/metrics", { q: query }));
}

const ALERT_COLUMNS: Column<AlertRow>[] = [
  {
    id: "state",
    title: "State",
    width: "110px",
    render: ({ state }) => <State state={state} />,
    value: ({ state }) => (state === "firing" ? 2 : 1),
  },
  {
    id: "name",
    title: "Alert",
    width: "minmax(220px, 1fr)",
    render: ({ rule, annotations }) => (
      <div class="two-lines">
        <a class="ellipsis" href={queryLink(rule.query)}>
          {rule.name}
        </a>
        <span class="muted ellipsis" title={annotations.summary ?? annotations.description}>
          {annotations.summary ?? annotations.description ?? ""}
        </span>
      </div>
    ),
    value: ({ rule }) => rule.name,
  },
  {
    id: "labels",
    title: "Labels",
    width: "minmax(200px, 1fr)",
    render: ({ labels }) => <LabelWords labels={labels} without={["alertname"]} />,
  },
  {
    id: "since",
    title: "Since",
    width: "110px",
    render: ({ activeAt }) => {
      const since = momentOf(activeAt);
      return since === undefined ? "–" : ago(since);
    },
    value: ({ activeAt }) => momentOf(activeAt),
  },
  {
    id: "value",
    title: "Value",
    width: "110px",
    align: "right",
    render: ({ value }) => (Number.isFinite(Number(value)) ? count(Number(value)) : value),
    value: ({ value }) => numberOf(value),
  },
];

const RULE_COLUMNS: Column<GroupedRule>[] = [
  {
    id: "state",
    title: "State",
    width: "110px",
    render: (rule) => <State state={rule.health === "err" ? "err" : (rule.state ?? rule.health)} />,
    value: rank,
  },
  {
    id: "name",
    title: "Rule",
    width: "minmax(160px, 0.7fr)",
    render: ({ name, lastError }) => (
      <div class="two-lines">
        <span class="ellipsis" title={name}>
          {name}
        </span>
        {lastError && (
          <span class="bad ellipsis" title={lastError}>
            {lastError}
          </span>
        )}
      </div>
    ),
    value: ({ name }) => name,
  },
  {
    id: "group",
    title: "Group",
    width: "minmax(100px, 0.4fr)",
    render: ({ group }) => group,
    value: ({ group }) => group,
  },
  {
    id: "query",
    title: "Query",
    width: "minmax(220px, 1.4fr)",
    render: ({ query }) => (
      <a class="mono" href={queryLink(query)} title={query}>
        {query}
      </a>
    ),
  },
  {
    id: "for",
    title: "For",
    width: "80px",
    align: "right",
    render: ({ duration: seconds }) => (seconds ? duration(seconds * 1e9) : ""),
    value: ({ duration: seconds }) => seconds,
  },
  {
    id: "last",
    title: "Evaluated",
    width: "110px",
    render: ({ lastEvaluation }) => {
      const last = momentOf(lastEvaluation);
      return last === undefined ? "never" : ago(last);
    },
    value: ({ lastEvaluation }) => momentOf(lastEvaluation),
  },
  {
    id: "took",
    title: "Took",
    width: "90px",
    align: "right",
    render: ({ evaluationTime }) => (evaluationTime ? duration(evaluationTime * 1e9) : ""),
    value: ({ evaluationTime }) => evaluationTime,
  },
];
