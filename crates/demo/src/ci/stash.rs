//! What jobs leave behind: statistics of the compiler cache, slow targets, tests.

use kymo_ci::attributes::Attributes;
use kymo_ci::model::{Conclusion, Job};
use kymo_ci::stash::{Child, ChildStatus, Start, Stash};

use super::plan::CACHE_WORSE_AFTER;
use crate::random::Random;

const TESTS: [&str; 12] = [
    "test_gather.test_all",
    "test_gather.test_empty",
    "test_join.test_inner",
    "test_join.test_outer",
    "test_join.test_empty_left",
    "test_groupby.test_sum",
    "test_groupby.test_nulls",
    "test_strings.test_split",
    "test_strings.test_regex",
    "test_parquet.test_round_trip",
    "test_parquet.test_many_row_groups",
    "test_memory.test_spill",
];
const FAILING: &str = "test_memory.test_spill";

const TARGETS: [&str; 5] = [
    "src/join/hash_join.cu.o",
    "src/strings/regex/regcomp.cu.o",
    "src/groupby/hash/groupby.cu.o",
    "src/io/parquet/reader_impl.cu.o",
    "src/sort/radix_sort.cu.o",
];

/// What one job left, and the test that failed.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) stash: Stash,
    pub(super) failed: Option<String>,
}

impl Left {
    pub(super) fn of(job: &Job, random: &mut Random, is_worse: bool, age_nanos: u64) -> Self {
        let mut left = Self::default();
        left.stash.resource = matrix(job);
        let has = |name: &str| job.steps.iter().any(|step| step.name == name);
        if has("C++ build") {
            let is_worse = is_worse && age_nanos >= CACHE_WORSE_AFTER;
            left.stash.build = cache(random, if is_worse { 0.54 } else { 0.91 });
            left.stash.targets = targets(random);
        } else if has("Run tests") {
            let fails = job.conclusion == Some(Conclusion::Failure);
            left.stash.tests = tests(random, fails);
            left.stash.test.set("test.count", TESTS.len() as u64);
            left.stash.test.set("test.failed", u64::from(fails));
            left.failed = fails.then(|| FAILING.to_owned());
        } else if job.conclusion == Some(Conclusion::Failure) {
            left.failed = Some("format".to_owned());
        }
        left
    }
}

/// Values of the matrix, as the job's resource has them.
fn matrix(job: &Job) -> Attributes {
    let values = job.name.rsplit_once(" / ").map_or("", |(_, values)| values);
    let names = ["rapids.CUDA_VER", "rapids.PY_VER", "rapids.ARCH", "rapids.GPU"];
    let values = values.split(", ").filter(|value| !value.is_empty());
    names.into_iter().zip(values).collect()
}

/// Statistics of sccache with about this rate of hits, over all and by language.
fn cache(random: &mut Random, hit_rate: f64) -> Attributes {
    let mut all = Attributes::new();
    let (mut hits, mut misses) = (0, 0);
    for (language, requests) in [("c++", 420), ("cuda", 260)] {
        let rate = (hit_rate + 0.03 * random.around()).clamp(0.0, 1.0);
        let of_language = (f64::from(requests) * rate) as i64;
        counts(
            &mut all,
            &format!("sccache.main_process.{language}"),
            of_language,
            i64::from(requests) - of_language,
        );
        hits += of_language;
        misses += i64::from(requests) - of_language;
    }
    counts(&mut all, "sccache.main_process", hits, misses);
    all.set("sccache.main_process.errors", 0_i64);
    all.set("sccache.main_process.error_rate", 0.0);
    all
}

fn counts(all: &mut Attributes, prefix: &str, hits: i64, misses: i64) {
    let looked_up = (hits + misses).max(1) as f64;
    all.set(format!("{prefix}.requests"), hits + misses);
    all.set(format!("{prefix}.hits"), hits);
    all.set(format!("{prefix}.misses"), misses);
    all.set(format!("{prefix}.hit_rate"), hits as f64 / looked_up);
    all.set(format!("{prefix}.miss_rate"), misses as f64 / looked_up);
}

fn targets(random: &mut Random) -> Vec<Child> {
    let target = |name: &&str| Child {
        name: (*name).to_owned(),
        start: Start::AfterParent((random.between(0.0, 12.0) * 1e9) as u64),
        duration_nanos: (random.skewed(8.0) * 1e9) as u64,
        status: ChildStatus::Unset,
        attributes: Attributes::new(),
    };
    TARGETS.iter().map(target).collect()
}

fn tests(random: &mut Random, fails: bool) -> Vec<Child> {
    let mut cursor = 0;
    let test = |name: &&str| {
        let duration_nanos = (random.skewed(1.2) * 1e9) as u64;
        let start = Start::AfterParent(cursor);
        cursor += duration_nanos;
        let is_broken = fails && *name == FAILING;
        let mut attributes = Attributes::new();
        attributes.set("test.case.name", *name);
        attributes.set("test.case.result.status", if is_broken { "fail" } else { "pass" });
        let status = match is_broken {
            true => {
                ChildStatus::Error("AssertionError: expected 0 bytes in use, got 4096".to_owned())
            }
            false => ChildStatus::Ok,
        };
        Child { name: (*name).to_owned(), start, duration_nanos, status, attributes }
    };
    TESTS.iter().map(test).collect()
}

/// What the step that failed wrote.
pub(super) fn log_lines(test: &str) -> Vec<String> {
    if test == "format" {
        let lines = [
            "$ pre-commit run --all-files",
            "clang-format...........FAILED",
            "- files were modified by this hook",
        ];
        return lines.into_iter().map(str::to_owned).collect();
    }
    let (file, case) = test.split_once('.').unwrap_or((test, test));
    vec![
        format!("$ pytest --junitxml=report.xml {file}.py"),
        format!("collected {} items", TESTS.len()),
        format!("{file}.py::{case} FAILED"),
        format!("    def {case}(pool):"),
        ">       assert pool.bytes_in_use() == 0".to_owned(),
        "E       AssertionError: expected 0 bytes in use, got 4096".to_owned(),
        format!("FAILED {file}.py::{case} - AssertionError: expected 0 bytes in use, got 4096"),
        format!("1 failed, {} passed", TESTS.len() - 1),
    ]
}
