//! Files of the live view's page, those of a folder or those in the program. A folder is read once at the start of the
//! server: no part of a request ever becomes a path.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use http::{
    Response, StatusCode,
    header::{
        CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY,
        X_CONTENT_TYPE_OPTIONS,
    },
};
use http_body_util::Full;
use tonic::body::Body;

/// Names and contents of the files of `clients/web/dist`, if that folder was there when the program was built.
static INCLUDED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));
/// Maximum bytes of all files.
const BYTES_MAX: u64 = 32 << 20;
/// Maximum number of files in the folder and its subfolders.
const FILES_MAX: usize = 256;
/// File name of the page.
const INDEX: &str = "index.html";
/// Allows scripts, styles and calls of this server only, and images that the page itself generates.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
     img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Files by their path below the folder.
pub struct ViewerFiles(BTreeMap<String, ViewerFile>);

struct ViewerFile {
    kind: &'static str,
    bytes: Bytes,
}

/// Error of a folder that cannot be served.
#[derive(Debug, thiserror::Error)]
#[error("metrics.viewer_dir, {}: {problem}", path.display())]
pub struct ViewerFilesError {
    path: PathBuf,
    problem: ViewerFilesProblem,
}

#[derive(Debug, thiserror::Error)]
enum ViewerFilesProblem {
    #[error("cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("got more than {FILES_MAX} files or {} MiB, expected a built page", BYTES_MAX >> 20)]
    TooLarge,
    #[error("is neither a file nor a folder, expected no links and devices in a built page")]
    NoFile,
    #[error("has no index.html, expected a built page (clients/web: npm ci && npm run build)")]
    NoIndex,
}

impl ViewerFiles {
    /// Returns the page in a folder or, without a folder, the page in the program; `None` if the program has none.
    ///
    /// # Errors
    /// Errors of [`ViewerFiles::read`].
    pub fn open(folder: Option<&Path>) -> Result<Option<ViewerFiles>, ViewerFilesError> {
        if let Some(folder) = folder {
            return ViewerFiles::read(folder).map(Some);
        }
        let included = INCLUDED.iter().map(|&(name, bytes)| {
            (name.to_owned(), ViewerFile { kind: kind(name), bytes: Bytes::from_static(bytes) })
        });
        Ok(cfg!(has_page).then(|| ViewerFiles(included.collect())))
    }

    /// Reads a folder and its subfolders.
    ///
    /// # Errors
    /// Returns an error if an entry cannot be read or is a link, or the folder is too large.
    pub fn read(folder: &Path) -> Result<ViewerFiles, ViewerFilesError> {
        let of = |path: &Path, problem| ViewerFilesError { path: path.to_owned(), problem };
        let (mut files, mut bytes_left) = (BTreeMap::new(), BYTES_MAX);
        let mut folders = vec![(folder.to_owned(), String::new())];
        while let Some((path, name)) = folders.pop() {
            let entries = fs::read_dir(&path).map_err(|e| of(&path, e.into()))?;
            for entry in entries {
                let entry = entry.map_err(|e| of(&path, e.into()))?;
                let (path, part) = (entry.path(), entry.file_name());
                // A name that is not UTF-8 is in no URL.
                let Some(part) = part.to_str() else { continue };
                // Metadata of the entry itself: links out of the folder are not followed.
                let found = entry.metadata().map_err(|e| of(&path, e.into()))?;
                if found.is_dir() {
                    folders.push((path, format!("{name}{part}/")));
                    continue;
                }
                if !found.is_file() {
                    return Err(of(&path, ViewerFilesProblem::NoFile));
                }
                let left = bytes_left.checked_sub(found.len()).filter(|_| files.len() < FILES_MAX);
                bytes_left = left.ok_or_else(|| of(&path, ViewerFilesProblem::TooLarge))?;
                let bytes = fs::read(&path).map_err(|e| of(&path, e.into()))?.into();
                files.insert(format!("{name}{part}"), ViewerFile { kind: kind(part), bytes });
            }
        }
        let has_index = files.contains_key(INDEX);
        has_index
            .then_some(ViewerFiles(files))
            .ok_or_else(|| of(folder, ViewerFilesProblem::NoIndex))
    }

    /// Returns the file at a path below the page's; an empty path is the page.
    pub fn answer(&self, path: &str) -> Option<Response<Body>> {
        let ViewerFile { kind, bytes } = self.0.get(if path.is_empty() { INDEX } else { path })?;
        let answer = Response::builder()
            .status(StatusCode::OK)
            .header(CONTENT_TYPE, *kind)
            .header(CONTENT_SECURITY_POLICY, POLICY)
            .header(X_CONTENT_TYPE_OPTIONS, "nosniff")
            .header(REFERRER_POLICY, "no-referrer")
            // Another version of the server may serve another page at this address.
            .header(CACHE_CONTROL, "no-cache");
        Some(answer.body(Body::new(Full::from(bytes.clone()))).expect("a good head"))
    }
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "json" | "map" => "application/json",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::process;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("palpate-{name}-{}", process::id()));
            fs::create_dir_all(path.join("parts")).expect("a temporary folder");
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn serves_what_is_in_the_folder_and_nothing_else() {
        let folder = Folder::new("viewer");
        fs::write(folder.0.join("parts/a.js"), "1").expect("written");
        let error = ViewerFiles::read(&folder.0).err().expect("no index");
        assert!(error.to_string().contains("index.html"), "{error}");
        fs::write(folder.0.join(INDEX), "<p>").expect("written");
        let files = ViewerFiles::read(&folder.0).expect("a page");
        let kind = |path: &str| Some(files.answer(path)?.headers()[CONTENT_TYPE].clone());
        assert_eq!(kind("").expect("the page"), "text/html; charset=utf-8");
        assert_eq!(kind("parts/a.js").expect("there"), "text/javascript; charset=utf-8");
        for path in ["parts", "../Cargo.toml", "/etc/passwd", "parts/../index.html", "%2e%2e/a"] {
            assert!(files.answer(path).is_none(), "{path}");
        }
    }

    #[test]
    fn the_included_page_has_all_that_it_names() {
        let files = ViewerFiles::open(None).expect("no folder is read");
        assert_eq!(files.is_some(), cfg!(has_page));
        let Some(files) = files else { return };
        let page = std::str::from_utf8(&files.0[INDEX].bytes).expect("text");
        for name in ["main.js", "style.css", "icon.svg"] {
            assert!(page.contains(name) && files.answer(name).is_some(), "{name}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_out_of_the_folder_is_refused() {
        let folder = Folder::new("viewer-link");
        fs::write(folder.0.join(INDEX), "<p>").expect("written");
        std::os::unix::fs::symlink("/etc/passwd", folder.0.join("a.txt")).expect("linked");
        let error = ViewerFiles::read(&folder.0).err().expect("a link");
        assert!(error.to_string().contains("a.txt"), "{error}");
    }
}
