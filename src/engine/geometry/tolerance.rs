//! All tolerances of the core, each with its unit, its origin and the effect of a change.

/// Largest |1 - norm| of a quaternion that is normalised instead of rejected. Unitless. A pose stored in `f32` by a
/// simulator is off by 1e-6; 1e-3 is no rounding error but a bug of the sender.
pub const QUATERNION_NORM_SLACK: f64 = 1e-3;

/// Maximum distance of a coordinate from the origin, metres. At 10 km one `f32` step is 1 mm; beyond it stored surfaces
/// lose their shape, and squares of squares still stay far from overflow.
pub const COORDINATE_MAX_M: f64 = 1e4;

/// Share of a closed surface's area to the power of 1.5 below which its volume counts as enclosing nothing: a ball has
/// 0.09, a needle a thousand times as long as thick 6e-3, a sheet whose thickness is a thousandth of its side 3e-4, and
/// the two sides of a flat sheet have only rounding, 1e-10. With less, filling a sheet's rim by the sheet's own mirror
/// image would count as closing it.
pub const ENCLOSES_NOTHING: f64 = 1e-6;

/// Relative slack of an `f32` bound on a box distance: 2^-21. Rounding the query point, the subtraction
/// and the sum of squares lose at most 4 units of 2^-24 relative to the coordinates met; a smaller
/// value would let a bound exceed the true distance and a query miss the nearest triangle.
pub const BOX_DISTANCE_SLACK: f32 = 1.0 / 2_097_152.0;

/// Limit of slivers: a triangle with |normal|^2 at most this times the fourth power of its longest edge has a height of
/// at most 1e-6 of that edge. The weights of its interior lose six digits and more, so its edges answer for its face;
/// that is wrong by at most half its height.
pub const SLIVER: f64 = 1e-12;

/// Rounding of a distance to a triangle computed in `f32`, as a share of the farthest corner's: 2^-18, that is 64 units
/// of 2^-24. Coordinates relative to the point are off by 1 unit, edges by 3, the foot on an edge and the normal's
/// products by some 10 each; a smaller value would let a search leave out the nearest triangle.
pub const SINGLE_DISTANCE_ROUNDING: f32 = 1.0 / 262_144.0;

/// Limit of a normal's square, in metres to the fourth power, up to which it has lost digits to underflow in `f32`, and
/// bounds made of it are useless: triangles of less than 30 nm.
pub const SINGLE_NORMAL_SQUARED_MIN: f32 = 1e-30;

/// Squared sine of the angle below which two segments count as parallel when their closest points are computed; the
/// result is then taken from the four ends, which is exact for parallel segments and wrong by at most 1e-8 of a
/// segment's length otherwise.
pub const PARALLEL_SINE_SQUARED: f64 = 1e-16;

/// Relative outward shift of a k-DOP's bound after rounding to `f32`: 2^-22, two to four units in the last place.
/// Rounding to nearest loses half a unit and the `f64` sum before it far less; without a shift a box would not hold the
/// points it was made of.
pub const KDOP_OUTWARD: f32 = 1.0 / 4_194_304.0;

/// Rounding of a point in a triangle's frame, as a share of its distance times the triangle's longest edge over its
/// height: 2^-48, that is 32 units of 2^-53. The normal, a cross product, is off by 4 units times edge over height,
/// axes and subtractions by a few more; a smaller value would let the fast triangle test decide pairs that rounding
/// decides.
pub const FRAME_ROUNDING: f64 = 1.0 / 281_474_976_710_656.0;

/// Height, as a share of the longest edge, up to which a triangle has no frame: its [`FRAME_ROUNDING`] would be 3e-8
/// and more of a distance, and exact predicates are as fast for it.
pub const FLATTEST_FRAME: f64 = 1e-7;

/// Unit roundoff of `f64`, 2^-53: no single operation is off by more than this share of its result.
pub const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// Maximum difference from 1 of a computed unit vector's length, a pose's columns and the sum of barycentric weights:
/// 2^-40. Normalising loses 3 units of 2^-53 and a chain of poses a few more for each. Only assertions use this value,
/// no decision: a smaller value would make them fail on mere rounding.
pub const UNITY_ROUNDING: f64 = 1.0 / 1_099_511_627_776.0;

/// Limit of thin planes: the plane of a triangle with |normal|^2 below this times the fourth power of its longest edge,
/// a height of 1 % of its edges, gives no bound on another triangle's distance. The plane's rounding grows with edge
/// over height, and with a smaller value it would decide.
pub const THIN_PLANE: f64 = 1e-4;

/// Relative slack of a squared distance between a plane and a triangle that is compared with a limit. Rounding loses
/// some 1e-15 times edge over height, at most 1e-13 above [`THIN_PLANE`]; with less a triangle exactly at the limit
/// would be lost, with more one beyond it is computed for nothing.
pub const PLANE_GAP_ROUNDING: f64 = 1e-9;

/// Slack added to each |cosine| of two boxes' axes so that near-parallel edges, whose cross product is lost in
/// rounding, separate nothing (RAPID). It is far above the rounding of a cosine, 2^-50, and loosens a test by a
/// millionth.
pub const PARALLEL_AXES_SLACK: f64 = 1e-6;

/// First-order rounding of a projection of a triangle's corner on an axis, as a share of the coordinates and the
/// axis: 8 units in the last place. With less a box that a triangle touches would lose it.
pub const PROJECTION_ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Relative rounding of the spread of a cluster of triangles, the difference of two large squares that sum many rounded
/// terms. With less the bound on the remainder of a far cluster could be too small.
pub const SPREAD_ROUNDING: f64 = 1e-12;

/// Distance to an edge at which a ray's crossing of a triangle is left to another ray, as a share of the products that
/// decide it. Products of three coordinates are off by some 1e-15; with less a crossing could be counted in both
/// triangles of an edge or in none, with more, rays that would decide are given up.
pub const GRAZING: f64 = 1e-10;

/// Distance from a point that no ray leaves clearly to the points next to it that are used instead, as a share of the
/// bounds' diagonal: a triangle whose normal is within 89 degrees of the displacement is then no longer grazed.
pub const BESIDE_SURFACE: f64 = 1e2 * GRAZING;

/// Distance below which a point is on the surface, as a share of the bounds' diagonal: ten times the resolution of
/// rays. With less the winding number would be used at points at which it is the mean of both sides.
pub const ON_SURFACE: f64 = 10.0 * GRAZING;

/// Distance from which a point is clear of the surface, as a share of the bounds' diagonal: a hundred times the
/// distance of the points used instead of those that no ray leaves clearly. With less a count found in such a crease
/// would be carried on from it.
pub const SIDE_IS_CLEAR: f64 = 1e2 * BESIDE_SURFACE;

/// Distance of their ends, as a share of an edge's length, below which two open edges are one border. A gap of that
/// width counts as 1/25 of a winding number at half an edge's distance, so that the sum over both surfaces still tells
/// inside from outside there; with more, borders that only pass each other could count as one.
pub const SAME_BORDER: f64 = 0.125;

/// Minimum by which a field's root is larger than the surface, metres: a surface may be a single point, and cells must
/// still be far wider than the rounding of their coordinates.
pub const FIELD_MARGIN_MIN_M: f64 = 1e-6;

/// Default tolerance of a field as a share of the surface's diagonal. Less makes fields larger in proportion to its
/// square, more makes ticks compute distances exactly that a field could have given.
pub const FIELD_TOLERANCE_SHARE: f64 = 1e-3;

/// Relative difference of two volumes up to which they are equal except for rounding: a union of octree boxes that is
/// no box has at least an eighth more than its parts.
pub const VOLUME_ROUNDING: f64 = 1e-9;

/// Relative rounding of two distances and their sum, with a margin: the cut-off of a candidate list. Each is off by
/// some 1e-15; with less a list could lack the nearest triangle of a corner of its cell.
pub const CANDIDATE_ROUNDING: f64 = 1e-12;

/// Inflation of an octant before triangles are clipped to it, relative to the coordinates: 4 units in the last place of
/// an `f64`. With less a triangle in the common face of two octants could be in neither.
pub const OCTANT_INFLATION: f64 = 4.0 * f64::EPSILON;

/// Error of a restriction of a polynomial of degree N to an interval, for each N, in units of [`UNIT_ROUNDOFF`] of its
/// largest coefficient. Lerps are off by at most 3 U each, 2 N of them in a row, and the right end by 3 U, which moves
/// the value by 6 N U: 12 N U in all, taken as 16 N. With less the solver could cut off a contact.
pub const RESTRICTION_ROUNDINGS: f64 = 16.0;

/// Error of a coefficient of the coplanarity cubic, in units of [`UNIT_ROUNDOFF`] of the product x y z of the features'
/// extents. A triple product of vectors with components up to (x, y, z) has six terms up to x y z. To first order: a
/// component of n0 is off by 8 U of the product of its two extents, of m by 20 U; a term of w.n0 by 12 U xyz, of w.m by
/// 28; with sums 46 and 104; so D1 = (w0.m + w1.n0) / 3 by (150 + 18) / 3 + 6 = 62 U xyz. 72 leaves a margin for the
/// higher orders. Less would cull true contacts at a face's border.
pub const COPLANARITY_ROUNDINGS: f64 = 72.0;

/// Error of a coefficient of a quartic of the non-collinear filter, in units of [`UNIT_ROUNDOFF`] of the squared areas
/// of the extents. With A = (y z)^2 for the product n.x q.x, in sum over the three components: a component of n0 is at
/// most 2 y z and off by 8 U y z, one of m at most 4 and off by 20. So K0 is off by 44 U A, K1 by 52, K2 by 62. If q is
/// the sum of two normals, K2 is off by 120; n.q + n.s - n.n by 3 * 62 + 20. 256 leaves a margin for the higher orders.
/// Less would cull true contacts.
pub const OUTSIDE_ROUNDINGS: f64 = 256.0;

/// Error of a distance of corners along a direction, in units of [`UNIT_ROUNDOFF`] of the sum of the extents. A gap r +
/// v - u has components up to 3 extents and is off by 8 U extents; along a unit direction, itself off by 4 U, products
/// and sums lose 15 U of the sum of the extents, and a mean of both ends 6 U more: less than 48 U in all. Less would
/// let rounding separate touching features.
pub const SEPARATION_ROUNDINGS: f64 = 48.0;

/// Length of an interval, as a share of the step, from which on only separating directions decide a contact: 2^-16.
/// Features hardly turn in it, so that one direction serves for all of it. With more, directions fail and the
/// polynomials are evaluated again; with less, the polynomials' rounding leaves more open than they decide.
pub const SHORT_INTERVAL: f64 = 1.0 / 65_536.0;

/// Share of the step below which an advance along a separating direction ends in contact: 2^-44, above the rounding of
/// times. With less a contact is approached without end.
pub const ADVANCE_MIN: f64 = 1.0 / 17_592_186_044_416.0;

/// Error bound of times computed within an interval, as a share of the step: 2^-50. With less an interval could begin
/// after the contact in it.
pub const TIME_ROUNDING: f64 = 1.0 / 1_125_899_906_842_624.0;

/// Share of the step below which an advance with a thickness ends in contact: 2^-24. The features are then nearer than
/// the thickness plus their approach in that time.
pub const THICK_ADVANCE_MIN: f64 = 1.0 / 16_777_216.0;

/// Error of a point that was transformed by a pose, or back, as a share of the greatest coordinates met: 2^-46. A
/// rotation's entries are off by some 4 units of 2^-53, so is its transpose as its inverse, and sums of four products
/// lose 4 more.
pub const POSE_ROUNDING: f64 = 1.0 / 70_368_744_177_664.0;

/// Slack of an oriented box stored in `f32`, as a share of the coordinates met: 2^-18. Its axes are off right angles
/// and unit length by some 2^-22, and a projection of it in `f32`, pose included, by some twenty units of 2^-24; a
/// smaller value would let a box be apart from a triangle that it holds.
pub const SLAB_ROUNDING: f64 = 1.0 / 262_144.0;

/// Factor on a distance, in metres, that a search or a bound may rely on: 1 + 2^-30 or so. Distances of the scene are
/// sums and roots of some ten terms, each off by 2^-53 of coordinates below 10 km; a factor of 1 would lose a pair of
/// triangles that is exactly in reach, a much larger one only searches a little farther.
pub const BOUND_COVER: f64 = 1.0 + 1e-9;

/// Factor on a distance that was computed in `f32`: its three differences and the root lose 4 units of 2^-24, 2.4e-7. A
/// smaller value would let a vertex move farther than the reported movement of its tissue.
pub const SINGLE_LENGTH_COVER: f64 = 1.0 + 1e-6;

/// Shortening of a unit vector that is rounded to `f32`, so that it is no longer than 1: each component is off by 2^-24
/// of itself, and once more when it is shortened, 1.2e-7 in all. Without it a bound along the vector would be too
/// large.
pub const SINGLE_UNIT_SLACK: f32 = 1e-6;

/// Relative slack for the rounding of a squared distance to a sample: some ten units of 2^-53, a hundred times over. A
/// smaller value would let a sample apply to a point just outside its ball.
pub const SAMPLE_ROUNDING: f64 = 1e-11;

/// Relative slack for the rounding of a distance that is compared with a radius: some ten units of 2^-53. A smaller
/// value would leave out a box that holds a vertex as deep as the deepest one found.
pub const RADIUS_ROUNDING: f64 = 1e-12;

/// Minimum skin of the near list of a link and a tissue, beyond the closest pair, metres: a tool of few millimetres has
/// a field so fine that its tolerance alone is a tick's motion. It is also the minimum for the triangles kept for a
/// probe, if the probe hardly moves. A larger skin makes each search visit more triangles, a smaller one makes searches
/// more frequent.
pub const NEAR_LIST_SKIN_M: f64 = 1e-3;

/// Maximum error of a chord against its arc, as a share of the pose path; a time of impact may be early by as much.
/// Smaller values split turns into more parts, each with a search of its own.
pub const CHORD_ERROR_SHARE: f64 = 2e-4;

/// Finest tolerance of a link's field, as a share of the link's diagonal. Memory and time to build grow with its
/// inverse square; at 1e-4 a field of a forceps takes a hundred megabytes.
pub const FIELD_TOLERANCE_SHARE_MIN: f64 = 1e-4;

/// Slack of the checks that a contact's weights sum to one and are not negative, and that its normal has length one. It
/// decides no result; thirds of a slender triangle's corners lose six digits.
pub const CONTACT_SLACK: f64 = 1e-6;

/// Distance that a rendered instrument's proxy keeps from tissue, metres. A membrane of 0.2 mm is ten times as thick,
/// and a hand does not feel it; it is a hundred times the rounding of a simulator's `f32` poses, and the part that a
/// continuous test may use up leaves no doubt about the side of the proxy. With more, thin parts feel too thick; with
/// less, motion in contact is cut into more parts.
pub const STAND_OFF_M: f64 = 20e-6;

/// Distance to tissue, metres, below which a proxy moves only as far as no gap halves: squeezed ever harder it would
/// otherwise come as near as rounding, where no test tells the sides.
pub const STAND_OFF_MIN_M: f64 = 1e-6;

/// Motion below which a proxy has reached its target, metres. At 500 N/m it is 50 uN of force; with less, rounds are
/// spent on forces too small to feel.
pub const PROXY_AT_REST_M: f64 = 1e-7;

/// Difference of a link's command from the proxy's, metres at the farthest point, below which the known screw is kept.
/// Hosts pose links in `f32`, which is off by 1e-8 m within a metre: a smaller value would turn the hinge of a jaw at
/// rest into noise. With more, a jaw that closes at less than a millimetre a second has no hinge of its own.
pub const SCREW_LENGTH_MIN_M: f64 = 1e-6;

/// Violation up to which a row of the quadratic programme holds, metres: a thousandth of [`PROXY_AT_REST_M`], and far
/// above the rounding of coordinates of 1 m, 1e-16.
pub const ROW_SATISFIED_M: f64 = 1e-10;

/// Squared sine below which a row counts as a sum of the active ones. Orthogonal bases are off by some 1e-15; with
/// less, rounding would be divided by itself and forces would explode, with more, near-parallel facets would
/// contradict each other.
pub const DEPENDENT_SINE_SQUARED: f64 = 1e-14;

/// Maximum cosine of a direction with an edge out of a feature for the direction to be in the feature's normal cone:
/// rounding of closest points 20 um apart in coordinates of 1 m is 1e-11, and facets that are coplanar in `f32` are off
/// by 1e-5 and more. With less, contacts on a flat tessellation would be lost; with more, its inner edges push
/// sideways.
pub const NORMAL_CONE_SLACK: f64 = 1e-4;

/// As [`NORMAL_CONE_SLACK`], for a vertex that faces a face: the corners of a patch are kept while it is this nearly
/// flat on the other. 1.1 degrees; with less, a flat contact rocks from corner to corner, with more a fine sphere has a
/// hundred contacts.
pub const FLAT_CONE_SLACK: f64 = 0.02;

/// Minimum distance within which a proxy searches for contacts, metres: ten times its stand-off, and the path of a hand
/// at 200 mm/s in a millisecond. With less, motion takes more rounds; with more, each round tests more pairs. A tool of
/// less than 3 mm has less, down to [`PROXY_MARGIN_SMALL_M`].
pub const PROXY_MARGIN_MIN_M: f64 = 2e-4;

/// Maximum distance within which a proxy searches for contacts, metres: no round moves a proxy farther. With more, a
/// round in a fine mesh tests thousands of pairs; with less, a device that is far off is followed in more rounds.
pub const PROXY_MARGIN_MAX_M: f64 = 2e-3;

/// Minimum search distance of later rounds, metres: after a round that moved the proxy all its way, the next round of
/// the tick searches only as far as that way, and at least this far, three times the stand-off, so that contacts at
/// rest are found. With more, each round measures pairs that it cannot reach; with less, a contact that opens a little
/// is lost.
pub const PROXY_MARGIN_ROUND_M: f64 = 6e-5;

/// Minimum margin of the smallest tools, in all rounds, metres: one and a half times the stand-off. With more, all of a
/// tool of a tenth of a millimetre is near the tissue that it touches; with less, contacts at rest are not found.
pub const PROXY_MARGIN_SMALL_M: f64 = 3e-5;

/// Maximum skin of the list of triangles near a proxy, metres: half the largest margin. The skin is at least half the
/// least margin. With more, a fast hand's lists hold thousands of pairs.
pub const PROXY_SKIN_MAX_M: f64 = 1e-3;

/// Maximum distance, metres, between a contact of the proxy and a contact of the last tick on other features for both
/// to be one contact: an edge length of a coarse organ. With less, contacts change their ids while they slide, with
/// more those of two jaws' teeth would be mixed up.
pub const SAME_CONTACT_M: f64 = 1e-3;

/// Relative distance from its cone's limit within which a friction force slips. Projection on the cone rounds to some
/// 1e-16; with less a slipping contact would hold on to its anchor, with more it lets go before its limit.
pub const CONE_SHARE_SLACK: f64 = 1e-9;

/// Change in a sweep below which forces have converged, newtons: a hundredth of the force that counts as at rest.
pub const FRICTION_CONVERGED_N: f64 = 1e-7;

/// Maximum difference from one of the sum of a vertex's weights in a binding. Weights in `f32` are off by 1e-7; the
/// vertex is off by this share of its distance from the origin.
pub const WEIGHT_SUM_SLACK: f64 = 1e-6;

/// Share of a triangle's height within which a vertex that a cut adds counts as on the triangle's edge, and share of an
/// edge within which it counts as at an end. Two triangles that share the edge then give it the same weights, and the
/// two lips of a cut stay together. A position in `f32` is off by 1e-7 of a coordinate, up to 1e-5 of a fine triangle.
pub const ON_EDGE_SHARE: f64 = 1e-5;

/// Minimum determinant of a blend of rotations that is inverted. Frames that turn against each other blend to a matrix
/// that flattens space; below, rounding would be amplified a millionfold.
pub const BLEND_DETERMINANT_MIN: f64 = 1e-6;

/// Least sixfold volume of a cell, as a share of the cube of its size, with which it can carry vertices. Barycentric
/// weights divide by the volume and lose as many digits.
pub const CELL_VOLUME_MIN: f64 = 1e-12;

/// Barycentric weight below which a vertex counts as lying in the opposite face: rounding of the weights of a cell that
/// is not flat.
pub const CELL_WEIGHT_ROUNDING: f64 = 1e-9;

/// Rounding of a coordinate to `f32`, as a share of it, in each of three coordinates of a vertex and of a cell's corner:
/// a vertex that is no farther from a cell lies on it.
pub const SINGLE_COORDINATE_ROUNDING: f64 = 2.5e-7;

/// Greatest distance of an incision's points from the surface, metres: what a hand that draws a line on an organ is off
/// by. A point farther away is more likely one of another frame or unit.
pub const INCISION_REACH_M: f64 = 0.01;

/// Share of an edge within which an incision goes through the vertex at its end. A smaller one leaves thinner triangles
/// at the lips, a greater one moves the line by more.
pub const INCISION_SNAP_SHARE: f64 = 0.05;

/// Share of its area that a triangle at an incision's lip keeps at least when the lips part: below it the triangle would
/// be about to turn over.
pub const INCISION_AREA_SHARE_MIN: f64 = 0.05;

/// Distance of an incision's point from the part of a triangle that holds it, as a share of the part's longest edge:
/// each split is off by some units of 2^-53 of the edge before it.
pub const INCISION_ROUNDING: f64 = 1e-9;
