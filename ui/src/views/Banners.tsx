import { ApprovalsBanner } from "../features/approvals/ApprovalsNotice";
import { LimitBanner } from "../features/limits/LimitBanner";
import { useApp } from "../state/app";
import { useQuery } from "../state/query";
import { useStore } from "../state/store";
import { Banner } from "../shared/Banner";
import { Button, IconButton } from "../shared/Button";
import { ids } from "../shared/testids";
import { advice } from "../shared/text";
import { togglePanel } from "./commands";

/** What the engine has to say about itself, and whether it answers at all. */
export function Banners() {
  const app = useApp();
  const info = useQuery(app.info).data;
  const { dismissed } = useStore(app.view);
  const { error } = useStore(app.feed.state);
  const dismiss = (text: string) => app.view.update((view) => ({ ...view, dismissed: new Set([...view.dismissed, text]) }));
  return (
    <>
      {error && (
        <Banner level="warn" testid={ids.feedBanner} buttons={<Button onClick={() => app.feed.retryNow()} testid={ids.feedRetry}>Try now</Button>}>
          <p>The engine does not answer; what you see may be old. It is tried again by itself. <span className="muted">{error.message}</span></p>
          {error.hint && <p className="hint">{advice(error.hint)}</p>}
        </Banner>
      )}
      <ApprovalsBanner onShow={(project) => togglePanel(app, project, "approvals")} />
      <LimitBanner />
      {info?.notices.filter(({ text }) => !dismissed.has(text)).map((notice) => (
        <Banner key={notice.text} level={notice.level} testid={ids.notice}
          buttons={<IconButton icon="close" label="Dismiss" onClick={() => dismiss(notice.text)} testid={ids.noticeDismiss} />}>
          <p>{notice.text}</p>
          {notice.hint && <p className="hint">{advice(notice.hint)}</p>}
        </Banner>
      ))}
    </>
  );
}
