//! Every bound of this crate, with its reason.

use std::time::Duration;

/// Bytes of the header `Authorization`: tokens of identity providers that list many groups have a
/// few KiB.
pub const MAX_AUTHORIZATION_BYTES: usize = 16 << 10;
/// Bytes of a name of a user, token or certificate: it is written to logs.
pub const MAX_NAME_BYTES: usize = 256;
/// Bytes of a password: nobody types more, and each byte is hashed.
pub const MAX_PASSWORD_BYTES: usize = 1024;
/// Bytes of a file with a password or its hash.
pub const MAX_PASSWORD_FILE_BYTES: u64 = 4096;
/// How often a file with a password is looked at: a change is effective within this time.
pub const PASSWORD_FILE_LOOKED_AT_EVERY: Duration = Duration::from_secs(1);
/// Users in the configuration: each is looked at when a password is checked.
pub const MAX_USERS: usize = 10_000;
/// Rules for client certificates: they are tried in order for each request.
pub const MAX_CERTIFICATE_RULES: usize = 1000;
/// Tenants that one grant can name.
pub const MAX_TENANTS_NAMED: usize = 1000;
/// Bytes of a tenant's name, as admission has it.
pub const MAX_TENANT_BYTES: usize = 64;

/// Rounds of PBKDF2 for a new hash: what OWASP recommends for SHA-256, about 0.2 s.
pub const PASSWORD_ROUNDS: u32 = 600_000;
/// The fewest rounds that a hash may have: with fewer, a stolen configuration is soon guessed.
pub const MIN_PASSWORD_ROUNDS: u32 = 100_000;
/// The most rounds that a hash may have: more than about 3 s for each login help nobody.
pub const MAX_PASSWORD_ROUNDS: u32 = 10_000_000;
/// Bytes of the salt of a new hash.
pub const SALT_BYTES: usize = 16;
/// Bytes of a salt that is accepted at most.
pub const MAX_SALT_BYTES: usize = 64;
/// Passwords that are hashed at once: a flood of logins takes at most so many cores.
pub const MAX_PASSWORDS_HASHED_AT_ONCE: usize = 2;
/// Requests that may wait for their password to be hashed: about ten seconds of work.
pub const MAX_PASSWORDS_WAITING: usize = 64;

/// How long it is remembered that a name and a password were right (from the last use on), or wrong:
/// clients send them with each request, and each would cost 0.2 s.
pub const VERDICT_KEPT_FOR: Duration = Duration::from_secs(60);
/// Right and wrong combinations that are remembered, each.
pub const MAX_VERDICTS: usize = 4096;

/// Failed logins in a row before one has to wait: people mistype.
pub const FAILURES_AT_ONCE: u32 = 10;
/// After that, one attempt in this time: 14,400 a day, hopeless for a password worth its name.
pub const FAILURE_FORGIVEN_AFTER: Duration = Duration::from_secs(6);
/// Addresses and names of which failures are remembered: 16 bytes each, and some for the map.
pub const MAX_FAILURES_REMEMBERED: usize = 65_536;
/// How long an address from which a user logged in is known as his.
pub const PLACE_KNOWN_FOR: Duration = Duration::from_secs(24 * 3600);
/// Pairs of user and address that are known.
pub const MAX_PLACES_KNOWN: usize = 16_384;

/// Tokens in a book: it is read and written as a whole.
pub const MAX_TOKENS: usize = 4000;
/// Bytes of a book: what the store keeps as a setting. Four thousand tokens for a tenant each have
/// about as much.
pub const MAX_BOOK_BYTES: usize = 1 << 20;
/// How long an expired token is still listed, so that people see why theirs no longer works.
pub const EXPIRED_TOKENS_LISTED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// Bytes of a client's certificate: large ones have 4 KiB.
pub const MAX_CERTIFICATE_BYTES: usize = 64 << 10;
/// Bytes of one name in it: names for SPIFFE have 2,048 at most, others far less.
pub const MAX_CERTIFICATE_NAME_BYTES: usize = 2048;
/// Alternative names of a certificate that are looked at.
pub const MAX_ALTERNATIVE_NAMES: usize = 256;

/// Difference between the clocks of an identity provider and of this machine that is tolerated.
pub const CLOCK_LEEWAY_SECS: u64 = 60;
/// Bytes of an identity provider's keys or of its description: those of large ones have 20 KiB.
pub const MAX_KEYS_BYTES: usize = 512 << 10;
/// Keys of an identity provider: usually two or three.
pub const MAX_KEYS: usize = 100;
/// How long keys are used before they are fetched again, so that a withdrawn one is soon gone.
pub const KEYS_FRESH_FOR: Duration = Duration::from_secs(600);
/// After this time a request waits until they were fetched again: nobody may have asked for a day.
pub const KEYS_STALE_AFTER: Duration = Duration::from_secs(3600);
/// The least time between two fetches: tokens with invented keys must not flood the provider.
pub const KEYS_FETCHED_AT_MOST_EVERY: Duration = Duration::from_secs(60);
/// The same while there are no keys at all, so that a provider that starts late is found.
pub const MISSING_KEYS_FETCHED_AT_MOST_EVERY: Duration = Duration::from_secs(5);
/// How long a fetch may take: requests wait for it.
pub const KEYS_FETCH_TIMEOUT: Duration = Duration::from_secs(10);
