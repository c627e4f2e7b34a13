//! From an id to a trace that is laid out.

use std::sync::Arc;

use kymo_engine::{EngineError, Tenants};
use kymo_traceview::{TraceError, TraceTree};

use super::kept::{Kept, Loaded};
use crate::Page;
use crate::answer::Failed;

/// What ids of uploads begin with.
pub(super) const UPLOAD: &str = "upload-";

impl From<TraceError> for Failed {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Wire(_) => Self::Internal(error.to_string()),
            TraceError::TooLarge { .. }
            | TraceError::TooManyTraces(_)
            | TraceError::TooManyParts { .. }
            | TraceError::TooMuchAtOnce(_) => Self::TooLarge(error.to_string()),
            TraceError::Format(_)
            | TraceError::Json(_)
            | TraceError::NoSpans
            | TraceError::Query(_) => Self::Invalid(error.to_string()),
        }
    }
}

/// Where traces come from.
#[derive(Clone)]
pub(super) struct Traces {
    pub(super) page: Page,
    pub(super) kept: Arc<Kept>,
    pub(super) tenants: Tenants,
}

impl Traces {
    /// The trace as it is now.
    pub(super) async fn newest(&self, id: &str) -> Result<Loaded, Failed> {
        if id.starts_with(UPLOAD) {
            return self.upload(id);
        }
        let loaded = load(&self.page, &self.tenants, id).await?;
        self.kept.add_recent(&self.tenants, loaded.clone());
        Ok(loaded)
    }

    /// The trace as it was looked at last, so that rows are those that were told then.
    pub(super) async fn same(&self, id: &str) -> Result<Loaded, Failed> {
        match self.kept.recent(&self.tenants, id) {
            Some(loaded) => Ok(loaded),
            None => self.newest(id).await,
        }
    }

    fn upload(&self, id: &str) -> Result<Loaded, Failed> {
        self.kept.upload(&self.tenants, id).ok_or_else(|| {
            Failed::Unknown(format!(
                "the upload {id} is not here any more: uploads are kept in memory for 12 hours, and \
                 until the server restarts; open the file again"
            ))
        })
    }
}

/// Reads a trace that is stored.
async fn load(page: &Page, tenants: &Tenants, id: &str) -> Result<Loaded, Failed> {
    let trace_id = parse_id(id)?;
    let found = page.engine.large_trace(tenants, trace_id).await.map_err(|error| match error {
        EngineError::Memory { limit_bytes, of_all_queries: false } => {
            let mebibytes = limit_bytes >> 20;
            Failed::TooLarge(format!(
                "reading the trace {id} takes more than the {mebibytes} MiB that one may have: raise \
                 query.memory_per_trace"
            ))
        }
        error => error.into(),
    })?;
    let Some(found) = found else {
        return Err(Failed::Unknown(format!(
            "no span of the trace {id} is stored: it may not have arrived yet, be older than what is \
             kept, or belong to another tenant; a file with it can be opened"
        )));
    };
    let damaged_blocks = found.damaged_blocks;
    let tree = page.engine.blocking(move || TraceTree::read(found.body)).await??;
    Ok(Loaded { tree: Arc::new(tree), id: id.to_owned(), damaged_blocks })
}

/// A trace id in hexadecimal; leading zeros may be missing.
fn parse_id(text: &str) -> Result<[u8; 16], Failed> {
    let is_hex =
        (1..=32).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = u128::from_str_radix(text, 16).ok().filter(|_| is_hex);
    id.map(u128::to_be_bytes).ok_or_else(|| {
        Failed::Invalid(format!(
            "{text:?} is no trace id: expected 1 to 32 hexadecimal digits, or the id of an upload"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_may_lack_leading_zeros_and_nothing_else() {
        assert_eq!(parse_id("fF").unwrap(), u128::to_be_bytes(255));
        for bad in ["", "+1", "0x1", "xyz", "123456789012345678901234567890123"] {
            assert!(parse_id(bad).is_err(), "{bad}");
        }
    }
}
