// One terminal that fills the window.

import { Channel, invoke } from "@tauri-apps/api/core";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import "./main.css";

const terminal = new Terminal({ fontSize: 13, scrollback: 5000, theme: { background: "#16181d" } });
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(document.getElementById("terminal"));
fit.fit();

const output = new Channel();
output.onmessage = (bytes) => terminal.write(new Uint8Array(bytes));
void invoke("open", { cols: terminal.cols, rows: terminal.rows, output });
terminal.onData((data) => void invoke("write", { data }));
terminal.onResize(({ cols, rows }) => void invoke("resize", { cols, rows }));
addEventListener("resize", () => fit.fit());
terminal.focus();

// Two frames: the first is drawn when the second begins.
requestAnimationFrame(() => requestAnimationFrame(() => void invoke("painted")));
