//! The server: takes a call, hands it to its tool, packs what went wrong.

use std::sync::Arc;
use std::time::Duration;

use carillon_api::ApiError;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam, ErrorCode,
    ErrorData, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer};

use super::context::Context;
use super::{answers, asks, tasks, tools, tools_of_tasks, tools_of_workdirs, workdirs};

/// What a model is told about all the tools together.
const INSTRUCTIONS: &str = "Carillon runs several agents on the same project. With these tools you ask other agents, run commands in the background and look after both. Background commands outlive your turn: you are told when they end, so start one, go on or end your turn, and never sit and poll. Everything you start while you answer an ask belongs to your answer: the one who asked gets it when that has ended.";

/// Time that calls which do not wait have to end when nobody wants their answer any more.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The server of one client.
pub(super) struct Server {
    context: Arc<Context>,
}

impl Server {
    pub(super) fn new(context: Context) -> Self {
        Self { context: Arc::new(context) }
    }

    async fn call(
        &self,
        name: &str,
        arguments: Option<JsonObject>,
        request: &RequestContext<RoleServer>,
    ) -> Option<Result<CallToolResult, ApiError>> {
        let cx = &self.context;
        Some(match name {
            "ask_agent" => asks::ask_agent(cx, arguments, request).await,
            "get_ask" => asks::get_ask(cx, arguments, request).await,
            "cancel_ask" => asks::cancel_ask(cx, arguments, request).await,
            "list_agents" => asks::list_agents(cx, arguments).await,
            "send_message" => asks::send_message(cx, arguments).await,
            "run_in_background" => tasks::run_in_background(cx, arguments).await,
            "list_tasks" => tasks::list_tasks(cx, arguments).await,
            "get_task" => tasks::get_task(cx, arguments).await,
            "read_task_output" => tasks::read_task_output(cx, arguments).await,
            "wait_for_task" => tasks::wait_for_task(cx, arguments, request).await,
            "cancel_task" => tasks::cancel_task(cx, arguments).await,
            "retry_task" => tasks::retry_task(cx, arguments).await,
            "create_workdir" => workdirs::create_workdir(cx, arguments).await,
            "list_workdirs" => workdirs::list_workdirs(cx, arguments).await,
            "list_residue" => workdirs::list_residue(cx, arguments).await,
            _ => return None,
        })
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::default();
        config.capabilities = ServerCapabilities::builder().enable_tools().build();
        config.server_info = Implementation::new("carillon", env!("CARGO_PKG_VERSION"));
        config.instructions = Some(INSTRUCTIONS.to_owned());
        config
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(all_tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Ok(_slot) = self.context.calls.clone().try_acquire_owned() else {
            let busy = ApiError::failed("too many calls are under way; wait until one of them has ended");
            return Ok(answers::error(&busy).into());
        };
        // A call that waits leaves by itself when it is cancelled or the client has gone; the others,
        // and one that is on its way to an engine which is away, get a moment.
        let abandoned = async {
            tokio::select! {
                () = self.context.gone.cancelled() => {}
                () = context.ct.cancelled() => {}
            }
            tokio::time::sleep(LAST_WORDS).await;
        };
        let called = tokio::select! {
            called = self.call(&request.name, request.arguments, &context) => called,
            () = abandoned => Some(Err(ApiError::failed("the call was cancelled"))),
        };
        match called {
            Some(Ok(result)) => Ok(result.into()),
            Some(Err(error)) => Ok(answers::error(&error).into()),
            None => {
                let text = format!("there is no tool {:?}", request.name);
                Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None))
            }
        }
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        all_tools().into_iter().find(|tool| tool.name == name)
    }

    async fn on_cancelled(
        &self,
        notification: CancelledNotificationParam,
        _context: NotificationContext<RoleServer>,
    ) {
        // A call that still waits hears of it by its token. This is for one whose answer was ready and is
        // not sent any more; one that was sent is not known here, and the notification means nothing.
        if let Some(request) = &notification.request_id {
            self.context.deliveries.cancelled(request);
        }
    }
}

fn all_tools() -> Vec<Tool> {
    tools::all().into_iter().chain(tools_of_tasks::all()).chain(tools_of_workdirs::all()).collect()
}
