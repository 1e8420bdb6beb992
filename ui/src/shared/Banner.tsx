import type { ReactNode } from "react";
import { Icon } from "./Icon";

interface Props { level: "info" | "warn" | "error"; children: ReactNode; buttons?: ReactNode; testid?: string }

/** A calm line above the content for what concerns the whole window. */
export function Banner({ level, children, buttons, testid }: Props) {
  return (
    <div className={`banner ${level}`} role={level === "error" ? "alert" : "status"} data-testid={testid}>
      <Icon name={level === "info" ? "info" : "warn"} />
      <div className="grow">{children}</div>
      {buttons}
    </div>
  );
}
