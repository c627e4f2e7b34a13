/** Views of one thing, of which one is shown. Arrows move between them. */
export interface Tab {
  id: string;
  label: string;
  /** A number beside it. */
  count?: string;
}

export function Tabs({
  tabs,
  current,
  onChange,
  label,
}: {
  tabs: readonly Tab[];
  current: string;
  onChange: (id: string) => void;
  label: string;
}) {
  // A view that there is not leaves none to be reached by Tab.
  const reached = tabs.some(({ id }) => id === current) ? current : tabs[0]?.id;
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const at = tabs.findIndex(({ id }) => id === current);
    const next = tabs[(at + step + tabs.length) % tabs.length]!;
    onChange(next.id);
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          class="tab"
          data-tab={tab.id}
          aria-selected={tab.id === current}
          tabIndex={tab.id === reached ? 0 : -1}
          onClick={() => onChange(tab.id)}
        >
          {tab.label}
          {tab.count !== undefined && <span class="tab-count">{tab.count}</span>}
        </button>
      ))}
    </div>
  );
}
