//! Who asks, and what they may.
//!
//! ```text
//!  listener's methods ──┐
//!  Authorization ───────┼─> Identity ──> Grant: name, roles, tenants ──> may(role, tenant)
//!  peer: address, ──────┘       └──────> Denied: status, headers, gRPC code, text
//!        certificate
//! ```
//!
//! No server is here: who has one hands over headers and peer of each request.
//!
//! ```
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use kymo_identity::{Identity, IdentitySettings, Method, PeerInfo, Role, TokenBook};
//!
//! let settings: IdentitySettings =
//!     kymo_yaml::from_str("users: [{name: ada, password: secret, roles: [read]}]")?;
//! let identity = Identity::new(&settings, TokenBook::new().into(), None).map_err(|wrong| wrong[0].clone())?;
//! let peer = PeerInfo { address: [127, 0, 0, 1].into(), certificate: None };
//! match identity.check(&[Method::Basic], &http::HeaderMap::new(), peer).await {
//!     Ok(grant) => grant.require(Role::Read, grant.tenant(None)?)?,
//!     Err(denied) => println!("{} {denied}", denied.status()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Promises:
//!
//! - Secrets are compared in constant time, and are not in what `Debug`, `Display` or an error shows.
//! - An answer does not say which part of the credentials was wrong. A user that is not there takes
//!   as long as one that is.
//! - What is remembered of requests is bounded ([`limits`]).
//!
//! | module | what is there |
//! |---|---|
//! | [`settings`], `settings_check` | what the configuration says, and what is wrong with it |
//! | [`identity`] | who a request is from: all ways together |
//! | [`method`] | the ways, and which of them a listener accepts |
//! | [`grant`], [`role`] | what somebody may, and for which tenants |
//! | [`denied`] | why a request may not go on, and what is answered |
//! | [`password`] | hashes of passwords |
//! | `passwords`, `stored` | users: who is right, what that is compared with |
//! | `attempts` | how often one may be wrong |
//! | [`token`] | tokens of ours: the text, the book |
//! | [`certificate`] | client certificates: names, and what is granted to them |
//! | [`oidc`] | tokens of an identity provider |
//! | [`query`] | tokens in URLs, which are refused |
//! | [`audit`] | what is written down |
//! | `credentials`, `expiring`, `moment` | the header, a set that forgets, the time |
//! | [`limits`] | bounds, each with its reason |

mod attempts;
pub mod audit;
pub mod certificate;
mod credentials;
pub mod denied;
mod expiring;
pub mod grant;
pub mod identity;
pub mod limits;
pub mod method;
mod moment;
pub mod oidc;
pub mod password;
mod passwords;
pub mod query;
pub mod role;
pub mod settings;
mod settings_check;
mod stored;
pub mod token;

#[cfg(test)]
mod tests;

pub use audit::{Action, AuditEvent, Outcome};
pub use denied::Denied;
pub use grant::{DEFAULT_TENANT, Grant};
pub use identity::{Identity, PeerInfo};
pub use method::{Method, Methods};
pub use oidc::{Fetch, FetchFuture};
pub use password::{PasswordError, hash_password};
pub use query::{TOKEN_IN_QUERY, token_in_query};
pub use role::{Role, Tenants};
pub use settings::{
    CertificateSettings, IdentitySettings, OidcSettings, UserSettings, WrongSetting,
};
pub use token::{NewToken, TokenBook, TokenError, TokenRecord, TokenText};
