//! Where a destination is, and the client that reaches it.

use kymo_wire::Signal;
use reqwest::Url;

use super::settings::{DestinationProtocol, DestinationSettings};
use crate::limits::{CONNECT_TIMEOUT, KEEP_ALIVE};
use crate::network::{asks_proxies, cause};
use crate::resolve::with_path;
use crate::settings::{OtlpSettings, Protocol};

/// The URL that requests of a signal go to.
///
/// # Errors
/// There is none, it is not of HTTP, or it has a password in it.
pub(crate) fn url_of(settings: &DestinationSettings, signal: Signal) -> Result<Url, String> {
    let protocol = match settings.protocol {
        DestinationProtocol::Grpc => Protocol::Grpc,
        _ => Protocol::HttpProtobuf,
    };
    let is_otlp_http =
        matches!(settings.protocol, DestinationProtocol::Http | DestinationProtocol::HttpJson);
    let endpoint = match (settings.endpoint_of(signal), &settings.endpoint) {
        (Some(whole), _) if is_otlp_http => whole.to_owned(),
        (_, Some(base)) if is_otlp_http => with_path(base, signal),
        (_, Some(whole)) => whole.clone(),
        (_, None) => return Err(format!("has no endpoint for {signal}")),
    };
    let otlp = OtlpSettings::new(endpoint, protocol);
    let mut url = otlp.url().map_err(|wrong| wrong.to_string())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has a user or password in its endpoint; set basic or bearer".to_owned());
    }
    if protocol == Protocol::Grpc {
        url.set_path(signal.grpc_path());
    }
    Ok(url)
}

/// The client of a destination. Files with certificates are read now.
///
/// # Errors
/// A file that cannot be used.
pub(crate) fn build(
    settings: &DestinationSettings,
    urls: &[Option<Url>; 3],
) -> Result<reqwest::Client, String> {
    let is_grpc = settings.protocol == DestinationProtocol::Grpc;
    let protocol = if is_grpc { Protocol::Grpc } else { Protocol::HttpProtobuf };
    let mut http = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT.min(settings.timeout))
        .user_agent(concat!("kymo/", env!("CARGO_PKG_VERSION")))
        .http2_keep_alive_interval(KEEP_ALIVE)
        .http2_keep_alive_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none());
    let mut urls = urls.iter().flatten();
    if !urls.clone().any(|url| asks_proxies(url, protocol)) {
        http = http.no_proxy();
    }
    if is_grpc {
        http = http.http2_prior_knowledge();
    }
    if urls.any(|url| url.scheme() == "https") {
        http = http.use_preconfigured_tls(settings.tls.client_config(is_grpc)?);
    } else {
        // To read the system's authorities takes longer than all else that is done here.
        http = http.tls_built_in_root_certs(false);
    }
    http.build().map_err(|error| format!("cannot set up HTTP: {}", cause(&error)))
}
