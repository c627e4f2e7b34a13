//! OTLP over gRPC: the channel that the exporters of OpenTelemetry are given.

use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use super::http::chain;
use super::secrets::Secrets;
use super::settings::OtlpSettings;
use crate::limits::CONNECT_TIMEOUT;

/// A channel, which connects when it is first used. To be called inside a runtime, which turns for
/// as long as the channel lives.
pub(super) fn channel(settings: &OtlpSettings) -> Result<Channel, String> {
    let endpoint = Endpoint::from_shared(settings.endpoint.clone())
        .map_err(|error| chain(&error))?
        .timeout(settings.timeout)
        .connect_timeout(CONNECT_TIMEOUT);
    if !settings.endpoint.starts_with("https:") {
        return Ok(endpoint.connect_lazy());
    }
    let secrets = Secrets::read(settings).map_err(|error| error.to_string())?;
    let mut tls = ClientTlsConfig::new();
    tls = match secrets.authorities {
        Some(pem) => tls.ca_certificate(Certificate::from_pem(pem)),
        None => tls.with_enabled_roots(),
    };
    if let Some((certificate, key)) = secrets.identity {
        tls = tls.identity(Identity::from_pem(certificate, key));
    }
    Ok(endpoint.tls_config(tls).map_err(|error| chain(&error))?.connect_lazy())
}

/// Headers, set on every request last of all: the exporters read the environment's by themselves,
/// and what the program says wins over it.
#[derive(Clone)]
pub(super) struct Headers(Vec<(AsciiMetadataKey, AsciiMetadataValue)>);

impl Headers {
    pub(super) fn new(pairs: &[(String, String)]) -> Result<Self, String> {
        let pair = |(name, value): &(String, String)| {
            let key = AsciiMetadataKey::from_bytes(name.as_bytes())
                .map_err(|_| format!("{name:?} cannot be the name of a header"))?;
            let mut value: AsciiMetadataValue = value
                .parse()
                .map_err(|_| format!("the header {name:?} has a value that no header can have"))?;
            value.set_sensitive(true);
            Ok((key, value))
        };
        pairs.iter().map(pair).collect::<Result<_, String>>().map(Self)
    }
}

impl tonic::service::Interceptor for Headers {
    fn call(
        &mut self,
        mut request: tonic::Request<()>,
    ) -> Result<tonic::Request<()>, tonic::Status> {
        for (key, value) in &self.0 {
            request.metadata_mut().insert(key.clone(), value.clone());
        }
        Ok(request)
    }
}
