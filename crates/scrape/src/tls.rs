//! TLS: whom we trust, and what we show.

use kymo_forward::tls::ClientTls;
use rustls::ClientConfig;

use crate::config::TlsSettings;
use crate::connection::read_secret;

/// A configuration for these settings. Files are read now.
pub(crate) fn client_config(settings: &TlsSettings) -> Result<ClientConfig, String> {
    let authorities = settings.ca.as_ref().map(read_secret).transpose()?;
    let chain = settings.cert.as_ref().map(read_secret).transpose()?;
    let key = settings.key.as_ref().map(read_secret).transpose()?;
    let tls = ClientTls {
        authorities: authorities.as_deref().map(str::as_bytes),
        identity: chain.as_deref().map(str::as_bytes).zip(key.as_deref().map(str::as_bytes)),
        server_name: settings.server_name.as_deref(),
        takes_any_server: settings.insecure_skip_verify,
        requires_tls13: settings.requires_tls13,
    };
    tls.config().map_err(|wrong| format!("tls_config: {wrong}"))
}
