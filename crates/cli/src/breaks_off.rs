//! What an interrupt does to a command whose work is the engine's: it breaks that off there, and the engine then answers
//! what was done until then. A second one ends the command, and the work goes on.

use std::path::Path;

use carillon_api::Client;
use serde_json::Value;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::{Handle, Signals};

/// Holds until it is dropped.
pub(crate) struct BreaksOff(Option<Handle>);

impl BreaksOff {
    /// `method` is the call that breaks it off.
    pub(crate) fn on_interrupt(socket: &Path, method: &'static str, params: Value) -> Self {
        let Ok(mut signals) = Signals::new([SIGINT]) else { return Self(None) };
        let (handle, socket) = (signals.handle(), socket.to_owned());
        let listen = move || {
            for (count, _) in signals.forever().enumerate() {
                if count > 0 {
                    std::process::exit(130);
                }
                eprintln!("carillon: breaking off");
                match Client::connect(&socket).and_then(|mut client| client.call(method, params.clone())) {
                    Ok(answer) => {
                        if let Some(reason) = answer["reason"].as_str() {
                            eprintln!("carillon: {reason}");
                        }
                    }
                    Err(error) => eprintln!("carillon: {}", error.message),
                }
            }
        };
        Self(std::thread::Builder::new().spawn(listen).is_ok().then_some(handle))
    }
}

impl Drop for BreaksOff {
    fn drop(&mut self) {
        if let Some(handle) = &self.0 {
            handle.close();
        }
    }
}
