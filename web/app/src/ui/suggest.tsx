/**
 * A text field that offers what could be meant. What is typed is taken on Enter, on a choice and when the
 * field is left; the list is asked for when it is first needed, and as somebody types where it may not be all.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { useUniqueId } from "./id";

interface SuggestProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /** What is offered for what is typed; without it, a plain field. */
  suggestions?: (typed: string) => Promise<readonly string[]>;
  /** Whether others may be offered for what is typed than for nothing. */
  asksTyped?: boolean;
  onEnter?: () => void;
  placeholder?: string;
  hideLabel?: boolean;
  width?: string;
}

const MOST = 60;
/** So long nobody types before it is asked for what is typed. */
const TYPED_MILLIS = 150;

export function Suggest(props: SuggestProps) {
  const { label, value, placeholder, hideLabel, width = "132px" } = props;
  const id = useUniqueId();
  const [text, setText] = useState(value);
  const [list, setList] = useState<readonly string[]>([]);
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const isWanted = useRef(0);
  const options = useRef<HTMLDivElement>(null);
  const newest = useRef(props);
  newest.current = props;
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    options.current?.children[at]?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const ask = (wanted: string) => {
    const turn = ++isWanted.current;
    newest.current.suggestions?.(wanted).then(
      (found) => turn === isWanted.current && setList(found),
      // Without suggestions it is a plain field.
      () => {},
    );
  };
  const open = () => {
    setOpen(true);
    setAt(-1);
    ask("");
  };
  const due = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(due.current), []);
  const type = (next: string) => {
    setText(next);
    setOpen(true);
    setAt(-1);
    if (!props.asksTyped) return;
    clearTimeout(due.current);
    due.current = setTimeout(() => ask(next), TYPED_MILLIS);
  };
  // A choice may take the field away, and with it comes a blur that knows only what was typed.
  const taken = useRef(value);
  taken.current = value;
  const typed = useRef(text);
  typed.current = text;
  const take = (wanted: string) => {
    setOpen(false);
    setText(wanted);
    typed.current = wanted;
    if (wanted === taken.current) return;
    taken.current = wanted;
    props.onChange(wanted);
  };
  const wanted = text.trim().toLowerCase();
  // A field that still has its value is not a search for it.
  const fitting =
    wanted === "" || text === value ? list : list.filter((one) => one.toLowerCase().includes(wanted));
  const shown = fitting.slice(0, MOST);
  const keys = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && shown.length > 0) {
      event.preventDefault();
      setOpen(true);
      setAt((at + step + shown.length) % shown.length);
    } else if (event.key === "Escape" && isOpen) {
      event.stopPropagation();
      setOpen(false);
    } else if (event.key === "Enter") {
      const chosen = isOpen && at >= 0 ? shown[at] : undefined;
      const isNew = text !== value;
      take(chosen ?? text);
      if (chosen !== undefined) return;
      // What was typed has to be known before somebody acts on it.
      if (isNew) setTimeout(() => newest.current.onEnter?.());
      else props.onEnter?.();
    }
  };
  return (
    <span class="suggest">
      <label for={id} class={hideLabel ? "hidden" : "field-label"}>
        {label}
      </label>
      <span class="suggest-box">
        <input
          id={id}
          value={text}
          placeholder={placeholder}
          style={{ width }}
          spellcheck={false}
          autocomplete="off"
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={isOpen && shown.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={isOpen && at >= 0 ? `${id}-${at}` : undefined}
          onFocus={open}
          onInput={(event) => type(event.currentTarget.value)}
          onBlur={() => take(typed.current)}
          onKeyDown={keys}
        />
        {isOpen && shown.length > 0 && (
          <div ref={options} class="suggest-list" role="listbox" id={`${id}-list`} aria-label={label}>
            {shown.map((one, index) => (
              <div
                key={one}
                id={`${id}-${index}`}
                role="option"
                aria-selected={index === at}
                class="suggest-item"
                // Before the field is left, which would take what was typed.
                onPointerDown={(event) => {
                  event.preventDefault();
                  take(one);
                }}
              >
                {one === "" ? "(empty)" : one}
              </div>
            ))}
            {fitting.length > MOST && (
              <div class="suggest-more muted" aria-hidden="true">
                and more: type to find them
              </div>
            )}
          </div>
        )}
      </span>
    </span>
  );
}
