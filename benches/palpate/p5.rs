//! P5: how the cost of an update of 100 triangles and of the distance of a point grow with the tissue, from
//! 10 k to 1 M triangles, and what a tick and a deformation of everything cost there: the limits of a tissue.

use palpate::{
    geometry::TriangleMesh,
    index::{FrameOptions, Surface},
    oracle::brute_force::nearest,
};

use crate::{
    inputs::{TOOLS, organ},
    p2, p4, p8,
    patch::{Patch, probes},
    run::{Figures, Run, Timed},
    turns::by_turns,
};

/// Ticks of a way: in the largest tissue they take long.
const TICKS: usize = 100;
/// Points whose distance is compared with brute force's after all has moved.
const BRUTE: usize = 5;
/// One in a hundred of the smallest tissue.
const PATCH: usize = 100;
/// In full microseconds: p50 of a tissue of each size.
type Costs = [f64; 4];

/// Prints the lines of each size, and then how they grew against the logarithm of the size.
pub fn run(run: &mut Run) {
    let sizes: &[u32] = run.effort.of(&[10_000, 100_000, 1_000_000], &[1_000, 4_000]);
    let costs: Vec<Costs> = sizes.iter().map(|n| measure(run, *n)).collect();
    for (i, what) in ["patch"].iter().chain(&p2::WAYS).enumerate() {
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
    let mut surface = Surface::new(loaded.mesh.clone(), FrameOptions::default());
    let update = p4::compare_patch(run, "P5", &format!("{name}/patch"), &patch, &mut surface);
    let stage = p2::Stage::new(loaded.mesh.clone());
    let [cold, anywhere, coherent] = stage.compare_all(run, "P5", &name);
    measure_all(run, &format!("{name}/deform-all"), &loaded.mesh);
    p8::Stage::new(run.effort, loaded, &TOOLS[0], TICKS).print(
        run,
        "P5",
        &format!("{name}/tick-probe"),
    );
    [update, cold, anywhere, coherent]
}

/// All vertices moved, alone: P4 has the peer.
fn measure_all(run: &mut Run, case: &str, mesh: &TriangleMesh) {
    let mut surface = Surface::new(mesh.clone(), FrameOptions::default());
    let rest = mesh.positions().to_vec();
    let waved: Vec<_> = rest.iter().map(|p| *p * 1.01).collect();
    let places = [waved, rest];
    let mut both = || {
        for p in &places {
            surface.move_all(p);
        }
    };
    let [ours] = by_turns(run.effort, 2, [&mut both]);
    surface.assert_well_formed();
    let whole = Patch::around(mesh, 17, mesh.n_triangles());
    let points = probes(surface.mesh(), &whole, BRUTE);
    let exact = |p| nearest(surface.mesh(), p).expect("a surface").distance;
    let checksum = p4::check(case, &surface, &points, exact);
    run.line("P5", case, checksum, Timed("ours", &ours));
}
