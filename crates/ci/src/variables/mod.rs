//! Variables that carry telemetry through a workflow: which there are, how jobs get them from each
//! other, and where GitHub Actions wants them written.
//!
//! | module | what is there |
//! |---|---|
//! | [`base`] | those of the whole run, for the first job (`kymo ci setup`) |
//! | [`file`](mod@file) | the file that carries them, and how it is merged into a job (`kymo ci load`) |
//! | [`job`] | those of one job (`kymo ci attrs`) |
//! | [`actions`] | writing to `$GITHUB_ENV` and `$GITHUB_OUTPUT` |

pub mod actions;
pub mod base;
pub mod file;
pub mod job;

/// A name and its value.
pub type Variable = (String, String);
