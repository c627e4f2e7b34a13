//! Our views, checks and JSON against prost's decoder, on generated, mutated and captured bytes.

mod captured;
mod generate;
pub(crate) mod random;
mod rebuild;
mod reference;
mod scramble;

use random::Random;
use reference::{assert_agreement, by_prost, by_views};

use crate::inspect::inspect;
use crate::{Limits, Signal, json, schema};

const CASES: u64 = 1_000;

/// Runs `check` for many seeds and signals, and names the seed of the case that fails.
fn for_each_seed(check: impl Fn(Signal, &mut Random)) {
    struct NameSeed(u64, Signal);
    impl Drop for NameSeed {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("failed with seed {} for {}", self.0, self.1);
            }
        }
    }
    for seed in 0..CASES {
        for signal in Signal::ALL {
            let _name = NameSeed(seed, signal);
            check(signal, &mut Random::new(seed));
        }
    }
}

#[test]
fn views_read_what_prost_wrote() {
    for_each_seed(|signal, random| {
        let body = generate::request(signal, random);
        assert_eq!(by_views(signal, &body), Ok(body));
    });
}

#[test]
fn views_and_prost_read_the_same_in_any_order_of_fields_packed_or_not() {
    for_each_seed(|signal, random| {
        let body = generate::request(signal, random);
        let scrambled = scramble::scramble(&body, schema::request(signal), random);
        assert_eq!(by_prost(signal, &scrambled), Ok(body.clone()), "the test itself is right");
        assert_eq!(by_views(signal, &scrambled), Ok(body));
        assert_agreement(signal, &scrambled);
    });
}

#[test]
fn we_and_prost_agree_on_mutated_truncated_and_random_bytes() {
    for_each_seed(|signal, random| {
        let mut body = generate::request(signal, random);
        for _ in 0..=random.below(3) {
            mutate(&mut body, random);
            assert_agreement(signal, &body);
        }
        let noise: Vec<u8> = (0..random.below(40)).map(|_| random.next() as u8).collect();
        assert_agreement(signal, &noise);
    });
}

fn mutate(body: &mut Vec<u8>, random: &mut Random) {
    if body.is_empty() {
        body.push(random.next() as u8);
        return;
    }
    let place = random.below(body.len() as u64) as usize;
    match random.below(5) {
        0 => body.truncate(place),
        1 => body.insert(place, random.next() as u8),
        2 => drop(body.remove(place)),
        3 => body[place] ^= 1 << random.below(8),
        _ => body[place] = random.next() as u8,
    }
}

#[test]
fn json_and_back_gives_the_same_request() {
    for_each_seed(|signal, random| {
        let body = generate::request(signal, random);
        let mut text = Vec::new();
        json::encode(signal, &body, &mut text).expect("a valid request can be written");
        let back = json::decode(signal, &text).expect("what was written can be read");
        let shown = String::from_utf8_lossy(&text);
        // A NaN loses its payload in JSON, so that it takes one round to come to rest.
        let mut again = Vec::new();
        json::encode(signal, &back, &mut again).expect("a valid request can be written");
        assert_eq!(String::from_utf8_lossy(&again), shown);
        let rested = json::decode(signal, &again).expect("what was written can be read");
        assert_eq!(rested, back);
        if !shown.contains("NaN") {
            assert_eq!(by_prost(signal, &back), Ok(body), "{shown}");
        }
    });
}

#[test]
fn a_clean_request_is_handed_on_as_it_came() {
    let mut clean = 0;
    for seed in 0..CASES {
        let body = generate::request(Signal::Traces, &mut Random::new(seed));
        let inspected = inspect(Signal::Traces, &body, &Limits::default()).expect("is well-formed");
        let is_borrowed = matches!(inspected.body, std::borrow::Cow::Borrowed(_));
        let is_clean = inspected.refused.is_empty() && inspected.repaired.is_empty();
        assert_eq!(is_borrowed, is_clean);
        clean += u64::from(is_clean && inspected.items > 0);
    }
    assert!(clean > 0, "some generated requests with spans are clean");
}
