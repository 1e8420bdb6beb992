//! The table `turns`: what agents are told, and what they answered.

use carillon_core::id::{AgentId, AskId, ProfileId, ProjectId, RunId, TurnId};
use carillon_core::turn::State;
use carillon_core::usage::{SessionCount, Usage};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::changes::{self, Tag};
use crate::error::{Sql, unreadable};
use crate::{hooks, usage};

/// Why a turn is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// To answer an ask.
    Ask,
    /// To answer an ask once more, with what became of its children.
    FollowUp,
    /// To read the inbox.
    Wake,
    /// To go on with a turn that was cut short.
    Resume,
}

/// What is committed along with the end of a turn. It is not read back with the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closing {
    /// How far the conversation is counted now, where its program counts all of it.
    pub session_count: Option<SessionCount>,
    /// What told the end, by its own id, where a hook did: told once more, it is known.
    pub hook: Option<String>,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRow {
    /// Its identity.
    pub id: TurnId,
    /// Whose it is.
    pub agent: AgentId,
    /// Where it belongs.
    pub project: ProjectId,
    /// The ask that it serves.
    pub ask: Option<AskId>,
    /// Why it is run.
    pub kind: Kind,
    /// Where it stands.
    pub state: State,
    /// What the agent is told.
    pub prompt: String,
    /// What carries it.
    pub run: Option<RunId>,
    /// What it used, as far as the agent's program told.
    pub usage: Usage,
    /// What its end brings along.
    pub closing: Closing,
    /// When it was put in line, in Unix milliseconds.
    pub created_ms: i64,
    /// When the agent got it, in Unix milliseconds.
    pub started_ms: Option<i64>,
    /// When it was over, in Unix milliseconds.
    pub ended_ms: Option<i64>,
}

const COLUMNS: &str = "id, agent, project, ask, kind, state, prompt, final, reason, resume, until_ms, run,
    created_ms, started_ms, ended_ms, input_tokens, cached_tokens, output_tokens, reasoning_tokens, cost_micro_usd";

/// One turn.
pub fn get(db: &Connection, id: &TurnId) -> Sql<Option<TurnRow>> {
    one(db, "WHERE id = ?1", id.as_str())
}

/// The turn that an agent is at.
pub fn live_of(db: &Connection, agent: &AgentId) -> Sql<Option<TurnRow>> {
    one(db, "WHERE agent = ?1 AND state IN ('starting', 'running')", agent.as_str())
}

/// The turn that a run carries now.
pub fn live_of_run(db: &Connection, run: &RunId) -> Sql<Option<TurnRow>> {
    one(db, "WHERE run = ?1 AND state IN ('starting', 'running')", run.as_str())
}

/// The newest turn that a run carries or carried.
pub fn newest_of_run(db: &Connection, run: &RunId) -> Sql<Option<TurnRow>> {
    one(db, "WHERE run = ?1 ORDER BY created_ms DESC, rowid DESC LIMIT 1", run.as_str())
}

/// The first turn in line of an agent.
pub fn next_of(db: &Connection, agent: &AgentId) -> Sql<Option<TurnRow>> {
    one(db, "WHERE agent = ?1 AND state = 'queued' ORDER BY created_ms, rowid LIMIT 1", agent.as_str())
}

/// How many turns of an agent stand in line.
pub fn queued_of(db: &Connection, agent: &AgentId) -> Sql<u32> {
    db.prepare_cached("SELECT count(*) FROM turns WHERE agent = ?1 AND state = 'queued'")?
        .query_row([agent.as_str()], |row| row.get(0))
}

/// How many headless turns of a profile's agents run and do not wait for another agent: one that does has asked
/// it in this turn and not said that it goes on alone, or a call of its own waits for the answer. Turns whose run
/// is in `lent`, a JSON array, do not count either.
pub fn count_at_work(db: &Connection, profile: &ProfileId, lent: &str) -> Sql<u32> {
    db.prepare_cached(
        "SELECT count(*) FROM turns AS t JOIN agents AS a ON a.id = t.agent
          WHERE a.profile = ?1 AND a.mode = 'headless' AND t.state IN ('starting', 'running')
            AND t.run NOT IN (SELECT value FROM json_each(?2))
            AND NOT EXISTS (SELECT 1 FROM asks AS k WHERE k.caller = t.agent AND k.ended_ms IS NULL
              AND ((k.detached = 0 AND k.created_ms >= (SELECT r.created_ms FROM runs AS r WHERE r.id = t.run))
                OR EXISTS (SELECT 1 FROM calls AS c WHERE c.ask = k.id)))",
    )?
    .query_row((profile.as_str(), lent), |row| row.get(0))
}

/// Whether a task or an ask was started within a turn, as far as it belongs to the ask of the turn where that has one.
pub fn has_started_work(db: &Connection, row: &TurnRow) -> Sql<bool> {
    db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM tasks WHERE owner = ?1 AND created_ms >= ?2 AND (?3 IS NULL OR joined_ask = ?3))
             OR EXISTS (SELECT 1 FROM asks WHERE caller = ?1 AND created_ms >= ?2 AND (?3 IS NULL OR joined_ask = ?3))",
    )?
    .query_row((row.agent.as_str(), row.created_ms, row.ask.as_ref().map(AskId::as_str)), |found| found.get(0))
}

/// The turns of an ask, the oldest first.
pub fn of_ask(db: &Connection, ask: &AskId) -> Sql<Vec<TurnRow>> {
    let mut statement =
        db.prepare_cached(&format!("SELECT {COLUMNS} FROM turns WHERE ask = ?1 ORDER BY created_ms, rowid"))?;
    statement.query_map([ask.as_str()], read)?.collect()
}

/// The turns of an agent, the newest first.
pub fn of_agent(db: &Connection, agent: &AgentId, most: usize) -> Sql<Vec<TurnRow>> {
    let mut statement = db.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM turns WHERE agent = ?1 ORDER BY created_ms DESC, rowid DESC LIMIT ?2"
    ))?;
    statement.query_map((agent.as_str(), most as i64), read)?.collect()
}

/// The turns that agents are at.
pub fn live(db: &Connection) -> Sql<Vec<TurnRow>> {
    select(db, "WHERE state IN ('starting', 'running') ORDER BY created_ms")
}

/// The turns that were cut short and are to be gone on with.
pub fn to_resume(db: &Connection) -> Sql<Vec<TurnRow>> {
    select(db, "WHERE state = 'interrupted' AND resume = 1 ORDER BY created_ms, rowid")
}

/// Agents with a turn in line.
pub fn agents_in_line(db: &Connection) -> Sql<Vec<AgentId>> {
    let mut statement = db.prepare_cached("SELECT DISTINCT agent FROM turns WHERE state = 'queued'")?;
    let ids = statement.query_map([], |row| row.get::<_, String>(0))?;
    ids.map(|id| AgentId::parse(&id?).map_err(|e| unreadable("turns", e))).collect()
}

/// Puts a turn in line.
pub fn insert_queued(tx: &Connection, row: &TurnRow) -> Sql<()> {
    tx.prepare_cached(
        "INSERT INTO turns (id, agent, project, ask, kind, state, prompt, created_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, 'queued', ?6, ?7)",
    )?
    .execute((
        row.id.as_str(),
        row.agent.as_str(),
        row.project.as_str(),
        row.ask.as_ref().map(AskId::as_str),
        kind_word(row.kind),
        &row.prompt,
        row.created_ms,
    ))?;
    note(tx, row)
}

/// `queued → starting`, carried by this run; false when it was not in line, or the agent is at
/// another one.
pub fn claim(tx: &Connection, row: &TurnRow, run: &RunId) -> Sql<bool> {
    let changed = tx.execute(
        "UPDATE turns SET state = 'starting', run = ?2 WHERE id = ?1 AND state = 'queued'
            AND NOT EXISTS (SELECT 1 FROM turns WHERE agent = ?3 AND state IN ('starting', 'running'))",
        (row.id.as_str(), run.as_str(), row.agent.as_str()),
    )?;
    note_if(tx, row, changed)
}

/// `starting → queued`: nothing of it was ever started.
pub fn set_queued_again(tx: &Connection, row: &TurnRow) -> Sql<bool> {
    let changed = tx.execute(
        "UPDATE turns SET state = 'queued', run = NULL WHERE id = ?1 AND state = 'starting'",
        [row.id.as_str()],
    )?;
    note_if(tx, row, changed)
}

/// `starting → running`; false when it was not starting.
pub fn set_running(tx: &Connection, row: &TurnRow, started_ms: i64) -> Sql<bool> {
    let changed = tx.execute(
        "UPDATE turns SET state = 'running', started_ms = ?2 WHERE id = ?1 AND state = 'starting'",
        (row.id.as_str(), started_ms),
    )?;
    note_if(tx, row, changed)
}

/// The end: from any state that is not one; false when it was over already, and then nothing is counted again.
pub fn set_over(tx: &Connection, row: &TurnRow, state: &State, ended_ms: i64) -> Sql<bool> {
    let words = Words::of(state);
    let changed = tx
        .prepare_cached(
            "UPDATE turns SET state = ?2, final = ?3, reason = ?4, resume = ?5, until_ms = ?6, ended_ms = ?7,
                    input_tokens = ?8, cached_tokens = ?9, output_tokens = ?10, reasoning_tokens = ?11,
                    cost_micro_usd = ?12, started_ms = coalesce(started_ms, ?13)
              WHERE id = ?1 AND state IN ('queued', 'starting', 'running')",
        )?
        .execute((
            row.id.as_str(),
            words.state,
            words.text,
            words.reason,
            words.resume,
            words.until_ms,
            ended_ms,
            row.usage.input_tokens,
            row.usage.cached_tokens,
            row.usage.output_tokens,
            row.usage.reasoning_tokens,
            row.usage.cost_micro_usd,
            row.started_ms,
        ))?;
    if changed == 1 {
        close(tx, row)?;
    }
    note_if(tx, row, changed)
}

fn close(tx: &Connection, row: &TurnRow) -> Sql<()> {
    usage::add(tx, &row.project, &row.agent, row.usage)?;
    if let Some(count) = &row.closing.session_count {
        usage::set_counted(tx, &row.agent, count)?;
    }
    match (&row.run, &row.closing.hook) {
        (Some(run), Some(hook)) => hooks::set_heard(tx, run, hook),
        _ => Ok(()),
    }
}

/// A turn that was cut short has been gone on with, or given up.
pub fn set_resumed(tx: &Connection, row: &TurnRow) -> Sql<bool> {
    let changed =
        tx.execute("UPDATE turns SET resume = 0 WHERE id = ?1 AND resume = 1", [row.id.as_str()])?;
    note_if(tx, row, changed)
}

/// Removes turns that served no ask and were over before `before_ms`.
pub fn forget(tx: &Connection, before_ms: i64) -> Sql<usize> {
    tx.execute("DELETE FROM turns WHERE ended_ms < ?1 AND ask IS NULL AND resume = 0", [before_ms])
}

/// A turn's change makes its agent stale as well: the agent's state is read from it.
fn note(tx: &Connection, row: &TurnRow) -> Sql<()> {
    let project = Some(row.project.as_str());
    changes::note(tx, Tag::Turn, row.agent.as_str(), project)?;
    changes::note(tx, Tag::Agent, row.agent.as_str(), project)?;
    match &row.ask {
        Some(ask) => changes::note(tx, Tag::Ask, ask.as_str(), project),
        None => Ok(()),
    }
}

fn note_if(tx: &Connection, row: &TurnRow, changed: usize) -> Sql<bool> {
    if changed == 1 {
        note(tx, row)?;
    }
    Ok(changed == 1)
}

fn one(db: &Connection, rest: &str, key: &str) -> Sql<Option<TurnRow>> {
    db.prepare_cached(&format!("SELECT {COLUMNS} FROM turns {rest}"))?.query_row([key], read).optional()
}

fn select(db: &Connection, rest: &str) -> Sql<Vec<TurnRow>> {
    let mut statement = db.prepare_cached(&format!("SELECT {COLUMNS} FROM turns {rest}"))?;
    statement.query_map([], read)?.collect()
}

fn kind_word(kind: Kind) -> &'static str {
    match kind {
        Kind::Ask => "ask",
        Kind::FollowUp => "follow_up",
        Kind::Wake => "wake",
        Kind::Resume => "resume",
    }
}

/// The columns of a state.
#[derive(Default)]
struct Words<'a> {
    state: &'static str,
    text: Option<&'a str>,
    reason: Option<&'a str>,
    resume: bool,
    until_ms: Option<i64>,
}

impl<'a> Words<'a> {
    fn of(state: &'a State) -> Self {
        let plain = |state| Words { state, ..Words::default() };
        match state {
            State::Queued => plain("queued"),
            State::Starting => plain("starting"),
            State::Running => plain("running"),
            State::Final { text } => Words { text: Some(text), ..plain("final") },
            State::Failed { reason } => Words { reason: Some(reason), ..plain("failed") },
            State::Interrupted { reason, resume } => {
                Words { reason: Some(reason), resume: *resume, ..plain("interrupted") }
            }
            State::Limited { reason, until_ms } => {
                Words { reason: Some(reason), until_ms: *until_ms, ..plain("limited") }
            }
        }
    }
}

fn read_state(row: &Row<'_>) -> Sql<State> {
    let text = |index: usize| row.get::<_, Option<String>>(index).map(Option::unwrap_or_default);
    Ok(match row.get::<_, String>(5)?.as_str() {
        "queued" => State::Queued,
        "starting" => State::Starting,
        "running" => State::Running,
        "final" => State::Final { text: text(7)? },
        "failed" => State::Failed { reason: text(8)? },
        "interrupted" => State::Interrupted { reason: text(8)?, resume: row.get(9)? },
        "limited" => State::Limited { reason: text(8)?, until_ms: row.get(10)? },
        other => return Err(unreadable("turns", format!("state {other:?}"))),
    })
}

fn read(row: &Row<'_>) -> Sql<TurnRow> {
    let bad = |e: carillon_core::id::NotAnId| unreadable("turns", e);
    let ask: Option<String> = row.get(3)?;
    let run: Option<String> = row.get(11)?;
    Ok(TurnRow {
        id: TurnId::parse(&row.get::<_, String>(0)?).map_err(bad)?,
        agent: AgentId::parse(&row.get::<_, String>(1)?).map_err(bad)?,
        project: ProjectId::parse(&row.get::<_, String>(2)?).map_err(bad)?,
        ask: ask.map(|id| AskId::parse(&id)).transpose().map_err(bad)?,
        kind: match row.get::<_, String>(4)?.as_str() {
            "ask" => Kind::Ask,
            "follow_up" => Kind::FollowUp,
            "wake" => Kind::Wake,
            "resume" => Kind::Resume,
            other => return Err(unreadable("turns", format!("kind {other:?}"))),
        },
        state: read_state(row)?,
        prompt: row.get(6)?,
        run: run.map(|id| RunId::parse(&id)).transpose().map_err(bad)?,
        usage: usage::read(row, 15)?,
        closing: Closing::default(),
        created_ms: row.get(12)?,
        started_ms: row.get(13)?,
        ended_ms: row.get(14)?,
    })
}
