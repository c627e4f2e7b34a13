/** What is scraped: whether it answers, since when, how long it takes. */
import { getJson } from "../../frame/api";
import { href } from "../../frame/base";
import { pageLink } from "../../frame/router";
import { refreshes } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { ago, count, duration } from "../../ui/format";
import { Figure, PageBody } from "../../ui/page";
import { Answer, Empty } from "../../ui/states";
import { type Column, Table } from "../../ui/table";
import { LabelWords, State } from "./index";
import { momentOf, type Target } from "./rules";
import "./alerts.css";

interface Targets {
  activeTargets: readonly Target[];
  droppedTargets?: readonly unknown[];
}

export default function TargetsPage() {
  const asked = useAsk(
    async (signal) => (await getJson<{ data: Targets }>("/prometheus/api/v1/targets", {}, signal)).data,
    [refreshes.value],
  );
  return (
    <PageBody
      title="Targets"
      actions={
        <a class="button button-plain" href={href(pageLink("/alerts"))}>
          Alerts
        </a>
      }
    >
      <Answer of={asked}>
        {({ activeTargets, droppedTargets = [] }) =>
          activeTargets.length === 0 ? (
            <Empty title="Nothing is scraped">
              <p>
                A configuration file of Prometheus with <code>scrape_configs</code> names targets:{" "}
                <code>kymo serve --prometheus-config prometheus.yml</code>
              </p>
            </Empty>
          ) : (
            <div class="stack">
              <div class="figures">
                <Figure
                  label="Up"
                  value={count(activeTargets.filter(({ health }) => health === "up").length)}
                />
                <Down targets={activeTargets} />
                <Figure label="Left out by rules" value={count(droppedTargets.length)} />
              </div>
              <Table
                label="Targets"
                columns={COLUMNS}
                rows={activeTargets}
                rowKey={({ scrapePool, scrapeUrl }, at) => `${scrapePool} ${scrapeUrl} ${at}`}
                rowHeight={46}
                sorting={{ column: "health", descending: true }}
              />
            </div>
          )
        }
      </Answer>
    </PageBody>
  );
}

function Down({ targets }: { targets: readonly Target[] }) {
  const down = targets.filter(({ health }) => health === "down").length;
  return <Figure label="Down" value={count(down)} tone={down > 0 ? "bad" : undefined} />;
}

const RANKS = { up: 0, unknown: 1, down: 2 };

const COLUMNS: Column<Target>[] = [
  {
    id: "health",
    title: "State",
    width: "110px",
    render: ({ health }) => <State state={health} />,
    value: ({ health }) => RANKS[health],
  },
  {
    id: "pool",
    title: "Job",
    width: "minmax(110px, 0.5fr)",
    render: ({ scrapePool }) => scrapePool,
    value: ({ scrapePool }) => scrapePool,
  },
  {
    id: "url",
    title: "Address",
    width: "minmax(240px, 1.2fr)",
    render: ({ scrapeUrl, lastError }) => (
      <div class="two-lines">
        <code class="ellipsis">{scrapeUrl}</code>
        {lastError && (
          <span class="bad ellipsis" title={lastError}>
            {lastError}
          </span>
        )}
      </div>
    ),
    value: ({ scrapeUrl }) => scrapeUrl,
  },
  {
    id: "labels",
    title: "Labels",
    width: "minmax(180px, 1fr)",
    render: ({ labels }) => <LabelWords labels={labels} />,
  },
  {
    id: "last",
    title: "Last scrape",
    width: "110px",
    render: ({ lastScrape }) => {
      const last = momentOf(lastScrape);
      return last === undefined ? "never" : ago(last);
    },
    value: ({ lastScrape }) => momentOf(lastScrape),
  },
  {
    id: "took",
    title: "Took",
    width: "90px",
    align: "right",
    render: ({ lastScrapeDuration }) => duration(lastScrapeDuration * 1e9),
    value: ({ lastScrapeDuration }) => lastScrapeDuration,
  },
  {
    id: "every",
    title: "Every",
    width: "70px",
    align: "right",
    render: ({ scrapeInterval }) => scrapeInterval,
  },
];
