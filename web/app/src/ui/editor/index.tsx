/**
 * A query editor: a plain text field at once, CodeMirror with the language when its chunk has come. Control
 * and Enter runs; an error is underlined at its place.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { theme } from "../../frame/theme";
import type { EditorHandle } from "./codemirror";

export type Language = "traceql" | "promql" | "logql" | "sql" | "json";

interface EditorProps {
  language: Language;
  value: string;
  /** What it is for, for those who cannot see it. */
  label: string;
  onChange: (value: string) => void;
  onRun?: (value: string) => void;
  /** What is wrong, and where, in characters from the beginning. */
  error?: { message: string; position?: number };
  placeholder?: string;
  /** Lines that it is at least high. */
  lines?: number;
}

const TYPED_KEPT = 50;

export function Editor(props: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const plain = useRef<HTMLTextAreaElement>(null);
  const handle = useRef<EditorHandle | undefined>(undefined);
  const newest = useRef(props);
  newest.current = props;
  // Texts that were typed and have not come back as the value: by then more may have been typed.
  const typed = useRef<string[]>([]);
  const [isReady, setReady] = useState(false);
  const colors = theme.value;
  useEffect(() => {
    let isWanted = true;
    import("./codemirror").then(({ mount }) => {
      if (!isWanted || !host.current) return;
      handle.current = mount(host.current, {
        language: props.language,
        value: newest.current.value,
        label: props.label,
        placeholder: props.placeholder ?? "",
        isDark: colors === "dark",
        onChange: (value) => {
          typed.current = [...typed.current.slice(-TYPED_KEPT), value];
          newest.current.onChange(value);
        },
        onRun: (value) => newest.current.onRun?.(value),
      });
      handle.current.showError(newest.current.error);
      // Who has begun to type goes on where he was.
      if (plain.current && plain.current === document.activeElement)
        handle.current.focus(plain.current.selectionEnd);
      setReady(true);
    });
    return () => {
      isWanted = false;
      handle.current?.destroy();
      handle.current = undefined;
      setReady(false);
    };
  }, [props.language, props.label, colors]);
  useEffect(() => {
    typed.current = typed.current.slice(typed.current.lastIndexOf(props.value) + 1);
    if (typed.current.length === 0) handle.current?.setValue(props.value);
  }, [props.value]);
  useEffect(
    () => handle.current?.showError(props.error),
    [props.error?.message, props.error?.position, isReady],
  );
  return (
    <div class="editor" style={{ minHeight: (props.lines ?? 1) * 18 + 12 }}>
      <div ref={host} class={isReady ? "editor-host" : "editor-host hidden"} />
      {!isReady && (
        <textarea
          ref={plain}
          aria-label={props.label}
          value={props.value}
          rows={props.lines ?? 1}
          spellcheck={false}
          placeholder={props.placeholder}
          onInput={(event) => props.onChange(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && (event.ctrlKey || event.metaKey))
              props.onRun?.(event.currentTarget.value);
          }}
        />
      )}
    </div>
  );
}
