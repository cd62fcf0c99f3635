use std::{convert::Infallible, env, ops::Deref};

use glam::DVec3;

use super::*;
use crate::{
    geometry::{LoadOptions, MeshData, mesh::load::load},
    index::LatLonOptions,
    oracle::{Random, shapes},
    scene::tool::field::field_of,
};

/// Temporary folder, removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = env::temp_dir().join(format!("palpate-{name}-{}", process::id()));
        // Left by a killed test with the same process number.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a writable temporary folder");
        Folder(folder)
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn surface(data: MeshData) -> Surface {
    let loaded = load(data, &LoadOptions::default()).expect("a mesh");
    Surface::new(loaded.mesh, LatLonOptions::default())
}

fn get_or_build(
    cache: &FieldCache,
    surface: &Surface,
    options: &FieldOptions,
) -> (Field, FieldOrigin) {
    let build = || Ok::<_, Infallible>(field_of(surface, options));
    let got = cache.get_or_build(surface, options, |_| Ok(()), build);
    got.unwrap_or_else(|never| match never {})
}

/// A cached field and its inputs.
struct Kept {
    folder: Folder,
    cache: FieldCache,
    surface: Surface,
    options: FieldOptions,
    field: Field,
    bytes: Vec<u8>,
}

impl Kept {
    fn new(name: &str) -> Kept {
        let folder = Folder::new(name);
        // Coarse, so that it is built quickly: it is damaged at two hundred offsets, and built again after each.
        let options = FieldOptions { tolerance_m: Some(1.5e-3), ..FieldOptions::default() };
        let cache = FieldCache::new(&folder, u64::MAX);
        let surface = surface(shapes::torus(0.01, 0.003, 16, 8));
        let field = field_of(&surface, &options);
        let (_, origin) = get_or_build(&cache, &surface, &options);
        assert_eq!(origin, FieldOrigin::Built);
        let bytes = fs::read(cache.path(surface.mesh(), &options)).expect("kept");
        Kept { folder, cache, surface, options, field, bytes }
    }

    fn get(&self) -> (Field, FieldOrigin) {
        get_or_build(&self.cache, &self.surface, &self.options)
    }

    fn path(&self) -> PathBuf {
        self.cache.path(self.surface.mesh(), &self.options)
    }

    /// With these bytes in the file the field is built again, is equal, and is cached again.
    fn assert_rebuilt_from(&self, bytes: &[u8], case: &str) {
        fs::write(self.path(), bytes).expect("writable");
        let (field, origin) = self.get();
        assert_eq!(origin, FieldOrigin::Built, "{case}");
        assert!(field == self.field, "{case}");
        assert!(fs::read(self.path()).expect("kept") == self.bytes, "{case}");
    }
}

#[test]
fn a_kept_field_is_the_built_one() {
    let kept = Kept::new("kept");
    let (field, origin) = kept.get();
    assert_eq!(origin, FieldOrigin::Cached);
    assert!(field == kept.field);
    let files = fs::read_dir(kept.folder.join("fields")).expect("there").count();
    assert_eq!(files, 1, "no temporary file is left");
}

#[test]
fn fields_of_open_surfaces_are_kept_too() {
    let folder = Folder::new("open");
    let (cache, options) = (FieldCache::new(&folder, u64::MAX), FieldOptions::default());
    let surface = surface(shapes::tube(0.004, 0.02, 12, 4));
    let get = || get_or_build(&cache, &surface, &options);
    let (built, cached) = (get(), get());
    assert_eq!((built.1, cached.1), (FieldOrigin::Built, FieldOrigin::Cached));
    assert!(built.0 == cached.0);
}

#[test]
fn a_damaged_file_never_changes_an_answer() {
    let kept = Kept::new("damaged");
    let len = kept.bytes.len();
    for percent in 0..100 {
        let mut bytes = kept.bytes.clone();
        bytes[len * percent / 100] ^= 1 << (percent % 8);
        kept.assert_rebuilt_from(&bytes, &format!("a flipped bit at {percent} %"));
    }
    for at in 0..84 {
        let mut bytes = kept.bytes.clone();
        bytes[at] ^= 0x40;
        kept.assert_rebuilt_from(&bytes, &format!("a flipped bit in byte {at}"));
    }
    for cut in [0, 1, 11, 12, 83, 84, 85, len / 2, len - 1] {
        kept.assert_rebuilt_from(&kept.bytes[..cut], &format!("cut to {cut} bytes"));
    }
    let longer = [&kept.bytes[..], &[0]].concat();
    kept.assert_rebuilt_from(&longer, "a byte too many");
    let garbage: Vec<u8> = (0..len as u64).map(|i| Random::new(i).u64() as u8).collect();
    kept.assert_rebuilt_from(&garbage, "garbage of the right length");
    let garbage = [&kept.bytes[..84], &garbage[84..]].concat();
    kept.assert_rebuilt_from(&garbage, "garbage under the right header");
}

#[test]
fn a_foreign_file_never_changes_an_answer() {
    let kept = Kept::new("foreign");
    let key = FieldKey::of(kept.surface.mesh(), &kept.options);
    let other = surface(shapes::torus(0.01, 0.0031, 16, 8));
    let field = field_of(&other, &kept.options);
    let other_key = FieldKey::of(other.mesh(), &kept.options);
    assert_ne!(key, other_key);
    kept.assert_rebuilt_from(&encode(&other_key, &field), "another mesh's file, renamed");
    kept.assert_rebuilt_from(&encode(&key, &field), "another mesh's field under this key");
    let coarse = FieldOptions { tolerance_m: Some(1e-3), ..kept.options };
    let field = field_of(&kept.surface, &coarse);
    kept.assert_rebuilt_from(&encode(&key, &field), "another tolerance's field under this key");
    let mirrored = surface(shapes::mirrored_z(&shapes::torus(0.01, 0.003, 16, 8)));
    assert_ne!(FieldKey::of(mirrored.mesh(), &kept.options), key);
    assert_ne!(FieldKey::of(kept.surface.mesh(), &coarse), key);
}

/// Bytes changed under a valid checksum: an accepted field can be evaluated everywhere.
#[test]
fn a_forged_file_never_panics() {
    let kept = Kept::new("forged");
    let key = FieldKey::of(kept.surface.mesh(), &kept.options);
    let payload = postcard::to_stdvec(&kept.field).expect("plain");
    let mut random = Random::new(1);
    let bounds = kept.field.bounds();
    let mut taken = 0;
    for _ in 0..200 {
        let mut forged = payload.clone();
        for _ in 0..=random.below(3) {
            let at = random.below(forged.len());
            forged[at] = random.u64() as u8;
        }
        let Ok(field) = postcard::from_bytes::<Field>(&forged) else { continue };
        fs::write(kept.path(), encode(&key, &field)).expect("writable");
        let opened = open_bounded(&kept.path()).expect("just written");
        let Ok(field) = read(opened, &key, &kept.surface, &kept.options) else { continue };
        taken += 1;
        for _ in 0..200 {
            let p = random.point(bounds.min.as_dvec3(), bounds.max.as_dvec3()) * 1.2;
            let _ = field.read(kept.surface.mesh(), p);
            let _ = field.lower_bound(p);
        }
    }
    assert!(taken > 0, "no change went unnoticed: the test has tested nothing");
}

#[test]
fn a_folder_that_cannot_be_written_costs_nothing_but_time() {
    let folder = Folder::new("unwritable");
    // A file instead of a folder, so that nothing can be made in it: permissions would not stop a privileged user.
    let file = folder.join("data");
    fs::write(&file, b"in the way").expect("writable");
    let cache = FieldCache::new(&file, u64::MAX);
    let (surface, options) = (surface(shapes::cuboid(DVec3::ONE)), FieldOptions::default());
    for _ in 0..2 {
        let (field, origin) = get_or_build(&cache, &surface, &options);
        assert_eq!(origin, FieldOrigin::Built);
        assert!(field == field_of(&surface, &options));
    }
}

#[test]
fn the_folder_stays_within_its_room_and_what_was_used_last_stays() {
    let folder = Folder::new("room");
    let surfaces = [1.0, 2.0, 3.0, 4.0].map(|radius| surface(shapes::sphere(radius, 2)));
    let options = FieldOptions::default();
    let all = FieldCache::new(&folder, u64::MAX);
    let keep = |cache: &FieldCache, surface: &Surface| get_or_build(cache, surface, &options).1;
    let bytes = |surface: &Surface| {
        fs::metadata(all.path(surface.mesh(), &options)).map_or(0, |file| file.len())
    };
    for surface in &surfaces[..3] {
        assert_eq!(keep(&all, surface), FieldOrigin::Built);
    }
    // Left by a server that was killed while it wrote: the first long ago, the second just now.
    let left = ["1-0.tmp", "1-1.tmp"].map(|name| folder.join("fields").join(name));
    left.iter().for_each(|path| fs::write(path, "half").expect("a writable folder"));
    let now = fs::metadata(&left[0]).and_then(|file| file.modified()).expect("just written");
    let old = File::options().append(true).open(&left[0]).expect("just written");
    old.set_modified(now - std::time::Duration::from_secs(7200)).expect("its own file");
    drop(old);
    // The first is used again, so that the second is the oldest.
    assert_eq!(keep(&all, &surfaces[0]), FieldOrigin::Cached);
    // Enough for three, though one is a little larger than another.
    let room = bytes(&surfaces[0]) + 5 * bytes(&surfaces[2]) / 2;
    let small = FieldCache::new(&folder, room);
    assert_eq!(keep(&small, &surfaces[3]), FieldOrigin::Built);
    let kept: Vec<bool> = surfaces.iter().map(|surface| bytes(surface) > 0).collect();
    assert_eq!(kept, [true, false, true, true]);
    assert!(surfaces.iter().map(bytes).sum::<u64>() <= room);
    assert_eq!(left.map(|path| path.exists()), [false, true]);
    // A field larger than the limit is kept alone.
    let none = FieldCache::new(&folder, 1);
    assert_eq!(keep(&none, &surfaces[1]), FieldOrigin::Built);
    let kept: Vec<bool> = surfaces.iter().map(|surface| bytes(surface) > 0).collect();
    assert_eq!(kept, [false, true, false, false]);
}

#[test]
fn a_file_is_not_read_before_there_is_room_for_it() {
    let folder = Folder::new("unread");
    let cache = FieldCache::new(&folder, u64::MAX);
    let (surface, options) = (surface(shapes::cuboid(DVec3::ONE)), FieldOptions::default());
    let path = cache.path(surface.mesh(), &options);
    fs::create_dir_all(folder.join("fields")).expect("a writable folder");
    // If it had been read, it would have been found damaged and built again.
    fs::write(&path, [0; 1000]).expect("a writable folder");
    let build = || unreachable!("it was refused");
    let refused = cache.get_or_build(&surface, &options, Err::<(), u64>, build);
    assert_eq!(refused.map(drop).expect_err("no room"), 1000);
}

#[cfg(unix)]
#[test]
fn what_is_no_file_in_a_field_s_place_is_not_waited_for() {
    use std::os::unix::{fs::symlink, net::UnixListener};

    use crate::os::regular_file::tests::{at_once, make_fifo};

    let kept = Kept::new("no-file");
    type Put = fn(&Path);
    let others: [(&str, Put); 5] = [
        ("a FIFO", make_fifo),
        ("a socket", |path| drop(UnixListener::bind(path).expect("a socket"))),
        ("a link to itself", |path| symlink(path, path).expect("a link")),
        ("a link to a device", |path| symlink("/dev/zero", path).expect("a link")),
        ("a link to a folder", |path| symlink("/tmp", path).expect("a link")),
    ];
    let (path, field) = (kept.path(), kept.field.clone());
    let kept = std::sync::Arc::new(kept);
    for (case, put) in others {
        fs::remove_file(&path).expect("a kept field");
        put(&path);
        let asked = std::sync::Arc::clone(&kept);
        let (built, origin) = at_once(move || asked.get());
        assert!(origin == FieldOrigin::Built && built == field, "{case}");
        assert_eq!(kept.get().1, FieldOrigin::Cached, "{case} is replaced");
    }
}
