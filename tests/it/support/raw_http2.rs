//! Handwritten HTTP/2, for requests that no client library would send.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Frame types of RFC 9113.
pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PING: u8 = 6;
pub const CONTINUATION: u8 = 9;
pub const END_HEADERS: u8 = 4;
const END_STREAM: u8 = 1;
/// Indices of HPACK's static table.
const GET: u8 = 0x82;
const POST: u8 = 0x83;
const ACK: u8 = 1;

/// Setting of RFC 9113 for the bytes that a stream may send before the receiver asks for more.
const INITIAL_WINDOW_SIZE: [u8; 2] = [0, 4];

/// A connection after preface and settings.
pub struct RawHttp2(TcpStream);

impl RawHttp2 {
    pub async fn connect(address: SocketAddr) -> RawHttp2 {
        RawHttp2::with_settings(address, &[]).await
    }

    /// A client that accepts no byte of any answer, but everything else.
    pub async fn that_reads_nothing(address: SocketAddr) -> RawHttp2 {
        let window = [&INITIAL_WINDOW_SIZE[..], &[0; 4]].concat();
        RawHttp2::with_settings(address, &window).await
    }

    async fn with_settings(address: SocketAddr, settings: &[u8]) -> RawHttp2 {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        stream.write_all(preface).await.expect("sent");
        let mut raw = RawHttp2(stream);
        assert!(raw.send(&frame(SETTINGS, 0, 0, settings)).await);
        raw
    }

    /// Reads everything and answers nothing, until the server closes.
    pub async fn silent_until_closed(&mut self) {
        let mut said = vec![0; 4 << 10];
        while matches!(self.0.read(&mut said).await, Ok(n) if n > 0) {}
    }

    /// Answers pings and reads everything, until the server closes.
    pub async fn until_closed(&mut self) {
        let (mut head, mut payload) = ([0; 9], Vec::new());
        while self.0.read_exact(&mut head).await.is_ok() {
            payload.resize(u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize, 0);
            if self.0.read_exact(&mut payload).await.is_err() {
                return;
            }
            let is_asked = head[4] & ACK == 0;
            let answer = match head[3] {
                PING if is_asked => frame(PING, ACK, 0, &payload),
                SETTINGS if is_asked => frame(SETTINGS, ACK, 0, &[]),
                _ => continue,
            };
            if self.0.write_all(&answer).await.is_err() {
                return;
            }
        }
    }

    /// Sends bytes; returns true while the server accepts them. Reads the server's output meanwhile, so that it never
    /// waits for this client.
    pub async fn send(&mut self, bytes: &[u8]) -> bool {
        let (mut read, mut write) = self.0.split();
        let mut said = vec![0; 64 << 10];
        let mut left = bytes;
        while !left.is_empty() {
            tokio::select! {
                sent = write.write(left) => match sent {
                    Ok(n) => left = &left[n..],
                    Err(_) => return false,
                },
                got = read.read(&mut said) => if !matches!(got, Ok(n) if n > 0) {
                    return false;
                },
            }
        }
        true
    }
}

/// Builds one frame.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The frame that begins a Track call.
pub fn track_call(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &track_headers())
}

/// A whole call of one message.
pub fn call(stream: u32, method: &str, secret: Option<&str>, message: &[u8]) -> Vec<u8> {
    let headers = headers(&format!("/palpate.v1.{method}"), secret);
    let length = (message.len() as u32).to_be_bytes();
    let message = [&[0][..], &length, message].concat();
    [frame(HEADERS, END_HEADERS, stream, &headers), frame(DATA, END_STREAM, stream, &message)]
        .concat()
}

/// Headers of a Track call.
pub fn track_headers() -> Vec<u8> {
    headers("/palpate.v1.HapticService/Track", None)
}

/// Head of a request whose body does not follow.
pub fn head(stream: u32, path: &str) -> Vec<u8> {
    frame(HEADERS, END_HEADERS, stream, &headers(path, None))
}

/// A whole GET request.
pub fn get_page(stream: u32, path: &str) -> Vec<u8> {
    let mut headers = headers(path, None);
    headers[0] = GET;
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &headers)
}

/// HPACK without a table: POST, http, path, authority, content type, trailers, a key.
fn headers(path: &str, secret: Option<&str>) -> Vec<u8> {
    let mut block = vec![POST, 0x86];
    let mut named = |name: &[u8], value: &[u8]| {
        block.extend(name);
        block.push(value.len() as u8);
        block.extend(value);
    };
    named(&[0x04], path.as_bytes());
    named(&[0x01], b"localhost");
    named(&[0x0f, 0x10], b"application/grpc");
    named(b"\x00\x02te", b"trailers");
    if let Some(secret) = secret {
        named(b"\x00\x0dauthorization", format!("Bearer {secret}").as_bytes());
    }
    block
}
