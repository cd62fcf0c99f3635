//! Jaws that grasp a fold of an organ in motion: the demo's own scene, at many points of the fold.

use std::f64::consts::TAU;

use glam::{DVec3, Vec3};
use palpate::{
    client::mesh_source::MeshSource,
    geometry::MeshData,
    load::stage::{
        dent::Dent,
        path::{PRESS_PERIOD_S, Site},
        phantom::{Instrument, PhantomTissue},
    },
    proto::deform_request::Positions,
    proxy::RenderState,
    scene::tissue::deform::Deformation,
};

use super::stage::ProxyStage;
use crate::seed::{Seed, scaled};

const HIGH_M: f64 = 0.006;
const DEEP_M: f64 = 0.02;
/// Fraction of the depth below the surface by which the tissue yields.
const GIVE: f64 = 0.25;
/// Ticks between two deformations, at a simulator's rate.
const DEFORMED_EVERY: u32 = 17;

/// The fold's crest near x, metres.
fn crest(rest: &[Vec3], x: f64) -> DVec3 {
    let near = rest.iter().filter(|p| (f64::from(p.x) - x).abs() < 0.003 && p.y.abs() < 0.003);
    near.map(|p| p.as_dvec3()).max_by(|p, q| p.z.total_cmp(&q.z)).expect("a crest")
}

#[test]
fn jaws_take_a_fold_that_moves_and_no_tissue_is_put_through_them() {
    let seed = Seed::or(57);
    let (organ, tool) = (PhantomTissue::folded(), Instrument::grasper());
    let mesh = MeshData { positions: organ.rest.clone(), triangles: organ.triangles.clone() };
    let links = tool.links.iter().map(|link| match &link.mesh {
        MeshSource::Raw(data) => data.clone(),
        other => panic!("the grasper is generated, got {other:?}"),
    });
    let mut stage = ProxyStage::new(&[mesh], &links.collect::<Vec<_>>(), |o| o);
    let mut dent = Dent::new(organ.rest.clone(), organ.length_m());
    let (mut begun, mut ended, mut gap_min) = (0, 0, f64::INFINITY);
    let presses = scaled(4);
    for press in 0..presses {
        let mut random = seed.random(press as u64);
        let place = crest(&organ.rest, random.range(-0.07, 0.07));
        // Off the crest, and along it: a hand is never exact.
        let (aside, speed) = (random.range(-0.003, 0.003), random.range(-0.08, 0.08));
        stage.pose.teleport = true;
        // Down and up once; the jaws are open on the way down and closed on the way up.
        for tick in 0..(PRESS_PERIOD_S * 1e3) as u32 {
            let seconds = f64::from(tick) * 1e-3;
            let wave = 0.5 - 0.5 * (TAU * seconds / PRESS_PERIOD_S).cos();
            let height_m = HIGH_M - (HIGH_M + DEEP_M) * wave;
            let site = Site {
                surface: place + DVec3::new(speed * (seconds - 0.6), aside, 0.0),
                outward: DVec3::Z,
                height_m,
                dent_m: GIVE * (-height_m).max(0.0),
            };
            if tick % DEFORMED_EVERY == 0
                && let Some(Positions::Sparse(moved)) = dent.follow(&site)
            {
                let positions = moved.positions_m.chunks_exact(3).map(Vec3::from_slice).collect();
                let moved = Deformation::Sparse { vertices: moved.vertices, positions };
                stage.tissue(0).deform(moved, 0).expect("deformed");
            }
            stage.pose.tool_from_link = tool.link_poses(seconds);
            let got = stage.tick(tool.pose(&site, DVec3::Y));
            assert_ne!(got.state, RenderState::Embedded, "press {press}, tick {tick}");
            begun += got.grasps.iter().filter(|g| g.begins).count();
            ended += got.grasps.iter().filter(|g| !g.begins).count();
            gap_min = got.contacts.iter().map(|c| c.gap_m).fold(gap_min, f64::min);
            assert!(tick % 125 != 0 || !stage.crosses(&got), "press {press}, tick {tick}");
        }
    }
    println!("{presses} presses: {begun} grasps, {:.2} um apart at least", 1e6 * gap_min);
    assert!(2 * begun >= presses && begun == ended, "{begun} begun, {ended} ended");
}
