//! Headless turns from the outside: how an agent's program is started, and what it left at its end.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use carillon_agents::adapter::Adapter;
use carillon_agents::terminal::terminal_plan;
use carillon_agents::turn::{self as agent_turn, McpEntry, Session, TurnEnd, TurnOrder};
use carillon_core::id::RunId;
use carillon_core::run::Ending;
use carillon_core::usage::{Usage, micro_usd};
use carillon_core::{plain, turn};
use carillon_supervisor::{LogReader, Read};

use crate::host::outcomes::{self, Said};
use crate::host::typing::Mark;
use crate::host::{Host, Vars};
use crate::requests::resolve;
use crate::world::{AgentOrder, OrderIo, TurnOutcome, Unread};

/// What an agent's program needs for its start, as found on this machine.
pub(crate) struct Ready {
    pub(crate) argv: Vec<String>,
    pub(crate) env: Vars,
    pub(crate) prompt: String,
    /// What is known of the program before it says anything.
    pub(crate) marks: &'static [Mark],
}

impl Host {
    /// Finds the program, makes the files that it needs and the words that start it.
    pub(crate) fn make_ready(
        &self,
        order: &AgentOrder,
        io: OrderIo,
        ours: &[(&'static str, String)],
        cwd: &Path,
        dir: &Path,
    ) -> Result<Ready, String> {
        let vars = self.user_env();
        let program = resolve(&order.program, &vars, cwd).map_err(|error| match error.hint() {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        })?;
        let program = text(&program)?;
        let adapter: Adapter =
            order.adapter.parse().map_err(|_| format!("the adapter {:?} is unknown", order.adapter))?;
        let in_terminal = !matches!(io, OrderIo::Turn);
        if in_terminal && adapter == Adapter::Acp {
            let argv = carillon_agents::adapter::terminal_argv(adapter, &program, &order.args);
            return Ok(Ready { argv, env: Vec::new(), prompt: String::new(), marks: &[] });
        }
        let carillon = text(&self.carillon_binary)?;
        let named: Vec<(String, String)> =
            ours.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let args = ["mcp".to_owned()];
        let order = TurnOrder {
            adapter,
            program: &program,
            args: &order.args,
            carillon: &carillon,
            role: Some(order.role.as_str()).filter(|role| !role.trim().is_empty()),
            prompt: &order.prompt,
            session: match &order.session {
                Some(id) => Session::Resume { id },
                None => Session::New { id: &order.new_session },
            },
            mcp: Some(McpEntry { command: &carillon, args: &args, env: &named }),
            files_dir: dir,
        };
        let plan = if in_terminal { terminal_plan(&order) } else { agent_turn::plan(&order) };
        let plan = plan.map_err(|e| e.to_string())?;
        for (path, content) in &plan.files {
            write_private(path, content).map_err(|e| format!("{} cannot be written: {e}", path.display()))?;
        }
        let marks = if in_terminal { known_of(adapter) } else { &[] };
        Ok(Ready { argv: plan.argv, env: plan.env, prompt: plan.stdin, marks })
    }

    /// What came of a headless turn whose program ended by itself, or in a way that nobody saw: then only what it has
    /// said to the end counts.
    pub(crate) fn read_outcome(
        &self,
        run: &RunId,
        adapter: &str,
        ending: Option<&Ending>,
        ended_ms: i64,
    ) -> Result<TurnOutcome, Unread> {
        let dir = self.run_dir(run);
        let lost = Unread::Lost;
        let adapter: Adapter =
            adapter.parse().map_err(|_| lost(format!("the adapter {adapter:?} is unknown")))?;
        let not_now = |e: carillon_supervisor::Error| Unread::NotNow(e.to_string());
        let is_cut = match (carillon_supervisor::observe(&dir).map_err(not_now)?, ending) {
            (carillon_supervisor::Observed::Ended(record), _) => record.log_truncated,
            (_, None) => false,
            (other, Some(_)) => return Err(lost(format!("its record cannot be read: {other:?}"))),
        };
        if is_cut {
            let why = "the disk was full while it answered, so that some of it is missing";
            return Err(lost(why.to_owned()));
        }
        let Said { out, errors } = match self.outcomes.take(run) {
            Some(said) => said,
            None => outcomes::read(&dir).map_err(not_now)?,
        };
        let exit = match ending {
            Some(ending) => agent_turn::Exit { code: ending.exit_code, signal: ending.signal },
            None => agent_turn::Exit { code: None, signal: Some(libc::SIGKILL) },
        };
        let outcome = agent_turn::outcome(adapter, exit, &out, &errors, ended_ms);
        let usage_of_session = outcome.usage.is_some_and(|usage| usage.of_session);
        let usage = outcome.usage.map(|usage| Usage {
            input_tokens: Some(usage.input_tokens),
            cached_tokens: usage.cached_tokens,
            output_tokens: Some(usage.output_tokens),
            reasoning_tokens: usage.reasoning_tokens,
            cost_micro_usd: usage.cost_usd.and_then(micro_usd),
        });
        let mut session_unknown = false;
        let end = match outcome.end {
            TurnEnd::Final { text } => turn::End::Final { text },
            TurnEnd::NoAnswer => turn::End::Final { text: String::new() },
            TurnEnd::Failed { reason } => turn::End::Failed { reason },
            TurnEnd::UnknownSession { reason } => {
                session_unknown = true;
                turn::End::Failed { reason }
            }
            TurnEnd::Limited { reason, windows: _, resets_at_ms } => {
                turn::End::Limited { reason, until_ms: resets_at_ms }
            }
        };
        Ok(TurnOutcome {
            end,
            session: outcome.session,
            session_unknown,
            usage: usage.unwrap_or_default(),
            usage_of_session,
        })
    }

    /// The end of a run's output, as plain lines.
    pub(crate) fn read_tail(&self, run: &RunId, most_bytes: u64) -> String {
        let dir = self.run_dir(run);
        let read = || -> Result<Vec<u8>, carillon_supervisor::Error> {
            let mut log = LogReader::open(&dir)?;
            let from = log.end()?.saturating_sub(most_bytes);
            read_from(&mut log, from)
        };
        let bytes = if dir.is_dir() { read().unwrap_or_default() } else { Vec::new() };
        let text = String::from_utf8_lossy(&bytes);
        // The page may begin in the middle of a character.
        let text = text.trim_start_matches('\u{fffd}');
        let lines: Vec<String> = text.lines().map(|line| plain::plain(line).trim_end().to_owned()).collect();
        lines.join("\n").trim_end().to_owned()
    }
}

/// What the hooks of a terminal plan will tell.
fn known_of(adapter: Adapter) -> &'static [Mark] {
    match adapter {
        Adapter::Claude | Adapter::Gemini => &[Mark::Hooks, Mark::Awaited],
        // Neither tells when it is up.
        Adapter::Codex => &[Mark::Hooks, Mark::Records],
        Adapter::Opencode => &[Mark::Hooks],
        Adapter::Acp | Adapter::Plain => &[],
    }
}

pub(crate) fn read_from(log: &mut LogReader, from: u64) -> Result<Vec<u8>, carillon_supervisor::Error> {
    let mut bytes = Vec::new();
    let mut offset = from;
    let mut page = vec![0; 64 * 1024];
    loop {
        match log.read_at(offset, &mut page)? {
            Read::Bytes(count) => {
                bytes.extend_from_slice(&page[..count]);
                offset += count as u64;
            }
            Read::Gap { to, .. } => offset = to,
            Read::End => return Ok(bytes),
        }
    }
}

fn text(path: &Path) -> Result<String, String> {
    path.to_str().map(str::to_owned).ok_or_else(|| format!("the path {} is not UTF-8", path.display()))
}

fn write_private(path: &PathBuf, content: &str) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        std::fs::create_dir_all(dir)?;
    }
    let mut file = std::fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content.as_bytes())
}
