//! P1: all intersecting triangle pairs of an instrument and a liver of 70,144 triangles, compared with parry3d's pairs
//! of leaves and the same test of triangles.
//!
//! The instrument goes around the organ's waist, a third of a degree with each pose, its tip in the surface as deep as
//! gives 10 to 70 pairs; poses at which no depth does are left out, and it goes around again.

use std::{collections::BTreeSet, f64::consts::TAU, hint::black_box};

use glam::{DMat3, DVec3, Mat3A, Vec3A};
use palpate::{
    bvh::{BoxTree, LeafPair},
    geometry::{
        Pose, TriangleId, TriangleMesh,
        tolerance::POSE_ROUNDING,
        triangle_triangle::{PairVerdict, Rectangle, Rounded, meet},
    },
    index::LatLonOptions,
    surface::Surface,
    time_left::TimeLeft,
};
use parry3d::{
    partitioning::BvhNode,
    shape::{TriMesh, TriMeshFlags},
};

use crate::{
    inputs::{PARRY, TOOLS, Tool, liver, parry},
    run::{Case, Run},
    tick::tip,
};

const PAIRS_MIN: usize = 10;
const PAIRS_MAX: usize = 70;
/// Least depth, metres; the greatest is 1.15^39 = 233 times that.
const DEPTH_LEAST: f64 = 5e-5;
/// Enlargement of the peer's boxes, which are `f32` and not rounded outwards, metres.
const PEER_SLACK: f32 = 1e-6;

/// Prints a line for each tool.
pub fn run(run: &mut Run) {
    let (name, liver) = liver(run.effort);
    let liver = Surface::new(liver.mesh, LatLonOptions::default());
    TOOLS.iter().for_each(|tool| run_tool(run, tool, &name, &liver));
}

struct Stage<'a> {
    liver: &'a Surface,
    mesh: TriangleMesh,
    tree: BoxTree,
    rectangles: Vec<Option<Rectangle>>,
    peer_liver: TriMesh,
    peer_tool: TriMesh,
}

fn run_tool(run: &mut Run, tool: &Tool, liver_name: &str, liver: &Surface) {
    let (name, loaded) = tool.load(run.effort);
    let mesh = loaded.mesh;
    let case = format!("{name}/{liver_name}");
    let tree = BoxTree::build(&mesh);
    let rectangles = mesh.triangle_ids().map(|t| Rectangle::of(&mesh.triangle(t))).collect();
    let flags = TriMeshFlags::empty();
    let (peer_liver, peer_tool) = (parry(liver.mesh(), flags), parry(&mesh, flags));
    let stage = Stage { liver, mesh, tree, rectangles, peer_liver, peer_tool };
    let poses = stage.sweep(run.effort.of(1_000, 20), 40);
    let (mut n_pairs, mut checksum) = (0, 0.0);
    for pose in &poses {
        let (ours, theirs) =
            (set(|out| stage.pairs(pose, out)), set(|out| stage.peer_pairs(pose, out)));
        assert_eq!(ours, theirs, "{case}: {pose:?}");
        n_pairs += ours.len();
        checksum += ours.iter().map(|p| f64::from(p.own.0) + f64::from(p.other.0)).sum::<f64>();
    }
    let all = |pairs: &dyn Fn(&Pose, &mut Vec<LeafPair>)| {
        let mut found = Vec::with_capacity(PAIRS_MAX);
        for pose in &poses {
            found.clear();
            pairs(black_box(pose), &mut found);
            black_box(&found);
        }
    };
    let pairs = n_pairs as f64 / poses.len() as f64;
    run.compare(
        &Case { measure: "P1", case: &case, peer: PARRY, items: poses.len() },
        checksum,
        format_args!("poses={} pairs={pairs:.1}", poses.len()),
        || all(&|pose, out| stage.pairs(pose, out)),
        || all(&|pose, out| stage.peer_pairs(pose, out)),
    );
}

/// Returns the found pairs, after checking that none was found twice.
fn set(find: impl Fn(&mut Vec<LeafPair>)) -> BTreeSet<LeafPair> {
    let mut found = Vec::new();
    find(&mut found);
    let set: BTreeSet<LeafPair> = found.iter().copied().collect();
    assert_eq!(set.len(), found.len(), "a pair was given twice");
    set
}

impl Stage<'_> {
    fn pairs(&self, pose: &Pose, out: &mut Vec<LeafPair>) {
        let placed = self.tree.placed(&self.mesh, pose, self.liver.bounds());
        let liver = self.liver.mesh();
        self.liver.overlap(&|b: &_| placed.may_meet(b), |other| {
            placed.meeting(&liver.triangle(other), &TimeLeft::endless(), |own| {
                out.push(LeafPair { other, own })
            });
        });
    }

    /// Descends both trees together, with the tool's boxes turned into the scene by matrices made once a pose.
    fn peer_pairs(&self, pose: &Pose, out: &mut Vec<LeafPair>) {
        let turn = Mat3A::from(pose.rotation.as_mat3());
        let turn_abs = Mat3A::from_cols(turn.x_axis.abs(), turn.y_axis.abs(), turn.z_axis.abs());
        let shift = Vec3A::from(pose.translation.as_vec3());
        let back = pose.inverse();
        let farthest = self.tree.bounds().min.abs().max(self.tree.bounds().max.abs());
        let farthest = f64::from(farthest.element_sum()) + pose.translation.abs().element_sum();
        let vector = |v: parry3d::math::Vector| Vec3A::from_array(v.to_array());
        let leaves =
            self.peer_liver.bvh().leaf_pairs(self.peer_tool.bvh(), |a: &BvhNode, b: &BvhNode| {
                let (min, max) = (vector(b.mins()), vector(b.maxs()));
                let centre = turn * ((min + max) * 0.5) + shift;
                let half = turn_abs * ((max - min) * 0.5) + Vec3A::splat(PEER_SLACK);
                (vector(a.mins()).cmple(centre + half) & vector(a.maxs()).cmpge(centre - half))
                    .all()
            });
        for (other, own) in leaves {
            let (other, own) = (TriangleId(other), TriangleId(own));
            let triangle = self.liver.mesh().triangle(other);
            let verdict = self.rectangles[own.0 as usize].map_or(PairVerdict::Unsure, |r| {
                let far = triangle.iter().map(|p| p.abs().element_sum()).fold(0.0, f64::max);
                let corners = triangle.map(|p| back.point(p));
                r.meets(&Rounded::new(corners, POSE_ROUNDING * (farthest + far)))
            });
            let meets = match verdict {
                PairVerdict::Meet => true,
                PairVerdict::Apart => false,
                PairVerdict::Unsure => {
                    meet(&triangle, &self.mesh.triangle(own).map(|p| pose.point(p)))
                }
            };
            if meets {
                out.push(LeafPair { other, own });
            }
        }
    }

    /// Returns `n` poses around the organ, with `wanted` pairs each if the depth allows.
    fn sweep(&self, n: usize, wanted: usize) -> Vec<Pose> {
        let (tip, axis) = tip(&self.mesh);
        let centre = self.liver.bounds().centre();
        let mut poses = Vec::new();
        for i in 0..8 * n {
            let angle = TAU * i as f64 / n as f64;
            let away = DVec3::new(angle.cos(), angle.sin(), 0.3 * (2.0 * angle).sin());
            let from = centre + away * 0.2;
            let near = self.liver.signed_distance(from, f64::INFINITY, None).expect("a surface");
            let inwards = (near.closest.point - from).normalize() * 0.8
                + DVec3::new(-angle.sin(), angle.cos(), 0.4) * 0.5;
            let rotation = turned(axis, inwards.normalize(), 3.1 * angle);
            let at = |depth: f64| {
                let to = near.closest.point + inwards.normalize() * depth;
                Pose { rotation, translation: to - rotation * tip }
            };
            let miss = |pose: &Pose| {
                let mut found = Vec::new();
                self.pairs(pose, &mut found);
                let found = found.len();
                let fits = (PAIRS_MIN..=PAIRS_MAX).contains(&found);
                if fits { found.abs_diff(wanted) } else { usize::MAX }
            };
            let best = (0..40).map(|k| at(DEPTH_LEAST * 1.15f64.powi(k))).min_by_key(miss);
            poses.extend(best.filter(|pose| miss(pose) < usize::MAX));
            if poses.len() == n {
                break;
            }
        }
        assert!(poses.len() == n, "{} of {n} poses have the pairs", poses.len());
        poses
    }
}

/// Returns a rotation that takes one unit vector to another, with a turn about it.
fn turned(from: DVec3, to: DVec3, about: f64) -> DMat3 {
    let turn = glam::DQuat::from_axis_angle(to, about) * glam::DQuat::from_rotation_arc(from, to);
    DMat3::from_quat(turn.normalize())
}
