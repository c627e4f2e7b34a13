/** Import of dashboards: files, text, or Kubernetes ConfigMaps; what of them works is said before they are saved. */
import { useEffect, useRef, useState } from "preact/hooks";
import { href } from "../../frame/base";
import { link } from "../../frame/router";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { Card, PageBody } from "../../ui/page";
import { ErrorBox } from "../../ui/states";
import {
  type Given,
  type Imported,
  leftOf,
  type Outcome,
  type Status,
  sendAll,
  takenOf,
  triedAgain,
  type Way,
} from "./importing";
import "./dashboards.css";

/** What is being typed is looked at when its author pauses. */
const PAUSE_MILLIS = 250;

export default function Page() {
  const [given, setGiven] = useState<readonly Given[]>([]);
  const [looked, setLooked] = useState<readonly Given[]>([]);
  const [reports, setReports] = useState<readonly Imported[]>([]);
  /** What could not be read. */
  const [unread, setUnread] = useState<readonly Outcome[]>([]);
  const [readable, setReadable] = useState<readonly Given[]>([]);
  /** What became of what was to be saved. */
  const [tried, setTried] = useState<readonly Outcome[]>([]);
  const [isSaving, setSaving] = useState(false);
  const [isOver, setOver] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const look = (next: readonly Given[], pause = 0) => {
    setGiven(next);
    for (const forget of [setLooked, setReports, setUnread, setReadable, setTried]) forget([]);
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
        setUnread(outcomes.filter(({ error }) => error));
        setReadable(outcomes.filter(({ error }) => !error).map(({ of }) => of));
      },
      () => {},
    );
    return () => controller.abort();
  }, [looked]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const left = leftOf(readable, tried);
  const saved = tried.flatMap(({ found }) => found);
  const failed = [...unread, ...tried.filter(({ error }) => error)];
  const taken = tried.filter((outcome) => takenOf(outcome) > 0);
  // What was saved of a file would be in its own way.
  const others = left.filter((one) => !taken.some(({ of }) => of === one));
  const takenCount = taken.reduce((count, outcome) => count + takenOf(outcome), 0);
  const save = async (way: Way) => {
    const sent = way === "overwrite" ? taken.map(({ of }) => of) : others;
    setSaving(true);
    setTried(triedAgain(tried, await sendAll(sent, way)));
    setSaving(false);
  };
  const take = async (files: FileList | null | undefined) => {
    const all = [...(files ?? [])].map(async (file) => ({ name: file.name, text: await file.text() }));
    if (all.length > 0) look(await Promise.all(all));
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
          {others.length > 0 && (
            <Button kind="primary" disabled={isSaving} onClick={() => void save("save")}>
              {saveLabel(reports.length, saved.length)}
            </Button>
          )}
          {takenCount > 0 && (
            <Button kind="danger" disabled={isSaving} onClick={() => void save("overwrite")}>
              {takenCount > 1
                ? `Save over the ${takenCount} that are there`
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
              <a href={href(link(`/d/${encodeURIComponent(one.uid ?? "")}`))}>
                {one.report?.title ?? one.uid}
              </a>
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
