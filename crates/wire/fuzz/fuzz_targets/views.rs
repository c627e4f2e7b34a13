//! Arbitrary bytes: our check, with wide and with tight limits, and our views against prost, for each
//! signal.
#![no_main]

#[path = "../../src/tests/rebuild.rs"]
mod rebuild;
#[path = "../../src/tests/reference.rs"]
mod reference;

use kymo_wire::Signal;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for signal in Signal::ALL {
        reference::assert_agreement(signal, bytes);
        // Without the check in front, views may fail but must not panic.
        let _ = reference::by_views(signal, bytes);
    }
});
