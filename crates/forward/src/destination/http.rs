//! Destinations that are reached over HTTP: OTLP by gRPC or HTTP, and remote-write.
//!
//! A request's bytes are not copied: they go to the socket from where the journal has them, behind
//! the five bytes of gRPC's framing. One client serves all signals, so that there is one connection.
//! It is built again when a file with certificates has changed; requests that are on their way
//! end on the connection that they began on.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt, Limited};
use kymo_journal::{Compression, Format};
use kymo_wire::Signal;
use reqwest::Url;
use tokio::time::error::Elapsed;
use tokio::time::timeout_at;

use super::body::Encoded;
use super::connect::{build, url_of};
use super::credentials::{Credentials, Stamp};
use super::outgoing::Outgoing;
use super::pack::{joined, pack, unpack};
use super::redact::Redactor;
use super::settings::{CompressionSetting, DestinationProtocol, DestinationSettings};
use super::verdict::{Hope, Reply, Verdict};
use crate::limits::{CERTIFICATES_CHECK, MAX_ANSWER_BYTES};
use crate::network::cause;

/// Sends to one server.
pub(crate) struct HttpSender {
    settings: DestinationSettings,
    urls: [Option<Url>; 3],
    headers: HeaderMap,
    tenant_header: Option<HeaderName>,
    credentials: Credentials,
    redactor: Redactor,
    client: Mutex<Held>,
    /// Encodings that the server does not know, by the bits of their codes.
    unknown_encodings: AtomicU8,
}

struct Held {
    client: reqwest::Client,
    stamps: Vec<Stamp>,
    checked: Instant,
}

impl HttpSender {
    /// One for a destination that is reached over HTTP.
    ///
    /// # Errors
    /// A URL, header or file that cannot be used. That nobody answers is no error here.
    pub(crate) fn new(settings: &DestinationSettings) -> Result<Self, String> {
        let mut urls = [None, None, None];
        for (signal, url) in Signal::ALL.into_iter().zip(&mut urls) {
            if settings.carried().contains(&signal) {
                *url = Some(url_of(settings, signal)?);
            }
        }
        let pairs: Vec<(String, String)> = settings
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.reveal().to_owned()))
            .collect();
        let headers = crate::client::headers(&pairs)?;
        let tenant_header = match settings.tenant_header.as_str() {
            "" => None,
            name => {
                let name = HeaderName::from_bytes(name.as_bytes())
                    .map_err(|_| format!("tenant_header {name:?} is not the name of a header"))?;
                // Who names the header means it.
                Some(name).filter(|name| !headers.contains_key(name))
            }
        };
        let stamps = settings.tls.stamps();
        let held = Held { client: build(settings, &urls)?, stamps, checked: Instant::now() };
        Ok(Self {
            urls,
            headers,
            tenant_header,
            credentials: Credentials::new(settings),
            redactor: Redactor::new(settings),
            client: Mutex::new(held),
            unknown_encodings: AtomicU8::new(0),
            settings: settings.clone(),
        })
    }

    /// The bytes to send for a request.
    ///
    /// # Errors
    /// Why it cannot be sent to anybody: it is damaged.
    pub(crate) fn encode(&self, outgoing: &Outgoing) -> Result<Encoded, String> {
        self.encode_as(outgoing, self.target(outgoing.compression))
    }

    /// The same without compression, for a server that does not know one.
    pub(crate) fn encode_plain(&self, outgoing: &Outgoing) -> Result<Encoded, String> {
        self.encode_as(outgoing, Compression::None)
    }

    fn encode_as(&self, outgoing: &Outgoing, target: Compression) -> Result<Encoded, String> {
        let chunks = outgoing.chunks();
        let is_json = self.settings.protocol == DestinationProtocol::HttpJson;
        if outgoing.compression == target && !is_json {
            return Ok(Encoded { chunks, compression: target });
        }
        let mut plain = chunks;
        if outgoing.compression != Compression::None {
            let unpacked = unpack(&joined(&plain), outgoing.compression);
            plain = vec![unpacked.map_err(|error| format!("the request {error}"))?];
        }
        if is_json {
            let mut json = Vec::new();
            kymo_wire::json::encode(outgoing.signal, &joined(&plain), &mut json)
                .map_err(|error| format!("the request is not OTLP: {error}"))?;
            plain = vec![json.into()];
        }
        if target == Compression::None {
            return Ok(Encoded { chunks: plain, compression: target });
        }
        let packed = pack(&plain, target).map_err(|error| format!("it cannot be packed: {error}"));
        Ok(Encoded { chunks: vec![packed?], compression: target })
    }

    /// How a request is packed on the wire, by how it came.
    fn target(&self, from: Compression) -> Compression {
        let protocol = self.settings.protocol;
        let wanted = match self.settings.compression {
            _ if protocol == DestinationProtocol::RemoteWrite => return Compression::Snappy,
            CompressionSetting::AsIs => match (from, protocol) {
                (Compression::Snappy, _)
                | (Compression::Deflate, DestinationProtocol::Grpc)
                | (_, DestinationProtocol::HttpJson) => Compression::None,
                _ => from,
            },
            CompressionSetting::None | CompressionSetting::Snappy => Compression::None,
            CompressionSetting::Gzip => Compression::Gzip,
            CompressionSetting::Zstd => Compression::Zstd,
        };
        let is_unknown = self.unknown_encodings.load(Ordering::Relaxed) >> wanted.code() & 1 == 1;
        if is_unknown { Compression::None } else { wanted }
    }

    /// Remembers that the server does not know an encoding.
    pub(crate) fn forget_encoding(&self, encoded: &Encoded) {
        let bit = 1u8.checked_shl(encoded.compression.code().into()).unwrap_or_default();
        self.unknown_encodings.fetch_or(bit, Ordering::Relaxed);
    }

    /// Sends a request once.
    pub(crate) async fn send(&self, outgoing: &Outgoing, encoded: &Encoded) -> Verdict {
        let timeout = self.settings.timeout;
        let deadline = tokio::time::Instant::now() + timeout;
        match self.try_send(outgoing, encoded, deadline).await {
            Ok(Verdict::Taken(None)) => Verdict::Taken(None),
            Ok(verdict) => {
                let sent = self.credentials.header().ok().flatten();
                self.redactor.verdict(verdict, sent.as_ref().and_then(|sent| sent.to_str().ok()))
            }
            Err(_) => Verdict::later(format!("no answer within {:.1} s", timeout.as_secs_f64())),
        }
    }

    async fn try_send(
        &self,
        outgoing: &Outgoing,
        encoded: &Encoded,
        deadline: tokio::time::Instant,
    ) -> Result<Verdict, Elapsed> {
        let request = match self.request(outgoing, encoded) {
            Ok(request) => request,
            Err(why) => return Ok(Verdict::Later { why, asked: None, hope: Hope::Somebody }),
        };
        let response = match timeout_at(deadline, request.send()).await? {
            Ok(response) => response,
            Err(error) => {
                self.look_at_files_next_time();
                return Ok(Verdict::later(cause(&error)));
            }
        };
        let (head, body) = http::Response::from(response).into_parts();
        let body = timeout_at(deadline, Limited::new(body, MAX_ANSWER_BYTES).collect()).await;
        // What it said was in the status, whatever becomes of the rest.
        let is_taken = head.status.is_success() && !self.is_grpc();
        let body = match body {
            Ok(Err(_)) | Err(_) if is_taken => return Ok(Verdict::Taken(None)),
            Ok(Ok(body)) => body,
            Ok(Err(error)) => {
                return Ok(Verdict::later(format!("the answer broke off: {error}")));
            }
            Err(elapsed) => return Err(elapsed),
        };
        let reply = Reply {
            status: head.status.as_u16(),
            headers: head.headers,
            trailers: body.trailers().cloned().unwrap_or_default(),
            body: body.to_bytes(),
        };
        let is_packed = encoded.is_packed();
        Ok(match self.settings.protocol {
            DestinationProtocol::Grpc => Verdict::of_grpc(outgoing.signal, &reply, is_packed),
            // It is always packed, and its specification has all errors of servers tried again.
            DestinationProtocol::RemoteWrite => {
                let verdict = Verdict::of_http(outgoing.signal, &reply, false);
                match verdict {
                    Verdict::Later { why, asked, .. } if reply.status >= 500 => {
                        Verdict::Later { why, asked, hope: Hope::Time }
                    }
                    verdict => verdict,
                }
            }
            _ => Verdict::of_http(outgoing.signal, &reply, is_packed),
        })
    }

    fn is_grpc(&self) -> bool {
        self.settings.protocol == DestinationProtocol::Grpc
    }

    fn request(
        &self,
        outgoing: &Outgoing,
        encoded: &Encoded,
    ) -> Result<reqwest::RequestBuilder, String> {
        let place = Signal::ALL.iter().position(|signal| *signal == outgoing.signal);
        let url = place.and_then(|place| self.urls.get(place)?.clone());
        let url = url.ok_or_else(|| format!("{} are not sent here", outgoing.signal))?;
        let mut headers = self.headers.clone();
        if let Some(value) = self.credentials.header()? {
            headers.insert(AUTHORIZATION, value);
        }
        if let Some(name) = &self.tenant_header
            && &*outgoing.tenant != DEFAULT_TENANT
            && let Ok(value) = HeaderValue::from_str(&outgoing.tenant)
        {
            headers.insert(name.clone(), value);
        }
        self.describe(outgoing, encoded, &mut headers);
        let body = encoded.body(self.is_grpc())?;
        Ok(self.client().post(url).headers(headers).body(body))
    }

    /// Headers that say what the bytes are.
    fn describe(&self, outgoing: &Outgoing, encoded: &Encoded, headers: &mut HeaderMap) {
        let mut set = |name: &'static str, value: &'static str| {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        };
        let encoding = match encoded.compression {
            Compression::None => None,
            Compression::Gzip => Some("gzip"),
            Compression::Zstd => Some("zstd"),
            Compression::Deflate => Some("deflate"),
            Compression::Snappy => Some("snappy"),
        };
        let content_type = match self.settings.protocol {
            DestinationProtocol::Grpc => {
                set("te", "trailers");
                "application/grpc"
            }
            DestinationProtocol::HttpJson => "application/json",
            DestinationProtocol::RemoteWrite if outgoing.format == Format::RemoteWrite2 => {
                set("x-prometheus-remote-write-version", "2.0.0");
                "application/x-protobuf;proto=io.prometheus.write.v2.Request"
            }
            DestinationProtocol::RemoteWrite => {
                set("x-prometheus-remote-write-version", "0.1.0");
                "application/x-protobuf"
            }
            _ => "application/x-protobuf",
        };
        set("content-type", content_type);
        if let Some(encoding) = encoding {
            set(if self.is_grpc() { "grpc-encoding" } else { "content-encoding" }, encoding);
        }
    }

    /// The client, built again if its files have changed. Files that cannot be used, as while they
    /// are being replaced, leave it as it is.
    fn client(&self) -> reqwest::Client {
        let mut held = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let has_files = self.settings.tls.files().next().is_some();
        if has_files && held.checked.elapsed() >= CERTIFICATES_CHECK {
            held.checked = Instant::now();
            let stamps = self.settings.tls.stamps();
            if stamps != held.stamps {
                let name = &self.settings.name;
                match build(&self.settings, &self.urls) {
                    Ok(client) => {
                        (held.client, held.stamps) = (client, stamps);
                        tracing::info!(destination = name, "certificates read again");
                    }
                    Err(why) => tracing::warn!(
                        destination = name,
                        why,
                        "changed certificates cannot be used, the last ones are kept"
                    ),
                }
            }
        }
        held.client.clone()
    }

    fn look_at_files_next_time(&self) {
        let mut held = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(before) = Instant::now().checked_sub(CERTIFICATES_CHECK) {
            held.checked = before;
        }
    }
}

/// The tenant of those who name none.
const DEFAULT_TENANT: &str = "default";
