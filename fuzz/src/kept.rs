//! What was kept comes back from strangers: recordings, and the scenes and changes that files on disk hold.

use std::io::Cursor;

use palpate::{
    scene::{
        Limits, Scene,
        saved::{SavedScene, SceneChange},
    },
    sdf::Field,
    service::recording::recorded::Recording,
};

use crate::allocation::peak_during;

/// What a reader may take beside what is in the file: its buffers.
const BYTES_BESIDE_MAX: usize = 64 << 20;
/// LZ4 makes at most so many bytes of one.
const BYTES_PER_BYTE: usize = 2 * 255;
/// Of a scene that is made of what was read.
const TRIANGLES_MAX: usize = 4096;

/// No panic, and no memory on the word of a length.
pub fn check_recording(bytes: &[u8]) {
    let (read, peak) = peak_during(|| Recording::read(Cursor::new(bytes)));
    let allowed = BYTES_BESIDE_MAX + BYTES_PER_BYTE * bytes.len();
    assert!(peak <= allowed, "reading {} bytes took {peak}, allowed {allowed}", bytes.len());
    if let Err(error) = read {
        assert!(!error.to_string().is_empty());
    }
}

/// A scene and changes of it, as snapshots and journals have them behind their checksums: what is accepted is a scene.
pub fn check_scene(bytes: &[u8]) {
    let Ok((mut scene, rest)) = postcard::take_from_bytes::<SavedScene>(bytes) else { return };
    if scene.check().is_err() {
        return;
    }
    let mut rest = rest;
    while let Ok((change, more)) = postcard::take_from_bytes::<SceneChange>(rest) {
        // What does not fit is refused and changes nothing.
        let before = written(&scene);
        if scene.apply(change).is_err() {
            assert_eq!(written(&scene), before);
        }
        rest = more;
    }
    scene.check().expect("changes that were accepted leave a scene");
    // Fields take their time, and are of no interest here.
    scene.tools.clear();
    if scene.tissues.iter().map(|t| t.mesh.triangles.len()).sum::<usize>() > TRIANGLES_MAX {
        return;
    }
    let field = |_: &str, _: &_, _: &_| -> Result<Field, palpate::scene::saved::NotAScene> {
        unreachable!("it has no tools")
    };
    let made = Scene::restored(scene, Limits::default(), 0, field).expect("it was checked");
    made.tissues().iter().for_each(|tissue| tissue.current().surface.assert_well_formed());
}

/// Compared by its bytes: a report may have numbers that are none, and these equal nothing.
fn written(scene: &SavedScene) -> Vec<u8> {
    postcard::to_stdvec(scene).expect("plain data")
}
