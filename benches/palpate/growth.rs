//! P5: growth of the cost of an update of 100 triangles, of a cut of as many and of the distance of a point with the
//! tissue, from 10 k to 1 M triangles, and the cost of a tick and of a deformation of everything there: the limits of a
//! tissue.
//!
//! Memory makes the cost grow faster than the logarithm: 1.3 MB at 10 k stay in a core's cache, 127 MB at 1 M do not,
//! and a cold point or patch reads lines that nothing has read before it. The peer's tree grows faster for points,
//! slower for patches.

use palpate::{
    geometry::{TriangleId, TriangleMesh},
    index::LatLonOptions,
    oracle::brute_force::nearest,
    surface::Surface,
};

use crate::{
    inputs::{PARRY, TOOLS, organ},
    patch::{PartialPeer, Patch, probes},
    run::{Case, Figures, Run, Timed},
    tick, tissue_distance, tissue_update,
    turns::by_turns,
};

/// Ticks of a way: in the largest tissue they take long.
const TICKS: usize = 100;
/// Points whose distance is compared with brute force's after all vertices have moved.
const BRUTE: usize = 5;
/// Triangles of the patch: one in a hundred of the smallest tissue.
const PATCH: usize = 100;
/// Times that the patch is cut out and put in again: each time its triangles get new ids.
const CUTS: usize = 20;
/// p50 of each cost for a tissue of one size, microseconds.
type Costs = [f64; 5];

/// Prints the lines of each size, and then their growth relative to the logarithm of the size.
pub fn run(run: &mut Run) {
    let sizes: &[u32] = run.effort.of(&[10_000, 100_000, 1_000_000], &[1_000, 4_000]);
    let costs: Vec<Costs> = sizes.iter().map(|n| measure(run, *n)).collect();
    for (i, what) in ["patch", "cut"].iter().chain(&tissue_distance::WAYS).enumerate() {
        for (n, cost) in sizes.iter().zip(&costs).skip(1) {
            let growth = cost[i] / costs[0][i];
            let log_n = f64::from(*n).ln() / f64::from(sizes[0]).ln();
            let text = format!(
                "ours_us={} growth={growth:.2} peer=log-n peer_growth={log_n:.2} ratio={:.2}",
                Figures(cost[i]),
                log_n / growth
            );
            run.line("P5", &format!("growth-{what}/{}k", n / 1000), f64::from(*n), text);
        }
    }
}

fn measure(run: &mut Run, n_triangles: u32) -> Costs {
    let (name, loaded) = organ(n_triangles);
    let patch = Patch::around(&loaded.mesh, 17, PATCH);
    let mut surface = Surface::new(loaded.mesh.clone(), LatLonOptions::default());
    let update =
        tissue_update::compare_patch(run, "P5", &format!("{name}/patch"), &patch, &mut surface);
    let cut = compare_cut(run, &format!("{name}/cut"), &patch, &loaded.mesh);
    let stage = tissue_distance::Stage::new(loaded.mesh.clone());
    let [cold, anywhere, coherent] = stage.compare_all(run, "P5", &name);
    measure_all(run, &format!("{name}/deform-all"), &loaded.mesh);
    tick::Stage::new(run.effort, loaded, &TOOLS[0], TICKS).print(
        run,
        "P5",
        &format!("{name}/tick-probe"),
    );
    [update, cut, cold, anywhere, coherent]
}

/// Cuts a patch out and puts it in again, many times. Returns our microseconds for one of the two.
fn compare_cut(run: &mut Run, case: &str, patch: &Patch, mesh: &TriangleMesh) -> f64 {
    let mut surface = Surface::new(mesh.clone(), LatLonOptions::default());
    let mut peer = PartialPeer::new(mesh);
    let mut names: Vec<TriangleId> = patch.triangles.iter().map(|t| TriangleId(*t)).collect();
    let triangles: Vec<[u32; 3]> = names.iter().map(|t| mesh.vertices(*t)).collect();
    let points = probes(mesh, patch, patch.triangles.len());
    patch.cut_ours(&mut surface, &names);
    patch.cut_peer(&mut peer);
    surface.assert_well_formed();
    let mut checksum = tissue_update::check(case, &surface, &points, |p| peer.distance(p));
    names = patch.mend_ours(&mut surface, &triangles);
    patch.mend_peer(&mut peer);
    surface.assert_well_formed();
    checksum += tissue_update::check(case, &surface, &points, |p| peer.distance(p));
    let times = run.effort.of(CUTS, 2);
    run.compare(
        &Case { measure: "P5", case, peer: PARRY, items: 2 * times },
        checksum,
        format_args!("triangles={} cut={}", mesh.n_triangles(), triangles.len()),
        || {
            for _ in 0..times {
                patch.cut_ours(&mut surface, &names);
                names = patch.mend_ours(&mut surface, &triangles);
            }
        },
        || {
            for _ in 0..times {
                patch.cut_peer(&mut peer);
                patch.mend_peer(&mut peer);
            }
        },
    )
}

/// Measures the motion of all vertices, alone: P4 has the peer.
fn measure_all(run: &mut Run, case: &str, mesh: &TriangleMesh) {
    let mut surface = Surface::new(mesh.clone(), LatLonOptions::default());
    let rest = mesh.positions().to_vec();
    let waved: Vec<_> = rest.iter().map(|p| *p * 1.01).collect();
    let places = [waved, rest];
    let mut both = || {
        for p in &places {
            surface.move_all(p.clone());
        }
    };
    let [ours] = by_turns(run.effort, 2, [&mut both]);
    surface.assert_well_formed();
    let whole = Patch::around(mesh, 17, mesh.n_triangles());
    let points = probes(surface.mesh(), &whole, BRUTE);
    let exact = |p| nearest(surface.mesh(), p).expect("a surface").distance;
    let checksum = tissue_update::check(case, &surface, &points, exact);
    run.line("P5", case, checksum, Timed("ours", &ours));
}
