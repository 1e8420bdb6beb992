//! Finding things by what people type: a name, an id, or the unique start of an id.

use carillon_core::words::{Agent, Profile, Project};

use crate::error::Error;

/// What can be found by name or id.
pub(crate) trait Named {
    /// Its word, for messages.
    const WHAT: &'static str;
    /// Its name.
    fn name(&self) -> &str;
    /// Its id.
    fn id(&self) -> &str;
}

impl Named for Project {
    const WHAT: &'static str = "project";
    fn name(&self) -> &str {
        &self.name
    }
    fn id(&self) -> &str {
        self.id.as_str()
    }
}

impl Named for Profile {
    const WHAT: &'static str = "profile";
    fn name(&self) -> &str {
        &self.name
    }
    fn id(&self) -> &str {
        self.id.as_str()
    }
}

impl Named for Agent {
    const WHAT: &'static str = "agent";
    fn name(&self) -> &str {
        &self.name
    }
    fn id(&self) -> &str {
        self.id.as_str()
    }
}

/// Fewest characters of an id that name it.
const PREFIX_MIN_CHARS: usize = 4;

/// Finds the one that `key` names: by its whole id, its name, or a unique start of its id.
pub(crate) fn find<T: Named>(all: Vec<T>, key: &str) -> Result<T, Error> {
    let mut by_name = Vec::new();
    let mut by_prefix = Vec::new();
    let names: Vec<String> = all.iter().map(|one| one.name().to_owned()).collect();
    for one in all {
        if one.id() == key {
            return Ok(one);
        }
        if one.name() == key {
            by_name.push(one);
        } else if key.len() >= PREFIX_MIN_CHARS && one.id().starts_with(key) {
            by_prefix.push(one);
        }
    }
    let mut found = if by_name.is_empty() { by_prefix } else { by_name };
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(_), false) => Err(Error::Ambiguous { what: T::WHAT, name: key.to_owned() }),
        (None, _) => Err(not_found::<T>(key, &names)),
    }
}

fn not_found<T: Named>(key: &str, names: &[String]) -> Error {
    let what = T::WHAT;
    let hint = match names {
        [] => format!("there is none yet; add one with `carillon {what} add`"),
        names => {
            let mut names: Vec<&str> = names.iter().map(String::as_str).take(10).collect();
            names.dedup();
            format!("there is: {}", names.join(", "))
        }
    };
    Error::NotFound { what, name: key.to_owned(), hint }
}

#[cfg(test)]
mod tests {
    use carillon_core::id::ProjectId;

    use super::*;

    fn project(id: &str, name: &str) -> Project {
        let id = ProjectId::parse(&format!("{id:0<32}")).unwrap();
        Project { id, name: name.to_owned(), root: format!("/{name}") }
    }

    #[test]
    fn by_id_by_name_and_by_a_unique_start() {
        let all = || vec![project("aaaa1", "one"), project("aaaa2", "two"), project("bbbb", "one")];
        let name = |key: &str| find(all(), key).map(|p| p.id.as_str()[..5].to_owned());
        assert_eq!(name("two").unwrap(), "aaaa2");
        assert_eq!(name("bbbb").unwrap(), "bbbb0");
        assert!(matches!(name("aaaa"), Err(Error::Ambiguous { .. })));
        assert!(matches!(name("one"), Err(Error::Ambiguous { .. })));
        assert!(matches!(name("bb"), Err(Error::NotFound { .. })));
        let none = find(Vec::<Project>::new(), "x").unwrap_err();
        assert!(none.hint().unwrap().contains("project add"));
    }
}
