//! Networks whose proxies are believed: addresses, with or without the length of a prefix.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use serde::Deserialize;
use thiserror::Error;

/// The key `trusted_proxies` of the configuration. Empty: nobody is believed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct TrustedProxies(Vec<Network>);

/// Addresses that begin with the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    /// The first address.
    base: IpAddr,
    prefix_bits: u8,
}

/// A text that is no network.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "{text:?} is not a network: expected an address such as 10.0.0.7 or fd00::1, or a range such as 10.0.0.0/8"
)]
pub struct WrongNetwork {
    text: String,
}

impl TrustedProxies {
    /// Those of a list.
    pub fn new(networks: impl IntoIterator<Item = Network>) -> Self {
        Self(networks.into_iter().collect())
    }

    /// Whether what this address says of others is believed.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(address))
    }
}

impl Network {
    fn contains(&self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let differing = u32::from(base) ^ u32::from(address);
                differing.leading_zeros() >= u32::from(self.prefix_bits)
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let differing = u128::from(base) ^ u128::from(address);
                differing.leading_zeros() >= u32::from(self.prefix_bits)
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = WrongNetwork;

    fn from_str(text: &str) -> Result<Self, WrongNetwork> {
        let wrong = || WrongNetwork { text: text.to_owned() };
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix)),
            None => (text, None),
        };
        let base: IpAddr = address.parse().map_err(|_| wrong())?;
        let width_bits = if base.is_ipv4() { 32 } else { 128 };
        let prefix_bits = match prefix {
            // `parse` would take a sign.
            Some(digits) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                digits.parse().map_err(|_| wrong())?
            }
            Some(_) => return Err(wrong()),
            None => width_bits,
        };
        if prefix_bits > width_bits {
            return Err(wrong());
        }
        // Peers on a socket for both versions are seen as IPv4, and so must the networks be.
        match (base, base.to_canonical()) {
            (IpAddr::V6(_), canonical @ IpAddr::V4(_)) if prefix_bits >= 96 => {
                Ok(Self { base: canonical, prefix_bits: prefix_bits - 96 })
            }
            _ => Ok(Self { base, prefix_bits }),
        }
    }
}

impl TryFrom<String> for Network {
    type Error = WrongNetwork;

    fn try_from(text: String) -> Result<Self, WrongNetwork> {
        text.parse()
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trusts(network: &str, address: &str) -> bool {
        let trusted = TrustedProxies::new([network.parse().unwrap()]);
        trusted.contains(address.parse().unwrap())
    }

    #[test]
    fn a_network_has_the_addresses_that_begin_alike() {
        assert!(trusts("127.0.0.1/8", "127.255.0.9"));
        assert!(!trusts("127.0.0.1/8", "128.0.0.1"));
        assert!(trusts("10.1.2.3", "10.1.2.3"));
        assert!(!trusts("10.1.2.3", "10.1.2.4"));
        assert!(trusts("0.0.0.0/0", "203.0.113.9"));
        assert!(!trusts("0.0.0.0/0", "::1"));
        assert!(trusts("fd00::/8", "fdff::1"));
        assert!(!trusts("fd00::/8", "fe80::1"));
        assert!(trusts("10.0.0.0/31", "10.0.0.1"));
        assert!(!trusts("10.0.0.0/31", "10.0.0.2"));
    }

    #[test]
    fn an_address_is_the_same_in_both_versions_of_ip() {
        assert!(trusts("10.0.0.0/8", "::ffff:10.1.2.3"));
        assert!(trusts("::ffff:10.0.0.0/104", "10.1.2.3"));
        assert!(!trusts("::ffff:10.0.0.0/104", "11.1.2.3"));
    }

    #[test]
    fn what_is_no_network_is_refused_with_an_example() {
        for wrong in ["", "localhost", "10.0.0.0/33", "::1/129", "10.0.0.0/", "10.0.0.0/+8", "/8"] {
            let error = wrong.parse::<Network>().unwrap_err().to_string();
            assert!(error.contains("10.0.0.0/8"), "{error}");
        }
        let read: Result<TrustedProxies, _> = serde_json::from_str(r#"["127.0.0.1/8", "::1"]"#);
        assert!(read.unwrap().contains("::1".parse().unwrap()));
        assert!(serde_json::from_str::<TrustedProxies>(r#"["proxy"]"#).is_err());
    }
}
