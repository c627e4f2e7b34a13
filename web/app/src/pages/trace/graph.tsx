/** Services of a trace and the calls between them, as a picture. A click shows only that service's spans. */
import { useMemo } from "preact/hooks";
import { colorOf } from "../../ui/colors";
import { count, duration } from "../../ui/format";
import { Empty } from "../../ui/states";
import { type GraphNode, serviceGraph } from "./servicegraph";
import type { TraceState } from "./state";
import { setView } from "./views";

type Service = TraceState["trace"]["value"]["header"]["services"][number];

const NODE = { width: 190, height: 52 };
const GAP = { across: 120, down: 18 };
/** Past this a picture tells nothing any more. */
const MOST_SERVICES = 200;

const left = ({ layer }: GraphNode) => 16 + layer * (NODE.width + GAP.across);
const top = ({ place }: GraphNode) => 16 + place * (NODE.height + GAP.down);

export function GraphView({ state }: { state: TraceState }) {
  const trace = state.trace.value;
  const graph = useMemo(() => serviceGraph(trace), [trace]);
  const { services } = trace.header;
  if (services.length > MOST_SERVICES) {
    return <Empty title={`${services.length} services are too many for a picture; statistics lists them`} />;
  }
  const width = 32 + graph.layers * (NODE.width + GAP.across);
  const height = Math.max(...graph.nodes.map((node) => top(node) + NODE.height)) + 16;
  const most = Math.max(1, ...graph.edges.map(({ calls }) => calls));
  const longest = Math.max(1, ...services.map(({ selfNanos }) => selfNanos));
  return (
    <div class="graph view-scroll" tabIndex={0} role="group" aria-label="Services and calls">
      <svg
        width={width}
        height={height}
        role="group"
        aria-label={`${services.length} services, ${graph.edges.length} kinds of calls`}
      >
        <defs>
          <marker
            id="arrow"
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="9"
            markerHeight="9"
            markerUnits="userSpaceOnUse"
            orient="auto"
          >
            <path d="M0 0 8 4 0 8z" class="graph-arrow" />
          </marker>
        </defs>
        {graph.edges.map(({ from, to, calls, errors, nanos }) => {
          const [a, b] = [graph.nodes[from]!, graph.nodes[to]!];
          const isBack = b.layer <= a.layer;
          const middle = placeOfLabel(a, b);
          return (
            <g
              key={`${from}-${to}`}
              class={`graph-edge${errors > 0 ? " graph-edge-bad" : ""}${isBack ? " graph-back" : ""}`}
            >
              <title>
                {`${services[from]!.name} → ${services[to]!.name}: ${calls} calls, ${errors} errors, ${duration(nanos)}`}
              </title>
              <path d={edgePath(a, b)} marker-end="url(#arrow)" stroke-width={1 + (3 * calls) / most} />
              {!isBack && (
                <text x={middle.x} y={middle.y} text-anchor="middle">
                  {count(calls)}
                  {errors > 0 ? ` ✖ ${count(errors)}` : ""}
                </text>
              )}
            </g>
          );
        })}
        {graph.nodes.map((node) => {
          const service = services[node.service]!;
          const open = () => {
            setView("timeline");
            state.filter({ service: [service.name] });
          };
          return (
            <g
              key={node.service}
              class="graph-node"
              transform={`translate(${left(node)} ${top(node)})`}
              // Attributes of SVG are written as they are: `tabIndex` would be none.
              tabindex={0}
              role="button"
              onClick={open}
              onKeyDown={(event) => {
                if (event.key !== "Enter" && event.key !== " ") return;
                event.preventDefault();
                open();
              }}
            >
              <rect width={NODE.width} height={NODE.height} rx="6" />
              <rect width="5" height={NODE.height} rx="2" fill={colorOf(service.name)} stroke="none" />
              <text x="14" y="20" class="graph-name">
                {short(service.name || "(no service)")}
              </text>
              <text x="14" y="38">
                {said(service)}
              </text>
              <rect
                y={NODE.height - 4}
                width={(NODE.width * service.selfNanos) / longest}
                height="4"
                fill={colorOf(service.name)}
                stroke="none"
              />
            </g>
          );
        })}
      </svg>
    </div>
  );
}

/** Forwards from the right side to the left one; within a layer around its right side; back from left to right. */
function edgePath(a: GraphNode, b: GraphNode): string {
  const [ay, by] = [top(a) + NODE.height / 2, top(b) + NODE.height / 2];
  const bend = GAP.across / 2;
  if (b.layer > a.layer) {
    const [x1, x2] = [left(a) + NODE.width, left(b)];
    return `M${x1} ${ay} C${x1 + bend} ${ay} ${x2 - bend} ${by} ${x2} ${by}`;
  }
  if (b.layer === a.layer) {
    const x = left(a) + NODE.width;
    const out = x + Math.min(bend, 16 + 6 * Math.abs(a.place - b.place));
    return `M${x} ${ay + 8} C${out} ${ay + 8} ${out} ${by - 8} ${x} ${by - 8}`;
  }
  const [x1, x2] = [left(a), left(b) + NODE.width];
  return `M${x1} ${ay + 12} C${x1 - bend} ${ay + 12} ${x2 + bend} ${by + 12} ${x2} ${by + 12}`;
}

/** Near where the call arrives, where lines are apart. */
function placeOfLabel(a: GraphNode, b: GraphNode): { x: number; y: number } {
  const [ay, by] = [top(a) + NODE.height / 2, top(b) + NODE.height / 2];
  return { x: left(b) - 26, y: by + (ay > by ? 16 : -7) };
}

/** What is written below the name of a service. */
function said({ spans, selfNanos, errors }: Service): string {
  const failed = errors > 0 ? ` · ✖ ${count(errors)}` : "";
  return `${count(spans)} spans · self ${duration(selfNanos)}${failed}`;
}

function short(name: string): string {
  return name.length > 26 ? `${name.slice(0, 25)}…` : name;
}
