//! When and how the payment provider fails.
//!
//! Three things have to come together, so that comparing slow requests with the others finds each of
//! them: the time, the version of the service (and with it the host), and the network of the card.

use crate::random::Random;
use crate::wave::PROVIDER_FAULT;

pub(super) const NETWORKS: [&str; 4] = ["visa", "mastercard", "amex", "discover"];
const FAULTY_NETWORK: &str = "amex";

/// What a charge came to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Charge {
    pub(super) millis: f64,
    pub(super) failure: Option<Failure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The provider did not answer.
    Timeout,
    /// The card was refused, as some always are.
    Declined,
}

/// Charges a card.
pub(super) fn charge(
    random: &mut Random,
    nanos: u64,
    has_new_version: bool,
    network: &str,
) -> Charge {
    let is_faulty = PROVIDER_FAULT.is_open(nanos) && has_new_version && network == FAULTY_NETWORK;
    if is_faulty {
        let is_given_up = random.chance(0.6);
        let millis = if is_given_up { 3_000.0 } else { random.between(1_400.0, 2_900.0) };
        return Charge { millis, failure: is_given_up.then_some(Failure::Timeout) };
    }
    let failure = random.chance(0.01).then_some(Failure::Declined);
    Charge { millis: random.skewed(85.0), failure }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MINUTE;

    #[test]
    fn only_one_network_in_one_version_is_slow_and_only_at_times() {
        let mut random = Random::new(1);
        let mut is_slow = |age, is_new, network| {
            (0..200).any(|_| charge(&mut random, age, is_new, network).millis > 1_300.0)
        };
        let (good, bad) = (MINUTE, 10 * MINUTE);
        assert!(is_slow(bad, true, FAULTY_NETWORK));
        assert!(!is_slow(good, true, FAULTY_NETWORK));
        assert!(!is_slow(bad, false, FAULTY_NETWORK));
        assert!(!is_slow(bad, true, "visa"));
    }
}
