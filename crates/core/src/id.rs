//! Identities. Each is 32 lower-case hex characters, made by the caller (this crate has no
//! source of randomness).

use std::fmt;

/// Why a text is not an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnId(pub String);

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not an id (32 characters of 0-9 and a-f)", self.0)
    }
}

impl std::error::Error for NotAnId {}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Takes `text` when it has the shape of an id.
            pub fn parse(text: &str) -> Result<Self, NotAnId> {
                let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
                if text.len() == 32 && text.bytes().all(hex) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(NotAnId(text.to_owned()))
                }
            }

            /// An id from 16 random bytes.
            pub fn from_random(bytes: [u8; 16]) -> Self {
                Self(bytes.iter().map(|b| format!("{b:02x}")).collect())
            }

            /// The 32 characters.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A git repository that the user opened.
    ProjectId
);
id!(
    /// A way to start one kind of agent.
    ProfileId
);
id!(
    /// A named actor in a project.
    AgentId
);
id!(
    /// One supervised process tree.
    RunId
);
id!(
    /// A background command.
    TaskId
);
id!(
    /// A durable note to an agent.
    MessageId
);
id!(
    /// A question that waits for one answer.
    AskId
);
id!(
    /// One prompt to one final.
    TurnId
);
id!(
    /// A call that waits for the answer of an ask.
    CallId
);
id!(
    /// A worktree that Carillon made.
    WorkdirId
);
id!(
    /// A command of an agent that waits for the user's word.
    ApprovalId
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_shape_is_an_id() {
        assert!(RunId::parse("0123456789abcdef0123456789abcdef").is_ok());
        for bad in ["", "0123", "0123456789ABCDEF0123456789ABCDEF", "../../../../../../../../../../etcx"] {
            assert_eq!(RunId::parse(bad), Err(NotAnId(bad.to_owned())));
        }
        assert_eq!(RunId::from_random([0xab; 16]).as_str(), "ab".repeat(16));
    }
}
