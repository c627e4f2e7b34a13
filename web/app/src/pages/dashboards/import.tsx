/** Import of dashboards: a file, text, or a Kubernetes ConfigMap; what of it works is said before it is saved. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, ask, question } from "../../frame/api";
import { href } from "../../frame/base";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { Card, PageBody } from "../../ui/page";
import { Empty, ErrorBox } from "../../ui/states";
import "./dashboards.css";

type Status = "full" | "partial" | "unsupported";

interface PanelReport {
  id: number;
  title: string;
  type: string;
  status: Status;
  reasons: string[];
  changes: string[];
}

interface Report {
  title: string;
  uid: string;
  counts: { full: number; partial: number; unsupported: number };
  notes: { lost: boolean; text: string }[];
  panels: PanelReport[];
  variables: { name: string; type: string; status: Status; reasons: string[] }[];
}

interface Imported {
  uid?: string;
  name?: string;
  report?: Report;
  error?: string;
}

type Way = "look" | "save" | "overwrite";

/** What is being typed is looked at when its author pauses. */
const PAUSE_MILLIS = 250;

async function send(text: string, way: Way, signal?: AbortSignal): Promise<Imported[]> {
  const params = {
    dry_run: way === "look" ? "true" : undefined,
    overwrite: way === "overwrite" ? "true" : undefined,
  };
  const response = await ask(question("/api/dashboards/import", params), {
    method: "POST",
    headers: { "Content-Type": "text/plain" },
    body: text,
    signal,
  });
  return ((await response.json()) as { dashboards: Imported[] }).dashboards;
}

export default function Page() {
  const [text, setText] = useState("");
  const [looked, setLooked] = useState<{ text: string } | undefined>(undefined);
  const [reports, setReports] = useState<Imported[] | undefined>(undefined);
  const [saved, setSaved] = useState<Imported[] | undefined>(undefined);
  const [error, setError] = useState<Error | undefined>(undefined);
  const [isOver, setOver] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const look = (next: string, pause = 0) => {
    setText(next);
    setReports(undefined);
    setSaved(undefined);
    setError(undefined);
    setLooked(undefined);
    clearTimeout(timer.current);
    if (next.trim() !== "") timer.current = setTimeout(() => setLooked({ text: next }), pause);
  };
  useEffect(() => {
    if (!looked) return;
    const controller = new AbortController();
    send(looked.text, "look", controller.signal).then(setReports, (failure: Error) => {
      if (failure.name !== "AbortError") setError(failure);
    });
    return () => controller.abort();
  }, [looked]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const save = (way: Way) => {
    setError(undefined);
    return send(text, way).then(setSaved, setError);
  };
  const isTaken = error instanceof ApiError && error.status === 409;
  const take = async (files: FileList | null | undefined) => {
    const file = files?.[0];
    if (file) look(await file.text());
  };
  return (
    <PageBody title="Import dashboards">
      <div
        class={isOver ? "drop drop-over" : "drop"}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          void take(event.dataTransfer?.files);
        }}
      >
        <label class="button">
          <Icon name="upload" /> Choose a file
          <input
            type="file"
            class="hidden"
            accept=".json,.yaml,.yml,application/json"
            onChange={(event) => void take(event.currentTarget.files)}
          />
        </label>
        <span class="muted">
          or drop it here: JSON that Grafana exported, or a ConfigMap with dashboards in it.
        </span>
        <textarea
          aria-label="Or paste it"
          rows={8}
          placeholder="Or paste it"
          value={text}
          onInput={(event) => look(event.currentTarget.value, PAUSE_MILLIS)}
        />
      </div>
      {error && <ErrorBox error={error} />}
      {saved && <Saved saved={saved} />}
      {!saved && reports && (
        <>
          <div class="row">
            <Button kind="primary" onClick={() => void save("save")}>
              {reports.length > 1 ? `Save ${reports.length} dashboards` : "Save the dashboard"}
            </Button>
            {isTaken && (
              <Button kind="danger" onClick={() => void save("overwrite")}>
                Save over the one that is there
              </Button>
            )}
            <span class="muted">What is written is kept unchanged, also what is not understood here.</span>
          </div>
          {reports.map((one, at) => (
            <ReportCard key={at} of={one} />
          ))}
        </>
      )}
    </PageBody>
  );
}

function Saved({ saved }: { saved: readonly Imported[] }) {
  if (saved.length === 0) return <Empty title="Nothing was saved" />;
  return (
    <Card title="Saved">
      <ul class="dash-links">
        {saved.map((one) => (
          <li key={one.uid ?? one.name}>
            {one.error ? (
              <span class="bad">{one.error}</span>
            ) : (
              <a href={href(`/d/${encodeURIComponent(one.uid ?? "")}`)}>{one.report?.title ?? one.uid}</a>
            )}
          </li>
        ))}
      </ul>
    </Card>
  );
}

const TONES: Record<Status, string> = { full: "badge-good", partial: "badge-warn", unsupported: "badge-bad" };
const WORDS: Record<Status, string> = {
  full: "works",
  partial: "works in part",
  unsupported: "not supported",
};

function ReportCard({ of }: { of: Imported }) {
  const report = of.report;
  if (!report) return <ErrorBox error={new Error(of.error ?? "This could not be read")} />;
  const { full, partial, unsupported } = report.counts;
  return (
    <Card title={report.title || "Without title"}>
      <p>
        <b>
          {full} of {full + partial + unsupported} panels work fully
        </b>
        {partial > 0 && `, ${partial} in part`}
        {unsupported > 0 && `, ${unsupported} not`}.
      </p>
      {report.notes.map(({ lost, text }) => (
        <p key={text} class={lost ? "warn" : "muted"}>
          {text}
        </p>
      ))}
      <table class="report">
        <thead>
          <tr>
            <th scope="col">Panel</th>
            <th scope="col">Kind</th>
            <th scope="col">State</th>
            <th scope="col">Notes</th>
          </tr>
        </thead>
        <tbody>
          {report.variables.map((one) => (
            <Row
              key={`variable ${one.name}`}
              name={`$${one.name}`}
              type={`variable, ${one.type}`}
              status={one.status}
              notes={one.reasons}
            />
          ))}
          {report.panels.map((one) => (
            <Row
              key={one.id}
              name={one.title || `Panel ${one.id}`}
              type={one.type}
              status={one.status}
              notes={[...one.reasons, ...one.changes]}
            />
          ))}
        </tbody>
      </table>
    </Card>
  );
}

function Row({
  name,
  type,
  status,
  notes,
}: {
  name: string;
  type: string;
  status: Status;
  notes: readonly string[];
}) {
  return (
    <tr>
      <td>{name}</td>
      <td class="muted">{type}</td>
      <td>
        <span class={`badge ${TONES[status]}`}>{WORDS[status]}</span>
      </td>
      <td class="muted">{notes.join("; ")}</td>
    </tr>
  );
}
