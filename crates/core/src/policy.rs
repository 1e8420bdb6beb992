//! What an agent may run in the background. It must not be a way around the approval mode of the
//! agent's own program.

use crate::words::Policy;

/// What becomes of a command that an agent wants to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Run,
    /// The user is asked first.
    Ask,
    /// It is refused.
    Refuse,
}

/// Characters by which a shell makes more of a line than one command.
const SHELL: &[char] = &[
    ';', '|', '&', '$', '`', '<', '>', '(', ')', '{', '}', '\n', '\r', '\\', '\'', '"', '*', '?', '[', '~',
    '#', '!',
];

/// Decides about `command`, its program and arguments. A prefix is some words, like `npm test`: what
/// begins with the same words need not be asked for. Of a line for a shell that holds for one plain
/// command alone.
pub fn decide(policy: Policy, prefixes: &[String], command: &[String]) -> Verdict {
    match policy {
        Policy::Never => Verdict::Refuse,
        Policy::Allow => Verdict::Run,
        Policy::Ask if prefixes.iter().any(|prefix| begins_with(command, prefix)) => Verdict::Run,
        Policy::Ask => Verdict::Ask,
    }
}

fn begins_with(command: &[String], prefix: &str) -> bool {
    let wanted: Vec<&str> = prefix.split_whitespace().collect();
    let words: Vec<&str> = match command {
        [shell, flag, line]
            if matches!(shell.as_str(), "sh" | "/bin/sh" | "bash" | "/bin/bash") && flag == "-c" =>
        {
            if line.contains(SHELL) {
                return false;
            }
            line.split_whitespace().collect()
        }
        words => words.iter().map(String::as_str).collect(),
    };
    !wanted.is_empty()
        && words.len() >= wanted.len()
        && words.iter().zip(&wanted).all(|(word, want)| word == want)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn line(text: &str) -> Vec<String> {
        vec!["sh".to_owned(), "-c".to_owned(), text.to_owned()]
    }

    #[test]
    fn a_prefix_allows_whole_words_and_nothing_behind_a_shells_back() {
        let prefixes = ["npm test".to_owned(), "  ".to_owned()];
        let ask = |command: &[String]| decide(Policy::Ask, &prefixes, command);
        assert_eq!(ask(&words("npm test -- --watch")), Verdict::Run);
        assert_eq!(ask(&line("npm test  --silent")), Verdict::Run);
        for asked in [words("npm tests"), words("npm"), words("rm -rf /"), words("sh -c npm")] {
            assert_eq!(ask(&asked), Verdict::Ask, "{asked:?}");
        }
        for asked in ["npm test; rm -rf ~", "npm test && x", "npm test $(x)", "npm test `x`", "npm test > f"]
        {
            assert_eq!(ask(&line(asked)), Verdict::Ask, "{asked:?}");
        }
        assert_eq!(decide(Policy::Never, &prefixes, &words("npm test")), Verdict::Refuse);
        assert_eq!(decide(Policy::Allow, &[], &words("anything")), Verdict::Run);
    }
}
