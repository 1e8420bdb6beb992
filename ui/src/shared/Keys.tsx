import { type Chord, chordKeys } from "./keys";

export function Keys({ chord }: { chord: Chord }) {
  return (
    <span className="keys">
      {chordKeys(chord).map((key) => <kbd key={key}>{key}</kbd>)}
    </span>
  );
}
