import { createContext, memo, type ReactNode, useContext, useMemo, useState } from "react";
import "./prose.css";
import { Button } from "./Button";
import { type Block, parseMarkdown, type Span } from "./markdown";
import { ids } from "./testids";
import { byteSize, readable } from "./text";

/** Texts are drawn up to this length; the rest is drawn when somebody asks for it. */
const CHARS_MAX = 60_000;

type Open = (url: string) => void;
const OpenContext = createContext<Open>(() => undefined);

interface Props { text: string; onOpenUrl: Open }

/** What an agent wrote, as readable text. Only elements are made of it, never HTML, and a link is opened by the window's owner. */
export const Markdown = memo(function Markdown({ text, onOpenUrl }: Props) {
  const [whole, setWhole] = useState(false);
  const long = text.length > CHARS_MAX && !whole;
  const blocks = useMemo(() => parseMarkdown(readable(long ? text.slice(0, CHARS_MAX) : text)), [text, long]);
  return (
    <OpenContext value={onOpenUrl}>
      <div className="markdown" data-testid={ids.markdown}>
        {blocks.map((block, at) => <BlockView key={at} block={block} />)}
        {long && <Button look="quiet" icon="down" onClick={() => setWhole(true)}>Show the rest ({byteSize(text.length - CHARS_MAX)})</Button>}
      </div>
    </OpenContext>
  );
});

function BlockView({ block }: { block: Block }): ReactNode {
  switch (block.kind) {
    case "paragraph": return <p><Spans spans={block.spans} /></p>;
    case "heading": return <p className={`markdown-heading level-${Math.min(block.level, 4)}`} role="heading" aria-level={block.level + 2}><Spans spans={block.spans} /></p>;
    case "code": return <pre className="mono" tabIndex={0} aria-label="Code" role="region" data-language={block.language || undefined}><code>{block.text}</code></pre>;
    case "quote": return <blockquote>{block.blocks.map((each, at) => <BlockView key={at} block={each} />)}</blockquote>;
    case "rule": return <hr />;
    case "table":
      return (
        <div className="markdown-table" tabIndex={0} role="region" aria-label="Table">
          <table>
            <thead><tr>{block.head.map((cell, at) => <th key={at}><Spans spans={cell} /></th>)}</tr></thead>
            <tbody>{block.rows.map((row, at) => <tr key={at}>{row.map((cell, column) => <td key={column}><Spans spans={cell} /></td>)}</tr>)}</tbody>
          </table>
        </div>
      );
    case "list": {
      const items = block.items.map(({ done, blocks }, at) => (
        <li key={at} className={done === null ? undefined : "markdown-box"}>
          {done !== null && <span role="img" aria-label={done ? "done" : "not done"}>{done ? "☑" : "☐"}</span>}
          {blocks.map((each, inner) => <BlockView key={inner} block={each} />)}
        </li>
      ));
      return block.first === null ? <ul>{items}</ul> : <ol start={block.first}>{items}</ol>;
    }
  }
}

function Spans({ spans }: { spans: readonly Span[] }): ReactNode {
  const open = useContext(OpenContext);
  return spans.map((span, at) => {
    switch (span.kind) {
      case "text": return <span key={at}>{span.text}</span>;
      case "code": return <code key={at} className="mono">{span.text}</code>;
      case "strong": return <strong key={at}><Spans spans={span.spans} /></strong>;
      case "em": return <em key={at}><Spans spans={span.spans} /></em>;
      case "struck": return <s key={at}><Spans spans={span.spans} /></s>;
      case "link": return <button key={at} type="button" className="link" title={span.url} onClick={() => open(span.url)}><Spans spans={span.spans} /></button>;
    }
  });
}
