//! Store location in a part of an object store: S3, or a store with its protocol and guarantees, Google's and Azure's.
//!
//! The store must offer conditional puts (`If-None-Match: *`, Google's `x-goog-if-generation-match: 0`), and reads and
//! lists that see every put that was answered before. Whole files are objects. An appended file is a row of objects
//! (`object_row`): each is put only if absent, and readers take them in order. An object that is missing in
//! the middle is found by the numbers of the records around it.

use std::{io, sync::Arc};

use bytes::Bytes;
use object_store::{ObjectStore, path::Path};

use super::{
    Append, FileForm, FirstFile, PlaceEntry, PlaceFile, StorePlace,
    object_address::{ObjectAddress, store},
    object_client::ObjectClient,
    object_requests::ObjectRequests,
    object_row::{RowEnd, is_piece, piece},
};

/// A part of an object store.
#[derive(Debug)]
pub struct ObjectPlace {
    requests: Arc<ObjectRequests>,
    /// Path above all keys.
    root: Path,
    /// Address of the part of the store.
    url: String,
}

/// Maximum objects of a row. Reading more takes too long: a second, at 30 ms for each of 32.
const ROW_MAX: u64 = 512;
/// Maximum scenes whose changes are written concurrently.
const WRITES_AT_ONCE: usize = 16;
impl ObjectPlace {
    /// Creates the location without sending a request.
    ///
    /// # Errors
    /// Returns an error if the address or the environment is unusable, or no thread can be started.
    pub fn new(address: &ObjectAddress) -> io::Result<ObjectPlace> {
        let (store, prefix) = store(address)?;
        ObjectPlace::of(store, &prefix, address)
    }

    /// Creates the location in any object store. `prefix`: path above all keys.
    ///
    /// # Errors
    /// Returns an error if no thread can be started.
    pub(in crate::store) fn of(
        store: Arc<dyn ObjectStore>,
        prefix: &str,
        address: &ObjectAddress,
    ) -> io::Result<ObjectPlace> {
        let client = ObjectClient::new(store, address.request_max);
        let url = address.url.trim_end_matches('/').to_owned();
        let requests = Arc::new(ObjectRequests::start(client, address.of_thread)?);
        Ok(ObjectPlace { requests, root: Path::from(prefix), url })
    }

    /// Returns the part of the store below a key.
    pub fn below(&self, key: &str) -> ObjectPlace {
        let url = format!("{}/{key}", self.url);
        ObjectPlace { requests: Arc::clone(&self.requests), root: self.path(key), url }
    }

    /// Checks that the store refuses a second object of one name. `own`: a name unique to this process.
    ///
    /// # Errors
    /// Returns an error if the store does not refuse, or cannot be written, read or listed.
    pub fn check(&self, own: &str) -> io::Result<()> {
        let probe = format!("probe-{own}");
        let is_put = self.put_new(&probe, b"1")?;
        let is_put_again = self.put_new(&probe, b"2")?;
        let is_listed = self.list("")?.is_some_and(|all| all.iter().any(|e| e.name == probe));
        let is_kept = self.head(&probe, FileForm::Whole, 1)? == b"1";
        self.remove(&probe, FileForm::Whole)?;
        if is_put && !is_put_again && is_kept && is_listed {
            return Ok(());
        }
        Err(io::Error::other(
            "it puts an object where there is one in spite of the condition that there be none, or does not list what was put",
        ))
    }

    fn path(&self, key: &str) -> Path {
        let names = key.split('/').filter(|name| !name.is_empty());
        names.fold(self.root.clone(), |path, name| path.join(name))
    }

    /// Returns the objects of a row, in order.
    fn pieces(&self, key: &str) -> io::Result<Vec<Path>> {
        let (client, row) = (self.requests.client(), self.path(key));
        let listed = self.requests.wait(async move { client.list(&row).await })?;
        let pieces = listed.objects.into_iter().map(|object| object.location);
        let mut pieces: Vec<Path> = pieces.filter(|p| p.filename().is_some_and(is_piece)).collect();
        pieces.sort();
        Ok(pieces)
    }

    fn objects(&self, key: &str, form: FileForm) -> io::Result<Vec<Path>> {
        match form {
            FileForm::Whole => Ok(vec![self.path(key)]),
            FileForm::Appended => self.pieces(key),
        }
    }
}

impl StorePlace for ObjectPlace {
    fn shown(&self, key: &str) -> String {
        if key.is_empty() { self.url.clone() } else { format!("{}/{key}", self.url) }
    }

    fn list(&self, below: &str) -> io::Result<Option<Vec<PlaceEntry>>> {
        Ok(self.lists(&[below.to_owned()])?.remove(0))
    }

    fn lists(&self, below: &[String]) -> io::Result<Vec<Option<Vec<PlaceEntry>>>> {
        let request = |key: &String| {
            let (client, path) = (self.requests.client(), self.path(key));
            async move { client.list(&path).await }
        };
        let listed = self.requests.wait_all(below.iter().map(request).collect())?;
        let entries = listed.into_iter().map(|listed| {
            let entry = |path: &Path, has_more| {
                path.filename().map(|name| PlaceEntry { name: name.to_owned(), has_more })
            };
            let whole = listed.objects.iter().filter_map(|object| entry(&object.location, false));
            let more = listed.common_prefixes.iter().filter_map(|path| entry(path, true));
            let all: Vec<PlaceEntry> = whole.chain(more).collect();
            (!all.is_empty()).then_some(all)
        });
        Ok(entries.collect())
    }

    fn bytes(&self, below: &str) -> io::Result<u64> {
        let (client, path) = (self.requests.client(), self.path(below));
        let all = self.requests.wait(async move { client.all_below(&path).await })?;
        Ok(all.into_iter().map(|(_, bytes)| bytes).sum())
    }

    fn open(&self, key: &str, form: FileForm) -> io::Result<PlaceFile> {
        let objects = self.objects(key, form)?;
        if objects.is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let request = |path: Path| {
            let client = self.requests.client();
            async move { client.get(&path).await }
        };
        let parts = self.requests.wait_all(objects.into_iter().map(request).collect())?;
        let all = parts.concat();
        let bytes = all.len() as u64;
        Ok(PlaceFile { from: Box::new(io::Cursor::new(all)), bytes, age: None })
    }

    fn head(&self, key: &str, form: FileForm, n: usize) -> io::Result<Vec<u8>> {
        let path = self.path(key);
        let path = if form == FileForm::Appended { piece(&path, 0) } else { path };
        let client = self.requests.client();
        let head = self.requests.wait(async move { client.head(&path, n).await });
        head.map(Vec::from)
    }

    fn put(&self, key: &str, parts: &[&[u8]]) -> io::Result<()> {
        let (client, at) = (self.requests.client(), self.path(key));
        let bytes = Bytes::from(parts.concat());
        self.requests.wait(async move { client.put(&at, bytes).await })
    }

    fn put_new(&self, key: &str, bytes: &[u8]) -> io::Result<bool> {
        self.requests.put_new(self.path(key), Bytes::copy_from_slice(bytes))
    }

    fn put_first(&self, below: &str, files: &[FirstFile<'_>]) -> io::Result<()> {
        for file in files {
            let at = self.path(below).join(file.name.as_str());
            let at = if file.form == FileForm::Appended { piece(&at, 0) } else { at };
            if !self.requests.put_new(at, Bytes::from(file.parts.concat()))? {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
        }
        Ok(())
    }

    fn begin(&self, key: &str, head: &[u8]) -> io::Result<Box<dyn Append>> {
        let row = self.path(key);
        if !self.requests.put_new(piece(&row, 0), Bytes::copy_from_slice(head))? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.go_on(key)
    }

    fn go_on(&self, key: &str) -> io::Result<Box<dyn Append>> {
        Ok(Box::new(RowEnd::after_first(&self.requests, self.path(key))))
    }

    fn appends_max(&self) -> u64 {
        ROW_MAX
    }

    fn writes_at_once(&self) -> usize {
        WRITES_AT_ONCE
    }

    fn remove(&self, key: &str, form: FileForm) -> io::Result<()> {
        let (client, objects) = (self.requests.client(), self.objects(key, form)?);
        self.requests.wait(async move { client.remove(&objects).await })
    }

    fn remove_all(&self, below: &str) -> io::Result<()> {
        let (client, path) = (self.requests.client(), self.path(below));
        self.requests.wait(async move {
            let all = client.all_below(&path).await?;
            client.remove(&all.into_iter().map(|(path, _)| path).collect::<Vec<_>>()).await
        })
    }

    fn set_aside(&self, key: &str, form: FileForm, extension: &str) -> io::Result<()> {
        let to = self.path(&format!("{key}.{extension}"));
        let copy = |from: Path| {
            let to = match form {
                FileForm::Whole => to.clone(),
                FileForm::Appended => to.clone().join(from.filename().unwrap_or_default()),
            };
            let client = self.requests.client();
            async move { client.copy(&from, &to).await }
        };
        let objects = self.objects(key, form)?;
        self.requests.wait_all(objects.into_iter().map(copy).collect())?;
        if form == FileForm::Whole { self.remove(key, form) } else { Ok(()) }
    }
}
