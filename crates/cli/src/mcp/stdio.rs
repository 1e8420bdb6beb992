//! Lines on standard input and output.
//!
//! Both are read and written on threads of their own, since a client may hand us a pipe, a socket or a
//! terminal, and may stop reading at any time. rmcp's own transport is not used for two reasons: it
//! drops a message that is too long without a word, and it cannot say when a response was written.

use std::io::{BufRead, Write};

use carillon_core::limits;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData, JsonRpcMessage, RequestId, ServerResult};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::deliveries::{Deliveries, Delivery};
use super::oversized::Skimmer;

/// Messages that may wait in each direction before the other side has to.
const MESSAGES_WAITING: usize = 32;
/// Bytes that are read at a time.
const READ_BYTES: usize = 16 * 1024;
/// Stack of the two threads, in bytes.
const STACK_BYTES: usize = 128 * 1024;

/// A message of the client.
enum Incoming {
    Line(Vec<u8>),
    TooLong { bytes: usize, id: Option<Value>, method: Option<String> },
}

/// A message to the client.
struct Outgoing {
    line: Vec<u8>,
    delivery: Option<Delivery>,
    done: Option<oneshot::Sender<std::io::Result<()>>>,
}

/// The transport.
pub(super) struct Stdio {
    incoming: mpsc::Receiver<Incoming>,
    outgoing: mpsc::Sender<Outgoing>,
    /// An answer of the transport's own that has no room yet.
    refusal: Option<TxJsonRpcMessage<RoleServer>>,
    /// The client has asked something: before that there is nothing that it could notify us of.
    has_begun: bool,
    gone: CancellationToken,
    deliveries: Deliveries,
}

impl Stdio {
    /// Begins to read and to write. `gone` is set when the client closes its end, and ends the reading
    /// when somebody else sets it.
    pub(super) fn start(gone: CancellationToken, deliveries: Deliveries) -> std::io::Result<Self> {
        let (read, incoming) = mpsc::channel(MESSAGES_WAITING);
        let (outgoing, to_write) = mpsc::channel(MESSAGES_WAITING);
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
        thread("read").spawn(move || read_lines(std::io::stdin(), &read))?;
        let (runtime, of_writer) = (tokio::runtime::Handle::current(), deliveries.clone());
        thread("write").spawn(move || {
            let _inside = runtime.enter();
            write_lines(to_write, &of_writer);
        })?;
        Ok(Self { incoming, outgoing, refusal: None, has_begun: false, gone, deliveries })
    }

    /// The message, or an answer of the transport's own to one that is none.
    fn read(&mut self, incoming: Incoming) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = match incoming {
            Incoming::Line(line) => line,
            Incoming::TooLong { bytes, id, method } => {
                self.refusal = refuse_length(bytes, id, method.as_deref());
                return None;
            }
        };
        match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(&line) {
            Ok(message) => {
                self.has_begun |= matches!(message, JsonRpcMessage::Request(_));
                self.has_begun.then_some(message)
            }
            Err(error) => {
                self.refusal = refuse_message(&line, &error);
                None
            }
        }
    }

    fn pack(&self, message: &TxJsonRpcMessage<RoleServer>) -> std::io::Result<Outgoing> {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let delivery = id.and_then(|id| self.deliveries.take(id));
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        Ok(Outgoing { line, delivery, done: None })
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = std::io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        // The delivery is taken here and not in the future: from now on a cancellation comes too late.
        let packed = self.pack(&message);
        let (outgoing, deliveries) = (self.outgoing.clone(), self.deliveries.clone());
        async move {
            let (done, written) = oneshot::channel();
            let packed = Outgoing { done: Some(done), ..packed? };
            if let Err(mpsc::error::SendError(unsent)) = outgoing.send(packed).await {
                if let Some(Delivery { ask, call }) = unsent.delivery {
                    deliveries.left(ask, call);
                }
                return Err(std::io::ErrorKind::BrokenPipe.into());
            }
            written.await.unwrap_or_else(|_| Err(std::io::ErrorKind::BrokenPipe.into()))
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        // This future may be dropped at any await and begun anew, so nothing is on its way in it.
        loop {
            if self.refusal.is_some() {
                let Ok(room) = self.outgoing.reserve().await else { return None };
                if let Some(refusal) = self.refusal.take()
                    && let Ok(line) = serde_json::to_vec(&refusal)
                {
                    let line = [line.as_slice(), b"\n"].concat();
                    room.send(Outgoing { line, delivery: None, done: None });
                }
            }
            let incoming = tokio::select! {
                biased;
                () = self.gone.cancelled() => return None,
                incoming = self.incoming.recv() => incoming,
            };
            let Some(incoming) = incoming else {
                // Waits end now; rmcp still lets answers out that are ready.
                self.gone.cancel();
                return None;
            };
            if let Some(message) = self.read(incoming) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.incoming.close();
        Ok(())
    }
}

/// Reads line by line until the end; a longer one than the bound is skimmed and dropped.
fn read_lines(input: std::io::Stdin, to: &mpsc::Sender<Incoming>) {
    let mut input = std::io::BufReader::with_capacity(READ_BYTES, input.lock());
    let mut line = Vec::new();
    let mut skimmed: Option<(Skimmer, usize)> = None;
    loop {
        let piece = match input.fill_buf() {
            Ok([]) => return,
            Ok(piece) => piece,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let end = memchr::memchr(b'\n', piece);
        let part = &piece[..end.unwrap_or(piece.len())];
        if let Some((skimmer, bytes)) = &mut skimmed {
            skimmer.feed(part);
            *bytes += part.len();
        } else if line.len() + part.len() > limits::MCP_MESSAGE_MAX_BYTES {
            let mut skimmer = Skimmer::default();
            skimmer.feed(&line);
            skimmer.feed(part);
            skimmed = Some((skimmer, line.len() + part.len()));
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_none() {
            continue;
        }
        let message = match skimmed.take() {
            Some((skimmer, bytes)) => {
                let (id, method) = skimmer.finish();
                Incoming::TooLong { bytes, id, method }
            }
            None if line.iter().all(u8::is_ascii_whitespace) => {
                line.clear();
                continue;
            }
            None => Incoming::Line(std::mem::take(&mut line)),
        };
        if to.blocking_send(message).is_err() {
            return;
        }
    }
}

/// Writes line by line, and says of each whether the client has it.
fn write_lines(mut from: mpsc::Receiver<Outgoing>, deliveries: &Deliveries) {
    let mut out = std::io::stdout().lock();
    while let Some(Outgoing { line, delivery, done }) = from.blocking_recv() {
        let written = out.write_all(&line).and_then(|()| out.flush());
        match delivery {
            Some(delivery) if written.is_ok() => deliveries.written(delivery),
            Some(Delivery { ask, call }) => deliveries.left(ask, call),
            None => {}
        }
        if let Some(done) = done {
            let _ = done.send(written);
        }
    }
}

/// A call of a tool is told so in a result, which a model gets to read; everything else in an error.
fn refuse_length(
    bytes: usize,
    id: Option<Value>,
    method: Option<&str>,
) -> Option<TxJsonRpcMessage<RoleServer>> {
    let most = limits::MCP_MESSAGE_MAX_BYTES;
    let text = format!(
        "this message is {bytes} bytes long and at most {most} are read; put the text into a file and name the file"
    );
    let id = id.map(serde_json::from_value::<RequestId>);
    match (id, method) {
        (Some(Ok(id)), Some("tools/call")) => {
            let result = CallToolResult::error(vec![ContentBlock::text(text)]);
            Some(TxJsonRpcMessage::<RoleServer>::response(ServerResult::CallToolResult(result), id))
        }
        (Some(Ok(id)), _) => Some(JsonRpcMessage::error(ErrorData::invalid_request(text, None), Some(id))),
        // A notification needs no answer.
        (None, Some(_)) => None,
        (Some(Err(_)) | None, _) => Some(JsonRpcMessage::error(ErrorData::invalid_request(text, None), None)),
    }
}

fn refuse_message(line: &[u8], error: &serde_json::Error) -> Option<TxJsonRpcMessage<RoleServer>> {
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        let text = format!("this is no JSON: {error}");
        return Some(JsonRpcMessage::error(ErrorData::parse_error(text, None), None));
    };
    let is_notification = message.get("method").is_some() && message.get("id").is_none();
    if is_notification {
        return None;
    }
    let id = message.get("id").cloned().and_then(|id| serde_json::from_value(id).ok());
    let text = "this is no message of JSON-RPC 2.0";
    Some(JsonRpcMessage::error(ErrorData::invalid_request(text, None), id))
}
