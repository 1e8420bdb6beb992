// xterm.js can raise the contrast of colours that a program chose for another background, which keeps such text legible in the
// light theme. Its DOM renderer (6.0.0) judges inverse text by the wrong colour and so turns plain inverse text grey on white.
// The renderer's judgement is corrected here; where its inside looks different than expected, no contrast is raised at all.

import type { Terminal } from "@xterm/xterm";

interface Cell { isInverse(): number; getBgColorMode(): number }
interface Factory {
  _applyMinimumContrast?: (element: HTMLElement, bg: unknown, fg: unknown, cell: Cell, bgOverride: unknown, fgOverride: unknown) => boolean;
  _themeService?: { colors?: { foreground: unknown; background: unknown } };
}

const DEFAULT_COLOUR_MODE = 0;

/** Answers whether the contrast may be raised. Call it after `terminal.open`. */
export function correctContrast(terminal: Terminal): boolean {
  const core = (terminal as unknown as { _core?: { _renderService?: { _renderer?: { value?: { _rowFactory?: Factory } } } } })._core;
  const factory = core?._renderService?._renderer?.value?._rowFactory;
  const judge = factory?._applyMinimumContrast;
  const theme = factory?._themeService;
  if (!factory || typeof judge !== "function" || !theme?.colors) return false;
  factory._applyMinimumContrast = (element, bg, fg, cell, bgOverride, fgOverride) => {
    const colors = theme.colors!;
    // In an inverse cell without a background of its own, the text has the background's colour.
    const inverted = !fgOverride && fg === colors.foreground && cell.isInverse() !== 0 && cell.getBgColorMode() === DEFAULT_COLOUR_MODE;
    return judge.call(factory, element, bg, inverted ? colors.background : fg, cell, bgOverride, fgOverride);
  };
  return true;
}
