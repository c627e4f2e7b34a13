//! How much a tenant may send a second.
//!
//! Each tenant has an account of bytes and one of records, which fill with time up to what
//! [`RATE_BURST`] brings. A request is taken while there is anything left, however large it is: its
//! rest is owed, and whoever comes before that is paid is told when to come again. So no request is
//! too large for ever, and over time the rate holds.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::limits::{Limits, MAX_RATED_TENANTS, RATE_BURST};

/// What tenants have left.
#[derive(Debug, Default)]
pub struct Rates {
    accounts: Mutex<HashMap<String, Accounts>>,
}

#[derive(Debug, Default)]
struct Accounts {
    bytes: Account,
    records: Account,
}

#[derive(Debug, Default)]
struct Account {
    /// What is left; less than nothing if something is owed. Nothing is known before the first use.
    left: Option<(f64, Instant)>,
}

impl Account {
    /// The time until something is left, if there is nothing.
    fn wait(&mut self, rate: u64, now: Instant) -> Option<Duration> {
        let full = rate as f64 * RATE_BURST.as_secs_f64();
        let (left, at) = self.left.unwrap_or((full, now));
        let gained = now.saturating_duration_since(at).as_secs_f64() * rate as f64;
        let left = (left + gained).min(full);
        self.left = Some((left, now));
        (left <= 0.0).then(|| Duration::from_secs_f64((-left / rate as f64).clamp(0.001, 3600.0)))
    }

    fn take(&mut self, amount: u64) {
        if let Some((left, _)) = &mut self.left {
            *left -= amount as f64;
        }
    }
}

impl Rates {
    /// Takes a request of some bytes, or says when to send it again.
    pub fn take_bytes(&self, tenant: &str, limits: &Limits, bytes: u64) -> Result<(), Duration> {
        self.take(tenant, limits.max_bytes_per_second, bytes, |accounts| &mut accounts.bytes)
    }

    /// Takes records of a request that was read, or says when to send it again.
    pub fn take_records(&self, tenant: &str, limits: &Limits, count: u64) -> Result<(), Duration> {
        self.take(tenant, limits.max_records_per_second, count, |accounts| &mut accounts.records)
    }

    fn take(
        &self,
        tenant: &str,
        rate: Option<u64>,
        amount: u64,
        account: fn(&mut Accounts) -> &mut Account,
    ) -> Result<(), Duration> {
        let Some(rate) = rate else { return Ok(()) };
        let now = Instant::now();
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if !accounts.contains_key(tenant) {
            // Names come from senders. Who has not sent for a while has a full account anyway.
            if accounts.len() >= MAX_RATED_TENANTS {
                accounts.retain(|_, accounts| {
                    let used = [&accounts.bytes, &accounts.records];
                    let is_recent = |at: Instant| now.saturating_duration_since(at) < RATE_BURST;
                    used.iter().any(|account| account.left.is_some_and(|(_, at)| is_recent(at)))
                });
            }
            if accounts.len() >= MAX_RATED_TENANTS {
                return Err(RATE_BURST);
            }
            accounts.insert(tenant.to_owned(), Accounts::default());
        }
        let Some(accounts) = accounts.get_mut(tenant) else { return Ok(()) };
        let account = account(accounts);
        match account.wait(rate, now) {
            Some(wait) => Err(wait),
            None => {
                account.take(amount);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(rate: u64) -> Limits {
        Limits { max_bytes_per_second: Some(rate), ..Limits::default() }
    }

    #[test]
    fn a_tenant_may_send_a_burst_and_then_waits() {
        let (rates, limits) = (Rates::default(), limits(100));
        let burst = 100 * RATE_BURST.as_secs();
        assert_eq!(rates.take_bytes("a", &limits, burst + 200), Ok(()));
        let wait = rates.take_bytes("a", &limits, 1).unwrap_err();
        assert!(wait > Duration::from_millis(1500) && wait <= Duration::from_secs(2), "{wait:?}");
        assert_eq!(rates.take_bytes("b", &limits, 1), Ok(()), "others are not concerned");
        assert_eq!(rates.take_records("a", &limits, 1 << 40), Ok(()), "there is no such limit");
    }

    #[test]
    fn an_account_fills_with_time_and_not_beyond_the_burst() {
        let (start, rate) = (Instant::now(), 10);
        let mut account = Account::default();
        assert_eq!(account.wait(rate, start), None);
        account.take(rate * RATE_BURST.as_secs() + 5);
        let wait = account.wait(rate, start).unwrap();
        assert!((wait.as_secs_f64() - 0.5).abs() < 1e-6, "{wait:?}");
        assert_eq!(account.wait(rate, start + Duration::from_secs(1)), None);
        assert_eq!(account.wait(rate, start + Duration::from_secs(3600)), None);
        account.take(rate * RATE_BURST.as_secs() + 1);
        assert!(account.wait(rate, start + Duration::from_secs(3600)).is_some());
    }

    #[test]
    fn tenants_that_nobody_knows_take_no_memory_for_ever() {
        let (rates, limits) = (Rates::default(), limits(1));
        for nth in 0..MAX_RATED_TENANTS {
            assert_eq!(rates.take_bytes(&nth.to_string(), &limits, 1), Ok(()));
        }
        assert_eq!(rates.take_bytes("one more", &limits, 1), Err(RATE_BURST));
    }
}
