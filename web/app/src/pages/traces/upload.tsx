/** A file of spans, chosen or dropped on the page, opened as a trace. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ask } from "../../frame/api";
import { navigate } from "../../frame/router";
import { Button } from "../../ui/button";

export function Upload() {
  const input = useRef<HTMLInputElement>(null);
  const [state, setState] = useState<{ isSending?: boolean; error?: string; isOver?: boolean }>({});
  const send = async (file: File | undefined) => {
    if (!file) return;
    setState({ isSending: true });
    try {
      const response = await ask("/api/trace/upload", { method: "POST", body: file });
      const answer = (await response.json()) as { id?: string; trace_id?: string; traces?: { id: string }[] };
      const id = answer.id ?? answer.trace_id ?? answer.traces?.[0]?.id;
      setState({ error: id ? undefined : "the file has no trace" });
      if (id) navigate(`/trace/${id}`);
    } catch (error) {
      setState({ error: (error as Error).message });
    }
  };
  useEffect(() => {
    const carries = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const over = (event: DragEvent) => {
      if (!carries(event)) return;
      event.preventDefault();
      setState((before) => (before.isOver ? before : { ...before, isOver: true }));
    };
    const leave = (event: DragEvent) => event.relatedTarget === null && setState({});
    const drop = (event: DragEvent) => {
      if (!carries(event)) return;
      event.preventDefault();
      send(event.dataTransfer?.files[0]);
    };
    document.addEventListener("dragover", over);
    document.addEventListener("dragleave", leave);
    document.addEventListener("drop", drop);
    return () => {
      document.removeEventListener("dragover", over);
      document.removeEventListener("dragleave", leave);
      document.removeEventListener("drop", drop);
    };
  }, []);
  return (
    <>
      <input
        ref={input}
        type="file"
        class="hidden"
        tabIndex={-1}
        aria-label="A file of spans"
        onChange={(event) => send(event.currentTarget.files?.[0])}
      />
      <Button
        icon="upload"
        disabled={state.isSending}
        onClick={() => input.current?.click()}
        title="Open a file of OTLP or Jaeger JSON; files can be dropped on the page"
      >
        {state.isSending ? "Reading…" : "Open a file"}
      </Button>
      {state.error && (
        <span class="bad" role="alert">
          {state.error}
        </span>
      )}
      {state.isOver && <div class="drop-here">Drop the file to open it as a trace</div>}
    </>
  );
}
