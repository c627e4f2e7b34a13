/** Import of dashboards: files, text, or Kubernetes ConfigMaps; what of them works is said before they are saved. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, ask, question } from "../../frame/api";
import { href } from "../../frame/base";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { Card, PageBody } from "../../ui/page";
import { ErrorBox } from "../../ui/states";
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

/** A file, or what was pasted, which has no name. */
interface Given {
  name: string;
  text: string;
}

/** What became of it: the dashboards that are in it, or why there are none. */
interface Outcome {
  of: Given;
  found: Imported[];
  error?: Error;
}

/** Sends one after the other; what goes wrong with one keeps the others from nothing. */
async function sendAll(all: readonly Given[], way: Way, signal?: AbortSignal): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const of of all) {
    try {
      outcomes.push({ of, found: await send(of.text, way, signal) });
    } catch (failure) {
      const error = failure as Error;
      if (error.name === "AbortError") throw error;
      outcomes.push({ of, found: [], error });
    }
  }
  return outcomes;
}

function isTaken({ error }: Outcome): boolean {
  return error instanceof ApiError && error.status === 409;
}

export default function Page() {
  const [given, setGiven] = useState<readonly Given[]>([]);
  const [looked, setLooked] = useState<readonly Given[]>([]);
  const [reports, setReports] = useState<readonly Imported[]>([]);
  const [saved, setSaved] = useState<readonly Imported[]>([]);
  /** What could not be read or saved. */
  const [failed, setFailed] = useState<readonly Outcome[]>([]);
  /** What can still be saved. */
  const [left, setLeft] = useState<readonly Given[]>([]);
  const [isOver, setOver] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const look = (next: readonly Given[], pause = 0) => {
    setGiven(next);
    for (const forget of [setLooked, setReports, setSaved, setFailed, setLeft]) forget([]);
    clearTimeout(timer.current);
    const written = next.filter(({ text }) => text.trim() !== "");
    if (written.length > 0) timer.current = setTimeout(() => setLooked(written), pause);
  };
  useEffect(() => {
    if (looked.length === 0) return;
    const controller = new AbortController();
    sendAll(looked, "look", controller.signal).then(
      (outcomes) => {
        setReports(outcomes.flatMap(({ found }) => found));
        setFailed(outcomes.filter(({ error }) => error));
        setLeft(outcomes.filter(({ error }) => !error).map(({ of }) => of));
      },
      () => {},
    );
    return () => controller.abort();
  }, [looked]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const save = async (way: Way) => {
    const outcomes = await sendAll(left, way);
    const others = failed.filter(({ of }) => !left.includes(of));
    setSaved([...saved, ...outcomes.flatMap(({ found }) => found)]);
    setFailed([...others, ...outcomes.filter(({ error }) => error)]);
    setLeft(outcomes.filter(({ error }) => error).map(({ of }) => of));
  };
  const take = async (files: FileList | null | undefined) => {
    const all = [...(files ?? [])].map(async (file) => ({ name: file.name, text: await file.text() }));
    if (all.length > 0) look(await Promise.all(all));
  };
  const taken = failed.filter(isTaken);
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
          <Icon name="upload" /> Choose files
          <input
            type="file"
            multiple
            class="hidden"
            accept=".json,.yaml,.yml,application/json"
            onChange={(event) => void take(event.currentTarget.files)}
          />
        </label>
        <span class="muted">
          or drop them here: JSON that Grafana exported, or ConfigMaps with dashboards in them.
        </span>
        <textarea
          aria-label="Or paste it"
          rows={8}
          placeholder="Or paste it"
          value={given.length === 1 ? given[0]!.text : ""}
          onInput={(event) => look([{ name: "", text: event.currentTarget.value }], PAUSE_MILLIS)}
        />
        {given.length > 1 && (
          <span>
            {given.length} files: {given.map(({ name }) => name).join(", ")}
          </span>
        )}
      </div>
      {failed.map(({ of, error }, at) => (
        <ErrorBox key={at} error={given.length > 1 ? new Error(`${of.name}: ${error!.message}`) : error!} />
      ))}
      {saved.length > 0 && <Saved saved={saved} />}
      {left.length > 0 && (
        <div class="row">
          <Button kind="primary" onClick={() => void save("save")}>
            {saveLabel(reports.length, saved.length)}
          </Button>
          {taken.length > 0 && (
            <Button kind="danger" onClick={() => void save("overwrite")}>
              {taken.length > 1
                ? `Save over the ${taken.length} that are there`
                : "Save over the one that is there"}
            </Button>
          )}
          <span class="muted">What is written is kept unchanged, also what is not understood here.</span>
        </div>
      )}
      {saved.length === 0 && reports.map((one, at) => <ReportCard key={at} of={one} />)}
    </PageBody>
  );
}

function saveLabel(count: number, savedCount: number): string {
  if (savedCount > 0) return "Save the others";
  return count > 1 ? `Save ${count} dashboards` : "Save the dashboard";
}

function Saved({ saved }: { saved: readonly Imported[] }) {
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
