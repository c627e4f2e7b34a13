//! Runs of a made-up repository, sent to a server as `kymo ci summarize` would send them: a history
//! to ask `kymo ci trend` and `kymo ci report` about.
//!
//!     cargo run --release -p kymo-bench --bin ci_history -- RUNS [ENDPOINT]
//!
//! A run has 50 jobs with 9 steps each, about 550 spans; runs are spread over the last 90 days.

use std::time::Instant;

use kymo_ci::attributes::Attributes;
use kymo_ci::environment::Environment;
use kymo_ci::identity::{Asked, Identity};
use kymo_ci::model::{Conclusion, Job, Nanos, Run, Step};
use kymo_ci::send::settings::{Asked as AskedSettings, Settings};
use kymo_ci::send::spool::Spool;
use kymo_ci::send::{SendError, send};
use kymo_ci::stash::Stash;
use kymo_ci::summary::Summary;
use kymo_ci::times;
use kymo_ci::warnings::Warnings;

const SECOND: Nanos = 1_000_000_000;
const JOBS: u64 = 50;
const STEPS: [&str; 9] = [
    "Set up job",
    "Checkout",
    "Restore cache",
    "Configure",
    "C++ build",
    "Run tests",
    "Upload artifacts",
    "Post Checkout",
    "Complete job",
];
const LABELS: [&str; 4] =
    ["linux-amd64-cpu16", "linux-arm64-cpu16", "linux-amd64-gpu-l4", "linux-arm64-gpu-a100"];

/// Numbers that look like chance and are the same every time.
fn scatter(a: u64, b: u64, bound: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xd1b5_4a32_d192_ed03);
    x ^= x >> 31;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (x ^ (x >> 29)) % bound
}

fn made_up(number: u64, start: Nanos) -> Run {
    let job = |nth: u64| {
        let created = start + 5 * SECOND * (nth / 10);
        let started = created + SECOND * scatter(number, nth, 120);
        let mut at = started;
        let steps = STEPS.iter().zip(1..).map(|(name, place)| {
            let from = at;
            at +=
                SECOND * (1 + scatter(number + 7 * nth, place, if place == 5 { 600 } else { 20 }));
            Step {
                name: (*name).to_owned(),
                number: Some(place),
                conclusion: Some(Conclusion::Success),
                started_nanos: Some(from),
                completed_nanos: Some(at),
                ..Step::default()
            }
        });
        let steps: Vec<Step> = steps.collect();
        let is_failed = scatter(number, 1000 + nth, 200) == 0;
        Job {
            id: Some(number * 1000 + nth),
            attempt: Some(1),
            name: format!("conda-cpp-build / build / 12.{}, 3.1{}, amd64", nth / 10, nth % 10),
            status: Some("completed".to_owned()),
            conclusion: Some(if is_failed { Conclusion::Failure } else { Conclusion::Success }),
            created_nanos: Some(created),
            started_nanos: Some(started),
            completed_nanos: Some(at),
            labels: vec![LABELS[(nth % 4) as usize].to_owned()],
            runner: Some(format!("runner-{}", scatter(number, nth, 300))),
            url: Some(format!(
                "https://github.com/o/r/actions/runs/{number}/job/{}",
                number * 1000 + nth
            )),
            steps,
            ..Job::default()
        }
    };
    Run {
        repository: Some("o/r".to_owned()),
        id: Some(number),
        attempt: Some(1),
        workflow: Some(["pr", "nightly"][(number % 2) as usize].to_owned()),
        branch: Some(format!("branch-{}", number % 20)),
        url: Some(format!("https://github.com/o/r/actions/runs/{number}")),
        jobs: (0..JOBS).map(job).collect(),
        ..Run::default()
    }
}

fn statistics(job: &Job) -> Stash {
    let id = job.id.unwrap_or(0);
    let (hits, misses) = (100 + scatter(id, 1, 900), scatter(id, 2, 300));
    let mut build = Attributes::new();
    build.set("sccache.main_process.hits", hits);
    build.set("sccache.main_process.misses", misses);
    build.set("sccache.main_process.hit_rate", hits as f64 / (hits + misses) as f64);
    Stash { build, ..Stash::default() }
}

fn main() -> Result<(), SendError> {
    let mut arguments = std::env::args().skip(1);
    let runs: u64 = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(100);
    let environment = Environment::default();
    let asked = AskedSettings { endpoint: arguments.next(), ..AskedSettings::default() };
    let mut warnings = Warnings::new();
    let settings = Settings::resolve(&asked, &environment, &mut warnings);
    let spool = Spool::new(std::env::temp_dir().join("kymo-bench-spool"));
    let (now, began) = (times::now(), Instant::now());
    let ninety_days = 90 * 24 * 3600 * SECOND;
    let mut spans = 0;
    for number in 0..runs {
        let start = now - ninety_days + ninety_days / runs.max(1) * number;
        let run = made_up(number, start / SECOND * SECOND);
        let identity = Identity::resolve(&Asked::default(), &environment, &run, &mut warnings);
        let stash = |job: &Job, _: &mut Warnings| statistics(job);
        let trace =
            Summary { identity: &identity, run: &run, environment: &environment, stash: &stash }
                .trace(&mut warnings);
        spans += trace.spans().count();
        send(&trace, &settings, &spool, &mut warnings)?;
    }
    println!("{runs} runs, {spans} spans in {:.1} s", began.elapsed().as_secs_f64());
    Ok(())
}
