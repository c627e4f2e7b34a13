//! Names that may be in certificates.

use std::net::IpAddr;

use super::CertsError;
use crate::limits::{MAX_CLIENT_NAME, MAX_SERVER_NAMES};

/// What every machine calls itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Names of a server for which no other names are given: those of the loopback, and the machine's.
pub fn default_server_names() -> Vec<String> {
    let mut names: Vec<String> = LOOPBACK.map(str::to_owned).to_vec();
    names.extend(host_name().filter(|name| !LOOPBACK.contains(&name.as_str())));
    names
}

/// Names for a server's certificate: those given, and always those of the loopback, so that whoever
/// is on the machine can reach the server as well.
pub(super) fn of_server(given: &[String]) -> Result<Vec<String>, CertsError> {
    if given.is_empty() {
        return Ok(default_server_names());
    }
    if given.len() > MAX_SERVER_NAMES {
        let name = format!("{} names", given.len());
        return Err(CertsError::Name { name, expected: "at most 100 names" });
    }
    let mut names: Vec<String> = LOOPBACK.map(str::to_owned).to_vec();
    for name in given {
        let is_address = name.parse::<IpAddr>().is_ok();
        if !is_address && !is_dns_name(name) {
            let expected = "a DNS name, which may begin with *., or an IP address";
            return Err(CertsError::Name { name: name.clone(), expected });
        }
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    Ok(names)
}

/// Checks names of clients, which are also parts of file names.
pub(super) fn of_clients<N: AsRef<str>>(names: &[N]) -> Result<(), CertsError> {
    let mut seen = Vec::new();
    for name in names.iter().map(AsRef::as_ref) {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.@".contains(&b);
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !starts_well || name.len() > MAX_CLIENT_NAME || !name.bytes().all(is_plain) {
            let expected = "1 to 64 letters, digits and -_.@, beginning with a letter or digit";
            return Err(CertsError::Name { name: name.to_owned(), expected });
        }
        if seen.contains(&name) {
            let expected = "each client once";
            return Err(CertsError::Name { name: name.to_owned(), expected });
        }
        seen.push(name);
    }
    Ok(())
}

/// What this machine is called, if certificates can have it.
fn host_name() -> Option<String> {
    let sources = ["/proc/sys/kernel/hostname", "/etc/hostname"];
    let mut names = sources.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    names.find_map(|name| Some(name.trim().to_ascii_lowercase()).filter(|name| is_dns_name(name)))
}

/// Whether a name is one of DNS, possibly with a wildcard for its first label.
fn is_dns_name(name: &str) -> bool {
    let plain = name.strip_prefix("*.").unwrap_or(name);
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let looks_like_address = plain.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    name.len() <= 253 && !looks_like_address && plain.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_a_server_are_dns_names_or_addresses_and_the_loopback_is_always_there() {
        let given = ["hub.example", "*.hub.example", "10.0.0.7", "fd00::1", "localhost"];
        let names = of_server(&given.map(str::to_owned)).unwrap();
        let expected = [
            "localhost",
            "127.0.0.1",
            "::1",
            "hub.example",
            "*.hub.example",
            "10.0.0.7",
            "fd00::1",
        ];
        assert_eq!(names, expected);
        assert!(of_server(&[]).unwrap().starts_with(&LOOPBACK.map(str::to_owned)));
        for wrong in ["", "a b", "10.0.0.300", "https://x", "x:443", "-a.b", "a..b", "a.*.b", "é"]
        {
            assert!(of_server(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_of_clients_cannot_leave_the_directory() {
        assert!(of_clients(&["runner-1", "ada@example.com", "A_b.c"]).is_ok());
        let long = "x".repeat(65);
        for wrong in ["", ".", "..", "../x", "a/b", "a b", "-x", "a\n", "é", &long] {
            assert!(of_clients(&[wrong]).is_err(), "{wrong}");
        }
        assert!(of_clients(&["a", "b", "a"]).is_err());
    }
}
