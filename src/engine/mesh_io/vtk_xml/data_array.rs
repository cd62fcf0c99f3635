//! Numbers of a data array: text, base64 or bytes, compressed or not.

use std::io::{self, BufReader, Read};

use base64::{engine::general_purpose::STANDARD, read::DecoderReader};
use flate2::bufread::ZlibDecoder;
use glam::Vec3;

use crate::mesh_io::{
    read_error::{FilePlace, MeshReadError, check_fits, check_text_fits, one_line, unexpected},
    read_room::ReadRoom,
    text::{TextCursor, parse},
    vtk::number_kind::{ByteOrder, NumberKind},
};

/// A declared array.
#[derive(Clone, Copy)]
pub(super) struct DataArray<'a> {
    pub(super) kind: NumberKind,
    pub(super) encoding: Encoding<'a>,
    pub(super) place: FilePlace,
}

/// Storage of an array.
#[derive(Clone, Copy)]
pub(super) enum Encoding<'a> {
    Text(&'a [u8]),
    Base64(&'a [u8]),
    /// Offset in the appended data.
    Appended(u64),
}

/// Decodes the arrays of a file.
pub(super) struct ArrayReader<'a> {
    order: ByteOrder,
    /// Bytes of each number in the header of an array.
    n_header_bytes: usize,
    is_compressed: bool,
    appended: Option<Stream<'a>>,
}

impl<'a> ArrayReader<'a> {
    pub(super) fn new(
        order: ByteOrder,
        n_header_bytes: usize,
        is_compressed: bool,
    ) -> ArrayReader<'a> {
        ArrayReader { order, n_header_bytes, is_compressed, appended: None }
    }

    /// Sets the appended data.
    pub(super) fn append(&mut self, data: Stream<'a>) {
        self.appended = Some(data);
    }

    /// Reads `n` points.
    pub(super) fn points(
        &self,
        array: DataArray,
        n: u64,
        room: &mut ReadRoom,
    ) -> Result<Vec<Vec3>, MeshReadError> {
        let mut numbers = self.open(array, n.saturating_mul(3), room)?;
        let mut points = room.vec(n, "points", array.place)?;
        for _ in 0..n {
            let mut next = || numbers.coordinate();
            points.push(Vec3::new(next()?, next()?, next()?));
        }
        Ok(points)
    }

    /// Reads `n` integers that are not negative, and puts them behind `first`.
    pub(super) fn counts(
        &self,
        array: DataArray,
        n: u64,
        room: &mut ReadRoom,
        first: &[u32],
    ) -> Result<Vec<u32>, MeshReadError> {
        let mut numbers = self.open(array, n, room)?;
        let mut counts = room.vec(n.saturating_add(first.len() as u64), "numbers", array.place)?;
        counts.extend(first);
        for _ in 0..n {
            counts.push(numbers.count()?);
        }
        Ok(counts)
    }

    /// Opens an array of `n` numbers.
    fn open<'r>(
        &self,
        array: DataArray<'r>,
        n: u64,
        room: &mut ReadRoom,
    ) -> Result<ArrayNumbers<'r>, MeshReadError>
    where
        'a: 'r,
    {
        let DataArray { kind, encoding, place } = array;
        let stream = match encoding {
            Encoding::Text(text) => {
                check_text_fits(place, n, "numbers", 2, text.len())?;
                let source = Source::Text(TextCursor::new(text));
                return Ok(ArrayNumbers { source, kind, order: self.order, place });
            }
            Encoding::Base64(text) => Some(Stream::Base64(text.trim_ascii_start(), 0)),
            Encoding::Appended(offset) => self.appended.as_ref().and_then(|all| all.from(offset)),
        };
        let stream =
            stream.ok_or_else(|| unexpected(place, "appended data at the array's offset", None))?;
        let source = Source::Bytes(self.bytes(stream, kind, n, place, room)?);
        Ok(ArrayNumbers { source, kind, order: self.order, place })
    }

    /// Reads the header of an array of `n` numbers. Returns the bytes of the numbers.
    fn bytes<'r>(
        &self,
        mut stream: Stream<'r>,
        kind: NumberKind,
        n: u64,
        place: FilePlace,
        room: &mut ReadRoom,
    ) -> Result<BufReader<Box<dyn Read + 'r>>, MeshReadError> {
        let needed = n.saturating_mul(kind.n_bytes() as u64);
        let damaged = |error: io::Error| damaged(place, &error);
        let word = |bytes: &[u8]| self.order.unsigned(bytes);
        let k = self.n_header_bytes;
        let mut first = [0; 8];
        if !self.is_compressed {
            stream.header(&mut first[..k]).map_err(damaged)?;
            check_declared(place, word(&first[..k]), needed)?;
            check_fits(place, n, "numbers", kind.n_bytes() as u64, stream.n_left())?;
            return Ok(BufReader::new(stream.reader(needed)));
        }
        // The header: number of blocks, bytes of each, bytes of the last if it is shorter, and the compressed bytes of
        // each.
        let mut head = [0; 24];
        stream.clone().header(&mut head[..3 * k]).map_err(damaged)?;
        let [n_blocks, block, last] = [0, 1, 2].map(|i| word(&head[i * k..][..k]));
        check_fits(place, n_blocks, "blocks", k as u64, stream.n_left())?;
        let shorter = if last == 0 { 0 } else { block.saturating_sub(last) };
        check_declared(place, n_blocks.saturating_mul(block).saturating_sub(shorter), needed)?;
        let n_header_bytes = (3 + n_blocks) * k as u64;
        room.take(n_header_bytes + 8 * n_blocks, n_blocks, "sizes of blocks", place)?;
        let mut header = vec![0; n_header_bytes as usize];
        stream.header(&mut header).map_err(damaged)?;
        let sizes: Vec<u64> = header[3 * k..].chunks_exact(k).map(word).collect();
        room.take(sizes.iter().copied().max().unwrap_or(0), 1, "compressed block", place)?;
        let blocks = Blocks {
            compressed: stream.reader(sizes.iter().fold(0, |sum, size| sum.saturating_add(*size))),
            sizes: sizes.into_iter(),
            n_block_bytes: block,
            n_last_bytes: block - shorter,
            decoder: ZlibDecoder::new(io::Cursor::default()),
            n_left: 0,
        };
        Ok(BufReader::new(Box::new(blocks)))
    }
}

/// The numbers of an array, one by one.
struct ArrayNumbers<'a> {
    source: Source<'a>,
    kind: NumberKind,
    order: ByteOrder,
    place: FilePlace,
}

enum Source<'a> {
    Text(TextCursor<'a>),
    Bytes(BufReader<Box<dyn Read + 'a>>),
}

impl ArrayNumbers<'_> {
    fn coordinate(&mut self) -> Result<f32, MeshReadError> {
        match &mut self.source {
            Source::Text(text) => parse(text.word(), self.place, "a coordinate"),
            Source::Bytes(bytes) => {
                let bytes = next_bytes(bytes, self.kind, self.place)?;
                Ok(self.kind.coordinate(&bytes, self.order))
            }
        }
    }

    fn count(&mut self) -> Result<u32, MeshReadError> {
        const EXPECTED: &str = "a number from 0 to 4294967295";
        match &mut self.source {
            Source::Text(text) => parse(text.word(), self.place, EXPECTED),
            Source::Bytes(bytes) => {
                let bytes = next_bytes(bytes, self.kind, self.place)?;
                let number = self.kind.whole(&bytes, self.order);
                u32::try_from(number).map_err(|_| {
                    unexpected(self.place, EXPECTED, Some(number.to_string().as_bytes()))
                })
            }
        }
    }
}

fn next_bytes(
    bytes: &mut impl Read,
    kind: NumberKind,
    place: FilePlace,
) -> Result<[u8; 8], MeshReadError> {
    let mut number = [0; 8];
    bytes.read_exact(&mut number[..kind.n_bytes()]).map_err(|error| damaged(place, &error))?;
    Ok(number)
}

fn damaged(place: FilePlace, error: &io::Error) -> MeshReadError {
    let message = match error.kind() {
        io::ErrorKind::UnexpectedEof => "the array ends early".to_owned(),
        _ => one_line(&error.to_string()),
    };
    MeshReadError::Reader { place, message }
}

/// Checks the number of bytes that the header of an array declares.
fn check_declared(place: FilePlace, declared: u64, needed: u64) -> Result<(), MeshReadError> {
    if declared == needed {
        return Ok(());
    }
    let (expected, got) = (format!("an array of {needed} bytes"), declared.to_string());
    Err(MeshReadError::Unexpected { place, expected, got })
}

/// Bytes of an array, its header first, or of all appended arrays.
#[derive(Clone)]
pub(super) enum Stream<'a> {
    Raw(&'a [u8]),
    /// Text, and the number of decoded bytes before the next one.
    Base64(&'a [u8], usize),
}

impl<'a> Stream<'a> {
    /// Appended data from an offset on; `None` if the file ends before.
    fn from(&self, offset: u64) -> Option<Stream<'a>> {
        let offset = usize::try_from(offset).ok()?;
        Some(match self {
            Stream::Raw(data) => Stream::Raw(data.get(offset..)?),
            Stream::Base64(text, n_passed) => Stream::Base64(text.get(offset..)?, *n_passed),
        })
    }

    /// Reads the header or its beginning.
    fn header(&mut self, header: &mut [u8]) -> io::Result<()> {
        match self {
            Stream::Raw(data) => data.read_exact(header),
            Stream::Base64(text, n_passed) => {
                let n_characters = 4 * header.len().div_ceil(3);
                let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
                let (start, rest) = text.split_at_checked(n_characters).ok_or_else(short)?;
                DecoderReader::new(start, &STANDARD).read_exact(header)?;
                // Some writers encode the header alone, and it ends in padding; others with the numbers.
                // The padding is the header's own if it is as long as a header alone needs.
                let padding: &[u8] = if header.len() % 3 == 1 { b"==" } else { b"=" };
                if start.ends_with(padding) || header.len().is_multiple_of(3) {
                    *text = rest;
                } else {
                    *n_passed = header.len();
                }
                Ok(())
            }
        }
    }

    /// Most bytes that may follow.
    fn n_left(&self) -> usize {
        match self {
            Stream::Raw(data) => data.len(),
            Stream::Base64(text, n_passed) => (3 * (text.len() / 4)).saturating_sub(*n_passed),
        }
    }

    /// The next `n` bytes, or fewer if the file ends.
    fn reader(self, n: u64) -> Box<dyn Read + 'a> {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        match self {
            Stream::Raw(data) => Box::new(&data[..n.min(data.len())]),
            Stream::Base64(text, n_passed) => {
                // The next array may follow at once, and the decoder reads ahead.
                let n_characters = n.saturating_add(n_passed).div_ceil(3).saturating_mul(4);
                let text = &text[..n_characters.min(text.len())];
                let mut reader = DecoderReader::new(text, &STANDARD);
                // Decoded once already.
                let passed = reader.read_exact(&mut vec![0; n_passed]);
                debug_assert!(passed.is_ok());
                Box::new(reader)
            }
        }
    }
}

/// Decompresses the blocks of an array, one after the other.
struct Blocks<R> {
    compressed: R,
    /// Compressed bytes of the blocks that follow.
    sizes: std::vec::IntoIter<u64>,
    /// Bytes of each block but the last, and of the last.
    n_block_bytes: u64,
    n_last_bytes: u64,
    /// Decoder of the current block, and the bytes that it has to give still.
    decoder: ZlibDecoder<io::Cursor<Vec<u8>>>,
    n_left: u64,
}

impl<R: Read> Blocks<R> {
    /// Reads the next block; false if there is none.
    fn next_block(&mut self) -> io::Result<bool> {
        let Some(size) = self.sizes.next() else { return Ok(false) };
        let mut block = std::mem::take(self.decoder.get_mut()).into_inner();
        block.clear();
        // The room has been taken for the largest block.
        block.reserve_exact(size as usize);
        self.compressed.by_ref().take(size).read_to_end(&mut block)?;
        self.decoder.reset(io::Cursor::new(block));
        self.n_left = if self.sizes.len() == 0 { self.n_last_bytes } else { self.n_block_bytes };
        Ok(true)
    }
}

impl<R: Read> Read for Blocks<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.n_left == 0 {
            if !self.next_block()? {
                return Ok(0);
            }
        }
        let n_most = bytes.len().min(usize::try_from(self.n_left).unwrap_or(usize::MAX));
        let n = self.decoder.read(&mut bytes[..n_most])?;
        // A block that ends early would let any number of blocks pass.
        if n == 0 && n_most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.n_left -= n as u64;
        Ok(n)
    }
}
