/** The configuration that holds, as `kymo config show` prints it: without secrets. */
import { getJson } from "../../frame/api";
import { refreshes } from "../../frame/time";
import { useAsk } from "../../frame/useask";
import { CopyButton } from "../../ui/button";
import { Card } from "../../ui/page";
import { Answer, Empty } from "../../ui/states";

export function Config() {
  const asked = useAsk(
    (signal) => getJson<{ yaml: string | null }>("/api/admin/config", {}, signal),
    [refreshes.value],
  );
  return (
    <Answer of={asked}>
      {({ yaml }) =>
        yaml === null ? (
          <Empty title="This server was not started by the command kymo serve" />
        ) : (
          <Card
            title="What holds, and where each value is from"
            actions={<CopyButton text={yaml} label="Copy the configuration" />}
          >
            <pre class="admin-text" tabIndex={0}>
              {yaml}
            </pre>
          </Card>
        )
      }
    </Answer>
  );
}
