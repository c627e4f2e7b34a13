//! What an authority has issued: `issued.json`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::CertsError;
use super::files::{Directory, Output};
use crate::limits::MAX_REGISTER_BYTES;

/// The version of the file's format that is written and read.
const FORMAT: u32 = 1;

/// Everything that was issued.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Register {
    format: u32,
    /// Lists of revoked certificates are numbered.
    pub(super) list_number: u64,
    /// Oldest first.
    pub(super) issued: Vec<Issued>,
}

/// One certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Issued {
    /// What it is for.
    pub purpose: Purpose,
    /// The name of a client; names and addresses of a server.
    pub names: Vec<String>,
    /// Its serial number, in hexadecimal digits.
    pub serial: String,
    /// When it ends, in seconds since 1970.
    pub not_after_seconds: i64,
    /// When it was revoked, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_seconds: Option<i64>,
}

/// What a certificate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// To be a server.
    Server,
    /// To be a client.
    Client,
}

impl Default for Register {
    fn default() -> Self {
        Self { format: FORMAT, list_number: 0, issued: Vec::new() }
    }
}

impl Register {
    pub(super) fn read(place: &Directory, name: &str) -> Result<Self, CertsError> {
        let text = place.read(name, MAX_REGISTER_BYTES)?;
        let foreign = |why| CertsError::Foreign { path: place.path(name), why };
        let register: Self =
            serde_json::from_str(&text).map_err(|error| foreign(error.to_string()))?;
        if register.format != FORMAT {
            let why = format!("its format is {}, and {FORMAT} is expected", register.format);
            return Err(foreign(why));
        }
        Ok(register)
    }

    pub(super) fn output(&self, name: &str) -> Result<Output, CertsError> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| CertsError::Crypto(error.to_string()))?;
        Ok(Output { name: name.to_owned(), content: text + "\n", is_secret: false })
    }

    /// The server's last certificate.
    pub(super) fn last_server(&self) -> Option<&Issued> {
        self.issued.iter().rev().find(|issued| issued.purpose == Purpose::Server)
    }

    /// Marks all certificates of a client that are not revoked yet, and gives their serial numbers.
    pub(super) fn revoke(&mut self, client: &str, now_seconds: i64) -> Vec<String> {
        let good = self.issued.iter_mut().filter(|issued| issued.is_good_client());
        good.filter(|issued| issued.names.iter().any(|name| name == client))
            .map(|issued| {
                issued.revoked_seconds = Some(now_seconds);
                issued.serial.clone()
            })
            .collect()
    }

    /// Clients that could be revoked, for people.
    pub(super) fn revocable(&self) -> String {
        let good = self.issued.iter().filter(|issued| issued.is_good_client());
        let names: BTreeSet<&str> =
            good.flat_map(|issued| &issued.names).map(String::as_str).collect();
        match names.is_empty() {
            true => "none".to_owned(),
            false => names.into_iter().collect::<Vec<_>>().join(", "),
        }
    }
}

impl Issued {
    fn is_good_client(&self) -> bool {
        self.purpose == Purpose::Client && self.revoked_seconds.is_none()
    }
}
