/** Starts and ends the demo of the server. */
import { useState } from "preact/hooks";
import { sendJson } from "../../frame/api";
import { Button } from "../../ui/button";
import { ErrorBox } from "../../ui/states";
import type { DemoState } from "./start";

export function DemoButton({ isRunning, primary }: { isRunning: boolean; primary?: boolean }) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const change = async () => {
    setBusy(true);
    setError(undefined);
    try {
      if (isRunning) await sendJson<DemoState>("DELETE", "/api/demo");
      else await sendJson<DemoState>("POST", "/api/demo", { history: "1h" });
    } catch (failure) {
      setError(failure as Error);
    }
    setBusy(false);
  };
  return (
    <>
      <Button
        kind={primary && !isRunning ? "primary" : "plain"}
        icon={isRunning ? "pause" : "play"}
        disabled={isBusy}
        title="Living data of a shop, CI runs, a training and a workflow, all marked kymo.demo"
        onClick={change}
      >
        {isRunning ? "Stop the demo" : "Start the demo"}
      </Button>
      {error && <ErrorBox error={error} again={change} />}
    </>
  );
}
