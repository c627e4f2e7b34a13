//! What a session costs in which nothing happens: processor time as a share of one core.
//!
//! `cargo run --release -p kymo-session --example idle [SECONDS] [POLL SECONDS]`

use std::time::Duration;

use kymo_session::{Checkpoint, Session, SessionOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().map_or(Ok(30), |text| text.parse())?;
    let poll: f64 = arguments.next().map_or(Ok(5.0), |text| text.parse())?;
    let place = tempfile::tempdir()?;
    let mut options = SessionOptions::new("idle");
    options.checkpoint = Checkpoint::Directory(place.path().to_owned());
    options.poll_every = Some(Duration::from_secs_f64(poll));
    let session = Session::start(options)?;
    let used = || rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let before = used();
    std::thread::sleep(Duration::from_secs(seconds));
    let after = used();
    let nanos = (after.tv_sec - before.tv_sec) * 1_000_000_000 + (after.tv_nsec - before.tv_nsec);
    println!("{:.3} % of a core", nanos as f64 / 1e7 / seconds as f64);
    session.end(Duration::from_secs(5));
    println!("{} events, {} bytes", session.stats().events, session.stats().checkpoint_bytes);
    Ok(())
}
