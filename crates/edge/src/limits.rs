//! Every limit of this crate, with its reason.

use std::time::Duration;

/// The largest file of certificates or keys: a chain has some kilobytes, a bundle of all public
/// authorities a few hundred.
pub const MAX_PEM_BYTES: u64 = 4 << 20;

/// The largest file of revoked certificates: about a million of them.
pub const MAX_REVOKED_BYTES: u64 = 64 << 20;

/// Lists of revoked certificates of one authority: each is asked for every client, and all are in
/// memory once for each of them.
pub const MAX_LISTS_OF_AUTHORITY: usize = 8;

/// How often files of certificates are looked at for changes.
pub const RELOAD_EVERY: Duration = Duration::from_secs(1);

/// How long a handshake may take: two round trips over a bad line, and no room for clients that
/// only hold connections open.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A certificate that ends so soon is warned of when it is loaded: time enough to make another one.
pub const EXPIRY_WARNING_DAYS: i64 = 14;

/// The certificate of a client whose connection stays open is verified again after this time, since
/// it may have expired meanwhile, and at once when certificates or lists have changed.
pub const RECHECK_EVERY: Duration = Duration::from_secs(60);

/// Clients that are refused for their certificates are warned of once in this time for each reason,
/// with how many there were: anyone who reaches the port can cause such lines.
pub const REFUSAL_LOG_EVERY: Duration = Duration::from_secs(60);

/// Sessions that clients may resume, where no client certificates are verified: the default of the
/// library, some hundred kilobytes.
pub const RESUMED_SESSIONS: usize = 256;

/// How long an authority of `kymo certs new` lasts: longer than the set-up it begins.
pub const AUTHORITY_DAYS: u32 = 3650;

/// How long its certificates last if nothing else is asked for: some systems refuse servers whose
/// certificates last longer than 398 days.
pub const CERTIFICATE_DAYS: u32 = 365;

/// Certificates begin this long before they are made, since other machines' clocks are behind.
pub const CLOCK_SKEW_SECONDS: i64 = 3600;

/// Characters of a client's name in a certificate: X.509 allows 64 for a common name.
pub const MAX_CLIENT_NAME: usize = 64;

/// Names and addresses in one certificate of a server.
pub const MAX_SERVER_NAMES: usize = 100;

/// The largest register of an authority: tens of thousands of certificates. Who has more needs
/// another tool.
pub const MAX_REGISTER_BYTES: u64 = 16 << 20;

/// Proxies that a request can have come through and be followed back: real chains have fewer than
/// five, and the header can be as long as headers may be.
pub const MAX_HOPS: usize = 32;

/// Bytes of a host name with its port: DNS allows 253.
pub const MAX_HOST_BYTES: usize = 260;

/// Bytes of a prefix that a proxy says it has stripped.
pub const MAX_PREFIX_BYTES: usize = 256;

/// Bytes of a link of another system, and of the one it becomes: browsers and proxies refuse more
/// than about this.
pub const MAX_LINK_BYTES: usize = 16 << 10;

/// Queries that are taken out of one link: pages of other systems show a handful of panels.
pub const MAX_LINK_QUERIES: usize = 20;

/// Parameters that are read of one link.
pub const MAX_LINK_PARAMETERS: usize = 200;
