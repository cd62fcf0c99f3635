//! Distances at the device's pose next to those at the proxy, on real meshes, each against brute force.

use std::sync::Arc;

use glam::DVec3;
use palpate::{
    geometry::{Pose, TriangleMesh},
    oracle::{
        brute_force::{nearest, placed, surface_distance},
        solid_angle::winding_number,
    },
    proxy::{RenderOptions, RenderedSession},
    scene::{
        Contact, Distance, Link, ToolParts,
        tick::{TickOptions, ToolPose},
        tool::field::field_of,
    },
    sdf::FieldOptions,
    surface::Surface,
    time_left::TimeLeft,
};

use super::organs;
use crate::seed::scaled;

/// Allowed error of frames and rounding, metres.
const EXACT: f64 = 1e-9;
/// The device's initial distance outside the surface, and its later depth inside, metres.
const OFF_M: f64 = 0.02;
const DEPTH_M: f64 = 0.006;
const STEP_M: f64 = 5e-4;
/// Number of tool vertices whose depth is computed: the lowest.
const LOWEST: usize = 100;

/// A tool's mesh at a pose, and a tissue's.
struct Pair<'a> {
    tool: &'a TriangleMesh,
    tissue: &'a TriangleMesh,
}

impl Pair<'_> {
    /// Distance between the surfaces, metres; 0 if they cross. Considers only triangles within `reach` of the tool's
    /// box.
    fn apart(&self, at: &Pose, reach: f64) -> f64 {
        let tool = placed(self.tool, at);
        let corners = || tool.iter().flatten();
        let low = corners().fold(DVec3::INFINITY, |a, b| a.min(*b)) - reach;
        let high = corners().fold(DVec3::NEG_INFINITY, |a, b| a.max(*b)) + reach;
        let near = |t: &[DVec3; 3]| {
            let (a, b) = (t[0].min(t[1]).min(t[2]), t[0].max(t[1]).max(t[2]));
            a.cmple(high).all() && b.cmpge(low).all()
        };
        let tissue = placed(self.tissue, &Pose::IDENTITY);
        surface_distance(&tissue.into_iter().filter(near).collect::<Vec<_>>(), &tool)
    }

    /// The deepest of the tool's lowest vertices in the tissue, metres; 0 if none is inside.
    fn deepest_of_lowest(&self, at: &Pose, out: DVec3) -> f64 {
        let vertices = 0..self.tool.positions().len() as u32;
        let mut points: Vec<_> = vertices.map(|v| at.point(self.tool.position(v))).collect();
        points.sort_by(|a, b| a.dot(out).total_cmp(&b.dot(out)));
        let inside = points[..LOWEST.min(points.len())]
            .iter()
            .filter(|p| winding_number(self.tissue, **p) > 0.5);
        inside.map(|p| nearest(self.tissue, *p).expect("triangles").distance).fold(0.0, f64::max)
    }

    /// Returns true if a contact's depth is that of its tissue point in the tool, or of its tool point in the tissue.
    fn is_as_deep(&self, at: &Pose, contact: &Contact) -> bool {
        let is_so = |mesh: &TriangleMesh, p: DVec3| {
            let found = nearest(mesh, p).expect("triangles").distance;
            winding_number(mesh, p) > 0.5 && (found + contact.signed_distance_m).abs() < EXACT
        };
        is_so(self.tool, at.inverse().point(contact.on_tissue.position))
            || is_so(self.tissue, contact.on_tool.position)
    }
}

fn within(distance: &Distance<Contact>) -> &Contact {
    let Distance::Within(contact) = distance else { panic!("{distance:?}") };
    contact
}

#[test]
fn the_device_s_distances_are_those_of_its_own_pose_on_organs() {
    let mut deepest = 0.0f64;
    // All eight with `PALPATE_TEST_SCALE=4`.
    for case in organs::cases().into_iter().take(scaled(2)) {
        let name = case.name;
        // Tolerance of a served tool's field: depths are found to it.
        let tolerance_m = 2e-3 * case.stage.tool.links[0].surface.bounds().diagonal();
        let options = FieldOptions { tolerance_m: Some(tolerance_m), ..FieldOptions::default() };
        let field = |surface: &Surface| field_of(surface, &options);
        let links = vec![Link::new("link".to_owned(), case.tool_mesh(), Pose::IDENTITY, field)];
        let parts = ToolParts { name: "fine".to_owned(), links, probes: Vec::new() };
        let tool = case.stage.scene.add_tool(parts).expect("added");
        let (far, deep, out) = (case.off(OFF_M), case.off(-DEPTH_M), case.out);
        let scene = Arc::new(case.stage.scene);
        let render = RenderOptions { device_distances: true, ..RenderOptions::of(tool.id) };
        let mut session =
            RenderedSession::new(Arc::clone(&scene), &[tool.id], TickOptions::default(), &[render])
                .expect("options");
        let held = scene.tissues()[0].current();
        let pair = Pair { tool: tool.links[0].surface.mesh(), tissue: held.surface.mesh() };
        let n = ((OFF_M + DEPTH_M) / STEP_M).ceil() as u64;
        for i in 0..=n {
            let share = i as f64 / n as f64;
            let translation = far.translation.lerp(deep.translation, share);
            let scene_from_tool = Pose { translation, ..far };
            let (tool, teleport) = (tool.id, false);
            let pose = [ToolPose { tool, scene_from_tool, tool_from_link: vec![], teleport }];
            session.tick(i + 1, &pose, 1_000_000 * i, &TimeLeft::endless()).expect("accepted");
            if i > 0 && i < n {
                continue;
            }
            let device = session.at_device(tool).next().expect("a link");
            let at_device = within(&device.distance);
            let at_proxy = within(&session.last_answer().links[0].distance);
            let rendering = session.renderings().next().expect("rendered");
            let (proxy, got) = (rendering.scene_from_proxy, at_proxy.signed_distance_m);
            let apart = pair.apart(&proxy, got + 1e-3);
            assert!((got - apart).abs() < EXACT, "{name}: proxy {got} m, oracle {apart} m");
            let got = at_device.signed_distance_m;
            if i == 0 {
                assert!((got - apart).abs() < EXACT, "{name}: device {got} m, oracle {apart} m");
                continue;
            }
            let vertex = pair.deepest_of_lowest(&scene_from_tool, out);
            println!(
                "{name}: device {got:.5} m, its deepest vertex {vertex:.5} m, proxy {apart:.6} m"
            );
            assert!(vertex > 0.0 && -got >= vertex - 3.0 * tolerance_m, "{name}: {got} m");
            assert!(pair.is_as_deep(&scene_from_tool, at_device), "{name}: {at_device:?}");
            deepest = deepest.min(got);
        }
    }
    assert!(deepest < -1e-4, "{deepest} m");
}
