//! Pairs in a tick's answer, of tissue and link and of the links of two tools, against all pairs.

use std::{collections::BTreeSet, sync::Arc};

use glam::{DQuat, DVec3};
use palpate::{
    bvh::LeafPair,
    geometry::{LoadOptions, MeshData, Pose, mesh::load::load, triangle_triangle::crossing},
    oracle::shapes,
    scene::{
        Limits, Link, Scene, TickAnswer, TissueOptions, ToolParts,
        tick::{Session, TickOptions, ToolPose, crossings::TrianglePairs, scene_from_link},
        tissue::deform::Deformation,
        tool::field::default_field,
    },
    time_left::TimeLeft,
};

use super::{
    meshes::{liver, touching_pose},
    truth::{Distances, all_pairs},
};
use crate::seed::{Seed, scaled};

struct Stage {
    scene: Arc<Scene>,
    session: Session,
    poses: [ToolPose; 2],
    sequence: u64,
}

/// A liver, a tool of two jaws and another tool of one shaft.
fn stage(max_pairs: usize) -> Stage {
    let loaded = |data: MeshData| load(data, &LoadOptions::default()).expect("a mesh");
    let scene = Arc::new(Scene::new("pairs".to_owned(), Limits::default()));
    scene.add_tissue("liver", loaded(liver()), TissueOptions::default(), 0).expect("added");
    let link = |(i, data): (usize, MeshData)| {
        Link::new(format!("link {i}"), loaded(data), Pose::IDENTITY, default_field)
    };
    let upper = shapes::jaw(0.03, 8);
    let jaws = vec![shapes::mirrored_z(&upper), upper];
    let tools = [jaws, vec![shapes::capsule(0.004, 0.03, 12)]].map(|links| {
        let links: Vec<Link> = links.into_iter().enumerate().map(link).collect();
        let name = format!("tool of {}", links.len());
        scene.add_tool(ToolParts { name, links, probes: Vec::new() }).expect("added").id
    });
    let options = TickOptions {
        contacts: false,
        triangle_pairs: true,
        link_pairs: true,
        max_pairs,
        ..TickOptions::default()
    };
    let session = Session::new(scene.clone(), &tools, options).expect("the tools are there");
    let poses = tools.map(|tool| ToolPose {
        tool,
        scene_from_tool: Pose::IDENTITY,
        tool_from_link: Vec::new(),
        teleport: false,
    });
    Stage { scene, session, poses, sequence: 0 }
}

impl Stage {
    fn tick(&mut self) -> TickAnswer {
        self.sequence += 1;
        self.session
            .tick(self.sequence, &self.poses, 0, &TimeLeft::endless())
            .expect("a good tick")
            .clone()
    }

    fn place(&mut self, tool: usize, pose: Pose, opening: f64) {
        self.poses[tool].scene_from_tool = pose;
        if tool == 0 {
            let jaw =
                |angle| Pose::new(DQuat::from_rotation_y(angle), DVec3::ZERO).expect("a rotation");
            self.poses[0].tool_from_link = vec![jaw(opening), jaw(-opening)];
        }
    }
}

fn given(pairs: &TrianglePairs) -> BTreeSet<LeafPair> {
    assert!(pairs.given.is_sorted_by_key(|p| (p.tissue, p.triangle, p.link_triangle)));
    pairs.given.iter().map(|p| LeafPair { other: p.triangle, own: p.link_triangle }).collect()
}

#[test]
fn a_tick_gives_all_pairs_of_tissues_and_of_links() {
    let seed = Seed::or(63);
    let mut random = seed.random(0);
    let mut stage = stage(usize::MAX);
    let tools: Vec<_> = stage.scene.tools().iter().cloned().collect();
    let tissue = stage.scene.tissues()[0].clone();
    let (mut of_tissue, mut of_links) = (0, 0);
    for i in 0..scaled(12) {
        if i % 3 == 2 {
            let moved = tissue.current().surface.mesh().positions().to_vec();
            let moved = moved.iter().map(|p| *p * 0.98).collect();
            tissue.deform(Deformation::Dense(moved), 0).expect("a good deformation");
        }
        let surface = tissue.current();
        let mesh = surface.surface.mesh();
        let jaw = tools[0].links[1].surface.mesh();
        let first = touching_pose(mesh, jaw, &mut random);
        stage.place(0, first, 0.02 * i as f64 - 0.05);
        // The shaft is pushed through the tissue, or through the jaws.
        let shaft = tools[1].links[0].surface.mesh();
        let second = if i % 2 == 0 {
            touching_pose(mesh, shaft, &mut random)
        } else {
            first.then_from(&touching_pose(jaw, shaft, &mut random))
        };
        stage.place(1, second, 0.0);
        let answer = stage.tick();
        for link in &answer.links {
            let tool = tools.iter().position(|t| t.id == link.tool).expect("known");
            let pose = scene_from_link(&tools[tool], link.link, &stage.poses[tool]);
            let own = tools[tool].links[link.link].surface.mesh();
            let expected = all_pairs(mesh, own, &pose, Distances::Tell);
            let pairs = link.pairs.as_ref().expect("asked for");
            assert_eq!(given(pairs), expected, "tick {i}, link {} of {tool}", link.link);
            assert_eq!(pairs.total, expected.len());
            for pair in &pairs.given {
                let placed = own.triangle(pair.link_triangle).map(|p| pose.point(p));
                assert_eq!(Some(pair.crossing), crossing(&mesh.triangle(pair.triangle), &placed));
            }
            of_tissue += expected.len();
        }
        assert_eq!(answer.link_pairs.len(), 3, "three links make three pairs of links");
        for two in &answer.link_pairs {
            let placed = |(tool, link): (_, usize)| {
                let at = tools.iter().position(|t| t.id == tool).expect("known");
                let pose = scene_from_link(&tools[at], link, &stage.poses[at]);
                (tools[at].clone(), link, pose)
            };
            let ((a, i, from_a), (b, j, from_b)) = (placed(two.link), placed(two.other));
            let (a, b) = (a.links[i].surface.mesh(), b.links[j].surface.mesh());
            // Placed as a tick places them: the second link's vertices in the first link's frame.
            let a_from_b = from_a.inverse().then_from(&from_b);
            let swapped = all_pairs(a, b, &a_from_b, Distances::AreTooSmall);
            let expected =
                swapped.iter().map(|p| LeafPair { other: p.own, own: p.other }).collect();
            assert_eq!(given(&two.pairs), expected, "{:?} and {:?}", two.link, two.other);
            of_links += two.pairs.total;
            for pair in &two.pairs.given {
                let on_a = a.triangle(pair.link_triangle).map(|p| from_a.point(p));
                for end in pair.crossing.ends {
                    let w = end.barycentric_b;
                    let p = on_a[0] * w.x + on_a[1] * w.y + on_a[2] * w.z;
                    assert!(p.distance(end.point) < 1e-9, "{pair:?} is not on the link");
                }
            }
        }
    }
    println!("{of_tissue} pairs with the tissue, {of_links} of links");
    assert!(of_tissue > 0 && of_links > 0);
}

#[test]
fn pairs_beyond_the_limit_are_counted_and_said() {
    let (mut all, mut few) = (stage(usize::MAX), stage(3));
    for stage in [&mut all, &mut few] {
        let middle = stage.scene.tissues()[0].current().surface.bounds().max.as_dvec3();
        let inside = Pose { translation: middle * DVec3::new(0.0, 0.0, 1.0), ..Pose::IDENTITY };
        stage.place(0, inside, -0.1);
        stage.place(1, inside, 0.0);
    }
    let (all, few) = (all.tick(), few.tick());
    assert!(few.flags.truncated && !all.flags.truncated);
    for (all, few) in all.links.iter().zip(&few.links) {
        let (all, few) =
            (all.pairs.as_ref().expect("asked for"), few.pairs.as_ref().expect("asked for"));
        assert_eq!((all.total, few.total), (all.given.len(), all.total));
        assert_eq!(few.given[..], all.given[..few.given.len()]);
        assert_eq!(few.given.len(), all.total.min(3));
    }
    let given: usize = few.link_pairs.iter().map(|two| two.pairs.given.len()).sum();
    let totals = |answer: &TickAnswer| -> Vec<usize> {
        answer.link_pairs.iter().map(|two| two.pairs.total).collect()
    };
    assert_eq!(totals(&all), totals(&few));
    assert_eq!(given, totals(&all).iter().sum::<usize>().min(3));
}
