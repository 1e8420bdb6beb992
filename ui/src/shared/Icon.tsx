// The window's icons: 16 by 16, one stroke, in the colour of the text around them.

const PATHS = {
  plus: "M8 3v10M3 8h10",
  close: "M4 4l8 8M12 4l-8 8",
  play: "M5 3.5v9l7-4.5z",
  stop: "M4.5 4.5h7v7h-7z",
  trash: "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5",
  beside: "M2.5 3h11v10h-11zM8 3v10",
  below: "M2.5 3h11v10h-11zM2.5 8h11",
  zoom: "M9.5 3H13v3.5M6.5 13H3V9.5M13 3L9 7M3 13l4-4",
  unzoom: "M13 6.5H9.5V3M3 9.5h3.5V13M9.5 6.5L13.5 2.5M6.5 9.5l-4 4",
  folder: "M2 4.5v8h12V6H8L6.5 4.5z",
  gear: "M8 5.8a2.2 2.2 0 100 4.4 2.2 2.2 0 000-4.4zM8 2v1.8M8 12.2V14M2 8h1.8M12.2 8H14M3.8 3.8l1.2 1.2M11 11l1.2 1.2M12.2 3.8L11 5M5 11l-1.2 1.2",
  keys: "M2 4.5h12v7.5H2zM4.5 7h.5M7.7 7h.6M11 7h.5M5 9.8h6",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  warn: "M8 2.5l6 11H2zM8 6.5v3.2M8 11.4v.4",
  info: "M8 2.2a5.8 5.8 0 100 11.6A5.8 5.8 0 008 2.2zM8 7.3v3.6M8 5v.4",
  check: "M3.5 8.5l3 3 6-7",
  terminal: "M2 3.5h12v9H2zM4.5 6.5l2 1.7-2 1.7M8 10h3",
  command: "M3 8h10M9 4l4 4-4 4",
  tasks: "M3 4.2l1 1 1.8-2M3 11.2l1 1 1.8-2M8 4.5h5.5M8 11.5h5.5M3 8h10.5",
  clock: "M8 2.5a5.5 5.5 0 100 11 5.5 5.5 0 000-11zM8 5v3l2 1.5",
  running: "M8 2.5A5.5 5.5 0 1013.5 8",
  failed: "M8 2.5a5.5 5.5 0 100 11 5.5 5.5 0 000-11zM6 6l4 4M10 6l-4 4",
  succeeded: "M8 2.5a5.5 5.5 0 100 11 5.5 5.5 0 000-11zM5.6 8.2l1.7 1.7 3.1-3.6",
  timedOut: "M8 3.8a5 5 0 100 10 5 5 0 000-10zM6.3 1.8h3.4M8 6v3.2M8 11v.3",
  cancelled: "M8 2.5a5.5 5.5 0 100 11 5.5 5.5 0 000-11zM4.2 4.2l7.6 7.6",
  lost: "M8 2.5a5.5 5.5 0 100 11 5.5 5.5 0 000-11zM6.3 6.3A1.7 1.7 0 118.8 7.8C8.2 8.2 8 8.5 8 9M8 11v.3",
  retry: "M13 8a5 5 0 11-1.5-3.6L13 5.9M13 2.6v3.3H9.7",
  copy: "M5.5 5.5h7.5V13H5.5zM10.5 5.5V3H3v7.5h2.5",
  dockRight: "M2.5 3h11v10h-11zM9.8 3v10M11 5.2h1.2M11 7.2h1.2",
  dockBottom: "M2.5 3h11v10h-11zM2.5 9.2h11M4.5 11.1h3",
  search: "M7 3a4 4 0 100 8 4 4 0 000-8zM10 10l3.5 3.5",
  hourglass: "M4.5 2.5h7M4.5 13.5h7M5.5 2.5v2.3L8 8l2.5-3.2V2.5M5.5 13.5v-2.3L8 8l2.5 3.2v2.3",
  asks: "M2.5 3h8v5.5H6L3.8 10.5V8.5H2.5zM7 11h3.2l2 2v-2h1.3V6.5H12.5",
  inbox: "M2.5 9.5L4.5 3.5h7l2 6v3.5h-11zM2.5 9.5h3.2l.8 1.6h3l.8-1.6h3.2",
  note: "M3 3h10v10H3zM5.5 6h5M5.5 8.5h5M5.5 11h3",
  send: "M2.5 8L13.5 3l-3 10.5L8 9zM8 9l5.5-6",
  left: "M10 4L6 8l4 4",
  right: "M6 4l4 4-4 4",
  bell: "M4 11.5V7.3a4 4 0 018 0v4.2M2.800 11.5h10.400M7 13.700h2",
  person: "M8 3a2.3 2.3 0 100 4.6A2.3 2.3 0 008 3zM3.5 13c.4-2.6 2.2-4 4.5-4s4.1 1.4 4.5 4",
  branch: "M4.5 5.5v5M4.500 2.500a1.500 1.500 0 100 3 1.500 1.500 0 000-3zM4.500 10.500a1.500 1.500 0 100 3 1.500 1.500 0 000-3zM11.500 3.500a1.500 1.500 0 100 3 1.500 1.500 0 000-3zM11.500 6.500c0 3-7 1.500-7 4",
  merge: "M4.500 5.500v5M4.500 2.500a1.500 1.500 0 100 3 1.500 1.500 0 000-3zM4.500 10.500a1.500 1.500 0 100 3 1.500 1.500 0 000-3zM11.500 9.500a1.500 1.500 0 100 3 1.500 1.500 0 000-3zM4.500 5.500c0 3.500 4 3 5.500 4.800",
  lock: "M4 7.500h8v5.500H4zM5.700 7.500V5.300a2.300 2.300 0 014.600 0v2.200",
  shield: "M8 2.200l5 1.800v4c0 3-2.200 4.900-5 5.800-2.800-.9-5-2.800-5-5.800V4zM5.800 8l1.600 1.600L10.400 6.500",
  broom: "M9.500 2.500L7.500 8M5 8h5.500l1 5.500h-8zM6.200 11v2.500M8.800 11v2.500",
  toEnd: "M8 3v7M5 7.2L8 10l3-2.8M4 13h8",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  const filled = name === "play" || name === "stop";
  return (
    <svg className="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false"
      fill={filled ? "currentColor" : "none"} stroke="currentColor" strokeWidth="1.3" strokeLinecap="round" strokeLinejoin="round">
      <path d={PATHS[name]} />
    </svg>
  );
}
