//! A haptic loop with a rendered tool: the tick is answered at the proxy's position.

use std::{cell::Cell, slice, sync::Arc};

use glam::{DMat3, DVec3};
use palpate::{
    coupling::spring::Spring,
    geometry::Pose,
    oracle::shapes,
    proxy::{RenderError, RenderOptions, RenderState, RenderedSession, RenderedSessionError},
    scene::{
        Contact, Distance, Limits, Link, Scene, TissueKind, TissueOptions, Tool, ToolId, ToolParts,
        tick::{Session, TickError, TickOptions, ToolPose},
        tissue::deform::Deformation,
    },
    time_left::TimeLeft,
};

use super::stage::{STAND_OFF, coarse_field, loaded, slab, to};
use crate::seed::{Seed, scaled};

const RADIUS: f64 = 0.005;

/// A slab that is a tissue or a forbidden region, and two balls.
fn scene(kind: TissueKind) -> (Arc<Scene>, [Arc<Tool>; 2]) {
    let scene = Arc::new(Scene::new("scene".to_owned(), Limits::default()));
    let mesh = loaded(slab(8, 0.01, 0.03));
    scene.add_tissue_of_kind(("slab", kind), mesh, TissueOptions::default(), 0).expect("added");
    let ball = |name: &str| {
        let mesh = loaded(shapes::sphere(RADIUS, 4));
        let link = Link::new("ball".to_owned(), mesh, Pose::IDENTITY, coarse_field);
        let parts = ToolParts { name: name.to_owned(), links: vec![link], probes: Vec::new() };
        scene.add_tool(parts).expect("added")
    };
    let tools = [ball("left"), ball("right")];
    (scene, tools)
}

fn poses(tools: &[Arc<Tool>; 2], heights: [f64; 2]) -> Vec<ToolPose> {
    let pose = |i: usize| ToolPose {
        tool: tools[i].id,
        scene_from_tool: to(0.02 * i as f64, 0.0, RADIUS + heights[i]),
        tool_from_link: Vec::new(),
        teleport: false,
    };
    // Not in the order of the session's tools.
    vec![pose(1), pose(0)]
}

#[test]
fn a_rendered_tool_is_answered_at_its_proxy_and_others_where_they_are() {
    for kind in [TissueKind::Tissue, TissueKind::ForbiddenRegion] {
        let (scene, tools) = scene(kind);
        let ids = [tools[0].id, tools[1].id];
        let render = [RenderOptions::of(ids[0])];
        let mut session =
            RenderedSession::new(scene, &ids, TickOptions::default(), &render).expect("begun");
        let never = TimeLeft::endless();
        session.tick(1, &poses(&tools, [0.001, 0.001]), 0, &never).expect("accepted");
        session.coalesce(2, &poses(&tools, [-0.001, -0.001])).expect("accepted");
        for i in 3..30 {
            let now_ns = i * 1_000_000;
            let poses = poses(&tools, [-0.003, -0.003]);
            let answer = session.tick(i, &poses, now_ns, &never).expect("accepted");
            let distance = |link: usize| match answer.links[link].distance {
                Distance::Within(contact) => contact.signed_distance_m,
                Distance::Beyond(_) => panic!("it is near"),
            };
            assert!((distance(0) - STAND_OFF).abs() < 1e-7, "the proxy: {} m", distance(0));
            assert!(distance(1) < -0.0025, "the other is where it is: {} m", distance(1));
            assert!(answer.links[0].contacts.iter().all(|c| c.signed_distance_m > 0.0));
            let rendering = session.renderings().next().expect("one");
            assert_eq!(rendering.state, RenderState::Touching);
            let step = 300.0 * 1e-3;
            assert!(rendering.force_n.z <= step * i as f64 + 1e-9);
        }
        let rendering = session.renderings().next().expect("one");
        let expected = 500.0 * (0.003 + STAND_OFF);
        assert!((rendering.force_n.z - expected).abs() < 0.01 * expected, "{}", rendering.force_n);
        assert!(!rendering.limited);
        let is_forbidden = kind == TissueKind::ForbiddenRegion;
        assert_eq!(rendering.loads.is_empty(), is_forbidden);
        assert!(rendering.contacts.iter().all(|c| c.is_forbidden == is_forbidden));

        let stale = session.tick(29, &poses(&tools, [0.0, 0.0]), 0, &never);
        assert!(matches!(stale, Err(TickError::Sequence { got: 29, last: 29 })));
        // The session restarts at the device's position, which is inside.
        let mut again = session.restarted();
        again.tick(1, &poses(&tools, [-0.003, 0.1]), 30_000_000, &never).expect("accepted");
        let rendering = again.renderings().next().expect("one");
        assert_eq!(rendering.state, RenderState::Embedded);
    }
}

/// The force changes from answer to answer no faster than its rate, however long ticks take.
#[test]
fn a_tick_in_time_after_a_late_one_keeps_the_rate() {
    const RATE_N_PER_S: f64 = 300.0;
    let seed = Seed::or(41);
    let mut random = seed.random(0);
    let (scene, tools) = scene(TissueKind::Tissue);
    let ids = [tools[0].id, tools[1].id];
    let render = [RenderOptions::of(ids[0])];
    let mut session =
        RenderedSession::new(scene, &ids, TickOptions::default(), &render).expect("begun");
    let (now_ns, step_ns) = (Cell::new(0), Cell::new(0));
    let clock = || {
        now_ns.set(now_ns.get() + step_ns.get());
        now_ns.get()
    };
    let mut last: Option<(DVec3, u64)> = None;
    let (mut limited, mut most) = (0, 0.0f64);
    for i in 1..=scaled(400) as u64 {
        // Each reading advances the clock, in every fourth tick by a hundred times as much.
        step_ns.set(if i % 4 == 0 { 200_000 } else { 2_000 });
        let depth = if i < 5 { -0.001 } else { random.range(-0.002, 0.006) };
        let started_ns = now_ns.get() + 50_000;
        now_ns.set(started_ns);
        let time = TimeLeft::until(&clock, started_ns + 5_000_000);
        session.tick(i, &poses(&tools, [-depth, 0.1]), started_ns, &time).expect("accepted");
        let rendering = session.renderings().next().expect("one");
        let sent = (rendering.force_n, now_ns.get());
        if let Some((force_n, at_ns)) = last {
            let change = rendering.force_n.distance(force_n);
            let allowed = RATE_N_PER_S * (sent.1 - at_ns) as f64 * 1e-9;
            assert!(change <= allowed * (1.0 + 1e-9), "tick {i}: {change} N, {allowed} allowed");
            limited += u32::from(rendering.limited);
            most = most.max(change);
        }
        last = Some(sent);
    }
    assert!(limited > 100 && most > 0.3, "{limited} limited, {most} N at most");
}

#[test]
fn a_cutting_link_is_answered_where_the_device_has_it() {
    let (scene, tools) = scene(TissueKind::Tissue);
    let ids = [tools[0].id, tools[1].id];
    let render = [RenderOptions { cutting_links: vec![0], ..RenderOptions::of(ids[0]) }];
    let options = TickOptions { triangle_pairs: true, ..TickOptions::default() };
    let mut session = RenderedSession::new(scene, &ids, options, &render).expect("begun");
    for (i, height) in [0.001, -0.002].into_iter().enumerate() {
        let poses = poses(&tools, [height, 0.1]);
        let answer = session.tick(i as u64 + 1, &poses, 0, &TimeLeft::endless()).expect("accepted");
        let pairs = answer.links[0].pairs.as_ref().expect("asked for");
        assert_eq!(pairs.total > 0, height < 0.0);
        let rendering = session.renderings().next().expect("one");
        assert_eq!((rendering.state, rendering.force_n), (RenderState::Free, DVec3::ZERO));
    }
}

#[test]
fn without_a_rendered_tool_it_answers_as_a_session() {
    let (scene, tools) = scene(TissueKind::Tissue);
    let ids = [tools[0].id, tools[1].id];
    let options = TickOptions::default;
    let mut plain = Session::new(Arc::clone(&scene), &ids, options()).expect("begun");
    let mut rendered = RenderedSession::new(scene, &ids, options(), &[]).expect("begun");
    for i in 1..20 {
        let poses = poses(&tools, [0.002 - 2e-4 * i as f64, 1e-4 * i as f64]);
        if i % 3 == 0 {
            plain.coalesce(i, &poses).expect("accepted");
            rendered.coalesce(i, &poses).expect("accepted");
            continue;
        }
        let expected = plain.tick(i, &poses, i, &TimeLeft::endless()).expect("accepted");
        assert_eq!(rendered.tick(i, &poses, i, &TimeLeft::endless()).expect("accepted"), expected);
    }
}

#[test]
fn what_cannot_be_rendered_is_refused_by_name() {
    let (scene, tools) = scene(TissueKind::Tissue);
    let refused = |render: &[RenderOptions]| {
        let scene = Arc::clone(&scene);
        let begun = RenderedSession::new(scene, &[tools[0].id], TickOptions::default(), render);
        begun.err().expect("refused")
    };
    let of = || RenderOptions::of(tools[0].id);
    let text = refused(&[RenderOptions {
        spring: Spring { stiffness_n_per_m: f64::NAN, ..Spring::DESKTOP },
        ..of()
    }])
    .to_string();
    assert_eq!(text, "render[0]: stiffness_n_per_m is NaN, expected 1 to 100000");
    let text = refused(&[RenderOptions { friction: -0.1, ..of() }]).to_string();
    assert_eq!(text, "render[0]: friction is -0.1, expected 0 to 2");
    let cutting = refused(&[RenderOptions { cutting_links: vec![1], ..of() }]);
    let expected = RenderError::CuttingLink { got: 1, n_links: 1 };
    assert!(
        matches!(&cutting, RenderedSessionError::Render { at: 0, source } if *source == expected)
    );
    let twice = refused(&[of(), of()]).to_string();
    assert_eq!(twice, "render[1].tool_id = 1 was given before");
    let other = refused(&[RenderOptions::of(tools[1].id)]).to_string();
    assert_eq!(other, "render[0].tool_id = 2 is not tracked by this stream");
    let unknown = refused(&[RenderOptions::of(ToolId(77))]).to_string();
    assert_eq!(unknown, "render[0].tool_id = 77 is not tracked by this stream");
}

/// Checks that two distances are equal; returns metres if they are within reach.
fn same_distance(got: &Distance<Contact>, expected: &Distance<Contact>, at: &str) -> Option<f64> {
    let (Distance::Within(got), Distance::Within(expected)) = (got, expected) else {
        assert_eq!(got, expected, "{at}");
        return None;
    };
    let off_m = got.signed_distance_m - expected.signed_distance_m;
    assert!(off_m.abs() < 1e-12, "{at}: {got:?}, {expected:?}");
    // Many points are equally near along an edge: checks those that were found.
    let apart_m = got.on_tissue.position.distance(got.on_tool.position);
    assert!((apart_m - got.signed_distance_m.abs()).abs() < 1e-12, "{at}: {got:?}");
    Some(got.signed_distance_m)
}

/// Proxies know the tissue near them, and the tick relies on it: it answers as a session that searches.
#[test]
fn distances_at_a_proxy_are_those_of_a_search() {
    let seed = Seed::or(33);
    let mut n_near = 0;
    for round in 0..scaled(8) {
        let mut random = seed.random(round as u64);
        let is_flat = round % 4 == 3;
        let rest = if is_flat {
            slab(12, 0.02, 0.03)
        } else {
            shapes::organ(1_500, seed.number() + round as u64)
        };
        let top = rest.positions.iter().fold(f32::MIN, |top, p| top.max(p.z));
        let scene = Arc::new(Scene::new("scene".to_owned(), Limits::default()));
        let tissue = scene
            .add_tissue("organ", loaded(rest.clone()), TissueOptions::default(), 0)
            .expect("added");
        let jaw = shapes::jaw(0.03, 4);
        let shapes = if is_flat {
            vec![shapes::cuboid(DVec3::splat(0.01))]
        } else {
            vec![shapes::mirrored_z(&jaw), jaw, shapes::capsule(0.003, 0.04, 6)]
        };
        let link = |mesh| Link::new("link".to_owned(), loaded(mesh), Pose::IDENTITY, coarse_field);
        let links: Vec<Link> = shapes.into_iter().map(link).collect();
        let n_links = links.len();
        let parts = ToolParts { name: "tool".to_owned(), links, probes: Vec::new() };
        let tool = scene.add_tool(parts).expect("added");
        // Contacts would give the distance too.
        let contact_margin_m = if round % 3 == 0 { 1e-3 } else { 0.0 };
        let options = || TickOptions { sweep: false, contact_margin_m, ..TickOptions::default() };
        let local_model = round % 2 == 0;
        let render = [RenderOptions { local_model, ..RenderOptions::of(tool.id) }];
        let mut rendered = RenderedSession::new(Arc::clone(&scene), &[tool.id], options(), &render)
            .expect("begun");
        let mut plain = Session::new(scene, &[tool.id], options()).expect("begun");
        for tick in 1..400 {
            let t = 1e-3 * f64::from(tick);
            let above = 0.05 - 0.07 * (0.5 - 0.5 * (9.0 * t).cos());
            let turn = if is_flat { 0.0 } else { 1.5 + 0.4 * (4.0 * t).sin() };
            let scene_from_tool = Pose {
                rotation: DMat3::from_rotation_y(turn),
                translation: DVec3::new(0.01 * (5.0 * t).sin(), 0.0, f64::from(top) + above),
            };
            let opening = |i: usize| 0.1 * (i as f64 - 0.5) * (1.0 + (6.0 * t).sin());
            let bent = |i| Pose {
                rotation: DMat3::from_rotation_y(if i < 2 { opening(i) } else { 0.0 }),
                translation: DVec3::ZERO,
            };
            let pose = ToolPose {
                tool: tool.id,
                scene_from_tool,
                tool_from_link: (0..n_links).map(bent).collect(),
                teleport: false,
            };
            if tick % 16 == 0 {
                let size = 1.0 + 0.01 * random.f64() as f32;
                let moved = rest.positions.iter().map(|p| *p * size).collect();
                tissue.deform(Deformation::Dense(moved), 0).expect("all are there");
            }
            let (sequence, now_ns, never) =
                (tick as u64, tick as u64 * 1_000_000, TimeLeft::endless());
            rendered.tick(sequence, slice::from_ref(&pose), now_ns, &never).expect("accepted");
            let rendering = rendered.renderings().next().expect("one");
            let touches = rendering.state == RenderState::Touching;
            let at_proxy = ToolPose {
                scene_from_tool: rendering.scene_from_proxy,
                tool_from_link: rendering.tool_from_link.clone(),
                ..pose
            };
            let expected = plain.tick(sequence, &[at_proxy], now_ns, &never).expect("accepted");
            for (got, expected) in rendered.last_answer().links.iter().zip(&expected.links) {
                let at = format!("round {round}, tick {tick}");
                let distance_m = same_distance(&got.distance, &expected.distance, &at);
                n_near += usize::from(touches && distance_m.is_some_and(|m| m < 1e-3));
            }
        }
    }
    assert!(n_near > 500, "{n_near} links near tissue");
}

/// A loop that restarts after a panic and a pause without answers does not resume its old force.
#[test]
fn a_loop_that_begins_anew_after_a_while_gives_no_old_force() {
    let (scene, tools) = scene(TissueKind::Tissue);
    let render = [RenderOptions::of(tools[0].id)];
    let ids = [tools[0].id];
    let mut session =
        RenderedSession::new(scene, &ids, TickOptions::default(), &render).expect("begun");
    let now_ns = Cell::new(0);
    let clock = || now_ns.get();
    let tick = |session: &mut RenderedSession, sequence: u64, height: f64| {
        let time = TimeLeft::until(&clock, u64::MAX);
        let poses = &poses(&tools, [height, 0.0])[1..];
        session.tick(sequence, poses, now_ns.get(), &time).expect("accepted");
        session.renderings().next().expect("one").force_n
    };
    tick(&mut session, 1, 0.001);
    for sequence in 2..40 {
        now_ns.set(now_ns.get() + 1_000_000);
        tick(&mut session, sequence, -0.003);
    }
    let mut session = session.restarted();
    now_ns.set(now_ns.get() + 1_000_000_000);
    assert_eq!(tick(&mut session, 40, 0.001), DVec3::ZERO);
    now_ns.set(now_ns.get() + 1_000_000);
    let pressed = tick(&mut session, 41, -0.003);
    assert!(pressed.z > 0.0 && pressed.z < 0.1, "{pressed} N");
}
