import { useEffect, useState } from "react";
import { Button, IconButton } from "./Button";

/** How long the button says that it has done it. */
const SAID_MS = 1_600;

interface Props {
  /** Answers whether the text is on the clipboard now. */
  copy: () => Promise<boolean>;
  /** What the button says; one that is a sign alone has it as its name. */
  label: string;
  title?: string;
  look?: "plain" | "quiet" | "sign";
  className?: string;
  tabIndex?: number | undefined;
  testid: string;
}

/** Copies, and says so itself: where one looks already, and for a moment. */
export function CopyButton({ copy, label, title, look = "plain", className, tabIndex, testid }: Props) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SAID_MS);
    return () => clearTimeout(timer);
  }, [copied]);
  const press = () => void copy().then(setCopied);
  const icon = copied ? "check" : "copy";
  if (look === "sign") return <IconButton icon={icon} label={copied ? "Copied" : label} {...(className === undefined ? {} : { className })} tabIndex={tabIndex} onClick={press} testid={testid} aria-live="polite" />;
  return <Button look={look} icon={icon} title={title} onClick={press} testid={testid} aria-live="polite">{copied ? "Copied" : label}</Button>;
}
