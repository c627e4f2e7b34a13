/**
 * Metrics that there are: found by name, help or type; a click asks what is usually asked of one. What is
 * looked for is in the address: `find` and `type`.
 */
import { useMemo } from "preact/hooks";
import { href } from "../../frame/base";
import { useLateParam } from "../../frame/lateparam";
import { link, param, setParams } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { Chunks } from "../../ui/chunks";
import { count } from "../../ui/format";
import { Answer, Empty } from "../../ui/states";
import { askMetrics, type MetricInfo } from "./ask";
import { guessedType, heatQuery, usualQuery } from "./promql";

interface FinderProps {
  onPick: (query: string, isHeat: boolean) => void;
}

const TYPES = ["counter", "gauge", "histogram", "summary"] as const;

export function Finder({ onPick }: FinderProps) {
  // Who finds by a word has opened this, and takes the word away again to find another.
  const [wanted, setWanted] = useLateParam("find", { finder: "1" });
  const type = TYPES.find((one) => one === param("type"));
  const asked = useAsk((signal) => askMetrics(signal), []);
  return (
    <aside class="facets finder" aria-label="Metrics">
      <input
        type="search"
        aria-label="Find a metric"
        placeholder="find a metric by name or help"
        value={wanted}
        onInput={(event) => setWanted(event.currentTarget.value)}
      />
      <div class="row finder-types">
        {TYPES.map((one) => (
          <Button
            key={one}
            kind="quiet"
            pressed={type === one}
            onClick={() =>
              setParams({ type: type === one ? undefined : one, finder: "1" }, { replace: true })
            }
          >
            {one}
          </Button>
        ))}
      </div>
      <Answer of={asked} lines={12}>
        {(metrics) => <Found metrics={metrics} wanted={wanted} type={type} onPick={onPick} />}
      </Answer>
    </aside>
  );
}

function Found({
  metrics,
  wanted,
  type,
  onPick,
}: FinderProps & { metrics: readonly MetricInfo[]; wanted: string; type?: string }) {
  const words = wanted
    .toLowerCase()
    .split(/[\s_]+/)
    .filter(Boolean);
  const found = useMemo(
    () =>
      metrics.filter((metric) => {
        const text = `${metric.name} ${metric.help}`.toLowerCase();
        return (type === undefined || metric.type === type) && words.every((word) => text.includes(word));
      }),
    [metrics, wanted, type],
  );
  if (metrics.length === 0)
    return (
      <Empty title="No metrics are stored yet">
        <a href={href(link("/", { send: true }))}>How to send data</a>
      </Empty>
    );
  if (found.length === 0) return <Empty title="No metric is called so" />;
  return (
    <>
      <p class="muted" role="status">
        {count(found.length)} metrics
      </p>
      <div class="finder-list" role="list" aria-label="Metrics">
        <Chunks items={found} itemKey={({ name }) => name} guess={48}>
          {(metric) => <MetricRow metric={metric} onPick={onPick} />}
        </Chunks>
      </div>
    </>
  );
}

function MetricRow({ metric, onPick }: FinderProps & { metric: MetricInfo }) {
  const { name, help, unit, series, hasBuckets } = metric;
  const type = metric.type === "unknown" ? guessedType(name) : metric.type;
  const isHistogram = type === "histogram" || type === "gaugehistogram";
  return (
    <div class="metric">
      <button
        type="button"
        class="metric-name"
        title={help || name}
        onClick={() => onPick(usualQuery(name, type, hasBuckets), false)}
      >
        <span class="ellipsis mono">{name}</span>
        <span class="metric-facts muted">
          <span class="badge">{metric.type}</span>
          {unit && unit !== "1" && <span>{unit}</span>}
          {series !== undefined && <span>{count(series)} series</span>}
          <span class="ellipsis">{help}</span>
        </span>
      </button>
      {isHistogram && (
        <Button
          kind="quiet"
          title={`A heat map of ${name}`}
          onClick={() => onPick(heatQuery(name, hasBuckets), true)}
        >
          heat map
        </Button>
      )}
    </div>
  );
}
