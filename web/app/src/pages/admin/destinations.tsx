/** Where records are sent, and how that goes. */
import { getJson } from "../../frame/api";
import { ago, bytes, count, duration } from "../../ui/format";
import { Card } from "../../ui/page";
import { Answer, Empty } from "../../ui/states";
import type { Destination } from "./types";
import { useEvery } from "./useevery";

/** States as the server names them, with what they mean for who looks after it. */
const TONES: Record<string, string> = {
  sending: "good",
  idle: "good",
  "waiting-to-retry": "warn",
  stopped: "bad",
};

export function Destinations() {
  const asked = useEvery(3, (signal) =>
    getJson<{ destinations: Destination[] }>("/api/destinations", {}, signal),
  );
  return (
    <Answer of={asked}>
      {({ destinations }) =>
        destinations.length === 0 ? (
          <Empty title="Records are kept here and sent nowhere else">
            <p>
              <code>destinations</code> in the configuration names collectors and other servers.
            </p>
          </Empty>
        ) : (
          <div class="cards">
            {destinations.map((one) => (
              <Shown key={one.name} destination={one} />
            ))}
          </div>
        )
      }
    </Answer>
  );
}

function Shown({ destination }: { destination: Destination }) {
  const { name, target, protocol, state, lag_bytes, oldest_age_millis, last_error, retries } = destination;
  return (
    <Card
      title={name}
      actions={<span class={`badge badge-${TONES[state] ?? ""}`}>{state.replaceAll("-", " ")}</span>}
    >
      <p>
        <code>{target}</code>{" "}
        <span class="muted">
          {protocol}, so for {duration((Date.now() - destination.since_unix_millis) * 1e6)}
        </span>
      </p>
      <p>
        {lag_bytes === 0 ? "Nothing waits" : `${bytes(lag_bytes)} wait`}
        {oldest_age_millis !== null &&
          lag_bytes > 0 &&
          `, the oldest for ${duration(oldest_age_millis * 1e6)}`}
        {retries > 0 && `; ${count(retries)} requests were sent again`}.
      </p>
      {last_error && (
        <p class="bad">
          {last_error.message} <span class="muted">{ago(last_error.at_unix_millis)}</span>
        </p>
      )}
      <table class="admin-table">
        <thead>
          <tr>
            <th scope="col">Signal</th>
            <th scope="col">Sent</th>
            <th scope="col">Bytes</th>
            <th scope="col">Refused there</th>
            <th scope="col">Lost</th>
          </tr>
        </thead>
        <tbody>
          {destination.signals.map((signal) => (
            <tr key={signal.signal}>
              <td>{signal.signal}</td>
              <td>{count(signal.sent_records)}</td>
              <td>{bytes(signal.sent_bytes)}</td>
              <td class={signal.refused_records + signal.rejected > 0 ? "bad" : ""}>
                {count(signal.refused_records + signal.rejected)}
              </td>
              <td class={signal.lost_records > 0 ? "bad" : ""}>{count(signal.lost_records)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  );
}
