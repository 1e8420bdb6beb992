export type Tone = "off" | "ok" | "busy" | "attention" | "limited" | "bad";

/** A state as a dot. The word is there for everybody: as the tooltip and for assistive technology. */
export function Dot({ tone, word, testid }: { tone: Tone; word: string; testid?: string }) {
  return <span className={`dot ${tone}`} role="img" aria-label={word} title={word} data-testid={testid} data-state={word} />;
}
