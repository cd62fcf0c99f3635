//! Detects requests whose headers never end, and counts a connection's frames.
//!
//! HTTP/2 allows no other frame between HEADERS and the CONTINUATION frames that end them, and h2 waits for these
//! without limit: a peer that never sends the last one, or stops within it, keeps its connection.

/// RFC 9113: length of a frame's head, two kinds of frames, and the flag of a request's last headers frame.
const HEAD_BYTES: usize = 9;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const END_HEADERS: u8 = 4;

/// Frame parser of a connection, which is fed all bytes after the preface.
#[derive(Debug, Default)]
pub struct HeaderBlock {
    head: [u8; HEAD_BYTES],
    /// Bytes of the head received so far.
    n_head: usize,
    /// Bytes of the frame not received yet.
    left: u32,
    /// True while headers have begun and not ended.
    is_open: bool,
    /// True if the headers end with this frame.
    is_last: bool,
    /// Number of header blocks that have ended.
    ended: u64,
    /// Number of frames whose head was received.
    frames: u64,
}

impl HeaderBlock {
    /// Processes the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.left > 0 {
                let n = bytes.len().min(self.left as usize);
                bytes = &bytes[n..];
                self.left -= n as u32;
            } else {
                let n = bytes.len().min(HEAD_BYTES - self.n_head);
                self.head[self.n_head..][..n].copy_from_slice(&bytes[..n]);
                bytes = &bytes[n..];
                self.n_head += n;
                if self.n_head < HEAD_BYTES {
                    return;
                }
                self.begin_frame();
            }
            if self.left == 0 && self.is_open && self.is_last {
                self.is_open = false;
                self.ended += 1;
            }
        }
    }

    /// Returns the number of the open header block; `None` between blocks. A block is not open yet within the head of
    /// its first frame.
    pub fn open(&self) -> Option<u64> {
        self.is_open.then_some(self.ended)
    }

    /// Returns the number of frames that have begun.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    fn begin_frame(&mut self) {
        self.n_head = 0;
        self.frames += 1;
        let [a, b, c, kind, flags, ..] = self.head;
        self.left = u32::from_be_bytes([0, a, b, c]);
        if kind == HEADERS || kind == CONTINUATION {
            (self.is_open, self.is_last) = (true, flags & END_HEADERS != 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, length: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, length, kind, flags, 0, 0, 0, 1];
        // The payload of a frame is never taken for a head.
        frame.extend((0..length).map(|n| [0, 0, 0, HEADERS, 0][n as usize % 5]));
        frame
    }

    /// Fed in pieces of every size: the boundaries of the pieces make no difference.
    #[test]
    fn headers_are_open_until_their_last_byte() {
        let all = [
            frame(4, 0, 0),
            frame(HEADERS, END_HEADERS, 20),
            frame(0, 0, 200),
            frame(HEADERS, 0, 7),
            frame(CONTINUATION, 0, 0),
            frame(CONTINUATION, END_HEADERS, 9),
            frame(0, 1, 0),
        ];
        let bytes = all.concat();
        let ends: Vec<usize> = all
            .iter()
            .scan(0, |end, f| {
                Some({
                    *end += f.len();
                    *end
                })
            })
            .collect();
        // From the first frame's head to the last frame's end.
        let is_open = |at: usize| {
            (ends[0] + 9..ends[1]).contains(&at) || (ends[2] + 9..ends[5]).contains(&at)
        };
        for piece in 1..=bytes.len() {
            let (mut block, mut at) = (HeaderBlock::default(), 0);
            for bytes in bytes.chunks(piece) {
                block.feed(bytes);
                at += bytes.len();
                let expected = is_open(at).then(|| u64::from(at > ends[1]));
                assert_eq!(block.open(), expected, "after {at} bytes in pieces of {piece}");
            }
            assert_eq!(block.frames(), all.len() as u64);
        }
    }
}
