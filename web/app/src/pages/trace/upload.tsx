/**
 * Opening a trace from a file: dropped anywhere on the page that shows this, or chosen. The server reads it
 * (OTLP as JSON or protobuf, Jaeger's JSON) and keeps it for a while, for this page only.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../../frame/api";
import { link, navigate } from "../../frame/router";
import { Button } from "../../ui/button";
import { Icon } from "../../ui/icon";
import { ErrorBox } from "../../ui/states";
import "./upload.css";

/** What the server says of an upload: the traces in it, the largest first. */
export interface Uploaded {
  traces: { id: string; traceId?: string; name?: string; spans?: number }[];
}

/** Sends a file; the traces that are in it. */
export async function upload(file: File): Promise<Uploaded> {
  const response = await ask("/api/trace/upload", {
    method: "POST",
    body: file,
    headers: { "Content-Type": file.type || "application/octet-stream" },
  });
  return (await response.json()) as Uploaded;
}

/** A button that opens a file, and the whole window as a place to drop one. */
export function UploadTrace({ label = "Open a file" }: { label?: string }) {
  const [isOver, setOver] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const input = useRef<HTMLInputElement>(null);
  const open = async (file: File | undefined) => {
    if (!file) return;
    setBusy(true);
    setError(undefined);
    try {
      const { traces } = await upload(file);
      const first = traces[0];
      if (!first) throw new Error(`${file.name} has no spans`);
      navigate(link(`/trace/${encodeURIComponent(first.id)}`));
    } catch (failed) {
      setError(failed as Error);
    } finally {
      setBusy(false);
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
      {isOver && (
        <div class="upload-drop">
          <Icon name="upload" size={32} />
          <p>Drop a trace: OTLP as JSON or protobuf, or Jaeger's JSON</p>
        </div>
      )}
    </>
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
