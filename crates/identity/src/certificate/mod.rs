//! Client certificates: whose they are, and what is granted to them.
//!
//! That a certificate is genuine, not expired and not revoked was found out when the connection was
//! made; here it is only read.

pub mod names;
pub mod rule;
pub mod wildcard;

pub use names::CertificateNames;
