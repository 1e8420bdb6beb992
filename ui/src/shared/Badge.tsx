import { Icon, type IconName } from "./Icon";

interface Props {
  icon: IconName;
  /** Shown where there is room, and said by assistive technology anyway. */
  word: string;
  count: number;
  title: string;
  /** News wants to be seen; what waits is calm. */
  tone?: "calm" | "news";
  /** Where there is room for a sign and a number only. */
  small?: boolean;
  testid?: string;
}

interface FlagProps { icon: IconName; word: string; title: string; tone: "attention" | "bad"; testid?: string }

/** Says that somebody is needed: louder than a count, and without one. */
export function Flag({ icon, word, title, tone, testid }: FlagProps) {
  return (
    <span className={`tag flag ${tone}`} title={title} data-testid={testid} aria-label={`${word}: ${title}`} role="img">
      <Icon name={icon} />
      <span className="tag-word">{word}</span>
    </span>
  );
}

export function Badge({ icon, word, count, title, tone = "calm", small = false, testid }: Props) {
  return (
    <span className={`tag ${tone}`} title={title} data-testid={testid} data-count={count} aria-label={title} role="img">
      <Icon name={icon} />
      {!small && <span className="tag-word">{word}</span>}
      <span>{count > 99 ? "99+" : count}</span>
    </span>
  );
}
