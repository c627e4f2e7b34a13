//! How many events a second a session takes, and what a call costs.
//!
//! `cargo run --release -p kymo-session --example events [TASKS] [none|file]`

use std::time::{Duration, Instant};

use kymo_session::{Checkpoint, Parent, Session, SessionOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let tasks: u64 = arguments.next().map_or(Ok(1_000_000), |text| text.parse())?;
    let is_on = arguments.next().as_deref() != Some("none");
    let place = tempfile::tempdir_in(".")?;
    let mut options = SessionOptions::new("events");
    options.parent = Parent::None;
    options.checkpoint = match is_on {
        true => Checkpoint::Directory(place.path().to_owned()),
        false => Checkpoint::None,
    };
    let session = Session::start(options)?;
    let began = Instant::now();
    for _ in 0..tasks {
        let task = session.task("simulate").executable("/bin/sim").task_type("mpi").create();
        task.submitted();
        task.queued();
        task.started();
        task.completed();
    }
    let told = began.elapsed();
    session.end(Duration::from_secs(600));
    let all = began.elapsed();
    let events = 5 * tasks;
    let per_second = |time: Duration| events as f64 / time.as_secs_f64();
    println!("events              {events}");
    println!("calls               {:>10.0} events/s", per_second(told));
    println!("end to end          {:>10.0} events/s", per_second(all));
    println!("file                {:>10.0} MB", session.stats().checkpoint_bytes as f64 / 1e6);

    // What a call costs where the queue is not what is waited for.
    let quiet = Session::start({
        let mut options = SessionOptions::new("calls");
        options.parent = Parent::None;
        options.checkpoint = Checkpoint::Directory(place.path().to_owned());
        options
    })?;
    let (mut total, mut calls) = (Duration::ZERO, 0u32);
    for _ in 0..200 {
        let tasks: Vec<_> = (0..100).map(|_| quiet.task("simulate").create()).collect();
        let began = Instant::now();
        for task in &tasks {
            task.submitted();
            task.queued();
            task.started();
            task.completed();
        }
        total += began.elapsed();
        calls += 400;
        std::thread::sleep(Duration::from_millis(2));
    }
    println!("a call              {:>10.0} ns", total.as_nanos() as f64 / f64::from(calls));
    Ok(())
}
