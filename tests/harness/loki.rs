//! Lines to push, how they are pushed, and a WebSocket by hand.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use kymo_wire::encode::Writer;
use serde_json::{Value, json};

use super::{Answer, Server};

/// A stream: its labels, and lines with their times in nanoseconds and their metadata.
pub type Stream<'a> = (&'a [(&'a str, &'a str)], &'a [Line<'a>]);
pub type Line<'a> = (i64, &'a str, &'a [(&'a str, &'a str)]);

fn object(pairs: &[(&str, &str)]) -> Value {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}

/// A push in JSON.
pub fn as_json(streams: &[Stream<'_>]) -> Value {
    let streams: Vec<Value> = streams
        .iter()
        .map(|(labels, lines)| {
            let values: Vec<Value> = lines
                .iter()
                .map(|(time, line, metadata)| json!([time.to_string(), line, object(metadata)]))
                .collect();
            json!({ "stream": object(labels), "values": values })
        })
        .collect();
    json!({ "streams": streams })
}

/// The same in protobuf, in snappy.
pub fn as_protobuf(streams: &[Stream<'_>]) -> Vec<u8> {
    let mut w = Writer::new();
    for (labels, lines) in streams {
        w.message(1, |w| {
            let pairs: Vec<String> = labels.iter().map(|(n, v)| format!("{n}={v:?}")).collect();
            w.bytes_field(1, format!("{{{}}}", pairs.join(", ")).as_bytes());
            for (time, line, metadata) in *lines {
                w.message(2, |w| {
                    w.message(1, |w| {
                        w.varint_field(1, (time / 1_000_000_000) as u64);
                        w.varint_field(2, (time % 1_000_000_000) as u64);
                    });
                    w.bytes_field(2, line.as_bytes());
                    for (name, value) in *metadata {
                        w.message(3, |w| {
                            w.bytes_field(1, name.as_bytes());
                            w.bytes_field(2, value.as_bytes());
                        });
                    }
                });
            }
        });
    }
    snap::raw::Encoder::new().compress_vec(w.as_slice()).unwrap()
}

impl Server {
    /// Pushes JSON.
    #[track_caller]
    pub fn push(&self, push: &Value) -> Answer {
        let request = self.client.post(self.url("/loki/api/v1/push"));
        Answer::of(request.header("content-type", "application/json").body(push.to_string()))
    }

    /// Asks Loki's API.
    #[track_caller]
    pub fn loki(&self, path: &str, parameters: &[(&str, &str)]) -> Answer {
        Answer::of(self.client.get(self.url(&format!("/loki/api/v1/{path}"))).query(parameters))
    }
}

/// What comes over a WebSocket.
#[derive(Debug, PartialEq)]
pub enum Frame {
    Text(Value),
    Ping,
    Close(u16, String),
}

/// A WebSocket of a client.
pub struct Socket(TcpStream);

impl Socket {
    /// Asks for one; `Err` is what was answered instead.
    #[track_caller]
    pub fn open(server: &Server, path_and_query: &str) -> Result<Self, String> {
        Self::open_with(server, path_and_query, "")
    }

    /// The same with more lines of the head, each with its end.
    #[track_caller]
    pub fn open_with(server: &Server, path_and_query: &str, more: &str) -> Result<Self, String> {
        let mut stream = TcpStream::connect(server.http()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!(
            "GET {path_and_query} HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\n\
             upgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.push(byte[0]);
        }
        let answer = String::from_utf8(answer).unwrap();
        if !answer.starts_with("HTTP/1.1 101 ") {
            return Err(answer);
        }
        // The answer to the key above, from RFC 6455.
        let accept = "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=";
        assert!(answer.to_lowercase().contains(accept), "{answer}");
        Ok(Self(stream))
    }

    /// The next frame. Pings are answered.
    #[track_caller]
    pub fn next(&mut self) -> Frame {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).unwrap();
        assert_eq!(head[0] & 0x80, 0x80, "frames are whole");
        assert_eq!(head[1] & 0x80, 0, "a server does not mask");
        let length = match head[1] {
            126 => u64::from(u16::from_be_bytes(self.bytes())),
            127 => u64::from_be_bytes(self.bytes()),
            length => u64::from(length),
        };
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.0.read_exact(&mut payload).unwrap();
        match head[0] & 0x0f {
            1 => Frame::Text(serde_json::from_slice(&payload).unwrap()),
            8 => {
                let code = u16::from_be_bytes([payload[0], payload[1]]);
                Frame::Close(code, String::from_utf8(payload[2..].to_vec()).unwrap())
            }
            9 => {
                // A pong of no bytes, masked with nothing.
                self.0.write_all(&[0x8a, 0x80, 0, 0, 0, 0]).unwrap();
                Frame::Ping
            }
            other => panic!("a frame of kind {other}"),
        }
    }

    /// The next text.
    #[track_caller]
    pub fn text(&mut self) -> Value {
        loop {
            match self.next() {
                Frame::Text(text) => return text,
                Frame::Ping => {}
                Frame::Close(code, reason) => panic!("closed: {code} {reason}"),
            }
        }
    }

    fn bytes<const COUNT: usize>(&mut self) -> [u8; COUNT] {
        let mut bytes = [0; COUNT];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }
}
