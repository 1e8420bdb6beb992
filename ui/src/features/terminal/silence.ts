// Programs ask their terminal questions (what are you, where is the cursor, what is your background?). The engine answers them,
// once, when they are asked. The view shows the same bytes later and perhaps again, so its terminal must never answer: every
// question is taken out of the stream here before xterm.js can see it.

import type { IDisposable, Terminal } from "@xterm/xterm";

/** Window operations (CSI Ps t) that report something; the others (title stack) go through. */
const WINDOW_REPORTS = new Set([11, 13, 14, 15, 16, 18, 19, 20, 21]);
/** Colour sequences whose value `?` asks for the present one: palette, foreground, background, cursor and their kin. */
const COLOUR_SEQUENCES = [4, 5, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19];

export interface Silence extends IDisposable {
  /** True while xterm.js handles bytes that make it speak by itself, which is when nothing it says may be sent. */
  speaking(): boolean;
}

export function silence(terminal: Terminal): Silence {
  const { parser } = terminal;
  const swallow = () => true;
  let speaking = false;
  const handlers: IDisposable[] = [
    parser.registerCsiHandler({ final: "c" }, swallow),
    parser.registerCsiHandler({ prefix: ">", final: "c" }, swallow),
    parser.registerCsiHandler({ prefix: "=", final: "c" }, swallow),
    parser.registerCsiHandler({ final: "n" }, swallow),
    parser.registerCsiHandler({ prefix: "?", final: "n" }, swallow),
    parser.registerCsiHandler({ intermediates: "$", final: "p" }, swallow),
    parser.registerCsiHandler({ prefix: "?", intermediates: "$", final: "p" }, swallow),
    parser.registerCsiHandler({ prefix: ">", final: "q" }, swallow),
    parser.registerCsiHandler({ prefix: "?", final: "u" }, swallow),
    parser.registerCsiHandler({ final: "x" }, swallow),
    parser.registerCsiHandler({ final: "t" }, (params) => typeof params[0] === "number" && WINDOW_REPORTS.has(params[0])),
    parser.registerDcsHandler({ intermediates: "$", final: "q" }, swallow),
    parser.registerDcsHandler({ intermediates: "+", final: "q" }, swallow),
    ...COLOUR_SEQUENCES.map((code) => parser.registerOscHandler(code, (data) => data.split(";").some((part) => part.trim() === "?"))),
    // Turning focus reports on makes xterm.js report the focus at once, from within the parser. The mode itself must be kept, so the
    // handler lets it through and marks the rest of this task, in which no key of the user's can arrive.
    parser.registerCsiHandler({ prefix: "?", final: "h" }, (params) => {
      if (params.includes(1004)) {
        speaking = true;
        queueMicrotask(() => {
          speaking = false;
        });
      }
      return false;
    }),
  ];
  return {
    speaking: () => speaking,
    dispose: () => handlers.forEach((handler) => handler.dispose()),
  };
}
