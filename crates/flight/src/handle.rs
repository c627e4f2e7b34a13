//! Prepared statements as bytes: the query, and a row of values once it is bound.
//!
//! Whoever has a handle could as well ask its query: it opens nothing, so it is not signed. But it comes
//! from a client, so it is a message of few kinds of values, and no batch of Arrow: lengths in those are
//! trusted by their reader.

use kymo_engine::Value;
use prost::{Message, Oneof};

/// A prepared statement.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Handle {
    /// The query.
    #[prost(string, tag = "1")]
    pub(crate) query: String,
    /// Its values, if it has some.
    #[prost(message, repeated, tag = "2")]
    pub(crate) values: Vec<Given>,
}

/// A value; NULL if there is none.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Given {
    #[prost(oneof = "Kind", tags = "1, 2, 3, 4, 5, 6, 7")]
    kind: Option<Kind>,
}

/// Several values.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Several {
    #[prost(message, repeated, tag = "1")]
    values: Vec<Given>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Kind {
    #[prost(bool, tag = "1")]
    Bool(bool),
    #[prost(sint64, tag = "2")]
    Int(i64),
    #[prost(double, tag = "3")]
    Float(f64),
    #[prost(string, tag = "4")]
    Text(String),
    /// Nanoseconds since 1970.
    #[prost(sfixed64, tag = "5")]
    Time(i64),
    #[prost(bytes = "vec", tag = "6")]
    Bytes(Vec<u8>),
    #[prost(message, tag = "7")]
    List(Several),
}

impl From<Value> for Given {
    fn from(value: Value) -> Self {
        let kind = match value {
            Value::Null => None,
            Value::Bool(value) => Some(Kind::Bool(value)),
            Value::Int(value) => Some(Kind::Int(value)),
            Value::Float(value) => Some(Kind::Float(value)),
            Value::Text(value) => Some(Kind::Text(value)),
            Value::Time(nanos) => Some(Kind::Time(nanos)),
            Value::Bytes(value) => Some(Kind::Bytes(value)),
            Value::List(values) => {
                let values = values.into_iter().map(Self::from).collect();
                Some(Kind::List(Several { values }))
            }
        };
        Self { kind }
    }
}

impl From<Given> for Value {
    fn from(given: Given) -> Self {
        match given.kind {
            None => Self::Null,
            Some(Kind::Bool(value)) => Self::Bool(value),
            Some(Kind::Int(value)) => Self::Int(value),
            Some(Kind::Float(value)) => Self::Float(value),
            Some(Kind::Text(value)) => Self::Text(value),
            Some(Kind::Time(nanos)) => Self::Time(nanos),
            Some(Kind::Bytes(value)) => Self::Bytes(value),
            Some(Kind::List(several)) => {
                Self::List(several.values.into_iter().map(Self::from).collect())
            }
        }
    }
}

impl Handle {
    pub(crate) fn new(query: String) -> Self {
        Self { query, values: Vec::new() }
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, tonic::Status> {
        Self::decode(bytes).map_err(|error| {
            let message = format!("the handle of a prepared statement cannot be read: {error}");
            tonic::Status::invalid_argument(message)
        })
    }

    pub(crate) fn bytes(&self) -> bytes::Bytes {
        self.encode_to_vec().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_read_as_it_was_written_and_others_are_refused() {
        let values = [
            Value::Null,
            Value::Bool(false),
            Value::Int(i64::MIN),
            Value::Float(0.1),
            Value::Text(String::new()),
            Value::Time(1),
            Value::Bytes(vec![0, 255]),
            Value::List(vec![Value::Null, Value::Int(0)]),
        ];
        let given = values.iter().cloned().map(Given::from).collect();
        let handle = Handle { query: "SELECT $1".to_owned(), values: given };
        let read = Handle::read(&handle.bytes()).unwrap();
        assert_eq!(read, handle);
        let found: Vec<Value> = read.values.into_iter().map(Value::from).collect();
        assert_eq!(found, values);
        assert_eq!(Handle::read(&[0xff]).unwrap_err().code(), tonic::Code::InvalidArgument);
    }

    #[test]
    fn a_handle_that_lies_about_its_depth_or_lengths_is_refused() {
        let mut list = Value::List(Vec::new());
        for _ in 0..200 {
            list = Value::List(vec![list]);
        }
        let deep = Handle { query: String::new(), values: vec![list.into()] };
        assert!(Handle::read(&deep.bytes()).is_err());
        // Two bytes that say they are four gibibytes.
        assert!(Handle::read(&[0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, b'x']).is_err());
    }
}
