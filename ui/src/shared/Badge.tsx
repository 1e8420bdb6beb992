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

export function Badge({ icon, word, count, title, tone = "calm", small = false, testid }: Props) {
  return (
    <span className={`tag ${tone}`} title={title} data-testid={testid} data-count={count} aria-label={title} role="img">
      <Icon name={icon} />
      {!small && <span className="tag-word">{word}</span>}
      <span>{count > 99 ? "99+" : count}</span>
    </span>
  );
}
