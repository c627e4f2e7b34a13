//! Asking over HTTP, and reading answers of bounded size.

use std::io::Write;
use std::time::Duration;

use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue};
use reqwest::{Method, Response, StatusCode, Url};
use thiserror::Error;

use crate::config::{HttpSettings, format_duration};
use crate::connection::{Connection, cause};
use crate::limits::MAX_ERROR_CHARS;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum FetchError {
    #[error("cannot ask: {0}")]
    Request(String),
    #[error("no answer: {0}")]
    Transport(String),
    #[error("no answer within {}", format_duration(*.0))]
    Timeout(Duration),
    #[error("server returned HTTP status {0}")]
    Status(StatusCode),
    #[error("body size limit exceeded")]
    BodySize,
    #[error("answer is in an unknown encoding {0:?}; expected gzip or none")]
    Encoding(String),
    #[error("answer is not what it says: {0}")]
    Gzip(String),
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) content_type: String,
    pub(crate) body: Vec<u8>,
}

/// Asks as one job or discovery does.
#[derive(Debug)]
pub(crate) struct HttpClient {
    connection: Connection,
}

impl HttpClient {
    /// Reads the certificates that the settings name.
    pub(crate) fn new(settings: &HttpSettings) -> Result<Self, String> {
        Ok(Self { connection: Connection::new(settings)? })
    }

    /// Asks and reads the whole answer, in `timeout` and up to `limit_bytes` unpacked.
    pub(crate) async fn get(
        &self,
        url: &Url,
        headers: &[(&'static str, String)],
        timeout: Duration,
        limit_bytes: u64,
    ) -> Result<Answer, FetchError> {
        let request = self.connection.request(Method::GET, url.clone());
        let mut request = request.map_err(FetchError::Request)?;
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let answer = async {
            let response = request.send().await;
            let response = response.map_err(|error| FetchError::Transport(cause(error)))?;
            read(response, limit_bytes).await
        };
        match tokio::time::timeout(timeout, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(FetchError::Timeout(timeout)),
        }
    }
}

async fn read(mut response: Response, limit_bytes: u64) -> Result<Answer, FetchError> {
    if response.status() != StatusCode::OK {
        return Err(FetchError::Status(response.status()));
    }
    let header = |name| {
        let value =
            response.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let content_type = header(CONTENT_TYPE);
    let encoding = header(CONTENT_ENCODING);
    let mut body = Body::new(&encoding, limit_bytes)?;
    loop {
        let chunk = response.chunk().await;
        match chunk.map_err(|error| FetchError::Transport(cause(error)))? {
            Some(chunk) => body.push(&chunk)?,
            None => return Ok(Answer { content_type, body: body.finish()? }),
        }
    }
}

/// A body that is unpacked as it comes, and cut off where it is too large.
enum Body {
    Plain(Bounded),
    Gzip(Box<MultiGzDecoder<Bounded>>),
}

impl Body {
    fn new(encoding: &str, limit_bytes: u64) -> Result<Self, FetchError> {
        let limit = usize::try_from(limit_bytes).unwrap_or(usize::MAX);
        let bounded = Bounded { bytes: Vec::new(), limit, is_exceeded: false };
        match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Plain(bounded)),
            "gzip" | "x-gzip" => Ok(Self::Gzip(Box::new(MultiGzDecoder::new(bounded)))),
            other => Err(FetchError::Encoding(other.chars().take(MAX_ERROR_CHARS).collect())),
        }
    }

    fn push(&mut self, chunk: &[u8]) -> Result<(), FetchError> {
        let result = match self {
            Self::Plain(bounded) => bounded.write_all(chunk),
            Self::Gzip(decoder) => decoder.write_all(chunk),
        };
        result.map_err(|error| self.failure(&error))
    }

    fn failure(&self, error: &std::io::Error) -> FetchError {
        let bounded = match self {
            Self::Plain(bounded) => bounded,
            Self::Gzip(decoder) => decoder.get_ref(),
        };
        if bounded.is_exceeded { FetchError::BodySize } else { FetchError::Gzip(error.to_string()) }
    }

    fn finish(mut self) -> Result<Vec<u8>, FetchError> {
        if let Self::Gzip(decoder) = &mut self
            && let Err(error) = decoder.try_finish()
        {
            return Err(self.failure(&error));
        }
        Ok(match &mut self {
            Self::Plain(bounded) => std::mem::take(&mut bounded.bytes),
            Self::Gzip(decoder) => std::mem::take(&mut decoder.get_mut().bytes),
        })
    }
}

/// Memory that takes so many bytes and no more.
struct Bounded {
    bytes: Vec<u8>,
    limit: usize,
    is_exceeded: bool,
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes.len() > self.limit.saturating_sub(self.bytes.len()) {
            self.is_exceeded = true;
            return Err(std::io::Error::other("too large"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read_all(encoding: &str, bytes: &[u8], limit: u64) -> Result<Vec<u8>, FetchError> {
        let mut body = Body::new(encoding, limit)?;
        for chunk in bytes.chunks(7) {
            body.push(chunk)?;
        }
        body.finish()
    }

    #[test]
    fn bodies_are_unpacked_and_bounded() {
        let text = vec![b'x'; 100_000];
        let packed = packed(&text);
        assert!(packed.len() < 1_000);
        assert_eq!(read_all("gzip", &packed, 100_000).unwrap(), text);
        assert_eq!(read_all("", &text, 100_000).unwrap(), text);
        assert_eq!(read_all("gzip", &packed, 99_999), Err(FetchError::BodySize));
        assert_eq!(read_all("", &text, 99_999), Err(FetchError::BodySize));
    }

    #[test]
    fn bodies_that_are_not_what_they_say_are_refused() {
        assert!(matches!(read_all("gzip", b"plain text", 100), Err(FetchError::Gzip(_))));
        let mut torn = packed(b"some text");
        torn.truncate(torn.len() - 6);
        assert!(matches!(read_all("gzip", &torn, 100), Err(FetchError::Gzip(_))));
        assert_eq!(read_all("br", b"", 100), Err(FetchError::Encoding("br".into())));
    }
}
