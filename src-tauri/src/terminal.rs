//! A terminal's bytes on their way to the page: pulled by offset, one answer of raw bytes per request, never JSON and never pushed.

use carillon_api::{ApiError, App};
use std::time::Duration;
use tauri::State;
use tauri::ipc::Response;

/// Answers the bytes of a run after `offset`, or a snapshot of its screen; 24 bytes before them say which; `carillon_api::app` lays them out.
///
/// Waits up to `wait_ms` milliseconds for the first byte. `offset` is `null` when a view attaches.
#[tauri::command(rename_all = "snake_case")]
pub async fn terminal_pull(
    app: State<'_, App>,
    run: String,
    offset: Option<u64>,
    cols: u16,
    rows: u16,
    wait_ms: u64,
) -> Result<Response, ApiError> {
    Ok(Response::new(app.terminal_pull(&run, offset, (cols, rows), Duration::from_millis(wait_ms)).await?))
}
