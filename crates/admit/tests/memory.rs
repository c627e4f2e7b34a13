//! How much memory a bomb gets, by an allocator that counts.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]
#![allow(unsafe_code, reason = "an allocator cannot be written without")]

#[path = "property/codec.rs"]
mod codec;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use codec::{compress, deflate_raw};
use kymo_admit::{Admission, Compression, Format, Limits, Refusal, Signal};

struct Counting;

static NOW_BYTES: AtomicUsize = AtomicUsize::new(0);
static PEAK_BYTES: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all work is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW_BYTES.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK_BYTES.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW_BYTES.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LIMIT_BYTES: usize = 4 << 20;

/// What a call allocates at once, at most.
fn peak_bytes(call: impl FnOnce()) -> usize {
    let before = NOW_BYTES.load(Ordering::Relaxed);
    PEAK_BYTES.store(before, Ordering::Relaxed);
    call();
    PEAK_BYTES.load(Ordering::Relaxed) - before
}

/// The only test of this file: others would allocate at the same time.
#[test]
fn a_bomb_gets_no_more_memory_than_the_limit() {
    let limits = Limits { max_decompressed_bytes: LIMIT_BYTES, ..Limits::default() };
    let admission = Admission::new(limits, Default::default()).unwrap();
    let zeros = vec![0; 64 << 20];
    let gzip = compress(Compression::Gzip, &zeros);
    // The size in the last four bytes is a lie as well.
    let lying = [&gzip[..gzip.len() - 4], b"\xff\xff\xff\xff"].concat();
    let members = compress(Compression::Gzip, &zeros[..1 << 20]).repeat(64);
    let bombs = [
        (Compression::Gzip, gzip),
        (Compression::Gzip, lying),
        (Compression::Gzip, members),
        (Compression::Deflate, compress(Compression::Deflate, &zeros)),
        (Compression::Deflate, deflate_raw(&zeros)),
        (Compression::Zstd, compress(Compression::Zstd, &zeros)),
    ];
    drop(zeros);
    for (index, (compression, bomb)) in bombs.into_iter().enumerate() {
        let bomb_bytes = bomb.len();
        assert!(bomb_bytes < 1 << 20, "it is small at first");
        let body = Bytes::from(bomb);
        let mut result = None;
        let peak = peak_bytes(|| {
            result =
                Some(admission.admit("default", Signal::Logs, Format::Protobuf, compression, body));
        });
        assert!(matches!(result, Some(Err(Refusal::TooLarge { .. }))), "{compression}: {result:?}");
        // Growing needs the old buffer beside the new one; a decoder has its own state.
        let allowed = 2 * LIMIT_BYTES + (1 << 20);
        assert!(
            peak < allowed,
            "bomb {index} of {bomb_bytes} bytes in {compression}: {peak} bytes"
        );
    }
}
