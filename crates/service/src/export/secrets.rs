//! Files with certificates and keys.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::settings::OtlpSettings;
use crate::error::ServiceError;
use crate::limits::CERTIFICATE_BYTES;

/// What an endpoint with TLS needs, in PEM.
pub(super) struct Secrets {
    /// Authorities to trust instead of the system's.
    pub(super) authorities: Option<Vec<u8>>,
    /// What to show the server, and its key.
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl Secrets {
    /// Reads the files that the settings name.
    pub(super) fn read(settings: &OtlpSettings) -> Result<Self, ServiceError> {
        let authorities = settings
            .certificate
            .as_deref()
            .map(|path| read(path, "authorities of the endpoint, in PEM"))
            .transpose()?;
        let identity = match &settings.client_certificate {
            None => None,
            Some(path) => {
                let certificate = read(path, "certificate of the client, in PEM")?;
                let key = match &settings.client_key {
                    Some(path) => read(path, "key of the client's certificate, in PEM")?,
                    // Both may be in one file.
                    None => certificate.clone(),
                };
                Some((certificate, key))
            }
        };
        Ok(Self { authorities, identity })
    }
}

fn read(path: &Path, purpose: &str) -> Result<Vec<u8>, ServiceError> {
    let failed = |why: String| ServiceError::File {
        path: path.to_owned(),
        purpose: purpose.to_owned(),
        why,
    };
    let file = File::open(path).map_err(|error| failed(error.to_string()))?;
    let mut bytes = Vec::new();
    file.take(CERTIFICATE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| failed(error.to_string()))?;
    if bytes.len() as u64 > CERTIFICATE_BYTES {
        return Err(failed(format!("it has more than {CERTIFICATE_BYTES} bytes")));
    }
    Ok(bytes)
}
