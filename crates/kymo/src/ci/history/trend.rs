//! Jobs and caches over time.

use std::collections::BTreeMap;

use super::{AskArgs, ask, sql};
use crate::failure::Failure;
use crate::frame::{Frame, Unit};
use crate::output;
use crate::runs::Points;
use crate::sql::write;

const DAY_NANOS: i64 = 24 * 3600 * 1_000_000_000;

/// Show how long jobs take over time, or how often a compiler cache hits
#[derive(Debug, clap::Args)]
pub(crate) struct TrendArgs {
    #[command(flatten)]
    ask: AskArgs,
    /// Only this job, by its whole name
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// A compiler cache instead of jobs, such as main_process or main_process.cuda
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "main_process", conflicts_with = "job")]
    cache: Option<String>,
    /// Jobs to show, those that take most time first
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
}

/// One job: what is known of each step of time.
#[derive(Debug, Default)]
struct Job {
    runs: i64,
    total_seconds: f64,
    p50: Vec<(i64, f64)>,
    p95: Vec<(i64, f64)>,
}

pub(crate) fn trend(args: &TrendArgs) -> Result<(), Failure> {
    let filter = args.ask.filter()?;
    // Days are what people compare, unless they ask for another step.
    let step =
        if args.ask.times.has_step() { args.ask.times.step(&filter.range) } else { DAY_NANOS };
    if let Some(cache) = &args.cache {
        return cache_trend(args, &sql::cache_trend(&filter, cache, step));
    }
    let query = sql::trend(&filter, args.job.as_deref(), step);
    if args.ask.show_sql {
        return output::text(&format!("{query}\n"));
    }
    args.ask.format.check()?;
    let source = args.ask.source.open()?;
    let found = ask(&source, &query)?;
    let (names, times) = (found.texts("job")?, found.times("time")?);
    let (runs, p50) = (found.integers("runs")?, found.numbers("p50_seconds")?);
    let p95 = found.numbers("p95_seconds")?;
    let mut frame = Frame::new(args.ask.format.reader());
    if !args.ask.format.reader().is_person() {
        frame.texts("job", names);
        frame.times("time", times);
        frame.integers("runs", runs);
        frame.numbers("p50_seconds", Unit::Seconds, p50);
        frame.numbers("p95_seconds", Unit::Seconds, p95);
        return write(frame.answer()?, &mut *args.ask.format.encoder());
    }
    let mut jobs: BTreeMap<String, Job> = BTreeMap::new();
    for nth in 0..names.len() {
        let job = jobs.entry(names[nth].clone().unwrap_or_default()).or_default();
        let (count, middle) = (runs[nth].unwrap_or(0), p50[nth].unwrap_or(0.0));
        job.runs += count;
        job.total_seconds += count as f64 * middle;
        job.p50.push((times[nth], middle));
        job.p95.push((times[nth], p95[nth].unwrap_or(0.0)));
    }
    let mut jobs: Vec<(String, Job)> = jobs.into_iter().collect();
    jobs.sort_by(|(_, a), (_, b)| b.total_seconds.total_cmp(&a.total_seconds));
    let hidden = jobs.len().saturating_sub(args.limit);
    jobs.truncate(args.limit);
    show(&mut frame, &jobs, step);
    write(frame.answer()?, &mut *args.ask.format.encoder())?;
    if hidden > 0 {
        output::note(&format!("{hidden} more jobs take less time: --limit COUNT shows them"));
    }
    Ok(())
}

fn show(frame: &mut Frame, jobs: &[(String, Job)], step_nanos: i64) {
    frame.texts("job", jobs.iter().map(|(name, _)| Some(name.clone())).collect());
    frame.integers("runs", jobs.iter().map(|(_, job)| Some(job.runs)).collect());
    let first = |points: &[(i64, f64)]| points.first().map(|(_, value)| *value);
    let last = |points: &[(i64, f64)]| points.last().map(|(_, value)| *value);
    type Pick = fn(&Job) -> &[(i64, f64)];
    for (name, of) in [("p50", (|job| &job.p50) as Pick), ("p95", |job| &job.p95)] {
        let begun = jobs.iter().map(|(_, job)| first(of(job))).collect();
        frame.numbers(&format!("{name} first"), Unit::Seconds, begun);
        let now = jobs.iter().map(|(_, job)| last(of(job))).collect();
        frame.numbers(&format!("{name} last"), Unit::Seconds, now);
    }
    if frame.is_for_terminal() {
        let series: Vec<Points<'_>> = jobs.iter().map(|(_, job)| job.p50.as_slice()).collect();
        frame.drawn("p50 over time", &series, step_nanos);
    }
}

fn cache_trend(args: &TrendArgs, query: &str) -> Result<(), Failure> {
    args.ask.answer(query, |found, frame| {
        frame.times("time", found.times("time")?);
        frame.integers("builds", found.integers("builds")?);
        frame.integers("hits", found.integers("hits")?);
        frame.integers("misses", found.integers("misses")?);
        frame.measures("hit_rate", Unit::None, found.numbers("hit_rate")?);
        Ok(())
    })
}
