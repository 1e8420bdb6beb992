//! The control protocol between the engine and a supervisor, on a unix stream socket.
//!
//! A frame is one byte of kind, the payload's length as four little-endian bytes, the payload. The
//! supervisor greets every connection with its version. Either side skips kinds that it does not
//! know, because a supervisor of an older or newer version may outlive an update of the app; the
//! version changes only when something that exists changes its meaning.

/// The version of what is described here.
pub(crate) const VERSION: u32 = 1;

/// The longest input with an id, in bytes. It is accepted as a whole or not at all.
pub const INPUT_MAX: usize = 1 << 20;

/// The longest payload of any frame, in bytes.
pub(crate) const PAYLOAD_MAX: usize = INPUT_MAX + 64;

/// The longest name of who asks for a stop, in bytes; the rest is cut.
pub(crate) const BY_MAX: usize = 256;

const HEADER: usize = 5;

const INPUT: u8 = 1;
const INPUT_WITH_ID: u8 = 2;
const RESIZE: u8 = 3;
const STOP: u8 = 4;
const WAIT_OUTPUT: u8 = 5;

const HELLO: u8 = 128;
const OUTPUT: u8 = 129;
const ACCEPTED: u8 = 130;
const REFUSED: u8 = 131;

/// What the engine asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    /// Bytes for the program's terminal.
    Input { id: Option<u128>, bytes: Vec<u8> },
    /// A new size of the terminal.
    Resize { cols: u16, rows: u16 },
    /// The end of the whole tree.
    Stop { by: String },
    /// One notice when the log's end is past this offset.
    WaitOutput { past: u64 },
}

/// What the supervisor answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    Hello { version: u32 },
    Output { end: u64 },
    Accepted { id: u128 },
    Refused { id: u128 },
}

/// The other side sent something that no version of the protocol would send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Garbled;

impl Request {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Request::Input { id: None, bytes } => frame(INPUT, &[bytes]),
            Request::Input { id: Some(id), bytes } => frame(INPUT_WITH_ID, &[&id.to_le_bytes(), bytes]),
            Request::Resize { cols, rows } => frame(RESIZE, &[&cols.to_le_bytes(), &rows.to_le_bytes()]),
            Request::Stop { by } => frame(STOP, &[by.as_bytes()]),
            Request::WaitOutput { past } => frame(WAIT_OUTPUT, &[&past.to_le_bytes()]),
        }
    }

    /// None for a kind that this version does not know.
    pub(crate) fn decode(kind: u8, payload: &[u8]) -> Result<Option<Request>, Garbled> {
        Ok(Some(match kind {
            INPUT => Request::Input { id: None, bytes: payload.to_vec() },
            INPUT_WITH_ID => {
                let (id, bytes) = payload.split_first_chunk::<16>().ok_or(Garbled)?;
                Request::Input { id: Some(u128::from_le_bytes(*id)), bytes: bytes.to_vec() }
            }
            RESIZE => {
                let (cols, rows) = payload.split_first_chunk::<2>().ok_or(Garbled)?;
                Request::Resize {
                    cols: u16::from_le_bytes(*cols),
                    rows: u16::from_le_bytes(rows.try_into().map_err(|_| Garbled)?),
                }
            }
            STOP => Request::Stop {
                by: String::from_utf8_lossy(&payload[..payload.len().min(BY_MAX)]).into_owned(),
            },
            WAIT_OUTPUT => {
                Request::WaitOutput { past: u64::from_le_bytes(payload.try_into().map_err(|_| Garbled)?) }
            }
            _ => return Ok(None),
        }))
    }
}

impl Reply {
    pub(crate) fn encode(&self) -> Vec<u8> {
        match self {
            Reply::Hello { version } => frame(HELLO, &[&version.to_le_bytes()]),
            Reply::Output { end } => frame(OUTPUT, &[&end.to_le_bytes()]),
            Reply::Accepted { id } => frame(ACCEPTED, &[&id.to_le_bytes()]),
            Reply::Refused { id } => frame(REFUSED, &[&id.to_le_bytes()]),
        }
    }

    /// None for a kind that this version does not know.
    pub(crate) fn decode(kind: u8, payload: &[u8]) -> Result<Option<Reply>, Garbled> {
        Ok(Some(match kind {
            HELLO => Reply::Hello { version: u32::from_le_bytes(payload.try_into().map_err(|_| Garbled)?) },
            OUTPUT => Reply::Output { end: u64::from_le_bytes(payload.try_into().map_err(|_| Garbled)?) },
            ACCEPTED => Reply::Accepted { id: u128::from_le_bytes(payload.try_into().map_err(|_| Garbled)?) },
            REFUSED => Reply::Refused { id: u128::from_le_bytes(payload.try_into().map_err(|_| Garbled)?) },
            _ => return Ok(None),
        }))
    }
}

fn frame(kind: u8, parts: &[&[u8]]) -> Vec<u8> {
    let length: usize = parts.iter().map(|p| p.len()).sum();
    let mut out = Vec::with_capacity(HEADER + length);
    out.push(kind);
    out.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    for part in parts {
        out.extend_from_slice(part);
    }
    out
}

/// Whether a frame of this kind carries input.
pub(crate) fn is_input(kind: u8) -> bool {
    matches!(kind, INPUT | INPUT_WITH_ID)
}

/// A frame as (kind, payload, length with its header).
pub(crate) type Frame<'a> = (u8, &'a [u8], usize);

/// The first frame in `bytes`; None while it is incomplete.
pub(crate) fn first_frame(bytes: &[u8]) -> Result<Option<Frame<'_>>, Garbled> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let [kind, length @ ..] = *header;
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(|_| Garbled)?;
    if length > PAYLOAD_MAX {
        return Err(Garbled);
    }
    Ok(rest.get(..length).map(|payload| (kind, payload, HEADER + length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn requests() -> Vec<Request> {
        let bytes = b"\x1b[A\xff".to_vec();
        vec![
            Request::Input { id: None, bytes: bytes.clone() },
            Request::Input { id: Some(u128::MAX - 1), bytes },
            Request::Resize { cols: 80, rows: 24 },
            Request::Stop { by: "you".into() },
            Request::WaitOutput { past: 1 << 40 },
        ]
    }

    #[test]
    fn every_frame_comes_back_whole_and_no_shorter_prefix_is_taken_for_it() {
        for request in requests() {
            let bytes = request.encode();
            for cut in 0..bytes.len() {
                assert_eq!(first_frame(&bytes[..cut]), Ok(None));
            }
            let (kind, payload, length) = first_frame(&bytes).expect("frame").expect("whole");
            assert_eq!(length, bytes.len());
            assert_eq!(Request::decode(kind, payload), Ok(Some(request)));
        }
        let replies = [
            Reply::Hello { version: VERSION },
            Reply::Output { end: 7 },
            Reply::Accepted { id: 8 },
            Reply::Refused { id: 9 },
        ];
        for reply in replies {
            let bytes = reply.encode();
            let (kind, payload, _) = first_frame(&bytes).expect("frame").expect("whole");
            assert_eq!(Reply::decode(kind, payload), Ok(Some(reply)));
        }
    }

    #[test]
    fn unknown_kinds_are_skipped_and_oversized_frames_refused() {
        assert_eq!(Request::decode(77, b"x"), Ok(None));
        let mut bytes = vec![1];
        bytes.extend_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(first_frame(&bytes), Err(Garbled));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(Some((kind, payload, _))) = first_frame(&bytes) {
                let _ = Request::decode(kind, payload);
                let _ = Reply::decode(kind, payload);
            }
        }
    }
}
