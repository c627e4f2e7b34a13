//! A WebSocket to a server, with the address, the certificates and the token of all that is asked.

use reqwest::Upgraded;
use reqwest::header::HeaderMap;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::client::Client;
use crate::failure::Failure;

/// What one message may have: lines may be as long as what a server takes.
const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// Opens one.
pub(super) async fn open(
    client: &Client,
    path: &str,
    header: (&str, &str),
) -> Result<WebSocketStream<Upgraded>, Failure> {
    let key = generate_key();
    let headers = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", key.as_str()),
        header,
    ];
    let (answered, connection) = client.upgrade(path, &headers).await?;
    if !is_accepted(&answered, &key) {
        let why = "answered something else than a WebSocket: is it a kymo server?";
        return Err(Failure::Other(format!("{} {why}", client.name())));
    }
    let bounds = WebSocketConfig::default()
        .max_message_size(Some(MAX_MESSAGE_BYTES))
        .max_frame_size(Some(MAX_MESSAGE_BYTES));
    Ok(WebSocketStream::from_raw_socket(connection, Role::Client, Some(bounds)).await)
}

/// Whether who answered has understood what was asked for.
fn is_accepted(answered: &HeaderMap, key: &str) -> bool {
    let accept = answered.get("sec-websocket-accept");
    accept.is_some_and(|accept| accept.as_bytes() == derive_accept_key(key.as_bytes()).as_bytes())
}
