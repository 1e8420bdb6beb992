// Reads the markdown that agents write into blocks and spans. It makes no HTML, knows no images and no embedded tags, and every
// rule looks at each character a bounded number of times, so that no text can make the window stand still.

export type Span =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "em" | "struck"; spans: Span[] }
  | { kind: "link"; spans: Span[]; url: string };

export type Block =
  | { kind: "paragraph"; spans: Span[] }
  | { kind: "heading"; level: number; spans: Span[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "list"; first: number | null; items: { done: boolean | null; blocks: Block[] }[] }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "table"; head: Span[][]; rows: Span[][][] }
  | { kind: "rule" };

const DEPTH_MAX = 6;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/;
const RULE = /^ {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +|$)(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const TABLE_LINE = /^ {0,3}\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?::?-+:?[ \t]*)?$/;

export function parseMarkdown(text: string): Block[] {
  return blocksOf(text.replace(/\r\n?/g, "\n").split("\n"), 0);
}

function blocksOf(lines: readonly string[], depth: number): Block[] {
  if (depth > DEPTH_MAX) return [{ kind: "paragraph", spans: [{ kind: "text", text: lines.join("\n") }] }];
  const blocks: Block[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) blocks.push({ kind: "paragraph", spans: spansOf(paragraph.map((line) => line.trim()).join("\n")) });
    paragraph = [];
  };
  let at = 0;
  while (at < lines.length) {
    const line = lines[at]!;
    const taken = line.trim() === "" ? { block: null, next: at + 1 } : special(lines, at, depth, paragraph.length > 0);
    if (!taken) {
      paragraph.push(line);
      at += 1;
      continue;
    }
    flush();
    if (taken.block) blocks.push(taken.block);
    at = taken.next;
  }
  flush();
  return blocks;
}

type Taken = { block: Block | null; next: number };

/** A block other than a paragraph that begins at this line, and the line after it. */
function special(lines: readonly string[], at: number, depth: number, inParagraph: boolean): Taken | null {
  const line = lines[at]!;
  const fence = FENCE.exec(line);
  if (fence) return code(lines, at, fence[1]!, fence[2]!);
  const heading = HEADING.exec(line);
  if (heading) return { block: { kind: "heading", level: heading[1]!.length, spans: spansOf(heading[2]!.replace(/[ \t]#+[ \t]*$/, "").trim()) }, next: at + 1 };
  if (RULE.test(line)) return { block: { kind: "rule" }, next: at + 1 };
  if (QUOTE.test(line)) {
    let next = at;
    const inside: string[] = [];
    for (let quoted; next < lines.length && (quoted = QUOTE.exec(lines[next]!)); next += 1) inside.push(quoted[1]!);
    return { block: { kind: "quote", blocks: blocksOf(inside, depth + 1) }, next };
  }
  const item = ITEM.exec(line);
  // Within a paragraph only a list that begins with 1 is one: a line may begin with a year.
  if (item && (!inParagraph || !/\d/.test(item[2]!) || Number.parseInt(item[2]!, 10) === 1)) return list(lines, at, depth);
  if (line.includes("|") && TABLE_LINE.test(lines[at + 1] ?? "")) return table(lines, at);
  return null;
}

function code(lines: readonly string[], at: number, fence: string, language: string): Taken {
  let next = at + 1;
  const inside: string[] = [];
  const isEnd = (line: string) => line.trim().startsWith(fence) && line.trim().replaceAll(fence[0]!, "") === "";
  while (next < lines.length && !isEnd(lines[next]!)) inside.push(lines[next++]!);
  return { block: { kind: "code", language, text: inside.join("\n") }, next: Math.min(lines.length, next + 1) };
}

function list(lines: readonly string[], at: number, depth: number): Taken {
  const first = ITEM.exec(lines[at]!)!;
  const indent = first[1]!.length;
  const ordered = /\d/.test(first[2]!);
  const items: string[][] = [];
  let next = at;
  let inner = 0;
  while (next < lines.length) {
    const line = lines[next]!;
    const item = ITEM.exec(line);
    if (item && item[1]!.length >= indent && item[1]!.length < indent + Math.max(2, inner - indent) && /\d/.test(item[2]!) === ordered && !RULE.test(line)) {
      inner = item[1]!.length + item[2]!.length + Math.max(1, item[3]!.length);
      items.push([item[4]!]);
    } else if (line.trim() === "") {
      const after = lines[next + 1] ?? "";
      // A gap belongs to the list only when the list goes on behind it.
      if (leading(after) < indent + 2 && !(ITEM.test(after) && leading(after) >= indent)) break;
      items.at(-1)!.push("");
    } else if (leading(line) >= Math.min(inner, indent + 2) || (!special(lines, next, DEPTH_MAX, true) && items.at(-1)!.at(-1) !== "")) {
      items.at(-1)!.push(line.slice(Math.min(leading(line), inner)));
    } else {
      break;
    }
    next += 1;
  }
  return {
    block: {
      kind: "list", first: ordered ? Number.parseInt(first[2]!, 10) : null,
      items: items.map((item) => {
        const box = /^\[([ xX])\] +/.exec(item[0]!);
        const own = box ? [item[0]!.slice(box[0].length), ...item.slice(1)] : item;
        return { done: box ? box[1] !== " " : null, blocks: blocksOf(own, depth + 1) };
      }),
    },
    next,
  };
}

const leading = (line: string) => line.length - line.trimStart().length;

function table(lines: readonly string[], at: number): Taken {
  const head = cells(lines[at]!);
  const rows: Span[][][] = [];
  let next = at + 2;
  while (next < lines.length && lines[next]!.includes("|") && lines[next]!.trim() !== "") {
    const row = cells(lines[next]!).slice(0, head.length);
    while (row.length < head.length) row.push("");
    rows.push(row.map(spansOf));
    next += 1;
  }
  return { block: { kind: "table", head: head.map(spansOf), rows }, next };
}

function cells(line: string): string[] {
  const inside = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  const found = [""];
  for (let at = 0; at < inside.length; at += 1) {
    if (inside[at] === "\\" && inside[at + 1] === "|") found[found.length - 1] += inside[(at += 1)]!;
    else if (inside[at] === "|") found.push("");
    else found[found.length - 1] += inside[at]!;
  }
  return found.map((cell) => cell.trim());
}

// --- spans ---

/** From this length on a paragraph is text alone: nobody means it as anything else. */
const SPANS_CHARS_MAX = 20_000;
const SPAN_DEPTH_MAX = 5;
const URL_CHARS = /https?:\/\/[^\s<>"'`|\\^{}\u0000-\u001f]+/y;

export function spansOf(text: string, depth = 0): Span[] {
  if (text.length > SPANS_CHARS_MAX || depth > SPAN_DEPTH_MAX) return [{ kind: "text", text }];
  const spans: Span[] = [];
  /** Marks that were looked for and have no end behind this place: they are not looked for again. */
  const unended = new Set<string>();
  let plain = "";
  let at = 0;
  const put = (span: Span, next: number) => {
    if (plain !== "") spans.push({ kind: "text", text: plain });
    plain = "";
    spans.push(span);
    at = next;
  };
  while (at < text.length) {
    const found = spanAt(text, at, depth, unended);
    if (found) put(found.span, found.next);
    else if (text[at] === "\\" && /[\\`*_{}[\]()#+\-.!|~<>]/.test(text[at + 1] ?? "")) {
      plain += text[at + 1]!;
      at += 2;
    } else {
      plain += text[at]!;
      at += 1;
    }
  }
  if (plain !== "") spans.push({ kind: "text", text: plain });
  return spans;
}

type Found = { span: Span; next: number } | null;

function spanAt(text: string, at: number, depth: number, unended: Set<string>): Found {
  switch (text[at]) {
    case "`": return codeSpan(text, at, unended);
    case "*":
    case "_":
    case "~": return marked(text, at, depth, unended);
    case "[": return link(text, at, depth);
    case "<": {
      URL_CHARS.lastIndex = at + 1;
      const url = URL_CHARS.exec(text)?.[0];
      return url && text[at + 1 + url.length] === ">" ? { span: linkTo(url), next: at + url.length + 2 } : null;
    }
    case "h": {
      if (/[\w/]/.test(text[at - 1] ?? "")) return null;
      URL_CHARS.lastIndex = at;
      const found = URL_CHARS.exec(text)?.[0];
      const url = found && withoutStop(found);
      return url ? { span: linkTo(url), next: at + url.length } : null;
    }
    default: return null;
  }
}

const linkTo = (url: string): Span => ({ kind: "link", url, spans: [{ kind: "text", text: url }] });

/** A full stop or a bracket that closes behind an address is the sentence's. */
function withoutStop(url: string): string {
  let end = url.length;
  while (end > 0 && (/[.,;:!?*_~]/.test(url[end - 1]!) || (url[end - 1] === ")" && !url.slice(0, end).includes("(")))) end -= 1;
  return url.slice(0, end);
}

function codeSpan(text: string, at: number, unended: Set<string>): Found {
  let ticks = 1;
  while (text[at + ticks] === "`") ticks += 1;
  const mark = "`".repeat(ticks);
  if (unended.has(mark)) return ticks > 1 ? { span: { kind: "text", text: mark }, next: at + ticks } : null;
  for (let end = text.indexOf(mark, at + ticks); end >= 0; end = text.indexOf(mark, end)) {
    let length = ticks;
    while (text[end + length] === "`") length += 1;
    if (length === ticks) {
      const inside = text.slice(at + ticks, end).replace(/\n/g, " ");
      const padded = inside.startsWith(" ") && inside.endsWith(" ") && inside.trim() !== "";
      return { span: { kind: "code", text: padded ? inside.slice(1, -1) : inside }, next: end + ticks };
    }
    end += length;
  }
  unended.add(mark);
  return { span: { kind: "text", text: mark }, next: at + ticks };
}

const isWord = (char: string | undefined) => char !== undefined && /[\p{L}\p{N}_]/u.test(char);
const isSpace = (char: string | undefined) => char === undefined || /\s/.test(char);

function marked(text: string, at: number, depth: number, unended: Set<string>): Found {
  const sign = text[at]!;
  const double = text[at + 1] === sign;
  if (sign === "~" && !double) return null;
  const mark = double ? sign + sign : sign;
  const from = at + mark.length;
  if (unended.has(mark) || isSpace(text[from]) || (sign === "_" && isWord(text[at - 1]))) return null;
  for (let end = text.indexOf(mark, from + 1); end >= 0; end = text.indexOf(mark, end + 1)) {
    const closes = !isSpace(text[end - 1]) && text[end - 1] !== "\\" && (sign !== "_" || !isWord(text[end + mark.length]));
    // Of three in a row the last ones close: what stands inside has its own.
    if (!closes || (text[end + mark.length] === sign && (double || text[end - 1] !== sign)) || (!double && text[end - 1] === sign)) continue;
    const spans = spansOf(text.slice(from, end), depth + 1);
    return { span: { kind: sign === "~" ? "struck" : double ? "strong" : "em", spans }, next: end + mark.length };
  }
  unended.add(mark);
  return null;
}

const LABEL_MAX = 500;
const ADDRESS_MAX = 2_000;

function link(text: string, at: number, depth: number): Found {
  let open = 1;
  let end = at + 1;
  for (; end < text.length && end - at < LABEL_MAX; end += 1) {
    if (text[end] === "\\") end += 1;
    else if (text[end] === "[") open += 1;
    else if (text[end] === "]" && (open -= 1) === 0) break;
  }
  if (text[end] !== "]" || text[end + 1] !== "(") return null;
  const address = /^\(\s*<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+"[^"\n]*")?\s*\)/.exec(text.slice(end + 1, end + 1 + ADDRESS_MAX));
  if (!address) return null;
  const label = text.slice(at + 1, end);
  const next = end + 1 + address[0].length;
  const url = address[1]!;
  // Only what can be opened is a link. Another address, such as a path, stands behind its label as text.
  if (/^https?:\/\//i.test(url)) return { span: { kind: "link", url, spans: spansOf(label, depth + 1) }, next };
  const same = label.replaceAll("`", "") === url || url === "";
  return { span: { kind: "em", spans: [...spansOf(label, SPAN_DEPTH_MAX), ...(same ? [] : [{ kind: "text" as const, text: ` (${url})` }])] }, next };
}
