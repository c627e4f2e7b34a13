/** The icons, drawn here: lines of 1.6 in a square of 20. */
const STAR = "M10 3l2.2 4.6 5 .7-3.6 3.5.8 5-4.4-2.4-4.4 2.4.8-5L2.8 8.3l5-.7z";
const PATHS = {
  home: "M3 9.5 10 3l7 6.5V17h-4.5v-4.5h-5V17H3z",
  live: "M7 5.5v9l7-4.5z",
  traces: "M3 5h9M6 10h8M9 15h8",
  ci: "M5 4v12M5 8h6a3 3 0 0 1 3 3v5M3 4h4M3 16h4M12 16h4",
  metrics: "M3 16V4M3 16h14M6 12l3-4 3 2 4-5",
  logs: "M4 5h12M4 9h12M4 13h8M4 17h10",
  hosts: "M4 4h12v5H4zM4 11h12v5H4zM7 6.5h.01M7 13.5h.01",
  dashboards: "M3 3h6v8H3zM11 3h6v5h-6zM11 10h6v7h-6zM3 13h6v4H3z",
  admin:
    "M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM10 2v2.5M10 15.5V18M2 10h2.5M15.5 10H18M4.5 4.5l1.8 1.8M13.7 13.7l1.8 1.8M15.5 4.5l-1.8 1.8M6.3 13.7l-1.8 1.8",
  search: "M9 3.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM13 13l4 4",
  clock: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6v4l3 2",
  refresh: "M16 10a6 6 0 1 1-1.8-4.3M16 3v3.5h-3.5",
  theme: "M10 3a7 7 0 1 0 7 7 5.5 5.5 0 0 1-7-7z",
  share: "M8 11.5 12 8M7 8.5 5 10.5a2.8 2.8 0 0 0 4 4l2-2M13 11.5l2-2a2.8 2.8 0 0 0-4-4l-2 2",
  close: "M5 5l10 10M15 5 5 15",
  down: "M5 8l5 5 5-5",
  right: "M8 5l5 5-5 5",
  left: "M12 5l-5 5 5 5",
  up: "M5 12l5-5 5 5",
  plus: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  check: "M4 10.5 8 15l8-10",
  warning: "M10 3 18 16.5H2zM10 8v4M10 14h.01",
  error: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 6.5v4.5M10 13.5h.01",
  info: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM10 9v4.5M10 6.5h.01",
  copy: "M7 7h9v9H7zM4 13V4h9",
  download: "M10 3v9M6 9l4 4 4-4M4 16h12",
  upload: "M10 13V4M6 7l4-4 4 4M4 16h12",
  pause: "M7 5v10M13 5v10",
  play: "M7 5v10l8-5z",
  edit: "M4 16l1-4 8-8 3 3-8 8zM12 5l3 3",
  trash: "M4 6h12M8 6V4h4v2M6 6l1 11h6l1-11",
  filter: "M3 4h14l-5.5 6.5V16l-3-1.5v-4z",
  columns: "M3 4h14v12H3zM8 4v12M13 4v12",
  flag: "M5 17V3h9l-2 3.5 2 3.5H5",
  compare: "M7 4 3 8h9M13 16l4-4H8",
  star: STAR,
  starred: STAR,
  menu: "M3 5h14M3 10h14M3 15h14",
  leave: "M8 4H4v12h4M8 10h9M13 6l4 4-4 4",
  external: "M8 4H4v12h12v-4M11 3h6v6M17 3l-8 8",
} as const;

export type IconName = keyof typeof PATHS;

/** An icon; beside text that says what it means, or inside something with a label. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      class={name === "starred" ? "icon icon-filled" : "icon"}
      width={size}
      height={size}
      viewBox="0 0 20 20"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
