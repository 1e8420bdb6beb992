import { describe, expect, it } from "vitest";
import { type Block, parseMarkdown, type Span, spansOf } from "./markdown";

const said = (spans: readonly Span[]): string => spans.map((span) => {
  switch (span.kind) {
    case "text": return span.text;
    case "code": return `<code ${span.text}>`;
    case "link": return `<link ${span.url} ${said(span.spans)}>`;
    default: return `<${span.kind} ${said(span.spans)}>`;
  }
}).join("");

const shape = (block: Block): unknown => {
  switch (block.kind) {
    case "paragraph": return said(block.spans);
    case "heading": return `h${block.level} ${said(block.spans)}`;
    case "code": return { code: block.text, language: block.language };
    case "quote": return { quote: block.blocks.map(shape) };
    case "rule": return "---";
    case "table": return { head: block.head.map(said), rows: block.rows.map((row) => row.map(said)) };
    case "list": return { from: block.first, items: block.items.map(({ done, blocks }) => (done === null ? blocks.map(shape) : [done, ...blocks.map(shape)])) };
  }
};
const shapes = (text: string) => parseMarkdown(text).map(shape);

describe("blocks", () => {
  it.each([
    ["paragraphs and line breaks", "one\ntwo\n\nthree", ["one\ntwo", "three"]],
    ["headings", "# One\n### Three ###\n#none", ["h1 One", "h3 Three", "#none"]],
    ["code as it is", "```ts\nconst a = `x`;\n\n  **b**\n```\nafter", [{ code: "const a = `x`;\n\n  **b**", language: "ts" }, "after"]],
    ["code without an end", "~~~\nrest\nof it", [{ code: "rest\nof it", language: "" }]],
    ["a longer fence around a shorter one", "````\n```\n````", [{ code: "```", language: "" }]],
    ["a list", "- one\n- two\n  more of two", [{ from: null, items: [["one"], ["two\nmore of two"]] }]],
    ["a numbered list with one inside", "3. one\n   - a\n   - b\n4. two", [{ from: 3, items: [["one", { from: null, items: [["a"], ["b"]] }], ["two"]] }]],
    ["a list with gaps", "- one\n\n- two\n\nafter", [{ from: null, items: [["one"], ["two"]] }, "after"]],
    ["boxes", "- [x] done\n- [ ] open", [{ from: null, items: [[true, "done"], [false, "open"]] }]],
    ["code in a list", "1. run\n   ```\n   npm test\n   ```\n2. look", [{ from: 1, items: [["run", { code: "npm test", language: "" }], ["look"]] }]],
    ["a year at the beginning of a line as text", "It was\n1984. Nobody knew.", ["It was\n1984. Nobody knew."]],
    ["a quotation", "> one\n> - two\n\nthree", [{ quote: ["one", { from: null, items: [["two"]] }] }, "three"]],
    ["a rule", "one\n\n* * *\n\ntwo", ["one", "---", "two"]],
    ["a table", "| a | b |\n|---|:-:|\n| 1 | `x\\|y` |\n| 2 |\nafter", [{ head: ["a", "b"], rows: [["1", "<code x|y>"], ["2", ""]] }, "after"]],
    ["a line of dashes that is no table", "a | b\nno table", ["a | b\nno table"]],
  ])("know %s", (_, text, expected) => expect(shapes(text)).toEqual(expected));
});

describe("spans", () => {
  it.each([
    ["**bold** and *slanted* and ***both***", "<strong bold> and <em slanted> and <strong <em both>>"],
    ["__bold__, snake_case_name and _slanted_", "<strong bold>, snake_case_name and <em slanted>"],
    ["2 * 3 * 4 and **open", "2 * 3 * 4 and **open"],
    ["~~gone~~ ~here~", "<struck gone> ~here~"],
    ["`a*b*c` and ``a`b`` and `open", "<code a*b*c> and <code a`b> and `open"],
    ["\\*no\\* \\x", "*no* \\x"],
    ["[the *lamp*](https://example.org/a(b)c \"title\")!", "<link https://example.org/a(b)c the <em lamp>>!"],
    ["see https://example.org/x. (https://example.org/y) <https://example.org/z>", "see <link https://example.org/x https://example.org/x>. (<link https://example.org/y https://example.org/y>) <link https://example.org/z https://example.org/z>"],
    ["[a file](src/lamp.ts) [evil](javascript:alert(1)) [`x.ts`](x.ts)", "<em a file (src/lamp.ts)> <em evil (javascript:alert(1))> <em <code x.ts>>"],
    ["<img src=x onerror=alert(1)> <b>no</b>", "<img src=x onerror=alert(1)> <b>no</b>"],
  ])("of %s", (text, expected) => expect(said(spansOf(text))).toBe(expected));
});

describe("a text that is made to be slow", () => {
  it.each([
    ["stars", "*".repeat(15_000)], ["stars and letters", "*a".repeat(9_000)], ["ticks", "`a``b```c".repeat(2_000)], ["brackets", "[".repeat(15_000)], ["links", "[a](".repeat(4_500)],
    ["quotes", `${">".repeat(3_000)} x`], ["lists", Array.from({ length: 2_000 }, (_, n) => `${" ".repeat(n % 60)}- x`).join("\n")], ["tables", `|${"a|".repeat(9_000)}\n|${"-|".repeat(9_000)}`],
    ["dashes", `a|b\n${"-".repeat(50_000)}`], ["underscores", "_a_b".repeat(4_500)], ["gaps", "- a\n\n\n".repeat(9_000)], ["addresses", "https://a.b/".repeat(1_500)],
  ])("of %s is read before the test's own time is over", (_, text) => void expect(parseMarkdown(text).length).toBeGreaterThan(0));
});
