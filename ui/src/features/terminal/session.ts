// One xterm.js on one run, without React: bytes in by the pull loop, keys out by the input queue, the size in step with the pane.

import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import type { Backend, BackendError } from "../../backend/backend";
import type { Frame } from "../../backend/frame";
import type { Id } from "../../generated/api";
import type { Scheme } from "../../shared/hooks";
import { shortcutOf } from "../../shared/keys";
import { clipboardWrite, harmlessPaste, needsWarning } from "./clipboard";
import { correctContrast } from "./contrast";
import { InputQueue } from "./input";
import { piecesOf, type PullState, Puller } from "./pull";
import { silence } from "./silence";
import { type Size, SizeTeller } from "./size";
import "./styles";
import { DARK, LIGHT, MONO } from "./themes";
import { CELL_WIDTHS } from "./widths";

const RESIZE_AFTER_MS = 60;
/** How long the web view has to paste by itself before the clipboard is read by the page. */
const PASTE_BY_VIEW_MS = 150;
const SIDE_MAX = 1000;

export interface Look { font_size: number; scrollback: number; scheme: Scheme }

export interface Hooks {
  pulled(state: PullState): void;
  /** Something went wrong that the user should know. */
  failed(error: BackendError | string): void;
  /** The program wants to put text on the clipboard. */
  programCopies(text: string): void;
  /** The text has line ends and the program would take each as Enter: ask, then call `pasteAnyway`. */
  askPaste(text: string): void;
  openSearch(): void;
  openUrl(url: string): void;
  hoverUrl(url: string | null): void;
  searched(found: { index: number; count: number }): void;
  sized(size: Size): void;
  /** Enter was pressed in a terminal whose run has ended. */
  enterAfterEnd(): void;
}

export class TerminalSession {
  readonly terminal: Terminal;
  readonly #fit = new FitAddon();
  readonly #search = new SearchAddon({ highlightLimit: 1000 });
  readonly #puller: Puller;
  readonly #input: InputQueue;
  readonly #size: SizeTeller;
  readonly #cleanUp: (() => void)[] = [];
  #live: boolean;
  #closed = false;
  #scheme: Scheme;
  #mayRaiseContrast = false;
  /** A snapshot is being put in place, and its size is that of the past: the run must not be told of it. */
  #replacing = false;
  #resizeTimer: ReturnType<typeof setTimeout> | null = null;
  #pasteTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly backend: Backend,
    run: Id,
    live: boolean,
    look: Look,
    private readonly hooks: Hooks,
  ) {
    this.#live = live;
    this.#scheme = look.scheme;
    this.terminal = new Terminal({
      allowProposedApi: true,
      cursorBlink: false,
      cursorInactiveStyle: "outline",
      fontFamily: MONO,
      fontSize: look.font_size,
      lineHeight: 1.15,
      scrollback: look.scrollback,
      theme: look.scheme === "dark" ? DARK : LIGHT,
      macOptionIsMeta: true,
      rightClickSelectsWord: false,
      linkHandler: {
        activate: (event, url) => this.#followLink(event, url),
        hover: (_event, url) => hooks.hoverUrl(url),
        leave: () => hooks.hoverUrl(null),
      },
    });
    this.#puller = new Puller(backend, run, {
      size: () => ({ cols: this.terminal.cols, rows: this.terminal.rows }),
      replace: (frame) => this.#replace(frame),
      append: (bytes) => this.#write(bytes),
    }, (state) => this.#pulled(state));
    this.#input = new InputQueue((data) => backend.call("terminal_write", { run, data }), (error) => hooks.failed(error));
    this.#size = new SizeTeller((size) => backend.call("terminal_resize", { run, ...size }));
    this.#wire();
  }

  #wire(): void {
    const { terminal, hooks } = this;
    const quiet = silence(terminal);
    terminal.loadAddon(this.#fit);
    terminal.loadAddon(this.#search);
    terminal.unicode.register(CELL_WIDTHS);
    terminal.unicode.activeVersion = CELL_WIDTHS.version;
    terminal.loadAddon(new WebLinksAddon((event, url) => this.#followLink(event, url), {
      hover: (_event, url) => hooks.hoverUrl(url),
      leave: () => hooks.hoverUrl(null),
    }));
    terminal.parser.registerOscHandler(52, (data) => {
      const text = clipboardWrite(data);
      if (text !== null) hooks.programCopies(text);
      return true;
    });
    terminal.onData((data) => {
      if (!quiet.speaking()) this.#type(data);
    });
    // The oldest mouse protocol has bytes that are no text; they cannot be written as text, so only what is plain passes.
    terminal.onBinary((data) => {
      if (/^[\u0000-\u007f]*$/.test(data)) this.#type(data);
    });
    terminal.onResize(() => this.#tellSize());
    terminal.attachCustomKeyEventHandler((event) => this.#key(event));
    this.#search.onDidChangeResults(({ resultIndex, resultCount }) => hooks.searched({ index: resultIndex, count: resultCount }));
  }

  /** Puts the terminal into the page, brings the run to its size, and begins to pull. */
  open(element: HTMLElement): void {
    this.terminal.open(element);
    this.#mayRaiseContrast = correctContrast(this.terminal);
    this.#raiseContrast();
    this.#showCursor();
    if (new URLSearchParams(location.search).get("renderer") === "webgl") void this.#useWebgl();
    const observer = new ResizeObserver(() => this.#fitSoon());
    observer.observe(element);
    this.#cleanUp.push(() => observer.disconnect());
    const pasted = (event: ClipboardEvent) => this.#pasteEvent(event);
    element.addEventListener("paste", pasted, { capture: true });
    this.#cleanUp.push(() => element.removeEventListener("paste", pasted, { capture: true }));
    // A pane that is hidden behind a zoomed one keeps the size that its run has.
    if (this.fit()) this.#tellSize();
    void this.#puller.start();
  }

  /**
   * xterm.js (6.0.0) draws no cursor before the terminal had the focus once, or its program left the alternate screen. A pane that
   * comes back without the focus shall have its outlined one; leaving the alternate screen where there is none changes nothing else.
   */
  #showCursor(): void {
    this.terminal.write("\x1b[?47l");
  }

  /** Programs choose colours for a background that they only guess; on a light one more of them need help. */
  #raiseContrast(): void {
    this.terminal.options.minimumContrastRatio = !this.#mayRaiseContrast ? 1 : this.#scheme === "dark" ? 3 : 4.5;
  }

  close(): void {
    this.#closed = true;
    this.#puller.close();
    this.#input.close();
    this.#size.stop();
    if (this.#resizeTimer !== null) clearTimeout(this.#resizeTimer);
    if (this.#pasteTimer !== null) clearTimeout(this.#pasteTimer);
    for (const undo of this.#cleanUp) undo();
    this.terminal.dispose();
  }

  /** Takes the focus, unless a dialog has it: a question must not lose what is typed at it to a program. */
  focus(): void {
    if (!document.querySelector('[aria-modal="true"]')) this.terminal.focus();
  }

  setVisible(visible: boolean): void {
    this.#puller.pause(!visible);
    if (visible) this.#fitSoon();
  }

  setLook(look: Look): void {
    const { options } = this.terminal;
    this.#scheme = look.scheme;
    options.theme = look.scheme === "dark" ? DARK : LIGHT;
    this.#raiseContrast();
    options.scrollback = look.scrollback;
    if (options.fontSize !== look.font_size) {
      options.fontSize = look.font_size;
      this.fit();
    }
  }

  // --- size ---

  /** Gives the terminal the size of its pane. A pane that is not laid out, or hidden, has none: then nothing changes, and false is the answer. */
  fit(): boolean {
    if (this.#closed || this.terminal.element?.offsetParent === null) return false;
    const size = this.#fit.proposeDimensions();
    if (!size || !Number.isFinite(size.cols) || !Number.isFinite(size.rows)) return false;
    const cols = Math.min(SIDE_MAX, Math.max(2, size.cols));
    const rows = Math.min(SIDE_MAX, Math.max(1, size.rows));
    if (cols !== this.terminal.cols || rows !== this.terminal.rows) {
      this.#forgetOldSelection();
      this.terminal.resize(cols, rows);
    }
    return true;
  }

  /**
   * At a new size the DOM renderer of xterm.js 6.0.0 draws the last selection again, also one that was cleared. An empty selection
   * takes its place; it must be left standing, since a cleared one is what the renderer does not hear of.
   */
  #forgetOldSelection(): void {
    if (!this.terminal.hasSelection()) this.terminal.select(0, 0, 0);
  }

  #fitSoon(): void {
    if (this.#resizeTimer !== null) clearTimeout(this.#resizeTimer);
    this.#resizeTimer = setTimeout(() => {
      this.#resizeTimer = null;
      this.fit();
    }, RESIZE_AFTER_MS);
  }

  #tellSize(): void {
    const { cols, rows } = this.terminal;
    this.hooks.sized({ cols, rows });
    if (this.#live && !this.#replacing) this.#size.tell({ cols, rows });
  }

  // --- bytes ---

  async #replace(frame: Frame): Promise<void> {
    const { terminal } = this;
    terminal.reset();
    this.#forgetOldSelection();
    this.#replacing = true;
    if (frame.cols >= 2 && frame.rows >= 1) terminal.resize(frame.cols, frame.rows);
    this.#replacing = false;
    await this.#write(frame.payload);
    this.fit();
  }

  /** In pieces, so that another terminal can show an echo meanwhile. Resolves when all of it has been taken. */
  #write(bytes: Uint8Array): Promise<void> {
    const pieces = piecesOf(bytes);
    const last = pieces.pop()!;
    for (const piece of pieces) this.terminal.write(piece);
    return new Promise((resolve) => this.terminal.write(last, resolve));
  }

  #pulled(state: PullState): void {
    if (this.#closed) return;
    if (state.kind === "ended" || state.kind === "gone") {
      this.#live = false;
      this.#input.close();
      this.#size.stop();
      this.terminal.options.disableStdin = true;
      this.terminal.write("\x1b[?25l");
    }
    this.hooks.pulled(state);
  }

  // --- keys, links, clipboard ---

  #type(data: string): void {
    if (this.#live && !this.#input.push(data)) this.hooks.failed("The program does not take its input, so this was not sent to it.");
  }

  /** False keeps a key from the program. What is not prevented here still does what the web view does with it. */
  #key(event: KeyboardEvent): boolean {
    const shortcut = shortcutOf(event);
    if (shortcut === "paste") {
      if (event.type === "keydown") this.#pasteSoon();
      return false;
    }
    if (shortcut === "copy" || shortcut === "search") {
      event.preventDefault();
      if (event.type === "keydown") shortcut === "copy" ? void this.copy() : this.hooks.openSearch();
      return false;
    }
    if (shortcut !== null) return false;
    if (!this.#live && event.type === "keydown" && event.key === "Enter" && !event.repeat) {
      event.preventDefault();
      this.hooks.enterAfterEnd();
      return false;
    }
    return true;
  }

  async copy(): Promise<void> {
    const text = this.terminal.getSelection();
    if (text === "") return;
    try {
      await this.backend.writeClipboard(text);
    } catch (reason) {
      this.hooks.failed(reason as BackendError);
    }
  }

  /** The web view pastes on this key by itself, which needs no permission. Where it does not, the page reads the clipboard. */
  #pasteSoon(): void {
    if (this.#pasteTimer !== null) return;
    this.#pasteTimer = setTimeout(() => {
      this.#pasteTimer = null;
      this.backend.readClipboard().then((text) => this.paste(text), (reason: BackendError) => this.hooks.failed(reason));
    }, PASTE_BY_VIEW_MS);
  }

  #pasteEvent(event: ClipboardEvent): void {
    event.preventDefault();
    event.stopPropagation();
    if (this.#pasteTimer !== null) clearTimeout(this.#pasteTimer);
    this.#pasteTimer = null;
    this.paste(event.clipboardData?.getData("text/plain") ?? "");
  }

  paste(text: string): void {
    if (this.#closed || !this.#live || text === "") return;
    if (needsWarning(text, this.terminal.modes.bracketedPasteMode)) this.hooks.askPaste(text);
    else this.pasteAnyway(text);
  }

  pasteAnyway(text: string): void {
    this.terminal.paste(harmlessPaste(text));
  }

  #followLink(event: MouseEvent, url: string): void {
    if (event.ctrlKey || event.metaKey) this.hooks.openUrl(url);
  }

  // --- search ---

  find(text: string, back: boolean, typing = false): void {
    const dark = this.#scheme === "dark";
    const options = {
      incremental: typing,
      decorations: {
        matchBackground: dark ? "#4a4426" : "#fff1a8", activeMatchBackground: dark ? "#8a6d1a" : "#ffd24a",
        matchOverviewRuler: "#d8b94a", activeMatchColorOverviewRuler: "#ffb000",
      },
    };
    if (text === "") this.endSearch();
    else if (back) this.#search.findPrevious(text, options);
    else this.#search.findNext(text, options);
  }

  endSearch(): void {
    this.#search.clearDecorations();
    this.terminal.clearSelection();
    this.hooks.searched({ index: -1, count: 0 });
  }

  async #useWebgl(): Promise<void> {
    try {
      const { WebglAddon } = await import("@xterm/addon-webgl");
      if (this.#closed) return;
      const webgl = new WebglAddon();
      webgl.onContextLoss(() => webgl.dispose());
      this.terminal.loadAddon(webgl);
    } catch {
      // The DOM renderer, which is in place already, shows the same.
    }
  }
}
