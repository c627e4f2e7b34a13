//! Clients that begin to ask and never end: slow heads of requests.
//!
//! A connection may be silent for minutes between two requests, since programs send once a minute. One
//! that has begun a head, or the first bytes of HTTP/2, has no reason to stop in the middle: it holds
//! a place that others wait for. So between the first byte of a head and its end there is less time.
//!
//! It is told by what is read while no request is under way. In HTTP/2 frames come at any time;
//! there, pings tell whether somebody is alive, and only its first bytes are looked at.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// What HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// What is known of the requests of a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Heads(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// When the first byte of a head came that has not ended.
    begun: Option<Instant>,
    /// Requests whose answers have not ended.
    under_way: usize,
    /// How much of the first bytes of HTTP/2 has come; nothing if it is another version.
    preface_bytes: Option<usize>,
    has_read: bool,
}

/// A request under way, until this is dropped.
#[derive(Debug)]
pub(crate) struct UnderWay(Heads);

impl Heads {
    /// A head has ended, and a request begins.
    pub(crate) fn asked(&self) -> UnderWay {
        self.change(|state| {
            state.begun = None;
            state.under_way += 1;
        });
        UnderWay(self.clone())
    }

    /// The connection speaks another protocol from now on: nobody looks at heads any more.
    pub(crate) fn switched(&self) {
        self.change(|state| {
            (state.has_read, state.preface_bytes) = (true, Some(PREFACE.len()));
            state.begun = None;
        });
    }

    fn read(&self, bytes: &[u8]) {
        self.change(|state| {
            if !state.has_read {
                (state.has_read, state.preface_bytes) = (true, Some(0));
            }
            if state.preface_bytes == Some(PREFACE.len()) {
                return;
            }
            state.preface_bytes = state.preface_bytes.and_then(|read| {
                let expected = PREFACE.get(read..).unwrap_or_default();
                let shorter = expected.len().min(bytes.len());
                (expected.get(..shorter) == bytes.get(..shorter)).then_some(read + shorter)
            });
            if state.preface_bytes == Some(PREFACE.len()) {
                state.begun = None;
            } else if state.under_way == 0 && state.begun.is_none() {
                state.begun = Some(Instant::now());
            }
        });
    }

    fn begun(&self) -> Option<Instant> {
        self.change(|state| state.begun)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.change(|state| state.under_way = state.under_way.saturating_sub(1));
    }
}

/// The body of an answer, which is under way until it has been sent.
pub(crate) struct Answered {
    body: Body,
    /// Dropped with this.
    _under_way: UnderWay,
}

impl Answered {
    pub(crate) fn new(body: Body, under_way: UnderWay) -> Self {
        Self { body, _under_way: under_way }
    }
}

impl HttpBody for Answered {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection on which a head that is begun has to end in time.
pub(crate) struct Timed<S> {
    stream: S,
    heads: Heads,
    head_timeout: Duration,
    /// Made when a head is first waited for.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<S> Timed<S> {
    pub(crate) fn new(stream: S, heads: Heads, head_timeout: Duration) -> Self {
        Self { stream, heads, head_timeout, alarm: None }
    }

    /// Whether a head has taken too long.
    fn poll_alarm(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(begun) = self.heads.begun() else { return Poll::Pending };
        let deadline = begun + self.head_timeout;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        if alarm.deadline() != deadline {
            alarm.as_mut().reset(deadline);
        }
        alarm.as_mut().poll(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Pending => {
                ready!(self.poll_alarm(context));
                let why = "the head of a request took too long";
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)))
            }
            Poll::Ready(read) => {
                let bytes = buffer.filled().get(before..).unwrap_or_default();
                if !bytes.is_empty() {
                    self.heads.read(bytes);
                }
                Poll::Ready(read)
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::poll_fn;
    use tokio::io::DuplexStream;

    const SHORT: Duration = Duration::from_millis(20);

    /// A connection whose client has sent something, all of which was read.
    async fn after(sent: &[&[u8]]) -> (DuplexStream, Timed<DuplexStream>, Heads) {
        let (mut client, server) = tokio::io::duplex(1 << 10);
        let heads = Heads::default();
        let mut timed = Timed::new(server, heads.clone(), SHORT);
        for bytes in sent {
            assert_eq!(write(&mut client, bytes).await, bytes.len());
            assert_eq!(read(&mut timed).await.unwrap(), bytes.len());
        }
        (client, timed, heads)
    }

    async fn write(to: &mut DuplexStream, bytes: &[u8]) -> usize {
        poll_fn(|context| Pin::new(&mut *to).poll_write(context, bytes)).await.unwrap()
    }

    async fn read(from: &mut Timed<DuplexStream>) -> io::Result<usize> {
        let mut bytes = [0; 256];
        let mut buffer = ReadBuf::new(&mut bytes);
        poll_fn(|context| Pin::new(&mut *from).poll_read(context, &mut buffer)).await?;
        Ok(buffer.filled().len())
    }

    /// Whether waiting for more ends in an error.
    async fn is_given_up(timed: &mut Timed<DuplexStream>) -> bool {
        match tokio::time::timeout(20 * SHORT, read(timed)).await {
            Ok(ended) => ended.unwrap_err().kind() == io::ErrorKind::TimedOut,
            Err(_) => false,
        }
    }

    #[tokio::test]
    async fn a_head_that_does_not_end_is_given_up_however_it_trickles() {
        let begun: [&[&[u8]]; 5] = [
            &[b"G"],
            &[b"GET / HTTP/1.1\r\n", b"X: 1\r\n"],
            &[b"PRI * HTTP/2.0\r\n"],
            &[b"P", b"R", b"I"],
            &[b"P", b"OST / HTTP/1.1\r\n"],
        ];
        for sent in begun {
            let (_client, mut timed, _) = after(sent).await;
            assert!(is_given_up(&mut timed).await, "{sent:?}");
        }
    }

    #[tokio::test]
    async fn who_waits_between_requests_or_for_an_answer_is_not() {
        let (_client, mut timed, _) = after(&[]).await;
        assert!(!is_given_up(&mut timed).await, "nothing was begun");
        let (mut client, mut timed, heads) = after(&[b"GET / HTTP/1.1\r\n\r\n"]).await;
        let under_way = heads.asked();
        assert!(!is_given_up(&mut timed).await, "the request is under way");
        write(&mut client, b"a part of its body").await;
        read(&mut timed).await.unwrap();
        assert!(!is_given_up(&mut timed).await, "that was no head");
        drop(under_way);
        assert!(!is_given_up(&mut timed).await, "there may be another request, some time");
        write(&mut client, b"GET").await;
        read(&mut timed).await.unwrap();
        assert!(is_given_up(&mut timed).await, "it has begun");
    }

    #[tokio::test]
    async fn http_2_is_left_to_its_pings_once_it_has_begun() {
        let (first, second) = PREFACE.split_at(5);
        let longer = [PREFACE, b"\0\0\0"].concat();
        let begun: [&[&[u8]]; 3] = [&[PREFACE], &[first, second], &[&longer]];
        for sent in begun {
            let (_client, mut timed, _) = after(sent).await;
            assert!(!is_given_up(&mut timed).await, "{sent:?}");
        }
    }
}
