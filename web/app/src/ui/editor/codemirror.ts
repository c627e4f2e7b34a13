/**
 * CodeMirror as we use it. It lives in a shadow root, because its styles come as constructed sheets there,
 * which the page's content security policy allows.
 */
import {
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, Prec } from "@codemirror/state";
import { drawSelection, EditorView, keymap, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { wrongRange } from "./errors";
import type { Language } from "./index";
import { languageOf } from "./languages";

export interface EditorHandle {
  setValue: (value: string) => void;
  showError: (error?: { message: string; position?: number }) => void;
  /** Puts the cursor at a place. */
  focus: (at: number) => void;
  destroy: () => void;
}

interface Mounted {
  language: Language;
  value: string;
  label: string;
  placeholder: string;
  isDark: boolean;
  onChange: (value: string) => void;
  onRun: (value: string) => void;
}

export function mount(host: HTMLElement, options: Mounted): EditorHandle {
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  root.replaceChildren();
  const run = keymap.of([
    {
      key: "Mod-Enter",
      run: (view) => {
        options.onRun(view.state.doc.toString());
        return true;
      },
    },
  ]);
  // What is put in from outside is nothing that somebody typed.
  let isSetting = false;
  const view = new EditorView({
    root,
    parent: root as unknown as Element,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        Prec.highest(run),
        history(),
        drawSelection(),
        bracketMatching(),
        closeBrackets(),
        autocompletion({ activateOnTyping: true, icons: false }),
        keymap.of([
          ...closeBracketsKeymap,
          ...defaultKeymap,
          ...historyKeymap,
          ...completionKeymap,
          ...lintKeymap,
        ]),
        placeholder(options.placeholder),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ "aria-label": options.label }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !isSetting) options.onChange(update.state.doc.toString());
        }),
        syntaxHighlighting(highlight(options.isDark)),
        look(options.isDark),
        languageOf(options.language),
      ],
    }),
  });
  return {
    setValue: (value) => {
      if (value === view.state.doc.toString()) return;
      isSetting = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
      isSetting = false;
    },
    showError: (error) => {
      const query = view.state.doc.toString();
      const place =
        error?.position === undefined ? { from: 0, to: query.length } : wrongRange(query, error.position);
      const diagnostics = error ? [{ ...place, severity: "error" as const, message: error.message }] : [];
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    focus: (at) => {
      view.focus();
      view.dispatch({ selection: { anchor: Math.min(at, view.state.doc.length) } });
    },
    destroy: () => view.destroy(),
  };
}

function highlight(isDark: boolean): HighlightStyle {
  const colors = isDark
    ? { keyword: "#7db1ff", string: "#8fd18f", number: "#e7b659", name: "#d6a6ff", comment: "#8b95a5" }
    : { keyword: "#1f62c4", string: "#1d7a43", number: "#8a5a00", name: "#7a3fb5", comment: "#566070" };
  return HighlightStyle.define([
    { tag: [tags.keyword, tags.operatorKeyword, tags.modifier, tags.logicOperator], color: colors.keyword },
    { tag: [tags.string, tags.special(tags.string)], color: colors.string },
    { tag: [tags.number, tags.bool, tags.null, tags.literal], color: colors.number },
    {
      tag: [tags.function(tags.variableName), tags.propertyName, tags.labelName, tags.attributeName],
      color: colors.name,
    },
    { tag: [tags.comment, tags.lineComment], color: colors.comment },
  ]);
}

function look(isDark: boolean) {
  return EditorView.theme(
    {
      "&": {
        fontSize: "13px",
        background: "var(--surface)",
        color: "var(--text)",
        border: "1px solid var(--border)",
        borderRadius: "6px",
      },
      "&.cm-focused": { outline: "2px solid var(--accent)" },
      ".cm-content": { fontFamily: "var(--mono)", padding: "5px 0", caretColor: "var(--text)" },
      ".cm-scroller": { maxHeight: "60vh", overflow: "auto" },
      ".cm-cursor": { borderLeftColor: "var(--text)" },
      ".cm-tooltip": {
        background: "var(--surface)",
        border: "1px solid var(--border)",
        color: "var(--text)",
      },
      ".cm-tooltip-autocomplete ul li[aria-selected]": {
        background: "var(--accent-soft)",
        color: "var(--text)",
      },
      ".cm-placeholder": { color: "var(--text-muted)" },
      "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { background: "var(--accent-soft)" },
    },
    { dark: isDark },
  );
}
