/** JSON that can be changed as text. Nothing is taken over before it can be read. */
import { useState } from "preact/hooks";
import { Button, CopyButton } from "../../ui/button";
import { Editor } from "../../ui/editor";
import { Dialog } from "./dialog";
import type { Json } from "./model";
import { readJson, type Unreadable } from "./readjson";

interface JsonDialogProps {
  title: string;
  value: Json;
  /** Takes it over; what it throws is said, and nothing is taken over. */
  onChange: (value: Json) => Promise<void>;
  close: () => void;
}

export function JsonDialog({ title, value, onChange, close }: JsonDialogProps) {
  const [before] = useState(() => JSON.stringify(value, null, 2));
  const [text, setText] = useState(before);
  const [error, setError] = useState<Unreadable | undefined>(undefined);
  const apply = async () => {
    const read = readJson(text, "object");
    if ("error" in read) return setError(read.error);
    try {
      await onChange(read.value as Json);
      close();
    } catch (failure) {
      setError({ message: (failure as Error).message });
    }
  };
  return (
    <Dialog title={title} close={close} isWide isChanged={text !== before}>
      <div class="stack">
        <Editor
          language="json"
          label={title}
          value={text}
          lines={20}
          error={error}
          onRun={() => void apply()}
          onChange={(next) => {
            setText(next);
            setError(undefined);
          }}
        />
        {error && <p class="bad">{error.message}</p>}
        <div class="row">
          <Button kind="primary" onClick={() => void apply()}>
            Apply
          </Button>
          <CopyButton text={() => text}>Copy</CopyButton>
        </div>
      </div>
    </Dialog>
  );
}
