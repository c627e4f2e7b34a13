/**
 * Opening a trace from a file: dropped anywhere on the page that shows this, or chosen. The server reads it
 * (OTLP, and JSON of Jaeger, Zipkin and Chrome) and keeps it for a while, for its tenant only. Of a file with
 * several traces one is chosen.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../../frame/api";
import { href } from "../../frame/base";
import { link, navigate } from "../../frame/router";
import { Button } from "../../ui/button";
import { colorOf } from "../../ui/colors";
import { count, duration } from "../../ui/format";
import { Icon } from "../../ui/icon";
import { ErrorBox } from "../../ui/states";
import "./upload.css";

/** What the server says of an upload: the traces in it, the largest first. */
export interface Uploaded {
  traces: {
    id: string;
    traceId: string;
    name: string | null;
    service: string | null;
    spans: number;
    durationNanos: number;
  }[];
}

const tracePath = (id: string) => link(`/trace/${encodeURIComponent(id)}`);

/** Sends a file; the traces that are in it. */
export async function upload(file: File, signal?: AbortSignal): Promise<Uploaded> {
  const response = await ask("/api/trace/upload", {
    method: "POST",
    body: file,
    signal,
    headers: { "Content-Type": file.type || "application/octet-stream" },
  });
  return (await response.json()) as Uploaded;
}

/** A button that opens a file, and the whole window as a place to drop one. */
export function UploadTrace({ label = "Open a file" }: { label?: string }) {
  const [isOver, setOver] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const [several, setSeveral] = useState<Uploaded["traces"]>();
  const input = useRef<HTMLInputElement>(null);
  const sending = useRef<AbortController | undefined>(undefined);
  // Who went elsewhere meanwhile is not called back.
  useEffect(() => () => sending.current?.abort(), []);
  const open = async (file: File | undefined) => {
    if (!file) return;
    sending.current?.abort();
    const controller = new AbortController();
    sending.current = controller;
    const { signal } = controller;
    setBusy(true);
    setError(undefined);
    setSeveral(undefined);
    try {
      const { traces } = await upload(file, signal);
      if (signal.aborted) return;
      if (traces.length === 0) throw new Error(`${file.name} has no spans`);
      if (traces.length === 1) navigate(tracePath(traces[0]!.id));
      else setSeveral(traces);
    } catch (failed) {
      if (!signal.aborted) setError(failed as Error);
    } finally {
      if (!signal.aborted) setBusy(false);
    }
  };
  useDrop(setOver, open);
  return (
    <>
      <input
        ref={input}
        type="file"
        class="hidden"
        tabIndex={-1}
        aria-hidden="true"
        onChange={(event) => {
          void open(event.currentTarget.files?.[0]);
          event.currentTarget.value = "";
        }}
      />
      <Button icon="upload" disabled={isBusy} onClick={() => input.current?.click()}>
        {isBusy ? "Reading…" : label}
      </Button>
      {error && (
        <div class="upload-error">
          <ErrorBox error={error} />
          <Button kind="quiet" icon="close" label="Close" onClick={() => setError(undefined)} />
        </div>
      )}
      {several && <Several traces={several} close={() => setSeveral(undefined)} />}
      {isOver && (
        <div class="upload-drop">
          <Icon name="upload" size={32} />
          <p>Drop a trace: OTLP as JSON or protobuf, or JSON of Jaeger, Zipkin, Chrome or Perfetto</p>
        </div>
      )}
    </>
  );
}

/** The traces of a file, the largest first, to choose from. */
function Several({ traces, close }: { traces: Uploaded["traces"]; close: () => void }) {
  return (
    <section class="upload-several" aria-label="Traces of the file">
      <div class="row">
        <b class="grow">{count(traces.length)} traces are in the file</b>
        <Button kind="quiet" icon="close" label="Close" onClick={close} />
      </div>
      <ul>
        {traces.map(({ id, traceId, name, service, spans, durationNanos }) => (
          <li key={id}>
            <a class="row" href={href(tracePath(id))} title={traceId}>
              <span class="swatch" style={{ background: colorOf(service ?? "") }} />
              <span class="ellipsis grow">{[service, name].filter(Boolean).join(" · ") || traceId}</span>
              <span class="muted">
                {count(spans)} spans, {duration(durationNanos)}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Takes files that are dropped on the window. */
function useDrop(setOver: (isOver: boolean) => void, open: (file: File | undefined) => void): void {
  useEffect(() => {
    let depth = 0;
    const hasFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => {
      if (!hasFile(event)) return;
      depth += 1;
      setOver(true);
    };
    const leave = () => {
      depth = Math.max(0, depth - 1);
      if (depth === 0) setOver(false);
    };
    const over = (event: DragEvent) => {
      if (hasFile(event)) event.preventDefault();
    };
    const drop = (event: DragEvent) => {
      if (!hasFile(event)) return;
      event.preventDefault();
      depth = 0;
      setOver(false);
      open(event.dataTransfer?.files[0]);
    };
    const taken: [string, (event: DragEvent) => void][] = [
      ["dragenter", enter],
      ["dragleave", leave],
      ["dragover", over],
      ["drop", drop],
    ];
    for (const [name, take] of taken) document.addEventListener(name, take as EventListener);
    return () => {
      for (const [name, take] of taken) document.removeEventListener(name, take as EventListener);
    };
  }, []);
}
