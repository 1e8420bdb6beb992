//! Turns: how they are started, and what came of them, from outputs as the real CLIs wrote them (cut to what matters).

mod acp;
mod claude;
mod codex;
mod gemini;
mod hooks;
mod inner;
mod opencode;
mod plain;
mod plans;
mod reader;
mod support;
