//! Repositories, workflows and their jobs.

use crate::{MINUTE, SECOND};

/// A workflow of a repository.
#[derive(Debug)]
pub(super) struct Workflow {
    pub(super) repository: &'static str,
    pub(super) name: &'static str,
    pub(super) event: &'static str,
    pub(super) every: u64,
    pub(super) jobs: &'static [Jobs],
    /// Whether its cache got worse.
    pub(super) is_cache_worse: bool,
}

/// Jobs that differ in one matrix. All of one wait for all of the one before.
#[derive(Debug)]
pub(super) struct Jobs {
    pub(super) name: &'static str,
    pub(super) what: What,
    /// Values of the matrix, and the labels of the runner: none is a job without a matrix.
    pub(super) matrix: &'static [(&'static str, &'static str)],
    pub(super) seconds: f64,
    /// Whether it begins beside the one before, not after it.
    pub(super) is_beside: bool,
}

/// What a job does, and so which steps it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Check,
    Build,
    Test,
    Docs,
}

const AMD64: &str = "linux-amd64-cpu16";
const ARM64: &str = "linux-arm64-cpu16";
const SMALL: &str = "linux-amd64-cpu4";
const L4: &str = "linux-amd64-gpu-l4-latest-1";
const A100: &str = "linux-arm64-gpu-a100-latest-1";

/// When the cache gets worse, counted from the beginning.
pub(super) const CACHE_WORSE_AFTER: u64 = 40 * MINUTE;

/// The job that fails now and then, and passes when it is run again.
pub(super) const FLAKY: &str = "12.9, 3.13, arm64, a100";

const PR: &[Jobs] = &[
    Jobs {
        name: "changed-files",
        what: What::Check,
        matrix: &[("", SMALL)],
        seconds: 6.0,
        is_beside: false,
    },
    Jobs {
        name: "checks",
        what: What::Check,
        matrix: &[("", SMALL)],
        seconds: 14.0,
        is_beside: true,
    },
    Jobs {
        name: "conda-cpp-build",
        what: What::Build,
        matrix: &[
            ("12.9, 3.13, amd64", AMD64),
            ("12.9, 3.13, arm64", ARM64),
            ("13.0, 3.13, amd64", AMD64),
        ],
        seconds: 62.0,
        is_beside: false,
    },
    Jobs {
        name: "docs-build",
        what: What::Docs,
        matrix: &[("", SMALL)],
        seconds: 28.0,
        is_beside: true,
    },
    Jobs {
        name: "conda-cpp-tests",
        what: What::Test,
        matrix: &[("12.9, 3.13, amd64, l4", L4), (FLAKY, A100), ("13.0, 3.13, amd64, l4", L4)],
        seconds: 44.0,
        is_beside: false,
    },
    Jobs {
        name: "wheel-build",
        what: What::Build,
        matrix: &[("12.9, 3.13, amd64", AMD64), ("13.0, 3.13, arm64", ARM64)],
        seconds: 40.0,
        is_beside: true,
    },
    Jobs {
        name: "wheel-tests",
        what: What::Test,
        matrix: &[("12.9, 3.13, amd64, l4", L4)],
        seconds: 30.0,
        is_beside: false,
    },
];

const SMALL_PR: &[Jobs] = &[
    Jobs {
        name: "checks",
        what: What::Check,
        matrix: &[("", SMALL)],
        seconds: 9.0,
        is_beside: false,
    },
    Jobs {
        name: "build",
        what: What::Build,
        matrix: &[("stable", AMD64), ("beta", AMD64)],
        seconds: 26.0,
        is_beside: false,
    },
    Jobs {
        name: "tests",
        what: What::Test,
        matrix: &[("stable", AMD64), ("beta", AMD64)],
        seconds: 22.0,
        is_beside: false,
    },
];

pub(super) static WORKFLOWS: [Workflow; 4] = [
    Workflow {
        repository: "orbital/lattice",
        name: "pr",
        event: "pull_request",
        every: 5 * MINUTE,
        jobs: PR,
        is_cache_worse: true,
    },
    Workflow {
        repository: "orbital/quill",
        name: "pr",
        event: "pull_request",
        every: 3 * MINUTE,
        jobs: SMALL_PR,
        is_cache_worse: false,
    },
    Workflow {
        repository: "orbital/lattice",
        name: "nightly",
        event: "schedule",
        every: 18 * MINUTE,
        jobs: PR,
        is_cache_worse: true,
    },
    Workflow {
        repository: "orbital/quill",
        name: "release",
        event: "push",
        every: 22 * MINUTE + 30 * SECOND,
        jobs: SMALL_PR,
        is_cache_worse: false,
    },
];

/// What changes are about.
pub(super) const TITLES: [&str; 8] = [
    "Gather strings in one pass",
    "Fix overflow in row offsets",
    "Read Parquet pages in parallel",
    "Bump the compiler to 14.2",
    "Drop support for old drivers",
    "Add a test for empty joins",
    "Make hashing branch-free",
    "Document memory resources",
];

pub(super) const PEOPLE: [&str; 4] = ["ada", "grace", "linus-b", "dependabot[bot]"];
