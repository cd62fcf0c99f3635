//! Journal of a scene's changes, one record after the other: length, number, checksum, payload.
//!
//! A record is valid once it and all records before it are on the disk. The numbers of a scene's records rise by one,
//! over all its journals: records of a journal from the first number of the next journal on were never valid.

use std::{
    io::{self, Read as _, Seek as _, SeekFrom},
    ops::Range,
};

use serde::{Deserialize, Serialize};

use super::file_head::{
    CHECKSUM_BYTES, FileError, FileHead, FileKind, HEAD_BYTES, checksum, read_whole,
};
use crate::scene::saved::{ADDED_IN_FORMAT_3, SceneChange};
use crate::store::place::{Append, FileForm, ReadSeek, StorePlace};

/// Record of a journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum JournalRecord {
    /// Change that takes effect once its record is on the disk.
    Change(SceneChange),
    /// Number of a record whose change was not made after all: the engine failed in it.
    Void(u64),
}

/// Journal that is being written.
#[derive(Debug)]
pub struct JournalFile {
    end: Box<dyn Append>,
    head: [u8; HEAD_BYTES],
    next_sequence: u64,
    /// Number of complete bytes on the disk.
    bytes: u64,
    /// Number of appends.
    appends: u64,
    /// A write failed, and its state on the disk is unknown: nothing is added any more.
    is_broken: bool,
}

/// Journal that is read, record by record.
pub struct JournalReader {
    from: Box<dyn ReadSeek>,
    head: [u8; HEAD_BYTES],
    next_sequence: u64,
    at: u64,
    bytes: u64,
}

/// Maximum distance of a valid record's number from the expected one.
const RECORDS_AHEAD: u64 = 1 << 20;
const LENGTH_BYTES: usize = 4;
const RECORD_HEAD_BYTES: usize = LENGTH_BYTES + 8 + CHECKSUM_BYTES;

impl JournalFile {
    /// Returns the head of a journal. `sequence`: number of its first record.
    pub fn head(generation: u64, sequence: u64) -> [u8; HEAD_BYTES] {
        FileHead::new(FileKind::Journal, generation, sequence).encode()
    }

    /// Creates a journal durably.
    ///
    /// # Errors
    /// Errors of the system; then there is no such file, or one without a record.
    pub fn create(
        place: &dyn StorePlace,
        key: &str,
        (generation, sequence): (u64, u64),
    ) -> io::Result<JournalFile> {
        let head = JournalFile::head(generation, sequence);
        Ok(JournalFile::begun(place.begin(key, &head)?, head, sequence))
    }

    /// Wraps a journal that has only its head.
    pub fn begun(end: Box<dyn Append>, head: [u8; HEAD_BYTES], sequence: u64) -> JournalFile {
        let (next_sequence, bytes) = (sequence, HEAD_BYTES as u64);
        JournalFile { end, head, next_sequence, bytes, appends: 0, is_broken: false }
    }

    /// Appends records and returns when they are on the disk, with the number of the first.
    ///
    /// # Errors
    /// Errors of the system. None of the records is then valid, and none can be added any more.
    pub fn append(&mut self, records: &[JournalRecord]) -> io::Result<u64> {
        debug_assert!(!self.is_broken, "the next journal goes on");
        let mut bytes = Vec::new();
        for (sequence, record) in (self.next_sequence..).zip(records) {
            let payload = postcard::to_stdvec(record).expect("numbers and sequences only");
            let length = u32::try_from(payload.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
            let (length, sequence) = (length.to_le_bytes(), sequence.to_le_bytes());
            bytes.extend(length);
            bytes.extend(sequence);
            bytes.extend(checksum(&[&self.head, &length, &sequence, &payload]));
            bytes.extend(payload);
        }
        if let Err(error) = self.end.append(&bytes) {
            // After a failed sync the system forgets the bytes that it could not write, so the next sync would succeed;
            // and bytes on their way to another machine may still arrive. No further record may rely on this file.
            self.is_broken = true;
            return Err(error);
        }
        let first = self.next_sequence;
        self.next_sequence += records.len() as u64;
        self.bytes += bytes.len() as u64;
        self.appends += 1;
        Ok(first)
    }

    /// Number of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Bytes of head and records.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of appends.
    pub fn appends(&self) -> u64 {
        self.appends
    }

    /// Returns true if the file is gone from its path, with all records. Returns false if that cannot be determined.
    pub fn is_gone(&self) -> bool {
        self.end.check().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
    }

    /// Returns true if another journal has to continue.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }
}

impl JournalReader {
    /// Opens a journal and reads its head.
    ///
    /// # Errors
    /// Returns an error if the file is no journal, or has a later format.
    pub fn open(place: &dyn StorePlace, key: &str) -> Result<JournalReader, FileError> {
        let file = place.open(key, FileForm::Appended)?;
        let (mut from, bytes) = (file.from, file.bytes);
        let head = FileHead::read(FileKind::Journal, &place.shown(key), &mut from)?;
        let (next_sequence, at) = (head.sequence, HEAD_BYTES as u64);
        Ok(JournalReader { from, head: head.encode(), next_sequence, at, bytes })
    }

    /// Number of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Number of bytes not read yet.
    pub fn rest(&self) -> u64 {
        self.bytes - self.at
    }

    /// Reads the next record, with its number; `None` at the end.
    ///
    /// # Errors
    /// The first invalid record. [`FileError::Torn`] is left by an incomplete write: no record follows it.
    pub fn read(&mut self) -> Result<Option<(u64, JournalRecord)>, FileError> {
        if self.rest() == 0 {
            return Ok(None);
        }
        let at = self.at;
        match self.read_record(at) {
            // A damaged length looks like a file that ends too early.
            Err(FileError::Torn { .. }) if self.is_length_damaged(at)? => {
                Err(FileError::Damaged { at, what: "the length of a record is wrong" })
            }
            done => done.map(Some),
        }
    }

    fn read_record(&mut self, at: u64) -> Result<(u64, JournalRecord), FileError> {
        let mut head = [0; RECORD_HEAD_BYTES];
        read_whole(&mut self.from, &mut head, at)?;
        let (length, rest) = head.split_at(LENGTH_BYTES);
        let (sequence, sum) = rest.split_at(8);
        let n = u64::from(u32::from_le_bytes(std::array::from_fn(|i| length[i])));
        // Checked before memory is allocated.
        if n > self.rest().saturating_sub(RECORD_HEAD_BYTES as u64) {
            return Err(FileError::Torn { at });
        }
        let mut payload = vec![0; n as usize];
        read_whole(&mut self.from, &mut payload, at)?;
        let damaged = |what| FileError::Damaged { at, what };
        if sum != checksum(&[&self.head, length, sequence, &payload]) {
            return Err(damaged("the checksum of a record is wrong"));
        }
        if sequence != self.next_sequence.to_le_bytes() {
            return Err(damaged("a record is out of order"));
        }
        payload.extend(ADDED_IN_FORMAT_3);
        let record =
            postcard::from_bytes(&payload).map_err(|_| damaged("a record does not decode"))?;
        self.at += RECORD_HEAD_BYTES as u64 + n;
        self.next_sequence += 1;
        Ok((self.next_sequence - 1, record))
    }

    /// Returns true if the record at byte `at` is intact except for its length: the last record, or one followed by a
    /// later one. Bytes added since the journal was opened are ignored: they would be found behind a record that was
    /// then being written. O(bytes).
    fn is_length_damaged(&mut self, at: u64) -> io::Result<bool> {
        let mut bytes = Vec::new();
        let rest = self.rest();
        self.from.seek(SeekFrom::Start(at))?;
        self.from.by_ref().take(rest).read_to_end(&mut bytes)?;
        let is_record = |bytes: &[u8], length: [u8; LENGTH_BYTES], numbers: Range<u64>| {
            let (head, rest) = bytes.split_at(RECORD_HEAD_BYTES);
            let (sequence, sum) = head[LENGTH_BYTES..].split_at(8);
            numbers.contains(&u64::from_le_bytes(std::array::from_fn(|i| sequence[i])))
                && rest.get(..u32::from_le_bytes(length) as usize).is_some_and(|payload| {
                    sum == checksum(&[&self.head, &length, sequence, payload])
                })
        };
        let Some(rest) = bytes.len().checked_sub(RECORD_HEAD_BYTES) else { return Ok(false) };
        let (this, next) = (self.next_sequence, self.next_sequence + 1);
        let is_last =
            u32::try_from(rest).is_ok_and(|n| is_record(&bytes, n.to_le_bytes(), this..next));
        let later = || next..next.saturating_add(RECORDS_AHEAD);
        let is_later = |at: usize| {
            let length = std::array::from_fn(|i| bytes[at + i]);
            is_record(&bytes[at..], length, later())
        };
        Ok(is_last || (1..=rest).any(is_later))
    }
}
