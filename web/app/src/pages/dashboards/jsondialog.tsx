/** JSON that can be changed as text. Nothing is taken over before it can be read. */
import { useState } from "preact/hooks";
import { Button, CopyButton } from "../../ui/button";
import { Editor } from "../../ui/editor";
import { Dialog } from "./dialog";
import type { Json } from "./model";

interface JsonDialogProps {
  title: string;
  value: Json;
  onChange: (value: Json) => void;
  close: () => void;
}

/** An object from text, or why it is none. */
export function readObject(
  text: string,
): { value: Json } | { error: { message: string; position?: number } } {
  try {
    const value: unknown = JSON.parse(text);
    if (value === null || typeof value !== "object" || Array.isArray(value))
      return { error: { message: "expected an object: { … }" } };
    return { value: value as Json };
  } catch (error) {
    const message = (error as Error).message;
    const position = /position (\d+)/.exec(message)?.[1];
    return { error: { message, position: position === undefined ? undefined : Number(position) } };
  }
}

export function JsonDialog({ title, value, onChange, close }: JsonDialogProps) {
  const [text, setText] = useState(() => JSON.stringify(value, null, 2));
  const [error, setError] = useState<{ message: string; position?: number } | undefined>(undefined);
  const apply = () => {
    const read = readObject(text);
    if ("error" in read) return setError(read.error);
    onChange(read.value);
    close();
  };
  return (
    <Dialog title={title} close={close} isWide>
      <div class="stack">
        <Editor
          language="json"
          label={title}
          value={text}
          lines={20}
          error={error}
          onRun={apply}
          onChange={(next) => {
            setText(next);
            setError(undefined);
          }}
        />
        {error && <p class="bad">{error.message}</p>}
        <div class="row">
          <Button kind="primary" onClick={apply}>
            Apply
          </Button>
          <CopyButton text={() => text}>Copy</CopyButton>
        </div>
      </div>
    </Dialog>
  );
}
