//! JSON in the order in which it was written: some settings are rules of which the last one that fits counts.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

/// A value whose objects keep their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ordered {
    Object(Vec<(String, Ordered)>),
    List(Vec<Ordered>),
    Leaf(Value),
}

impl Ordered {
    /// Takes over `more`: objects are joined, lists are made longer, all else is replaced, and then stands last.
    pub(crate) fn join(&mut self, more: Ordered) {
        match (self, more) {
            (Ordered::Object(into), Ordered::Object(more)) => {
                for (name, value) in more {
                    join_one(into, name, value);
                }
            }
            (Ordered::List(into), Ordered::List(more)) => into.extend(more),
            (into, more) => *into = more,
        }
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Ordered> {
        let Ordered::Object(entries) = self else { return None };
        entries.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

fn join_one(into: &mut Vec<(String, Ordered)>, name: String, value: Ordered) {
    let at = into.iter().position(|(known, _)| *known == name);
    match (at.and_then(|at| into.get_mut(at)), &value) {
        (Some((_, there @ Ordered::Object(_))), Ordered::Object(_))
        | (Some((_, there @ Ordered::List(_))), Ordered::List(_)) => there.join(value),
        _ => {
            into.retain(|(known, _)| *known != name);
            into.push((name, value));
        }
    }
}

impl From<Value> for Ordered {
    fn from(value: Value) -> Self {
        match value {
            Value::Object(entries) => {
                Ordered::Object(entries.into_iter().map(|(name, value)| (name, value.into())).collect())
            }
            Value::Array(values) => Ordered::List(values.into_iter().map(Ordered::from).collect()),
            leaf => Ordered::Leaf(leaf),
        }
    }
}

impl Serialize for Ordered {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Ordered::Object(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
                map.end()
            }
            Ordered::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                values.iter().try_for_each(|value| list.serialize_element(value))?;
                list.end()
            }
            Ordered::Leaf(leaf) => leaf.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Ordered;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered, A::Error> {
        let mut entries: Vec<(String, Ordered)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, Ordered>()? {
            // Of two equal names the last one counts, as everywhere.
            entries.retain(|(known, _)| *known != name);
            entries.push((name, value));
        }
        Ok(Ordered::Object(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Ordered, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Ordered::List(values))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(value.into()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(value.into()))
    }

    fn visit_unit<E: Error>(self) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(Value::Null))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_joined_keeps_its_order_and_what_is_new_stands_last() {
        let mut into: Ordered = serde_json::from_str(
            r#"{"z":{"b":"ask","*":"deny"},"a":[1,-2.5,null,true],"z2":{"c_*":"deny","q":1}}"#,
        )
        .expect("JSON");
        let more: Ordered =
            serde_json::from_str(r#"{"a":["x"],"z":{"c":"allow"},"z2":{"c_*":"allow"},"n":{}}"#)
                .expect("JSON");
        into.join(more);
        assert_eq!(
            serde_json::to_string(&into).expect("JSON"),
            r#"{"z":{"b":"ask","*":"deny","c":"allow"},"a":[1,-2.5,null,true,"x"],"z2":{"q":1,"c_*":"allow"},"n":{}}"#
        );
    }
}
