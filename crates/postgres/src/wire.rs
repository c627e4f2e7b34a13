//! Reading and writing on a connection, with bounds on bytes and time.

use std::io;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use pgwire::messages::PgWireBackendMessage;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

use crate::error::{PgError, code};
use crate::limits::{
    MESSAGE_PAUSE_TIMEOUT, PEER_TIMEOUT, READ_AHEAD_BYTES, STARTUP_MAX_BYTES, WRITE_BYTES,
};
use crate::message::{First, Message};

/// Bytes that are read from a connection at once.
const READ_BYTES: usize = 8 << 10;

/// Why a connection ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Ended {
    /// The client has gone, or is too slow.
    #[error(transparent)]
    Gone(#[from] io::Error),
    /// It is told to go.
    #[error("{0}")]
    Told(PgError),
}

/// A connection.
pub(crate) struct Wire<S> {
    stream: S,
    read: BytesMut,
    written: BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, read: BytesMut::new(), written: BytesMut::new() }
    }

    /// The stream, for TLS. What was read beyond is refused: it would be taken for something that
    /// came through TLS.
    pub(crate) fn into_stream(self) -> Result<S, PgError> {
        match self.read.is_empty() {
            true => Ok(self.stream),
            false => Err(PgError::protocol("something was sent before TLS began")),
        }
    }

    /// The first message. Who waits for it bounds the time.
    pub(crate) async fn first(&mut self) -> Result<Option<First>, Ended> {
        let Some(length) = self.length(0, STARTUP_MAX_BYTES, None).await? else { return Ok(None) };
        self.fill(length).await?;
        let mut body = self.read.split_to(length);
        body.advance(4);
        First::read(body.freeze()).map(Some).map_err(Ended::Told)
    }

    /// The next message, of so many bytes at most; `None` if the client has gone.
    pub(crate) async fn next(
        &mut self,
        idle: Duration,
        most_bytes: usize,
    ) -> Result<Option<Message>, Ended> {
        let Some(length) = self.length(1, most_bytes, Some(idle)).await? else {
            return Ok(None);
        };
        self.fill(1 + length).await?;
        let mut body = self.read.split_to(1 + length);
        if length > READ_AHEAD_BYTES && self.read.is_empty() {
            // What a long message took is not kept until the next one comes.
            self.read = BytesMut::new();
        }
        let kind = body.get_u8();
        body.advance(4);
        Message::read(kind, body.freeze()).map(Some).map_err(Ended::Told)
    }

    /// What a message says of its length, which stands behind so many bytes.
    async fn length(
        &mut self,
        before: usize,
        most: usize,
        idle: Option<Duration>,
    ) -> Result<Option<usize>, Ended> {
        while self.read.len() < before + 4 {
            let wait = match self.read.is_empty() {
                true => idle,
                false => Some(MESSAGE_PAUSE_TIMEOUT),
            };
            self.read.reserve(READ_BYTES);
            let reading = self.stream.read_buf(&mut self.read);
            let read = match wait {
                Some(wait) => timeout(wait, reading).await,
                None => Ok(reading.await),
            };
            match read {
                Ok(Ok(0)) if self.read.is_empty() => return Ok(None),
                Ok(Ok(0)) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => {
                    let message = "nothing was asked for a long time: connect again";
                    return Err(Ended::Told(PgError::new(code::IDLE, message)));
                }
            }
        }
        let mut length = [0; 4];
        length.copy_from_slice(&self.read[before..before + 4]);
        let length = u32::from_be_bytes(length) as usize;
        if !(4..=most).contains(&length) {
            return Err(Ended::Told(PgError::protocol(format!(
                "a message has {length} bytes, 4 to {most} are possible"
            ))));
        }
        Ok(Some(length))
    }

    /// Reads until there are so many bytes.
    async fn fill(&mut self, bytes: usize) -> Result<(), Ended> {
        while self.read.len() < bytes {
            self.read.reserve(READ_BYTES);
            let read = timeout(MESSAGE_PAUSE_TIMEOUT, self.stream.read_buf(&mut self.read)).await;
            match read {
                Ok(Ok(0)) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            }
        }
        Ok(())
    }

    /// Ends when the client has gone. What it sends meanwhile is kept, within bounds.
    pub(crate) async fn gone(&mut self) -> io::Error {
        while self.read.len() < READ_AHEAD_BYTES {
            self.read.reserve(READ_BYTES);
            match self.stream.read_buf(&mut self.read).await {
                Ok(0) => return io::ErrorKind::UnexpectedEof.into(),
                Ok(_) => {}
                Err(error) => return error,
            }
        }
        std::future::pending().await
    }

    /// Puts a message behind those that wait.
    pub(crate) fn put(&mut self, message: &PgWireBackendMessage) -> Result<(), Ended> {
        message.encode(&mut self.written).map_err(|error| {
            // It is ours: nothing that a client sends makes one that cannot be written.
            Ended::Told(PgError::new(code::INTERNAL, error.to_string()))
        })
    }

    /// Puts bytes behind messages that wait, and sends if there are many.
    pub(crate) async fn put_bytes(&mut self, bytes: &Bytes) -> Result<(), Ended> {
        for piece in bytes.chunks(WRITE_BYTES) {
            self.written.extend_from_slice(piece);
            self.flush_much().await?;
        }
        Ok(())
    }

    /// Sends what waits if it is much: a client may ask for more and more before it wants answers.
    pub(crate) async fn flush_much(&mut self) -> Result<(), Ended> {
        match self.written.len() < WRITE_BYTES {
            true => Ok(()),
            false => self.flush().await,
        }
    }

    /// Sends all that waits.
    pub(crate) async fn flush(&mut self) -> Result<(), Ended> {
        while !self.written.is_empty() {
            let writing = self.stream.write_buf(&mut self.written);
            match timeout(PEER_TIMEOUT, writing).await {
                Ok(Ok(0)) => return Err(io::Error::from(io::ErrorKind::WriteZero).into()),
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return Err(error.into()),
                Err(_) => return Err(io::Error::from(io::ErrorKind::TimedOut).into()),
            }
        }
        match timeout(PEER_TIMEOUT, self.stream.flush()).await {
            Ok(flushed) => Ok(flushed?),
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut).into()),
        }
    }

    /// Says the last word, if anybody still listens.
    pub(crate) async fn end(mut self) {
        if self.flush().await.is_ok() {
            let _ = timeout(PEER_TIMEOUT, self.stream.shutdown()).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{MESSAGE_MAX_BYTES, PASSWORD_MAX_BYTES};

    #[tokio::test]
    async fn a_message_that_says_it_is_huge_is_refused_before_it_is_read() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut wire = Wire::new(server);
        client.write_all(b"Q\x7f\xff\xff\xff").await.unwrap();
        let Err(Ended::Told(error)) = wire.next(PEER_TIMEOUT, MESSAGE_MAX_BYTES).await else {
            panic!()
        };
        assert_eq!(error.code, "08P01");
        assert!(wire.read.capacity() < 1 << 20);
    }

    #[tokio::test]
    async fn messages_come_one_after_the_other_and_the_end_is_none() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut wire = Wire::new(server);
        client.write_all(b"S\0\0\0\x04X\0\0\0\x04").await.unwrap();
        drop(client);
        assert_eq!(wire.next(PEER_TIMEOUT, MESSAGE_MAX_BYTES).await.unwrap(), Some(Message::Sync));
        assert_eq!(
            wire.next(PEER_TIMEOUT, MESSAGE_MAX_BYTES).await.unwrap(),
            Some(Message::Terminate)
        );
        assert_eq!(wire.next(PEER_TIMEOUT, MESSAGE_MAX_BYTES).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_password_is_shorter_than_a_query_may_be() {
        let (mut client, server) = tokio::io::duplex(64);
        let mut wire = Wire::new(server);
        let length = u32::try_from(PASSWORD_MAX_BYTES + 1).unwrap().to_be_bytes();
        client.write_all(&[&b"p"[..], &length].concat()).await.unwrap();
        let read = wire.next(PEER_TIMEOUT, PASSWORD_MAX_BYTES).await;
        assert!(matches!(read, Err(Ended::Told(_))));
    }
}
