//! HTTP/1.1 by hand on a socket, where it matters when which byte is sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection.
pub struct Raw {
    reader: BufReader<TcpStream>,
}

impl Raw {
    #[track_caller]
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { reader: BufReader::new(stream) }
    }

    #[track_caller]
    pub fn write(&mut self, bytes: &[u8]) {
        self.stream().write_all(bytes).unwrap();
    }

    pub fn stream(&mut self) -> &mut TcpStream {
        self.reader.get_mut()
    }

    /// The next answer: its status and its body.
    #[track_caller]
    pub fn answer(&mut self) -> (u16, Vec<u8>) {
        let mut line = String::new();
        self.reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap_or_else(|| panic!("no answer: {line:?}"));
        let status = status.parse().unwrap();
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).unwrap();
        (status, body)
    }
}

/// The head of a request with a body of so many bytes.
pub fn head(path: &str, content_type: &str, length: usize) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {content_type}\r\n\
         content-length: {length}\r\n\r\n"
    )
    .into_bytes()
}

/// A whole request.
pub fn post(path: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    [&head(path, content_type, body.len()), body].concat()
}
