//! Arbitrary text: what can be read as OTLP/JSON comes back the same, and nothing panics.
#![no_main]

use kymo_wire::{Signal, json, lines};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let _ = lines::decode_line(text);
    for signal in Signal::ALL {
        let Ok(body) = json::decode(signal, text) else { continue };
        let first = encode(signal, &body);
        let again = json::decode(signal, &first).expect("what was written can be read");
        assert_eq!(encode(signal, &again), first);
    }
});

fn encode(signal: Signal, body: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    json::encode(signal, body, &mut text).expect("what was read can be written");
    text
}
