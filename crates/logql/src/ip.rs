//! `ip("10.0.0.0/8")`: addresses found in text.
//!
//! A pattern is one address, a network as `address/bits`, or a range as `from-to`; of version 4 or
//! 6. Addresses of one version never match a pattern of the other, not even when written as such.
//! In text an address may stand anywhere where no digit, letter of a hexadecimal number, dot or
//! colon would make it longer; a port after it and a full stop are no part of it.

use std::net::IpAddr;

/// A pattern that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "ip({0:?}) is not valid: expected an address, a network as 10.0.0.0/8, or a range as 10.0.0.1-10.0.0.9"
)]
pub struct IpPatternError(String);

/// The addresses of a pattern: all from the first to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IpMatcher {
    first: IpAddr,
    last: IpAddr,
}

/// No address is written longer.
const MAX_ADDRESS_BYTES: usize = 45;

impl IpMatcher {
    /// Reads a pattern.
    pub fn new(pattern: &str) -> Result<Self, IpPatternError> {
        let range = if let Ok(address) = pattern.parse::<IpAddr>() {
            Some((address, address))
        } else if let Some((address, bits)) = pattern.split_once('/') {
            network(address, bits)
        } else if let Some((first, last)) = pattern.split_once('-') {
            range(first, last)
        } else {
            None
        };
        let (first, last) = range.ok_or_else(|| IpPatternError(pattern.to_owned()))?;
        Ok(Self { first, last })
    }

    /// Whether any address of the line is meant.
    pub fn matches_line(&self, line: &str) -> bool {
        let bytes = line.as_bytes();
        let mut at = 0;
        while let Some(start) = bytes[at..].iter().position(|b| is_part(*b)) {
            let start = at + start;
            let length = bytes[start..].iter().take_while(|b| is_part(**b)).count();
            at = start + length;
            // All of it is ASCII.
            if self.matches_run(line.get(start..at).unwrap_or_default()) {
                return true;
            }
        }
        false
    }

    /// Whether a label's value is or holds an address that is meant.
    pub fn matches_value(&self, value: &str) -> bool {
        self.matches_line(value)
    }

    /// A run of characters that addresses are written with.
    fn matches_run(&self, run: &str) -> bool {
        let dots = run.bytes().filter(|b| *b == b'.').count();
        let colons = run.bytes().filter(|b| *b == b':').count();
        if dots < 3 && colons < 2 {
            return false;
        }
        let trimmed = run.trim_end_matches('.');
        // `::1:` ends with a colon that is none of its own; `fe80::` does not.
        for text in [trimmed, trimmed.strip_suffix(':').unwrap_or(trimmed)] {
            if text.len() <= MAX_ADDRESS_BYTES
                && let Ok(address) = text.parse()
            {
                return self.contains(address);
            }
        }
        run.split(|c: char| !c.is_ascii_digit() && c != '.')
            .map(|text| text.trim_matches('.'))
            .filter_map(|text| text.parse().ok())
            .any(|address| self.contains(IpAddr::V4(address)))
    }

    fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.first.is_ipv4() && self.first <= address && address <= self.last
    }
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || matches!(byte, b'.' | b':')
}

fn network(address: &str, bits: &str) -> Option<(IpAddr, IpAddr)> {
    let is_number =
        bits.bytes().all(|b| b.is_ascii_digit()) && !(bits.len() > 1 && bits.starts_with('0'));
    let bits: u32 = bits.parse().ok().filter(|_| is_number)?;
    match address.parse().ok()? {
        IpAddr::V4(address) => {
            let hosts = 32_u32.checked_sub(bits)?;
            let mask = u32::MAX.checked_shl(hosts).unwrap_or(0);
            let first = address.to_bits() & mask;
            Some((IpAddr::V4(first.into()), IpAddr::V4((first | !mask).into())))
        }
        IpAddr::V6(address) => {
            let hosts = 128_u32.checked_sub(bits)?;
            let mask = u128::MAX.checked_shl(hosts).unwrap_or(0);
            let first = address.to_bits() & mask;
            Some((IpAddr::V6(first.into()), IpAddr::V6((first | !mask).into())))
        }
    }
}

fn range(first: &str, last: &str) -> Option<(IpAddr, IpAddr)> {
    let (first, last): (IpAddr, IpAddr) = (first.parse().ok()?, last.parse().ok()?);
    (first.is_ipv4() == last.is_ipv4() && first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(pattern: &str, line: &str) -> bool {
        IpMatcher::new(pattern).unwrap().matches_line(line)
    }

    #[test]
    fn addresses_networks_and_ranges_are_found_anywhere() {
        let line = "10.1.0.2 - - [15/Nov/2026:10:00:35 +0000] \"GET /api?id=7\" 200";
        assert!(finds("10.1.0.2", line));
        assert!(finds("10.1.0.0/30", line));
        assert!(finds("10.1.0.2-10.1.0.3", line));
        assert!(!finds("10.1.0.3", line));
        assert!(!finds("10.1.0.4/30", line));
        assert!(!finds("10.1.0.3-10.1.0.9", line));
        assert!(finds("0.0.0.0/0", line));
        assert!(finds("192.168.4.5/16", "from 192.168.200.1:8080, again"));
        assert!(finds("10.0.0.1", "client=10.0.0.1."));
        assert!(finds("10.0.0.1", "addr:10.0.0.1"));
        assert!(!finds("10.0.0.1", "110.0.0.11 10.0.0.12 1.10.0.0.1"));
        assert!(!finds("10.0.0.1", ""));
    }

    #[test]
    fn version_6_is_found_too_and_never_mixed_up() {
        assert!(finds("2001:db8::7", "2001:db8::7 - -"));
        assert!(finds("2001:db8::/32", "[2001:DB8:1::1]:443"));
        assert!(finds("::1", "listening on ::1: ready"));
        assert!(finds("fe80::/10", "fe80::"));
        assert!(finds("2001:db8::1-2001:db8::9", "ip=2001:0db8:0::5"));
        assert!(!finds("::/0", "10.0.0.1 at 10:00:35"));
        assert!(!finds("10.0.0.0/8", "::ffff:10.0.0.1"));
        assert!(!finds("0.0.0.0/0", "2001:db8::7"));
    }

    #[test]
    fn a_value_that_is_no_address_does_not_match() {
        let matcher = IpMatcher::new("10.0.0.0/8").unwrap();
        assert!(matcher.matches_value("10.0.0.7"));
        for value in
            ["", "not-an-ip", "10.0.0", "10.0.0.256", "10.0.0.07", "2001:db8::1", "...", ":::"]
        {
            assert!(!matcher.matches_value(value), "{value}");
        }
    }

    #[test]
    fn wrong_patterns_are_refused() {
        for wrong in [
            "",
            "x",
            "10.0.0",
            "10.0.0.0/33",
            "10.0.0.0/-1",
            "10.0.0.0/+8",
            "::/129",
            "10.0.0.9-10.0.0.1",
            "10.0.0.1-::1",
            "10.0.0.1-",
            "10.0.0.1 - 10.0.0.2",
            "/8",
            "10.0.0.0/08",
        ] {
            assert!(IpMatcher::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn long_runs_cost_no_more_than_their_length() {
        let line = "a:.1".repeat(1 << 18);
        assert!(!finds("10.0.0.1", &line));
    }
}
