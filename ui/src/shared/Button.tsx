import type { ButtonHTMLAttributes, Ref } from "react";
import { Icon, type IconName } from "./Icon";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "primary" | "plain" | "quiet" | "danger";
  icon?: IconName;
  /** Work is under way: the button says so and cannot be pressed again. */
  busy?: boolean;
  testid?: string;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ look = "plain", icon, busy = false, testid, className = "", children, disabled, ...rest }: Props) {
  return (
    <button type="button" className={`button ${look} ${className}`} data-testid={testid} disabled={disabled || busy} aria-busy={busy || undefined} {...rest}>
      {busy ? <span className="spinner" aria-hidden="true" /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface IconProps extends Omit<Props, "children" | "look" | "icon"> {
  icon: IconName;
  /** What the button does: its name for assistive technology and its tooltip. */
  label: string;
}

export function IconButton({ icon, label, testid, busy = false, className = "", disabled, title, ...rest }: IconProps) {
  return (
    <button type="button" className={`icon-button ${className}`} aria-label={label} title={title ?? label} data-testid={testid}
      disabled={disabled || busy} aria-busy={busy || undefined} {...rest}>
      {busy ? <span className="spinner" aria-hidden="true" /> : <Icon name={icon} />}
    </button>
  );
}
