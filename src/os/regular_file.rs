//! Opening of regular files in a server's folders. At a file's path there may be something else: a FIFO, on which an
//! open waits for its other end, a device, which never ends, a socket or a folder. All of these are refused at once.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read},
    path::Path,
};

/// Opens a regular file with `options`, following links, and returns its metadata. Never waits.
///
/// # Errors
/// Errors of the system, and [`io::ErrorKind::InvalidInput`] for anything but a regular file.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<(File, Metadata)> {
    // The flag has no effect on a regular file.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        options,
        rustix::fs::OFlags::NONBLOCK.bits() as i32,
    );
    let file = options.open(path).map_err(named)?;
    let about = file.metadata()?;
    if about.is_file() { Ok((file, about)) } else { Err(no_file()) }
}

/// Reads the bytes that a regular file had when it was opened, or fewer if it was truncated since.
///
/// # Errors
/// Errors of [`open`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (file, about) = open(path, File::options().read(true))?;
    let mut bytes = Vec::with_capacity(about.len() as usize);
    file.take(about.len()).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Maps the error of an open: a FIFO without a reader and a socket have an error number of their own.
fn named(error: io::Error) -> io::Error {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) {
        return no_file();
    }
    error
}

fn no_file() -> io::Error {
    let message = "it is a FIFO, device, socket or folder, expected a regular file";
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
#[cfg(unix)]
pub(crate) mod tests {
    use std::{
        fs,
        os::unix::{fs::symlink, net::UnixListener},
        path::PathBuf,
        process::{self, Command},
        sync::mpsc::channel,
        thread,
        time::Duration,
    };

    use super::*;

    /// Creates a FIFO.
    pub(crate) fn make_fifo(path: &Path) {
        assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
    }

    /// Returns the result of `work`; fails if `work` blocks.
    pub(crate) fn at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, given) = channel();
        thread::spawn(move || done.send(work()));
        given.recv_timeout(Duration::from_secs(20)).expect("it waits for the FIFO's other end")
    }

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn only_regular_files_are_opened_and_none_is_waited_for() {
        let folder = std::env::temp_dir().join(format!("palpate-regular-{}", process::id()));
        fs::create_dir_all(&folder).expect("a temporary folder");
        let folder = Folder(folder);
        let at = |name: &str| folder.0.join(name);
        fs::write(at("file"), "bytes").expect("room");
        symlink(at("file"), at("link")).expect("a link");
        make_fifo(&at("fifo"));
        symlink(at("fifo"), at("link-to-fifo")).expect("a link");
        symlink(at("loop"), at("loop")).expect("a link");
        let _listener = UnixListener::bind(at("socket")).expect("a socket");
        fs::create_dir(at("folder")).expect("a folder");
        for good in ["file", "link"] {
            assert_eq!(read(&at(good)).expect("a file"), b"bytes");
        }
        let others = ["fifo", "link-to-fifo", "loop", "socket", "folder", "none"].map(at);
        for path in others.into_iter().chain([PathBuf::from("/dev/zero")]) {
            let shown = path.display().to_string();
            let opened = at_once(move || {
                let write = open(&path, File::options().write(true)).map(drop);
                let append = open(&path, File::options().append(true)).map(drop);
                (read(&path), write, append)
            });
            assert!(opened.0.is_err() && opened.1.is_err() && opened.2.is_err(), "{shown}");
        }
        let error = read(&at("fifo")).expect_err("no file").to_string();
        assert!(error.contains("expected a regular file"), "{error}");
    }
}
