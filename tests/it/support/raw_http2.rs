//! HTTP/2 by hand, for what no client library would do.

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
const END_HEADERS: u8 = 4;

/// A connection after preface and settings.
pub struct RawHttp2(TcpStream);

impl RawHttp2 {
    pub async fn connect(address: SocketAddr) -> RawHttp2 {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        stream.write_all(preface).await.expect("sent");
        let mut raw = RawHttp2(stream);
        assert!(raw.send(&frame(SETTINGS, 0, 0, &[])).await);
        raw
    }

    /// Whether the server still takes bytes; takes what it says meanwhile, so that it never waits for us.
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

/// One frame.
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

/// HPACK without a table: POST, http, path, authority, content type, trailers.
pub fn track_headers() -> Vec<u8> {
    let mut block = vec![0x83, 0x86];
    let mut named = |name: &[u8], value: &[u8]| {
        block.extend(name);
        block.push(value.len() as u8);
        block.extend(value);
    };
    named(&[0x04], b"/palpate.v1.HapticService/Track");
    named(&[0x01], b"localhost");
    named(&[0x0f, 0x10], b"application/grpc");
    named(b"\x00\x02te", b"trailers");
    block
}
