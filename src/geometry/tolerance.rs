//! Every tolerance of the core, each with its unit, where it comes from and what breaks when it changes.

/// Largest |1 - norm| of a quaternion that is normalised instead of refused. Unitless. A pose kept in
/// `f32` by a simulator is off by 1e-6; 1e-3 is no rounding error but a bug of the sender.
pub const QUATERNION_NORM_SLACK: f64 = 1e-3;

/// Farthest a coordinate may be from the origin, metres. At 10 km one `f32` step is 1 mm; beyond it
/// stored surfaces lose their shape, and squares of squares still stay far from overflow.
pub const COORDINATE_MAX_M: f64 = 1e4;

/// Relative slack of an `f32` bound on a box distance: 2^-21. Rounding the query point, the subtraction
/// and the sum of squares lose at most 4 units of 2^-24 relative to the coordinates met; a smaller
/// value would let a bound exceed the true distance and a query miss the nearest triangle.
pub const BOX_DISTANCE_SLACK: f32 = 1.0 / 2_097_152.0;

/// A triangle with |normal|^2 at most this times the fourth power of its longest edge is a sliver: its
/// height is at most 1e-6 of that edge. The weights of its interior lose six digits and more, so its edges
/// answer for its face; that is wrong by at most half its height.
pub const SLIVER: f64 = 1e-12;

/// What a distance to a triangle computed in `f32` loses, as a share of the farthest corner's: 2^-18, that is 64
/// units of 2^-24. Coordinates seen from the point are off by 1 unit, edges by 3, the foot on an edge and the
/// normal's products by some 10 each; a smaller value would let a search leave out the nearest triangle.
pub const SINGLE_DISTANCE_ROUNDING: f32 = 1.0 / 262_144.0;

/// A normal whose square, in metres to the fourth power, is not above this has lost digits to underflow in `f32`,
/// and bounds made of it tell nothing: triangles of less than 30 nm.
pub const SINGLE_NORMAL_SQUARED_MIN: f32 = 1e-30;

/// Squared sine of the angle below which two segments count as parallel when their closest points are
/// computed; the answer is then taken from the four ends, which is exact for parallel segments and wrong
/// by at most 1e-8 of a segment's length otherwise.
pub const PARALLEL_SINE_SQUARED: f64 = 1e-16;

/// How far a bound of a k-DOP is moved outwards after rounding to `f32`, relative: 2^-22, two to four units in
/// the last place. Rounding to nearest loses half a unit and the `f64` sum before it far less; with nothing
/// added a box would not hold the points it was made of.
pub const KDOP_OUTWARD: f32 = 1.0 / 4_194_304.0;

/// Rounding of a point seen from a triangle's frame, as a share of its distance times the triangle's longest
/// edge over its height: 2^-48, that is 32 units of 2^-53. The normal, a cross product, is off by 4 units
/// times edge over height, axes and subtractions by a few more; a smaller value would let the fast triangle
/// test decide what rounding decided.
pub const FRAME_ROUNDING: f64 = 1.0 / 281_474_976_710_656.0;

/// A triangle whose height is at most this times its longest edge has no frame: its [`FRAME_ROUNDING`] would
/// be 3e-8 and more of a distance, and exact predicates serve it as fast.
pub const FLATTEST_FRAME: f64 = 1e-7;

/// How far off its place a point is that was carried along by a pose, or back, as a share of the greatest
/// coordinates met: 2^-46. A rotation's entries are off by some 4 units of 2^-53, so is its transpose as its
/// inverse, and sums of four products lose 4 more.
pub const POSE_ROUNDING: f64 = 1.0 / 70_368_744_177_664.0;

/// Slack of an oriented box kept in `f32`, as a share of the coordinates met: 2^-18. Its axes are off right
/// angles and unit length by some 2^-22, and a projection of it in `f32`, pose included, by some twenty units
/// of 2^-24; a smaller value would let a box be apart from a triangle that it holds.
pub const SLAB_ROUNDING: f64 = 1.0 / 262_144.0;

/// Factor on a distance, in metres, that a search or a bound may rely on: 1 + 2^-30 or so. Distances of the scene are
/// sums and roots of some ten terms, each off by 2^-53 of coordinates below 10 km; a factor of 1 would lose a pair of
/// triangles that is exactly in reach, a much larger one only looks a little farther.
pub const BOUND_COVER: f64 = 1.0 + 1e-9;

/// Factor on a distance that was computed in `f32`: its three differences and the root lose 4 units of 2^-24, 2.4e-7.
/// A smaller value would let a vertex move farther than its tissue is said to have moved.
pub const SINGLE_LENGTH_COVER: f64 = 1.0 + 1e-6;

/// Covers the rounding of a squared distance to a sample, relative: some ten units of 2^-53, a hundred times over. A
/// smaller value would let a sample speak for a point just outside its ball.
pub const SAMPLE_ROUNDING: f64 = 1e-11;

/// Covers the rounding of a distance that is compared with a radius, relative: some ten units of 2^-53. A smaller value
/// would leave out a box that holds a vertex as deep as the best.
pub const RADIUS_ROUNDING: f64 = 1e-12;

/// The near list of a link and a tissue may look at least so much farther than the closest pair, metres: a tool of few
/// millimetres has a field so fine that its tolerance alone is a tick's motion. A larger skin makes each search visit
/// more triangles, a smaller one makes searches more frequent.
pub const NEAR_LIST_SKIN_M: f64 = 1e-3;

/// A chord may be off its arc by this share of the pose path, and a time of impact be early by as much. Smaller values
/// split turns into more parts, each with a search of its own.
pub const CHORD_ERROR_SHARE: f64 = 2e-4;

/// Finest tolerance of a link's field, as a share of the link's diagonal. Memory and time to build grow with its
/// inverse square; at 1e-4 a field of a forceps takes a hundred megabytes.
pub const FIELD_TOLERANCE_SHARE_MIN: f64 = 1e-4;

/// Slack of the checks that a contact's weights sum to one and are not negative, and that its normal is of length one.
/// It decides about no answer; thirds of a slender triangle's corners lose six digits.
pub const CONTACT_SLACK: f64 = 1e-6;
