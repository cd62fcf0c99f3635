//! A contact keeps its id while it persists: over ticks, deformations and cuts.

use std::collections::BTreeSet;

use glam::{DVec3, Vec3};
use palpate::{
    geometry::{Pose, TriangleId},
    oracle::shapes,
    scene::{
        ContactState, Limits, LinkAnswer,
        tick::TickOptions,
        tissue::{deform::Deformation, edit::TopologyEdit},
    },
};

use crate::support::bench::Bench;

/// A small ball over a flat sheet whose triangles are larger than the ball.
struct Table(Bench);

const EDGE: f64 = 0.01;
const BALL: f64 = 0.003;

impl Table {
    fn new() -> Table {
        let options = TickOptions { contact_margin_m: 1e-3, ..TickOptions::default() };
        Table(Bench::new(shapes::sheet(8, 8, EDGE), shapes::sphere(BALL, 6), options))
    }

    /// Places the ball's centre over the sheet's point (x, y), at the height that makes it `depth` deep, and ticks.
    fn tick(&mut self, x: f64, y: f64, depth: f64) -> LinkAnswer {
        let middle = self.0.tissue.current().surface.bounds().centre();
        let translation = DVec3::new(middle.x + x, middle.y + y, BALL - depth);
        self.0.tick(Pose { translation, ..Pose::IDENTITY }).0
    }
}

fn ids(answer: &LinkAnswer) -> BTreeSet<u64> {
    answer.statuses.iter().map(|l| l.id).collect()
}

#[test]
fn begins_persists_and_ends_once() {
    let mut table = Table::new();
    let first = table.tick(0.001, 0.002, 1e-3);
    assert!(!first.contacts.is_empty() && first.statuses.len() == first.contacts.len());
    assert!(first.statuses.iter().all(|l| l.state == ContactState::Begin));
    let second = table.tick(0.001, 0.002, 1.1e-3);
    assert!(ids(&first).is_subset(&ids(&second)));
    let mut known = second.statuses.iter().filter(|l| ids(&first).contains(&l.id));
    assert!(known.all(|l| l.state == ContactState::Persist));
    let lifted = table.tick(0.001, 0.002, -0.02);
    assert_eq!(lifted.ended.iter().copied().collect::<BTreeSet<_>>(), ids(&second));
    assert_eq!(table.tick(0.001, 0.002, -0.02).ended, [0u64; 0], "an end is told once");
    let again = table.tick(0.001, 0.002, 1e-3);
    assert!(ids(&again).is_disjoint(&ids(&second)), "ids are not used again");
}

/// The ball is pressed into the middle of large triangles and slides over their borders: the deepest contact exists at
/// each step and passes to the neighbour with its id, and every id that ends existed before.
#[test]
fn slides_over_triangles_with_its_id() {
    let mut table = Table::new();
    let mut alive = BTreeSet::new();
    let mut begun = 0;
    for step in 0..400 {
        let x = -0.02 + f64::from(step) * 1e-4;
        let answer = table.tick(x, 0.0033, 1e-3);
        let deepest = answer.contacts.first().expect("the ball touches");
        assert!((deepest.signed_distance_m + 1e-3).abs() < 5e-5, "{deepest:?} at {x}");
        let ended: BTreeSet<u64> = answer.ended.iter().copied().collect();
        assert!(ended.is_subset(&alive), "step {step}");
        let new = answer.statuses.iter().filter(|l| l.state == ContactState::Begin);
        begun += new.clone().count();
        assert!(new.clone().all(|l| !alive.contains(&l.id)), "step {step}");
        alive = ids(&answer);
    }
    let crossed = 0.04 / EDGE * 2.0;
    assert!((begun as f64) < 4.0 * crossed, "{begun} contacts began over {crossed} triangles");
}

/// The ball slides round a cone whose triangles all share its tip, more of them than are walked.
#[test]
fn slides_round_a_tip_of_very_many_triangles_with_its_id() {
    const N: u32 = 300;
    let options = TickOptions { contact_margin_m: 1e-3, ..TickOptions::default() };
    let tissue = shapes::spindle(N, 0.1, 0.1);
    let mut bench = Bench::new(tissue, shapes::sphere(BALL, 6), options);
    let (mut alive, mut begun) = (BTreeSet::new(), 0);
    for step in 0..200 {
        let (sin, cos) = (f64::from(step) * 2e-3).sin_cos();
        let on_cone = DVec3::new(0.05 * cos, 0.05 * sin, 0.05);
        let outwards = DVec3::new(cos, sin, 1.0).normalize();
        let translation = on_cone + outwards * (BALL - 1e-3);
        let answer = bench.tick(Pose { translation, ..Pose::IDENTITY }).0;
        assert!(!answer.contacts.is_empty(), "step {step}");
        let ended: BTreeSet<u64> = answer.ended.iter().copied().collect();
        assert!(ended.is_subset(&alive), "step {step}");
        begun += answer.statuses.iter().filter(|l| l.state == ContactState::Begin).count();
        alive = ids(&answer);
    }
    // The ball goes over 19 triangles and touches seven or eight at a time: each contact that it leaves passes to
    // another triangle.
    assert!(begun < 40, "{begun} contacts began");
}

#[test]
fn persists_through_deformation_and_cut() {
    let mut table = Table::new();
    let before = table.tick(0.001, 0.002, 1e-3);
    let deepest = (before.contacts[0], before.statuses[0]);
    let positions = table.0.tissue.current().surface.mesh().positions().to_vec();
    let sunk: Vec<Vec3> = positions.iter().map(|p| *p + Vec3::new(0.0, 0.0, 1e-4)).collect();
    table.0.tissue.deform(Deformation::Dense(sunk), 1).expect("deformed");
    let deformed = table.tick(0.001, 0.002, 1e-3);
    assert_eq!(deformed.statuses[0].id, deepest.1.id);
    // The triangle is cut in three around a new vertex in its middle.
    let t = deepest.0.on_tissue.triangle;
    let cut = {
        let revision = table.0.tissue.current();
        let mesh = revision.surface.mesh();
        let [a, b, c] = mesh.vertices(t);
        let new = mesh.positions().len() as u32;
        let [p, q, r] = mesh.triangle(t);
        TopologyEdit {
            base_revision: Some(0),
            removed: vec![t],
            added_positions: vec![((p + q + r) / 3.0).as_vec3()],
            added: vec![[a, b, new], [b, c, new], [c, a, new]],
            parents: vec![t; 3],
            ..TopologyEdit::default()
        }
    };
    let edited = table.0.tissue.edit(cut, &Limits::default(), 2).expect("cut");
    let after = table.tick(0.001, 0.002, 1e-3);
    let heir =
        after.statuses.iter().position(|l| l.id == deepest.1.id).expect("the contact persists");
    assert!(after.contacts[heir].on_tissue.triangle >= edited.first_triangle);
    assert_eq!(after.statuses[heir].state, ContactState::Persist);
    assert!(after.contacts.iter().all(|c| c.on_tissue.triangle != TriangleId(t.0)));
}
