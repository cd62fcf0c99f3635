use super::*;
use crate::{
    geometry::{MeshData, winding::winding_number},
    oracle::{random::Random, shapes},
};

fn surface(data: MeshData) -> Surface {
    Surface::new(TriangleMesh::new(data), LatLonOptions::default())
}

/// Before and after the surface is known not to cross itself, deformed, and with a wall that crosses itself.
#[test]
fn inside_is_all_around_a_lumen() {
    let mut data = shapes::sphere(0.01, 6);
    data.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    let n = data.positions.len() as u32;
    let mut lumen = Surface::of(TriangleMesh::new(data), LatLonOptions::default(), true);
    assert!(!lumen.is_by_winding(), "it is embedded");
    let check = |lumen: &Surface, seed: u64| {
        let mut random = Random::new(seed);
        for _ in 0..300 {
            let p = DVec3::from_array([(); 3].map(|()| random.range(-0.03, 0.03)));
            let number = 1.0 + crate::oracle::solid_angle::winding_number(lumen.mesh(), p);
            let found = lumen.signed_distance(p, f64::INFINITY, None).expect("a surface");
            let is_known = (number - number.round()).abs() < 1e-6 && number > -0.5;
            if is_known && found.closest.distance_squared > 1e-12 {
                assert_eq!(found.signed_distance < 0.0, number > 0.5, "{p}: {found:?}");
                assert_eq!(found.certainty, 1.0, "{p}: {found:?}");
            }
        }
        for far in [DVec3::X * 1e3, DVec3::new(-5.0, 7.0, 0.0)] {
            assert_eq!(lumen.contains(far), (true, 1.0));
        }
        assert_eq!(lumen.inside_distance_squared(DVec3::X), 0.0);
    };
    check(&lumen, 1);
    let wider: Vec<Vec3> = lumen.mesh().positions().iter().map(|p| *p * 1.3).collect();
    lumen.move_vertices(&(0..n).collect::<Vec<_>>(), &wider);
    assert!(lumen.is_by_winding(), "it is not known yet");
    check(&lumen, 2);
    let mut search = lumen.crossing_search();
    while !lumen.search_crossings(&mut search, 100) {}
    assert!(!lumen.is_by_winding());
    check(&lumen, 3);
    // One vertex passes through the wall on the other side.
    lumen.move_vertices(&[0], &[-1.5 * wider[0]]);
    check(&lumen, 4);
    lumen.rebuild();
    let mut search = lumen.crossing_search();
    while !lumen.search_crossings(&mut search, 100) {}
    check(&lumen, 5);
}

/// On faces, edges, vertices, the boundary and the cap of torn surfaces: no ray leaves such points clearly, and the
/// winding number is counted, not summed over all triangles. On a face it is the mean of both sides, and the sign is as
/// good as that of 0.
#[test]
fn on_the_surface_and_its_cap_winding_numbers_are_counted() {
    let seed = 9;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    for data in [shapes::sphere(0.05, 8), shapes::sheet(9, 8, 0.01), shapes::organ(1_000, 1)] {
        let mut data = shapes::torn(data, 12, &mut random);
        // A flat surface stays flat, but no edge leads through the middle of another triangle.
        let mut factor = || random.range(0.99, 1.01) as f32;
        data.positions.iter_mut().for_each(|p| *p *= Vec3::new(factor(), factor(), 1.0));
        let s = surface(data);
        let (mesh, cap) = (s.mesh(), s.boundary().cap());
        let time = TimeLeft::endless();
        let counted =
            |p: DVec3| counted_winding(&s.list, mesh, cap, p, &time).expect("a ray is clear");
        let is_near = |got: Winding, exact: f64| (got.number - exact).abs() < got.error + 1e-4;
        let corners = |t: &[u32; 3]| t.map(|v| mesh.position(v));
        let middle = |[a, b, c]: [DVec3; 3]| (a + b + c) / 3.0;
        for t in cap.triangles().iter().map(corners) {
            // Triangles without area have no two sides.
            if (t[1] - t[0]).cross(t[2] - t[0]).length() > 1e-9 {
                let (got, exact) = (counted(middle(t)), winding_number(mesh, middle(t)));
                assert!(is_near(got, exact), "{got:?}, {exact} on the cap at {t:?}");
            }
        }
        for id in mesh.triangle_ids() {
            let t = mesh.triangle(id);
            let p = middle(t);
            let off = (t[1] - t[0]).cross(t[2] - t[0]).normalize() * 1e-8;
            let sides = [p + off, p - off].map(|p| winding_number(mesh, p));
            let (got, mean) = (counted(p), 0.5 * (sides[0] + sides[1]));
            assert!(is_near(got, mean), "{got:?}, {mean} on {id:?}");
            for p in [t[0], (t[0] + t[1]) * 0.5] {
                counted(p);
            }
            let found = s.signed_distance(p, 1.0, None).expect("a surface");
            assert_eq!((found.winding, found.certainty), (None, 1.0), "on {id:?}");
        }
    }
}

/// A split ball is deformed, torn along its seams, put together again and cut without width: distances and sides equal
/// those of a newly built surface, and while it is whole those of the ball that was never split.
#[test]
fn seams_part_and_join_with_what_moves_them() {
    let seed = 21;
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let whole = shapes::sphere(0.05, 4);
    let mut s = surface(shapes::split(whole.clone(), 0.3, &mut random));
    let ball = surface(whole);
    assert!(!s.is_by_winding() && s.boundary().is_empty());
    let mut rest = s.mesh().positions().to_vec();
    let mut search = s.crossing_search();
    let (mut n_open, mut n_closed) = (0, 0);
    for round in 0..120 {
        let n = s.mesh().positions().len();
        match round % 4 {
            0 => {
                let some: Vec<u32> = (0..n as u32).filter(|_| random.f64() < 0.02).collect();
                let to = |v: &u32| rest[*v as usize] * random.range(0.97, 1.03) as f32;
                let to: Vec<Vec3> = some.iter().map(to).collect();
                s.move_vertices(&some, &to);
            }
            1 => drop(s.move_all(rest.clone())),
            2 => {
                // A triangle's corners are detached without moving.
                let all: Vec<TriangleId> = s.mesh().triangle_ids().collect();
                let t = all[random.below(all.len())];
                let corners = s.mesh().corners(t);
                rest.extend(s.mesh().vertices(t).map(|v| rest[v as usize]));
                s.edit(&[t], &corners, &[[0, 1, 2].map(|k| n as u32 + k)]);
            }
            _ => {
                let swollen: Vec<Vec3> = rest.iter().map(|p| *p * 1.1).collect();
                s.move_all(swollen.clone());
                s.move_all(rest.clone());
            }
        }
        search.follow(s.mesh());
        while !s.search_crossings(&mut search, 64) {}
        s.assert_well_formed();
        *(if s.is_closed() { &mut n_closed } else { &mut n_open }) += 1;
        let fresh = surface(s.mesh().data());
        assert_eq!((s.sign_rule(), s.is_by_winding()), (fresh.sign_rule(), fresh.is_by_winding()));
        for _ in 0..20 {
            let p = random.unit_vector() * random.range(0.0, 0.08);
            let [own, other, of_ball] =
                [&s, &fresh, &ball].map(|s| s.signed_distance(p, 1.0, None).expect("near"));
            let told = |found: &SignedNearest| (found.signed_distance, found.certainty);
            assert_eq!(told(&own), told(&other), "round {round} at {p}");
            if round % 4 != 0 {
                assert_eq!(own.certainty, 1.0, "round {round} at {p}");
                assert!((own.signed_distance - of_ball.signed_distance).abs() < 1e-9, "{p}");
            }
        }
    }
    assert!(n_open > 20 && n_closed > 60, "{n_open} open, {n_closed} closed");
}

#[test]
fn stays_well_formed_while_it_trembles_and_travels() {
    let mut s = surface(shapes::organ(5_000, 1));
    s.assert_well_formed();
    let mut random = Random::new(7);
    let n = s.mesh().positions().len();
    for step in 0..200 {
        let reach = [1e-4, 1e-2, 1.0][step % 3];
        let vertices: Vec<u32> =
            (0..n as u32).filter(|_| random.f64() < [0.001, 0.05, 1.0][step / 3 % 3]).collect();
        let moved = |v: &u32| {
            let p = s.mesh().position(*v) + random.unit_vector() * reach * random.f64();
            p.as_vec3()
        };
        let positions: Vec<Vec3> = vertices.iter().map(moved).collect();
        let updated = s.move_vertices(&vertices, &positions);
        assert!(updated.touched.max(updated.relocated) <= s.mesh().n_triangles());
        s.assert_well_formed();
    }
}
