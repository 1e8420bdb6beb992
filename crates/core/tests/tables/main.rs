//! Every state of each machine against every event, as tables that a reader can check, and the
//! diagrams of `docs/machines.md`, which are drawn from the same tables.

mod ask;
mod diagrams;
mod message;
mod run;
mod task;
mod turn;

/// One line of a table.
pub struct Row {
    /// The name of the state.
    from: &'static str,
    /// The name of the event.
    event: &'static str,
    /// How things stand besides; may be empty.
    when: &'static str,
    /// The new state with what has to be done, or why not. Words in brackets are no part of its name.
    to: Result<(String, String), String>,
}

impl Row {
    fn new<R: std::fmt::Debug>(
        from: &'static str,
        event: &'static str,
        to: Result<(String, String), R>,
    ) -> Self {
        Self { from, event, when: "", to: to.map_err(|why| format!("{why:?}")) }
    }

    fn when(self, when: &'static str) -> Self {
        Self { when, ..self }
    }
}

/// The table as a text.
fn print(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let when = if row.when.is_empty() { String::new() } else { format!(" | {}", row.when) };
        let to = match &row.to {
            Ok((to, effects)) => format!("{to} {effects}"),
            Err(why) => format!("refused: {why}"),
        };
        format!("{} + {}{when} -> {to}\n", row.from, row.event)
    };
    rows.iter().map(line).collect()
}
