/** Keys that are pressed together, by their names: see chordKeys. */
export function Keys({ keys }: { keys: readonly string[] }) {
  return (
    <span className="keys">
      {keys.map((key) => <kbd key={key}>{key}</kbd>)}
    </span>
  );
}
