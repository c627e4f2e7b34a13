//! How often somebody may be wrong.
//!
//! Each failed login fills a bucket that empties at a steady pace; when it is full, further
//! attempts are refused before anything is checked. Which bucket, that is the question:
//!
//! - **Passwords.** One bucket for the address (an IPv6 network of 64 bits counts as one) and one
//!   for the user's name, so that neither one guesser nor many together get far. Since everybody
//!   could lock a user out by being wrong in his name, an address from which he has logged in
//!   lately has a bucket of its own for him, which nobody elsewhere can fill.
//! - **Tokens.** Nobody guesses 256 bits, so a valid token passes whatever its address has done:
//!   hundreds of machines may share it. Wrong ones are refused as wrong at first, then as too many,
//!   and do not count against passwords.
//!
//! Success empties nothing. Who has an account of his own could otherwise guess at those of others
//! for ever; and a user whose programs log in all the time would give their attempts back to those
//! who guess at his password. Buckets live in memory, in bounded number; when there are too many,
//! those go that are closest to empty.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::expiring::ExpiringSet;
use crate::limits::{
    FAILURE_FORGIVEN_AFTER, FAILURES_AT_ONCE, MAX_FAILURES_REMEMBERED, MAX_PLACES_KNOWN,
    PLACE_KNOWN_FOR,
};

/// What a bucket is for. It is kept as its hash, under a key that nobody outside knows.
#[derive(Hash)]
enum Bucket<'a> {
    Address(IpAddr),
    User(&'a str),
    UserAt(&'a str, IpAddr),
    Tokens(IpAddr),
}

/// Who was wrong how often.
#[derive(Debug)]
pub(crate) struct Attempts {
    /// When each bucket will be empty.
    empty_at: Mutex<HashMap<u64, Instant>>,
    places: ExpiringSet<u64>,
    hasher: RandomState,
    max_buckets: usize,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        Self::bounded(MAX_FAILURES_REMEMBERED)
    }

    fn bounded(max_buckets: usize) -> Self {
        Self {
            empty_at: Mutex::default(),
            places: ExpiringSet::new(PLACE_KNOWN_FOR, MAX_PLACES_KNOWN),
            hasher: RandomState::new(),
            max_buckets,
        }
    }

    /// Whether a password may be tried; otherwise, after what time.
    pub(crate) fn allow_password(
        &self,
        user: &str,
        address: IpAddr,
        now: Instant,
    ) -> Result<(), Duration> {
        let empty_at = self.lock();
        self.password_buckets(user, network(address), now)
            .into_iter()
            .flatten()
            .try_for_each(|bucket| room(empty_at.get(&bucket), now))
    }

    /// A password was wrong.
    pub(crate) fn password_was_wrong(&self, user: &str, address: IpAddr, now: Instant) {
        for bucket in self.password_buckets(user, network(address), now).into_iter().flatten() {
            self.fill(bucket, now);
        }
    }

    /// A password was right: the address is one of his.
    pub(crate) fn password_was_right(&self, user: &str, address: IpAddr, now: Instant) {
        self.places.insert(self.hash(&Bucket::UserAt(user, network(address))), now);
    }

    /// A token was wrong: whether that was once too often, and after what time it no longer is.
    pub(crate) fn token_was_wrong(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let bucket = self.hash(&Bucket::Tokens(network(address)));
        let room = room(self.lock().get(&bucket), now);
        self.fill(bucket, now);
        room
    }

    /// The buckets that a wrong password goes into.
    fn password_buckets(&self, user: &str, network: IpAddr, now: Instant) -> [Option<u64>; 2] {
        let pair = self.hash(&Bucket::UserAt(user, network));
        if self.places.contains(&pair, now) {
            return [Some(pair), None];
        }
        let address = self.hash(&Bucket::Address(network));
        [Some(address), Some(self.hash(&Bucket::User(user)))]
    }

    fn fill(&self, bucket: u64, now: Instant) {
        let mut empty_at = self.lock();
        if empty_at.len() >= self.max_buckets && !empty_at.contains_key(&bucket) {
            make_room(&mut empty_at, now);
        }
        let full = now + FAILURE_FORGIVEN_AFTER * FAILURES_AT_ONCE;
        let at = empty_at.entry(bucket).or_insert(now);
        *at = ((*at).max(now) + FAILURE_FORGIVEN_AFTER).min(full);
    }

    fn hash(&self, bucket: &Bucket<'_>) -> u64 {
        self.hasher.hash_one(bucket)
    }

    /// A thread that panicked cannot have left the map half changed.
    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Instant>> {
        self.empty_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a bucket has room for one failure more; otherwise, when it will.
fn room(empty_at: Option<&Instant>, now: Instant) -> Result<(), Duration> {
    let Some(empty_at) = empty_at else { return Ok(()) };
    let has_room_below = FAILURE_FORGIVEN_AFTER * (FAILURES_AT_ONCE - 1);
    match empty_at.saturating_duration_since(now).checked_sub(has_room_below) {
        None | Some(Duration::ZERO) => Ok(()),
        Some(wait) => Err(wait),
    }
}

/// Removes what is empty, and if that is little, the quarter that is closest to it.
fn make_room(empty_at: &mut HashMap<u64, Instant>, now: Instant) {
    let before = empty_at.len();
    empty_at.retain(|_, at| *at > now);
    if empty_at.len() > before - before / 4 {
        let mut times: Vec<Instant> = empty_at.values().copied().collect();
        let quarter = times.len() / 4;
        let (_, bound, _) = times.select_nth_unstable(quarter);
        let bound = *bound;
        // Many can have the same time; that many go at least that there is room for one.
        let mut surplus = quarter + 1;
        empty_at.retain(|_, at| {
            let goes = *at <= bound && surplus > 0;
            surplus -= usize::from(goes);
            !goes
        });
    }
}

/// The network that counts as one address: who has an IPv6 address has 2⁶⁴ of them.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let bits = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(bits))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const THERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    fn fail(attempts: &Attempts, times: u32, user: &str, address: IpAddr, now: Instant) {
        (0..times).for_each(|_| attempts.password_was_wrong(user, address, now));
    }

    #[test]
    fn after_ten_failures_one_attempt_in_six_seconds_is_allowed() {
        let (attempts, now) = (Attempts::new(), Instant::now());
        fail(&attempts, 9, "ada", HERE, now);
        assert_eq!(attempts.allow_password("ada", HERE, now), Ok(()));
        fail(&attempts, 1, "ada", HERE, now);
        assert_eq!(attempts.allow_password("ada", HERE, now), Err(Duration::from_secs(6)));
        let later = now + Duration::from_secs(6);
        assert_eq!(attempts.allow_password("ada", HERE, later), Ok(()));
        fail(&attempts, 1, "ada", HERE, later);
        assert_eq!(attempts.allow_password("ada", HERE, later), Err(Duration::from_secs(6)));
        let much_later = now + Duration::from_secs(3600);
        fail(&attempts, 9, "ada", HERE, much_later);
        assert_eq!(attempts.allow_password("ada", HERE, much_later), Ok(()));
    }

    #[test]
    fn an_address_is_limited_for_all_names_and_a_name_for_all_addresses() {
        let (attempts, now) = (Attempts::new(), Instant::now());
        for nth in 0..10 {
            attempts.password_was_wrong(&format!("user-{nth}"), HERE, now);
        }
        assert!(attempts.allow_password("ada", HERE, now).is_err());
        assert!(attempts.allow_password("ada", THERE, now).is_ok());
        for nth in 0..10 {
            attempts.password_was_wrong("bob", IpAddr::from([10, 0, 0, nth]), now);
        }
        assert!(attempts.allow_password("bob", THERE, now).is_err());
    }

    #[test]
    fn strangers_cannot_lock_a_user_out_of_where_he_logs_in_from() {
        let (attempts, now) = (Attempts::new(), Instant::now());
        attempts.password_was_right("ada", HERE, now);
        fail(&attempts, 50, "ada", THERE, now);
        fail(&attempts, 50, "bob", HERE, now);
        assert!(attempts.allow_password("ada", THERE, now).is_err());
        assert!(attempts.allow_password("ada", HERE, now).is_ok());
        // But from there too his password cannot be guessed.
        fail(&attempts, 10, "ada", HERE, now);
        assert!(attempts.allow_password("ada", HERE, now).is_err());
    }

    #[test]
    fn a_user_who_logs_in_all_the_time_frees_no_guesses_elsewhere() {
        let (attempts, now) = (Attempts::new(), Instant::now());
        let guessers = (0..=255).map(|nth| IpAddr::from([10, 0, 0, nth]));
        let looked_at = guessers.filter(|address| {
            attempts.password_was_right("ada", HERE, now);
            let is_allowed = attempts.allow_password("ada", *address, now).is_ok();
            if is_allowed {
                attempts.password_was_wrong("ada", *address, now);
            }
            is_allowed
        });
        assert_eq!(looked_at.count(), FAILURES_AT_ONCE as usize);
        assert!(attempts.allow_password("ada", HERE, now).is_ok());
        // Nor at his own address, which others may share.
        fail(&attempts, 10, "ada", HERE, now);
        attempts.password_was_right("ada", HERE, now);
        assert!(attempts.allow_password("ada", HERE, now).is_err());
    }

    #[test]
    fn success_does_not_clear_the_address() {
        let (attempts, now) = (Attempts::new(), Instant::now());
        fail(&attempts, 10, "bob", HERE, now);
        assert!(attempts.allow_password("eve", HERE, now).is_err());
        attempts.password_was_right("ada", HERE, now);
        assert!(attempts.allow_password("eve", HERE, now).is_err());
    }

    #[test]
    fn wrong_tokens_are_too_many_after_a_while_and_do_not_count_for_passwords() {
        let (attempts, now) = (Attempts::new(), Instant::now());
        for _ in 0..10 {
            assert_eq!(attempts.token_was_wrong(HERE, now), Ok(()));
        }
        assert!(attempts.token_was_wrong(HERE, now).is_err());
        assert!(attempts.allow_password("ada", HERE, now).is_ok());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address_and_mapped_ipv4_as_itself() {
        let (attempts, now) = (Attempts::new(), Instant::now());
        let at = |text: &str| text.parse::<IpAddr>().unwrap();
        fail(&attempts, 10, "x", at("2001:db8::1"), now);
        assert!(attempts.allow_password("ada", at("2001:db8::ffff:1"), now).is_err());
        assert!(attempts.allow_password("ada", at("2001:db8:0:1::1"), now).is_ok());
        fail(&attempts, 10, "y", HERE, now);
        assert!(attempts.allow_password("ada", at("::ffff:192.0.2.1"), now).is_err());
        assert!(attempts.allow_password("ada", at("::ffff:192.0.2.9"), now).is_ok());
    }

    #[test]
    fn buckets_are_bounded_and_the_fullest_stay() {
        let (attempts, now) = (Attempts::bounded(64), Instant::now());
        fail(&attempts, 10, "ada", HERE, now);
        for nth in 0..10_000_u32 {
            attempts.password_was_wrong(&nth.to_string(), IpAddr::from(nth.to_be_bytes()), now);
            assert!(attempts.lock().len() <= 64);
        }
        assert!(attempts.allow_password("ada", THERE, now).is_err());
    }
}
