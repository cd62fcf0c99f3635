//! Answers depend neither on the order of the vertices nor on that of the two triangles.

use glam::DVec3;
use palpate::geometry::triangle_triangle::{Crossing, CrossingKind, Triangle, crossing, meet};

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [2, 1, 0], [1, 0, 2]];

/// Kind of a crossing, and the length of its segment.
type How = (CrossingKind, f64);

fn t(corners: [[f64; 3]; 3]) -> Triangle {
    corners.map(DVec3::from_array)
}

/// A right triangle in z = 0, the first triangle of all cases.
fn base() -> Triangle {
    t([[0.0, 0.0, 0.0], [8.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
}

/// Name by the pattern of heights over the base's plane, the other triangle, and kind and length if they meet.
fn cases() -> Vec<(&'static str, Triangle, Option<How>)> {
    use CrossingKind::{Coplanar, Through};
    let through = |length: f64| Some((Through, length));
    let coplanar = |length: f64| Some((Coplanar, length));
    vec![
        ("+++", t([[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [1.0, 2.0, 3.0]]), None),
        ("+--", t([[2.0, 1.0, 2.0], [1.0, 1.0, -2.0], [3.0, 1.0, -2.0]]), through(1.0)),
        (
            "+-- over an edge",
            t([[1.0, -1.0, 2.0], [1.0, -1.0, -2.0], [1.0, 3.0, -2.0]]),
            through(1.0),
        ),
        ("+-- past an edge", t([[1.0, -3.0, 2.0], [1.0, -3.0, -2.0], [1.0, 1.0, -2.0]]), None),
        (
            "+-- through, both ends out",
            t([[1.0, -9.0, 9.0], [1.0, 9.0, 9.0], [1.0, 0.0, -9.0]]),
            through(3.5),
        ),
        ("0++ in the face", t([[1.0, 1.0, 0.0], [2.0, 1.0, 1.0], [1.0, 2.0, 1.0]]), through(0.0)),
        ("0++ on an edge", t([[4.0, 2.0, 0.0], [9.0, 9.0, 1.0], [9.0, 8.0, 1.0]]), through(0.0)),
        ("0++ on a vertex", t([[8.0, 0.0, 0.0], [9.0, 9.0, 1.0], [9.0, 8.0, 1.0]]), through(0.0)),
        ("0++ outside", t([[4.0, 3.0, 0.0], [1.0, 1.0, 1.0], [1.0, 2.0, 1.0]]), None),
        ("0+-", t([[1.0, 1.0, 0.0], [3.0, 1.0, 1.0], [3.0, 1.0, -1.0]]), through(2.0)),
        (
            "0+- from an edge outwards",
            t([[1.0, 0.0, 0.0], [1.0, -2.0, 1.0], [1.0, -2.0, -1.0]]),
            through(0.0),
        ),
        ("0+- outside", t([[-1.0, 0.0, 0.0], [-2.0, 0.0, 1.0], [-2.0, 0.0, -1.0]]), None),
        ("00+ in the face", t([[1.0, 1.0, 0.0], [3.0, 1.0, 0.0], [1.0, 1.0, 5.0]]), through(2.0)),
        (
            "00+ along an edge",
            t([[-1.0, 0.0, 0.0], [3.0, 0.0, 0.0], [1.0, 0.0, 5.0]]),
            through(3.0),
        ),
        ("00+ beside an edge", t([[9.0, 0.0, 0.0], [12.0, 0.0, 0.0], [1.0, 1.0, 5.0]]), None),
        (
            "000 inside",
            t([[1.0, 1.0, 0.0], [3.0, 1.0, 0.0], [1.0, 2.0, 0.0]]),
            coplanar(5f64.sqrt()),
        ),
        ("000 on a vertex", t([[8.0, 0.0, 0.0], [9.0, 0.0, 0.0], [9.0, 1.0, 0.0]]), coplanar(0.0)),
        (
            "000 along an edge",
            t([[2.0, 0.0, 0.0], [3.0, 0.0, 0.0], [2.5, -1.0, 0.0]]),
            coplanar(1.0),
        ),
        ("000 apart", t([[8.0, 1.0, 0.0], [9.0, 1.0, 0.0], [9.0, 2.0, 0.0]]), None),
        (
            "000 around",
            t([[-20.0, -20.0, 0.0], [50.0, -20.0, 0.0], [-20.0, 50.0, 0.0]]),
            coplanar(80f64.sqrt()),
        ),
        (
            "a segment through",
            t([[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, 1.0, 0.5]]),
            through(0.0),
        ),
        ("a segment past", t([[5.0, 3.0, 1.0], [5.0, 3.0, -1.0], [5.0, 3.0, 0.5]]), None),
        (
            "a segment in the plane",
            t([[-1.0, 1.0, 0.0], [2.0, 1.0, 0.0], [2.0, 1.0, 0.0]]),
            coplanar(2.0),
        ),
        ("a point in the face", t([[1.0, 1.0, 0.0]; 3]), coplanar(0.0)),
        ("a point above", t([[1.0, 1.0, 1.0]; 3]), None),
        ("a point beside", t([[5.0, 5.0, 0.0]; 3]), None),
    ]
}

fn summary(c: Option<Crossing>) -> Option<How> {
    c.map(|c| (c.kind, c.ends[0].point.distance(c.ends[1].point)))
}

#[test]
fn all_patterns_in_all_orders_both_ways() {
    for (name, other, expected) in cases() {
        for order in ORDERS {
            for order_of_base in ORDERS {
                let (a, b) = (order_of_base.map(|k| base()[k]), order.map(|k| other[k]));
                let about = format!("{name}, {order_of_base:?}, {order:?}");
                assert_eq!(meet(&a, &b), expected.is_some(), "{about}");
                assert_eq!(meet(&b, &a), expected.is_some(), "{about}, exchanged");
                let (forth, back) = (crossing(&a, &b), crossing(&b, &a));
                let close = |got: Option<How>| match (got, expected) {
                    (Some((k, x)), Some((l, y))) => k == l && (x - y).abs() < 1e-12,
                    (got, expected) => got == expected,
                };
                assert!(close(summary(forth)), "{about}: {forth:?}, expected {expected:?}");
                assert!(close(summary(back)), "{about}, exchanged: {back:?}");
                if let (Some(forth), Some(back), Some((CrossingKind::Through, _))) =
                    (forth, back, expected)
                {
                    // Swapped triangles swap the normals, so the segment runs in the opposite direction.
                    let points = |c: Crossing| c.ends.map(|e| e.point);
                    let [start, end] = points(back);
                    assert_eq!(points(forth), [end, start], "{about}");
                }
            }
        }
    }
}
