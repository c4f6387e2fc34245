//! A client as plain as can be: one connection, one request after the other.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The headers, as they came.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// The body as JSON; null where it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// When nobody listens.
    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_mins(1)))?;
        Ok(Self { stream, buffer: Vec::new() })
    }

    /// Asks, and waits for the answer; headers are lines.
    ///
    /// # Errors
    /// When the connection ends before the answer does.
    pub fn ask(&mut self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> io::Result<Answer> {
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
        for header in headers {
            request += header;
            request += "\r\n";
        }
        let mut bytes = (request + "\r\n").into_bytes();
        bytes.extend_from_slice(body);
        self.stream.write_all(&bytes)?;
        self.answer()
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// When the connection has ended.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// No more is sent.
    ///
    /// # Errors
    /// When the connection has ended.
    pub fn end(&mut self) -> io::Result<()> {
        self.stream.shutdown(std::net::Shutdown::Write)
    }

    /// Waits for an answer.
    ///
    /// # Errors
    /// When the connection ends before it does.
    pub fn answer(&mut self) -> io::Result<Answer> {
        let head = loop {
            if let Some(at) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                let rest = self.buffer.split_off(at + 4);
                break String::from_utf8_lossy(&std::mem::replace(&mut self.buffer, rest)).into_owned();
            }
            self.more()?;
        };
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other("no status"))?;
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        // What has no length, a stream of events, is read by `read_until`.
        let length = length.unwrap_or(0);
        while self.buffer.len() < length {
            self.more()?;
        }
        let rest = self.buffer.split_off(length);
        let body = std::mem::replace(&mut self.buffer, rest);
        Ok(Answer { status, head, body })
    }

    /// Reads until a text has come; all that came.
    ///
    /// # Errors
    /// When the connection ends before it does.
    pub fn read_until(&mut self, wanted: &str) -> io::Result<String> {
        loop {
            let text = String::from_utf8_lossy(&self.buffer).into_owned();
            if text.contains(wanted) {
                self.buffer.clear();
                return Ok(text);
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> io::Result<()> {
        let mut chunk = [0; 1 << 14];
        match self.stream.read(&mut chunk)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.buffer.extend_from_slice(&chunk[..read]);
                Ok(())
            }
        }
    }
}
