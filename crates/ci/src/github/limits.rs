//! Every limit of talking to GitHub, with its reason.

use std::time::Duration;

/// So often is one thing asked for, with what [`FIRST_BACKOFF`] makes of it some ten to twenty
/// seconds: longer than GitHub takes to replace a server, shorter than a job should hang.
pub(super) const MAX_TRIES: u32 = 6;

/// The wait before the second try. Each later one is twice as long.
pub(super) const FIRST_BACKOFF: Duration = Duration::from_millis(500);

/// No wait of ours is longer. One that GitHub names may be.
pub(super) const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// With less time than this, no other try is made: it would end before its answer.
pub(super) const SHORTEST_TRY: Duration = Duration::from_millis(250);

/// The least wait that GitHub asks for after a secondary rate limit that names no time.
pub(super) const SECONDARY_LIMIT_WAIT: Duration = Duration::from_secs(60);

/// A connection that is not there by then will not be.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// GitHub gives up on its own answers after ten seconds; the rest is for the way.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// What [`MAX_ZIP_BYTES`] take at a megabyte in a second.
pub(super) const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(600);

/// An artifact takes one redirect, a renamed repository one more.
pub(super) const MAX_REDIRECTS: usize = 5;

/// The most that GitHub puts on one page.
pub(super) const ITEMS_PER_PAGE: u32 = 100;

/// Ten thousand jobs or artifacts: far above what one run can have, so more is a list that goes
/// round in circles.
pub(super) const MAX_PAGES: u32 = 100;

/// All pages of one list together. A job with its steps takes some five kilobytes.
pub(super) const MAX_JSON_BYTES: u64 = 64 << 20;

/// So much of a refusal is read to find its message.
pub(super) const MAX_REFUSAL_BYTES: u64 = 64 << 10;

/// What GitHub says in a refusal is quoted with so many characters at most.
pub(super) const MAX_QUOTED_CHARS: usize = 400;

/// The owner and the name of a repository. GitHub allows 39 and 100.
pub(super) const MAX_REPOSITORY_PART_BYTES: usize = 100;

/// The name of a file or directory, as most file systems bound it.
pub(super) const MAX_FILE_NAME_BYTES: usize = 255;

/// The packed artifact, on disk. What jobs leave for a summary are kilobytes.
pub(super) const MAX_ZIP_BYTES: u64 = 512 << 20;

/// The list of entries at the end of a zip file: some eight hundred bytes for each of
/// [`MAX_ENTRIES`], where names of a hundred are long.
pub(super) const MAX_ZIP_DIRECTORY_BYTES: u64 = 16 << 20;

/// Entries of one artifact: more than any test suite leaves as files.
pub(super) const MAX_ENTRIES: usize = 20_000;

/// One file of an artifact. Larger ones are skipped: nothing that is read from artifacts is.
pub(super) const MAX_ENTRY_BYTES: u64 = 256 << 20;

/// All files of an artifact together: the disk of a runner has some gigabytes.
pub(super) const MAX_UNPACKED_BYTES: u64 = 1 << 30;

/// The path of an entry: with where it is unpacked to, it stays below what systems take.
pub(super) const MAX_ENTRY_PATH_BYTES: usize = 1_024;

/// So many skipped entries are named in warnings. The others are counted.
pub(super) const MAX_NAMED_SKIPS: usize = 20;

/// So much of an entry's name is shown in its warning.
pub(super) const MAX_SHOWN_NAME_CHARS: usize = 200;
