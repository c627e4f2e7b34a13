/** The map of a fleet: a square for each, as full as its figure says; the number is in its label. */
import { href } from "../../frame/base";
import { pageLink } from "../../frame/router";
import { type Gpu, gpuFaults, type Host, type Shade } from "./fleet";

/** A square whose height of filling is the figure; faults have a mark. */
function Square({
  part,
  label,
  to,
  fault,
  isWarning,
}: {
  part?: number;
  label: string;
  to: string;
  fault?: boolean;
  isWarning: boolean;
}) {
  const level = !isWarning ? "used" : (part ?? 0) > 0.9 ? "full" : (part ?? 0) > 0.6 ? "high" : "some";
  const state = part === undefined ? "none" : level;
  return (
    <a
      class={`square square-${state}${fault ? " square-fault" : ""}`}
      href={href(to)}
      title={label}
      aria-label={label}
    >
      <span class="square-fill" style={{ height: `${Math.round((part ?? 0) * 100)}%` }} />
      {fault && <span class="square-mark">!</span>}
    </a>
  );
}

/** The path of a host's page, over the time that is shown. */
export function hostPath(name: string): string {
  return pageLink(`/host/${encodeURIComponent(name)}`);
}

export function HostMap({ hosts, shade }: { hosts: readonly Host[]; shade: Shade<Host> }) {
  return (
    <div class="fleet-map">
      {hosts.map((host) => (
        <Square
          key={host.name}
          part={shade.part(host)}
          label={`${host.name}: ${shade.label} ${shade.text(host)}`}
          to={hostPath(host.name)}
          isWarning={shade.isWarning}
        />
      ))}
    </div>
  );
}

export function GpuMap({ hosts, shade }: { hosts: readonly Host[]; shade: Shade<Gpu> }) {
  return (
    <div class="fleet-groups">
      {hosts.map((host) => (
        <div key={host.name} class="fleet-group">
          <div class="fleet-map">
            {host.gpus.map((gpu) => {
              const faults = gpuFaults(gpu);
              const words = [
                `${host.name} GPU ${gpu.gpu}: ${shade.label} ${shade.text(gpu)}`,
                gpu.model,
                ...faults,
              ];
              return (
                <Square
                  key={gpu.gpu + gpu.uuid}
                  part={shade.part(gpu)}
                  label={words.filter(Boolean).join(", ")}
                  to={hostPath(host.name)}
                  fault={faults.length > 0}
                  isWarning={shade.isWarning}
                />
              );
            })}
          </div>
          <a href={href(hostPath(host.name))}>{host.name}</a>
        </div>
      ))}
    </div>
  );
}
