//! Access to scenes: in an engine in this process, or on a server.

use std::{path::Path, ptr, time::Duration};

use palpate::client::ServerAddress;

use crate::{
    backend::{Server, local::LocalServer, remote::RemoteServer},
    border::{call, out, read, text, text_or_none},
    code::{Failure, palpate_code},
    growing,
    plain::palpate_address,
    scene::palpate_scene,
    version,
};

/// A server of scenes, in this process or remote. Calls may come from any thread.
pub struct palpate_server {
    server: Box<dyn Server>,
}

/// Timeout of a call if none is given, seconds.
const TIMEOUT_S: f64 = 60.0;
/// A day.
const TIMEOUT_S_MAX: f64 = 86_400.0;

/// Opens the engine in this process: no server, no network. Its scenes end when it and everything opened from it are
/// closed. `header_version`: PALPATE_HEADER_VERSION; `PALPATE_INCOMPATIBLE` if it does not fit the library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_open_local(
    header_version: u32,
    server: *mut *mut palpate_server,
) -> palpate_code {
    call(|| {
        version::check(header_version)?;
        // SAFETY: guaranteed by the caller, as the header requires.
        let server = unsafe { out(server, "server") }?;
        *server = opened(Box::new(LocalServer::new()));
        Ok(())
    })
}

/// Connects to a server. Each call waits for its answer, at most `timeout_s`; only `palpate_servo` never waits.
/// `header_version` as in `palpate_open_local`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_connect(
    header_version: u32,
    address: *const palpate_address,
    server: *mut *mut palpate_server,
) -> palpate_code {
    call(|| {
        version::check(header_version)?;
        // SAFETY: guaranteed by the caller, as the header requires.
        let server = unsafe { out(server, "server") }?;
        *server = ptr::null_mut();
        // SAFETY: guaranteed by the caller, as the header requires.
        let address = unsafe { growing::read(address, "address") }?;
        let most_s = if address.timeout_s == 0.0 { TIMEOUT_S } else { address.timeout_s };
        if !(most_s > 0.0 && most_s <= TIMEOUT_S_MAX) {
            let message = format!("timeout_s is {most_s}, expected above 0, at most 86,400");
            return Err(Failure::argument(message));
        }
        // SAFETY: guaranteed by the caller, as the header requires.
        let at = unsafe { server_address(&address) }?;
        let most = Duration::from_secs_f64(most_s);
        *server = opened(Box::new(RemoteServer::connect(&at, most)?));
        Ok(())
    })
}

/// # Safety
/// Each text is NULL or ends with a zero byte.
unsafe fn server_address(address: &palpate_address) -> Result<ServerAddress, Failure> {
    // SAFETY: guaranteed by the caller.
    let (url, key, key_file, ca, certificate, certificate_key) = unsafe {
        (
            text(address.url, "url")?,
            text_or_none(address.key, "key")?,
            text_or_none(address.key_file, "key_file")?,
            text_or_none(address.ca_file, "ca_file")?,
            text_or_none(address.certificate_file, "certificate_file")?,
            text_or_none(address.certificate_key_file, "certificate_key_file")?,
        )
    };
    let unread = |file: &Path, error| Failure::argument(format!("{}: {error}", file.display()));
    let mut at = ServerAddress::new(url);
    match (key, key_file.map(Path::new)) {
        (None, None) => {}
        (Some(key), None) => {
            at = at.with_key(key).map_err(|e| Failure::argument(format!("key: {e}")))?
        }
        (None, Some(file)) => at = at.with_key_file(file).map_err(|e| unread(file, e))?,
        (Some(_), Some(_)) => {
            return Err(Failure::argument("key and key_file are both set, expected one of them"));
        }
    }
    if let Some(file) = ca.map(Path::new) {
        at = at.trusting(file).map_err(|e| unread(file, e))?;
    }
    match (certificate.map(Path::new), certificate_key.map(Path::new)) {
        (Some(certificate), Some(key)) => {
            at.showing(certificate, key).map_err(|(file, e)| unread(&file, e))
        }
        (None, None) => Ok(at),
        _ => {
            Err(Failure::argument("a certificate needs certificate_file and certificate_key_file"))
        }
    }
}

fn opened(server: Box<dyn Server>) -> *mut palpate_server {
    Box::into_raw(Box::new(palpate_server { server }))
}

/// Closes a server and sets the pointer to NULL; a pointer that is NULL is already closed. Scenes and sessions opened
/// from the server continue until they are closed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_close(server: *mut *mut palpate_server) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        unsafe { close(server, "server") }
    })
}

/// Frees the value that a pointer owns.
///
/// # Safety
/// `place` is NULL, or points to NULL or to a value that this library returned and nobody uses any more.
pub(crate) unsafe fn close<T>(place: *mut *mut T, name: &str) -> Result<(), Failure> {
    // SAFETY: guaranteed by the caller.
    let place = unsafe { out(place, name) }?;
    let owned = std::mem::replace(place, ptr::null_mut());
    if !owned.is_null() {
        // SAFETY: the value came from `Box::into_raw`, and the pointer to it is gone.
        drop(unsafe { Box::from_raw(owned) });
    }
    Ok(())
}

/// Creates an empty scene. `scene_id`: 1 to 64 of a-z, 0-9 and '-'.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_create_scene(
    server: *mut palpate_server,
    scene_id: *const std::ffi::c_char,
    scene: *mut *mut palpate_scene,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        let scene = unsafe { out(scene, "scene") }?;
        *scene = ptr::null_mut();
        // SAFETY: guaranteed by the caller, as the header requires.
        let (server, id) = unsafe { (read(server, "server")?, text(scene_id, "scene_id")?) };
        *scene = palpate_scene::opened(server.server.create_scene(id)?);
        Ok(())
    })
}

/// Opens an existing scene.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn palpate_open_scene(
    server: *mut palpate_server,
    scene_id: *const std::ffi::c_char,
    scene: *mut *mut palpate_scene,
) -> palpate_code {
    call(|| {
        // SAFETY: guaranteed by the caller, as the header requires.
        let scene = unsafe { out(scene, "scene") }?;
        *scene = ptr::null_mut();
        // SAFETY: guaranteed by the caller, as the header requires.
        let (server, id) = unsafe { (read(server, "server")?, text(scene_id, "scene_id")?) };
        *scene = palpate_scene::opened(server.server.open_scene(id)?);
        Ok(())
    })
}
