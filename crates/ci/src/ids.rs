//! Ids that everybody who knows a run can compute.
//!
//! A trace is one attempt of one run. Spans of it are sent by several programs on several machines
//! that never talk to each other, and hang together because all of them make the same ids:
//!
//! | id | made of |
//! |---|---|
//! | trace | `sha256("<owner/repo>+<run id>+<attempt>\n")`, the first 16 bytes |
//! | span of run, job, step | `sha256("<trace, hex>-<service>")`, `…-<job>")`, `…-<job>-<step>")`, the first 8 |
//! | the same, as RAPIDS' summary has it | `sha256("<trace, decimal><service>")`, `…<job>")`, `…<job><step>")` |
//!
//! The second line is what `traceparent` of RAPIDS' actions always printed; its summary used the
//! third for its own spans, so that nothing which followed TRACEPARENT had a parent.

use std::fmt;
use std::str::FromStr;

use ring::digest::{Context, SHA256};
use ring::rand::{SecureRandom, SystemRandom};

/// A trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub [u8; 16]);

/// A span of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(pub [u8; 8]);

impl TraceId {
    /// That of an attempt of a run.
    #[must_use]
    pub fn of_run(repository: &str, run: &str, attempt: &str) -> Self {
        // The line end was `echo`'s, and is part of the id ever since.
        Self(hashed(&[repository, "+", run, "+", attempt, "\n"]))
    }

    /// One that nobody else has.
    #[must_use]
    pub fn random() -> Self {
        Self(random())
    }
}

impl SpanId {
    /// That of a run (its service), a job (its name) or a step (the job's name and its own).
    #[must_use]
    pub fn of(trace: TraceId, names: &[&str]) -> Self {
        Self(hashed(&[&trace.to_string(), "-", &names.join("-")]))
    }

    /// The same as RAPIDS' summary makes it.
    #[must_use]
    pub fn of_rapids(trace: TraceId, names: &[&str]) -> Self {
        Self(hashed(&[&u128::from_be_bytes(trace.0).to_string(), &names.concat()]))
    }

    /// One that nobody else has.
    #[must_use]
    pub fn random() -> Self {
        Self(random())
    }
}

fn hashed<const LENGTH: usize>(parts: &[&str]) -> [u8; LENGTH] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part.as_bytes());
    }
    let mut id = [0; LENGTH];
    id.copy_from_slice(&context.finish().as_ref()[..LENGTH]);
    id
}

fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut id = [0; LENGTH];
    if SystemRandom::new().fill(&mut id).is_err() || id == [0; LENGTH] {
        // A system without random numbers has a clock and processes all the same.
        let now = std::time::SystemTime::now();
        return hashed(&[&format!("{now:?}"), &std::process::id().to_string()]);
    }
    id
}

/// What names a span to the programs it starts: the variable TRACEPARENT, as W3C defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace: TraceId,
    /// The span in it.
    pub span: SpanId,
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-01", self.trace, self.span)
    }
}

impl FromStr for TraceParent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let mut parts = text.trim().split('-');
            // Any version and any flags: some SDKs send 03.
            let version = parts.next()?;
            let (trace, span) = (parts.next()?, parts.next()?);
            let is_version = version.len() == 2 && version.bytes().all(|b| b.is_ascii_hexdigit());
            parts.next().filter(|_| is_version)?;
            let found = Self { trace: TraceId(unhex(trace)?), span: SpanId(unhex(span)?) };
            (found.trace.0 != [0; 16] && found.span.0 != [0; 8]).then_some(found)
        };
        parse().ok_or_else(|| {
            format!("{text:?} is not of the form 00-<32 hex digits>-<16 hex digits>-01")
        })
    }
}

fn unhex<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    if text.len() != 2 * LENGTH || !text.is_ascii() {
        return None;
    }
    let mut bytes = [0; LENGTH];
    for (nth, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * nth..2 * nth + 2], 16).ok()?;
    }
    Some(bytes)
}

impl FromStr for TraceId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        unhex(text).map(Self).ok_or_else(|| format!("{text:?} is not a trace id of 32 hex digits"))
    }
}

macro_rules! as_hex {
    ($id:ty) => {
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    };
}

as_hex!(TraceId);
as_hex!(SpanId);

#[cfg(test)]
mod tests {
    use super::*;

    fn trace() -> TraceId {
        TraceId::of_run("rapidsai/cudf", "777", "2")
    }

    #[test]
    fn ids_are_those_of_the_existing_system() {
        assert_eq!(trace().to_string(), "b32e21fdbca9c03f05dc7b268c84d791");
        assert_eq!(SpanId::of(trace(), &["pr-cudf"]).to_string(), "5e401f0bd8aa6d75");
        assert_eq!(SpanId::of_rapids(trace(), &["pr-cudf"]).to_string(), "fd5120530f15356c");
        let job = "conda-cpp-build / build / 12.9.1, 3.13, amd64, rockylinux8";
        assert_eq!(SpanId::of_rapids(trace(), &[job]).to_string(), "ae386b591eba6326");
        let delay = SpanId::of_rapids(trace(), &[job, "Start delay time"]);
        assert_eq!(delay.to_string(), "88cde2ab0117f777");
    }

    #[test]
    fn a_traceparent_is_read_with_any_flags_and_refused_without_ids() {
        let text = "00-b32e21fdbca9c03f05dc7b268c84d791-5e401f0bd8aa6d75-03";
        let parent: TraceParent = text.parse().unwrap();
        assert_eq!(parent.trace, trace());
        assert_eq!(parent.to_string(), text.replace("-03", "-01"));
        for wrong in [
            "",
            "00",
            "00-b32e21fdbca9c03f05dc7b268c84d791-5e401f0bd8aa6d75",
            "00-00000000000000000000000000000000-5e401f0bd8aa6d75-01",
            "00-b32e21fdbca9c03f05dc7b268c84d791-0000000000000000-01",
            "00-b32e21fdbca9c03f05dc7b268c84d79ß-5e401f0bd8aa6d75-01",
            "zz-b32e21fdbca9c03f05dc7b268c84d791-5e401f0bd8aa6d75-01",
        ] {
            assert!(wrong.parse::<TraceParent>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn random_ids_differ() {
        assert_ne!(SpanId::random(), SpanId::random());
    }
}
