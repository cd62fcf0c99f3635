//! Changes of a scene, one record after the other: length, number, checksum, payload.
//!
//! A record counts once it is on the disk with all before it. The numbers of a scene's records rise by one, over all its
//! journals: what a journal has from the first number of the next one on never counted.

use std::{
    fs::File,
    io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write as _},
    ops::Range,
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::file_head::{
    CHECKSUM_BYTES, FileError, FileHead, FileKind, HEAD_BYTES, checksum, read_whole,
};
use crate::os::lasting::sync_folder;
use crate::scene::saved::SceneChange;

/// What a journal has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum JournalRecord {
    /// A change that is made once its record is on the disk.
    Change(SceneChange),
    /// The record of this number was not made after all: the engine failed in it.
    Void(u64),
}

/// A journal that is written.
#[derive(Debug)]
pub struct JournalFile {
    file: File,
    head: [u8; HEAD_BYTES],
    next_sequence: u64,
    /// Whole and on the disk.
    bytes: u64,
    /// A write failed, and it is not known what of it is on the disk: nothing is added any more.
    is_broken: bool,
}

/// A journal that is read, record by record.
pub struct JournalReader {
    from: BufReader<File>,
    head: [u8; HEAD_BYTES],
    next_sequence: u64,
    at: u64,
    bytes: u64,
}

/// A number that is greater by more is that of no record.
const RECORDS_AHEAD: u64 = 1 << 20;
const LENGTH_BYTES: usize = 4;
const RECORD_HEAD_BYTES: usize = LENGTH_BYTES + 8 + CHECKSUM_BYTES;

impl JournalFile {
    /// A new one, which lasts. `sequence`: of its first record.
    ///
    /// # Errors
    /// The system's; there is no such file then.
    pub fn create(path: &Path, generation: u64, sequence: u64) -> io::Result<JournalFile> {
        let head = FileHead { kind: FileKind::Journal, generation, sequence }.encode();
        let mut file = File::create_new(path)?;
        let written = (|| {
            file.write_all(&head)?;
            file.sync_all()?;
            sync_folder(path.parent().expect("a file is in a folder"))
        })();
        if let Err(error) = written {
            // It has no record: should it stay, it changes nothing.
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        let (next_sequence, bytes) = (sequence, HEAD_BYTES as u64);
        Ok(JournalFile { file, head, next_sequence, bytes, is_broken: false })
    }

    /// The same at another path, which `rename` gives it. Closed meanwhile: Windows renames no folder in which a file is
    /// open.
    ///
    /// # Errors
    /// The system's.
    pub fn moved(
        self,
        to: &Path,
        rename: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<JournalFile> {
        drop(self.file);
        rename()?;
        let mut file = File::options().write(true).open(to)?;
        file.seek(SeekFrom::End(0))?;
        Ok(JournalFile { file, ..self })
    }

    /// Adds records and returns when they are on the disk, with the number of the first.
    ///
    /// # Errors
    /// The system's. None of them counts then, and none can be added any more.
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
        let written = self.file.write_all(&bytes).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // After a failed sync the system forgets what it could not write, so that the next one would pass: no
            // further record may rely on this file. What is in it already is cut off where that is possible.
            self.is_broken = true;
            let _ = self.file.set_len(self.bytes);
            return Err(error);
        }
        let first = self.next_sequence;
        self.next_sequence += records.len() as u64;
        self.bytes += bytes.len() as u64;
        Ok(first)
    }

    /// Of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Head and records.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether another journal has to go on.
    pub fn is_broken(&self) -> bool {
        self.is_broken
    }
}

impl JournalReader {
    /// Reads the head.
    ///
    /// # Errors
    /// When it is no journal, or of a later version.
    pub fn open(path: &Path) -> Result<JournalReader, FileError> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut from = BufReader::new(file);
        let head = FileHead::read(FileKind::Journal, path, &mut from)?;
        let (next_sequence, at) = (head.sequence, HEAD_BYTES as u64);
        Ok(JournalReader { from, head: head.encode(), next_sequence, at, bytes })
    }

    /// Of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Bytes that were not read.
    pub fn rest(&self) -> u64 {
        self.bytes - self.at
    }

    /// The next record, with its number; `None` at the end.
    ///
    /// # Errors
    /// At the first that is none. [`FileError::Torn`] is what a write leaves that did not come to its end: no record is
    /// behind it.
    pub fn read(&mut self) -> Result<Option<(u64, JournalRecord)>, FileError> {
        if self.rest() == 0 {
            return Ok(None);
        }
        let at = self.at;
        match self.read_record(at) {
            // A damaged length reads like a file that ends too early.
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
        // Before memory is taken for it.
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
        let record =
            postcard::from_bytes(&payload).map_err(|_| damaged("a record does not decode"))?;
        self.at += RECORD_HEAD_BYTES as u64 + n;
        self.next_sequence += 1;
        Ok((self.next_sequence - 1, record))
    }

    /// Whether what begins at byte `at` is whole but for its length: the last record, or one with a later one behind it.
    /// O(bytes).
    fn is_length_damaged(&mut self, at: u64) -> io::Result<bool> {
        let mut bytes = Vec::new();
        self.from.seek(SeekFrom::Start(at))?;
        self.from.read_to_end(&mut bytes)?;
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
