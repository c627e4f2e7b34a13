//! Log records as they were sent: OTLP requests, rebuilt from what the store has of them.
//!
//! Nothing of a record is lost, and none is there twice unless it was sent twice. Requests are not
//! those that came: records of a block are put together by resource and scope.

use std::ops::Range;

use kymo_store::block::source::Source;
use kymo_store::schema::Signal;
use kymo_store::{StoreError, otlp};
use tokio::sync::mpsc;

use crate::clock::Asker;
use crate::engine::{Core, Engine};
use crate::error::EngineError;
use crate::limits::{EXPORT_REQUEST_ROWS, EXPORT_REQUESTS_WAITING};
use crate::tenants::Tenants;

/// Requests on their way. Dropping it ends the work.
pub type Requests = mpsc::Receiver<Result<Vec<u8>, EngineError>>;

impl Engine {
    /// Log records of some tenants, of a time in nanoseconds since 1970 or all, as OTLP requests.
    pub async fn export_logs(
        &self,
        tenants: impl Into<Tenants>,
        time: Option<Range<i64>>,
    ) -> Result<Requests, EngineError> {
        let tenants = tenants.into();
        let asker = Asker::new(self.counters());
        let turn = self.core().queries.turn(tenants.line()).await;
        asker.answered(&turn);
        let turn = turn?;
        let (sender, requests) = mpsc::channel(EXPORT_REQUESTS_WAITING);
        let core = self.core().clone();
        let working = move || {
            let _turn = turn;
            if let Err(error) = send_all(&core, &tenants, time, &sender) {
                // Who has gone does not want to know.
                let _ = sender.blocking_send(Err(error));
            }
        };
        drop(self.handle()?.spawn_blocking(working));
        Ok(requests)
    }
}

fn send_all(
    core: &Core,
    tenants: &Tenants,
    time: Option<Range<i64>>,
    sender: &mpsc::Sender<Result<Vec<u8>, EngineError>>,
) -> Result<(), EngineError> {
    let store = &core.reading.store;
    let snapshot = store.snapshot_of(tenants.names(), Signal::Logs)?;
    for source in store.sources(&snapshot, time.clone())? {
        let rows: Vec<u32> = shown(&source);
        for rows in rows.chunks(EXPORT_REQUEST_ROWS) {
            let Some(request) = request(&source, rows, time.as_ref())? else { continue };
            if sender.blocking_send(Ok(request)).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Rows that are to be seen.
fn shown(source: &Source) -> Vec<u32> {
    let hidden = source.hidden();
    let is_shown = |row: &usize| hidden.is_none_or(|hidden| !hidden.get(*row).unwrap_or(&false));
    (0..source.rows()).filter(is_shown).filter_map(|row| u32::try_from(row).ok()).collect()
}

/// The request of some rows, without those of another time; none if nothing is left.
fn request(
    source: &Source,
    rows: &[u32],
    time: Option<&Range<i64>>,
) -> Result<Option<Vec<u8>>, StoreError> {
    let mut records = otlp::logs(source, rows)?;
    if let Some(time) = time {
        let is_in = |nth: &usize| time.contains(&records.time_nanos(*nth));
        let kept: Vec<u32> =
            (0..records.len()).filter(is_in).filter_map(|nth| rows.get(nth).copied()).collect();
        if kept.len() < rows.len() {
            records = otlp::logs(source, &kept)?;
        }
    }
    Ok((!records.is_empty()).then(|| records.request()))
}
