/** A button that puts what is explored into a dashboard: one that is saved here, or a new one. */
import { useState } from "preact/hooks";
import { href } from "../../frame/base";
import { pageLink } from "../../frame/router";
import { useAsk } from "../../frame/useask";
import { Button } from "../../ui/button";
import { SelectField, TextField } from "../../ui/field";
import { Icon } from "../../ui/icon";
import { Popover } from "../../ui/popover";
import { Answer, ErrorBox } from "../../ui/states";
import { type Json, type Listed, listDashboards } from "../dashboards/model";
import { keepPanel } from "./aspanel";

export function ToDashboard({ panel }: { panel: () => Json }) {
  return (
    <Popover
      label="Add to a dashboard"
      align="right"
      button={
        <>
          <Icon name="plus" /> Dashboard
        </>
      }
    >
      {() => <Choose panel={panel} />}
    </Popover>
  );
}

function Choose({ panel }: { panel: () => Json }) {
  const asked = useAsk((signal) => listDashboards(signal), []);
  return (
    <Answer of={asked} lines={3}>
      {(all) => <Form panel={panel} own={all.filter(({ kind, error }) => kind === "own" && !error)} />}
    </Answer>
  );
}

/** What the list says for a new dashboard; no dashboard has it as its uid. */
const NEW = "";

function Form({ panel, own }: { panel: () => Json; own: readonly Listed[] }) {
  const [uid, setUid] = useState(NEW);
  const [dashboard, setDashboard] = useState("New dashboard");
  const [title, setTitle] = useState(() => String(panel().title ?? ""));
  const [error, setError] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const [added, setAdded] = useState<string>();
  const isReady = !isBusy && (uid !== NEW || dashboard.trim() !== "");
  const add = async () => {
    if (!isReady) return;
    setBusy(true);
    setError(undefined);
    try {
      const where = uid === NEW ? { title: dashboard.trim() } : { uid };
      setAdded((await keepPanel({ ...panel(), title }, where)).uid);
    } catch (failure) {
      setError(failure as Error);
    } finally {
      setBusy(false);
    }
  };
  if (added !== undefined) {
    return (
      <div class="stack" role="status">
        <p>The panel is at the top of the dashboard.</p>
        <a class="button" href={href(pageLink(`/d/${encodeURIComponent(added)}`))}>
          <Icon name="dashboards" /> Open it
        </a>
      </div>
    );
  }
  return (
    <div class="stack form">
      <SelectField
        label="Dashboard"
        value={uid}
        options={[[NEW, "A new one"], ...own.map((one) => [one.uid, one.title] as const)]}
        onChange={setUid}
      />
      {uid === NEW && <TextField label="Its title" value={dashboard} onChange={setDashboard} />}
      <TextField label="Title of the panel" value={title} onChange={setTitle} onEnter={() => void add()} />
      {error && <ErrorBox error={error} />}
      <div class="row">
        <Button kind="primary" disabled={!isReady} onClick={() => void add()}>
          Add
        </Button>
      </div>
    </div>
  );
}
