/** A button that gets a file from the server; what went wrong with it is said beside it. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { download } from "../frame/download";

interface FileButtonProps {
  path: string;
  /** What the file is called. */
  name: string;
  /** How it is asked for, where a path is not enough. */
  init?: () => RequestInit;
  class?: string;
  children: ComponentChildren;
  onDone?: () => void;
}

export function FileButton({ path, name, init, class: kind = "button", children, onDone }: FileButtonProps) {
  const [state, setState] = useState<{ isLoading: boolean; error?: Error }>({ isLoading: false });
  const get = async () => {
    setState({ isLoading: true });
    try {
      await download(path, name, init?.());
      setState({ isLoading: false });
      onDone?.();
    } catch (error) {
      setState({ isLoading: false, error: error as Error });
    }
  };
  return (
    <>
      <button type="button" class={kind} disabled={state.isLoading} onClick={() => void get()}>
        {children}
      </button>
      {state.error && (
        <span class="bad" role="alert">
          {state.error.message}
        </span>
      )}
    </>
  );
}
