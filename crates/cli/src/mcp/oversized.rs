//! What can be told of a message that is too long to be kept: its id and its method.
//!
//! The bytes go by once and are dropped. All that is remembered is where in the message one is, and
//! the two values at its top level: they may stand behind the long part as well as before it.

/// Longest id, method or key that is remembered, in bytes.
const WORD_MAX_BYTES: usize = 256;

/// Reads a JSON message as it goes by.
#[derive(Debug, Default)]
pub(super) struct Skimmer {
    /// How many objects and arrays are open.
    depth: usize,
    /// Inside a string, and whether the next character is escaped.
    string: Option<Escape>,
    /// The word at the top level that is being read, raw, as long as it is short.
    word: Vec<u8>,
    is_word_cut: bool,
    /// The key whose value comes next, at the top level.
    key: Option<Vec<u8>>,
    id: Option<serde_json::Value>,
    method: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    No,
    Next,
}

impl Skimmer {
    /// Takes the next piece of the message.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.step(*byte));
    }

    /// The id and the method, as far as the message said.
    pub(super) fn finish(mut self) -> (Option<serde_json::Value>, Option<String>) {
        self.end_value();
        (self.id, self.method)
    }

    fn step(&mut self, byte: u8) {
        if let Some(escape) = self.string {
            self.keep(byte);
            self.string = match (escape, byte) {
                (Escape::Next, _) => Some(Escape::No),
                (Escape::No, b'\\') => Some(Escape::Next),
                (Escape::No, b'"') => None,
                (Escape::No, _) => Some(Escape::No),
            };
            return;
        }
        match byte {
            b'"' => {
                self.string = Some(Escape::No);
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.end_value();
                } else {
                    self.keep(byte);
                }
            }
            b':' if self.depth == 1 && self.key.is_none() => {
                self.key = Some(std::mem::take(&mut self.word));
                self.is_word_cut = false;
            }
            b',' if self.depth == 1 => self.end_value(),
            byte if byte.is_ascii_whitespace() => {}
            byte => self.keep(byte),
        }
    }

    /// Remembers a byte of a word at the top level.
    fn keep(&mut self, byte: u8) {
        if self.depth != 1 {
            return;
        }
        if self.word.len() < WORD_MAX_BYTES {
            self.word.push(byte);
        } else {
            self.is_word_cut = true;
        }
    }

    fn end_value(&mut self) {
        let word = std::mem::take(&mut self.word);
        let is_whole = !std::mem::take(&mut self.is_word_cut);
        let Some(key) = self.key.take().filter(|_| is_whole) else { return };
        match key.as_slice() {
            b"\"id\"" => self.id = serde_json::from_slice(&word).ok(),
            b"\"method\"" => self.method = serde_json::from_slice(&word).ok(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn skimmed(message: &str, step: usize) -> (Option<Value>, Option<String>) {
        let mut skimmer = Skimmer::default();
        message.as_bytes().chunks(step).for_each(|piece| skimmer.feed(piece));
        skimmer.finish()
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        let long = "x".repeat(2 * WORD_MAX_BYTES);
        let params = json!({"name": "ask_agent", "arguments": {"prompt": format!("{long}\"id\": 4, \\ {{[", ), "id": 5}});
        let method = Some("tools/call".to_owned());
        for step in [1, 7, 100_000] {
            let before = format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{params}}}"#);
            assert_eq!(skimmed(&before, step), (Some(json!(3)), method.clone()));
            let behind = format!(r#" {{ "method" : "tools/call", "params" : {params} , "id" : "a\"b" }} "#);
            assert_eq!(skimmed(&behind, step), (Some(json!("a\"b")), method.clone()));
        }
    }

    #[test]
    fn what_is_no_message_has_no_id() {
        let long = format!(r#"{{"id":"{}","method":"m"}}"#, "x".repeat(WORD_MAX_BYTES));
        assert_eq!(skimmed(&long, 9), (None, Some("m".to_owned())));
        for bad in ["", "xxxx", "[1,2", "}}}}", "\"id\":3", "{\"id\":", "{\"id\":{\"id\":1}}x"] {
            let (id, method) = skimmed(bad, 3);
            assert!(method.is_none(), "{bad}");
            assert!(id.is_none_or(|id| id.is_object()), "{bad}");
        }
    }
}
