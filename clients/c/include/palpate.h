// Palpate for C. Made from clients/c/src by cbindgen; see its test.
//
// Units are SI, frames right-handed, quaternions x, y, z, w. A call returns a code; palpate_last_error returns
// the message of an error. Handles may be used from any thread, and are closed once.
//
// Structs that begin with `size` may get further fields in later versions, at their end: set `size` to
// sizeof of the struct, and unused fields to 0 for their defaults. All other structs stay as they are.

#ifndef PALPATE_H
#define PALPATE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Version of this header. `palpate_version` returns that of the library.
#define PALPATE_VERSION_MAJOR 0
#define PALPATE_VERSION_MINOR 1
#define PALPATE_VERSION_PATCH 0
#define PALPATE_VERSION_STRING "0.1.0"

// First argument of `palpate_open_local` and `palpate_connect`: the library refuses a header that does not fit.
#define PALPATE_HEADER_VERSION \
    (1000000u * PALPATE_VERSION_MAJOR + 1000u * PALPATE_VERSION_MINOR + PALPATE_VERSION_PATCH)

// Cap, rate or radius changed the wrench.
#define PALPATE_LIMITED 1

// Answers are too old, or the pose is invalid: the force fades.
#define PALPATE_FADING 2

// The proxy left the radius in which the model is complete: the force may lack some contacts.
#define PALPATE_BEYOND_RADIUS 4

// The tool is in tissue that was put there: it is given no force by that tissue until it is out.
#define PALPATE_IS_EMBEDDED 8

// Tissue closed on the tool from several sides and leaves it no room.
#define PALPATE_IS_SQUEEZED 16

// The engine's time ended before the answer was done: it holds the last one's force.
#define PALPATE_IS_LATE 32

// Controls are points, such as the nodes of a volume mesh.
#define PALPATE_POINTS 0

// Controls are frames, such as bones: one frame alone moves a rigid body.
#define PALPATE_FRAMES 1

// Tissue is on the side that most triangles of a surface face away from: a closed surface that faces inwards is the
// wall of a lumen, with tissue all around it. Without it, closed bodies are turned to face outwards.
#define PALPATE_AS_WOUND 1

// A region that tools stay out of: it holds them back like tissue, and bears no load.
#define PALPATE_FORBIDDEN_REGION 2

// The contact was not in the last answer.
#define PALPATE_CONTACT_BEGAN 1

// The tissue is a forbidden region.
#define PALPATE_CONTACT_FORBIDDEN 2

// The link is wholly inside the tissue and touches no triangle: the contact is its deepest vertex, and the triangle
// nearest to that.
#define PALPATE_CONTACT_WHOLLY_INSIDE 4

// A vertex of the tissue and a face of the link.
#define PALPATE_VERTEX_FACE 1

// An edge of the tissue and an edge of the link.
#define PALPATE_EDGE_EDGE 2

// A face of the tissue and a vertex of the link.
#define PALPATE_FACE_VERTEX 3

// No tissue was found: `signed_distance_m` is a lower bound, 0.05 m unless `PALPATE_DISTANCE_CUT_SHORT` is set too. Then
// it may be negative, and the link may be inside tissue.
#define PALPATE_DISTANCE_BEYOND 1

// The tick's time ended before all of the link was searched: contacts may be missing, and the distance is that of the
// closest points that were found. `lower_bound_m` holds all the same.
#define PALPATE_DISTANCE_CUT_SHORT 2

// Stands for the newest revision of a tissue.
#define PALPATE_NEWEST UINT64_MAX

// Numbers of 4 bytes.
#define PALPATE_FLOAT 0

// Numbers of 8 bytes.
#define PALPATE_DOUBLE 1

// Result of a call.
typedef enum palpate_code {
  // Success.
  PALPATE_OK = 0,
  // A pointer is NULL, a number is NaN or out of range, a mesh is malformed. Nothing was changed.
  PALPATE_INVALID_ARGUMENT = 1,
  // The scene, tissue or tool does not exist, or no longer exists.
  PALPATE_NOT_FOUND = 2,
  // The name is taken.
  PALPATE_ALREADY_EXISTS = 3,
  // The server refused the call: key, role, quota or limit.
  PALPATE_REFUSED = 4,
  // No server answers at the address, or the connection broke and was not restored.
  PALPATE_UNAVAILABLE = 5,
  // Another thread is in this session's servo now.
  PALPATE_BUSY = 6,
  // The call does not fit earlier calls: a servo in a session in lock-step, a scene that was deleted.
  PALPATE_WRONG_ORDER = 7,
  // The buffer is too small; the count gives the required size.
  PALPATE_TOO_SMALL = 8,
  // There is no answer yet.
  PALPATE_NO_ANSWER = 9,
  // An internal error of Palpate. The session or scene of the call must not be used any more.
  PALPATE_INTERNAL = 10,
  // The program was compiled with the header of a version that does not fit the library.
  PALPATE_INCOMPATIBLE = 11,
} palpate_code;

// Rule that decides the sign of a distance to a mesh.
typedef enum palpate_sign_rule {
  // A rule that only a newer server knows.
  PALPATE_SIGN_UNKNOWN = 0,
  // Angle-weighted normal of the closest feature: the mesh is closed and has one body.
  PALPATE_SIGN_PSEUDONORMAL = 1,
  // Generalised winding number: the mesh is open or has several bodies, and signs have a certainty.
  PALPATE_SIGN_WINDING_NUMBER = 2,
} palpate_sign_rule;

// Relation of a proxy to the tissues.
typedef enum palpate_render_state {
  // A state that only a newer server knows.
  PALPATE_UNKNOWN = 0,
  // Nothing holds the proxy.
  PALPATE_FREE = 1,
  // Tissue holds the proxy back.
  PALPATE_TOUCHING = 2,
  // The proxy began inside a tissue, which exerts no force until the proxy was outside once.
  PALPATE_EMBEDDED = 3,
  // Tissues leave no space for the proxy.
  PALPATE_SQUEEZED = 4,
  // The tick's time ended before the proxy arrived.
  PALPATE_LATE = 5,
} palpate_render_state;

// A scene. Calls may come from any thread.
typedef struct palpate_scene palpate_scene;

// A server of scenes, in this process or remote. Calls may come from any thread.
typedef struct palpate_server palpate_server;

// A tool held by a hand. Calls may come from any thread; `palpate_servo` from one at a time.
typedef struct palpate_session palpate_session;

// A closed tube of round ends about a line of points, which carry it. Calls may come from any thread.
typedef struct palpate_tube palpate_tube;

// A point or direction.
typedef struct palpate_vec3 {
  // x coordinate.
  double x;
  // y coordinate.
  double y;
  // z coordinate.
  double z;
} palpate_vec3;

// Counts and measures of a mesh as it was loaded.
typedef struct palpate_mesh_report {
  // Vertices, those without a triangle included.
  uint32_t n_vertices;
  // Triangles, those of zero area and those that fill holes included.
  uint32_t n_triangles;
  // Connected bodies: triangles joined by edges.
  uint32_t n_bodies;
  // Not 0: every edge has two triangles, and they agree in winding.
  uint32_t is_closed;
  // Edges with one triangle, without joined edges.
  uint32_t open_edges;
  // Open edges that were joined to one edge in pairs, because their ends are at equal positions or within `weld_m`.
  uint32_t welded_edges;
  // Edges with three triangles or more.
  uint32_t non_manifold_edges;
  // Edges whose two triangles disagree in winding.
  uint32_t inconsistent_edges;
  // Triangles of zero area, which are kept.
  uint32_t degenerate_triangles;
  // Triangles with the vertices of an earlier one, which are kept.
  uint32_t duplicate_triangles;
  // Vertices that no triangle uses.
  uint32_t unreferenced_vertices;
  // Triangles that were turned so that neighbours agree and closed bodies face outwards.
  uint32_t reversed_triangles;
  // Holes that were filled because of `fill_holes_m`.
  uint32_t filled_holes;
  // Triangles that fill them: the last ones of the mesh.
  uint32_t added_triangles;
  // Rule that decides the sign of a distance.
  enum palpate_sign_rule sign_rule;
  // Signed volume, cubic metres: negative for the wall of a lumen. Meaningful if the mesh is closed.
  double volume_m3;
  // Area, square metres.
  double area_m2;
  // Mean length of an edge, metres.
  double mean_edge_m;
  // Least corner of the box of all used vertices, metres.
  struct palpate_vec3 box_min_m;
  // Greatest corner of that box, metres.
  struct palpate_vec3 box_max_m;
} palpate_mesh_report;

// Address and credentials of a server. NULL if not used.
typedef struct palpate_address {
  // `sizeof` of this struct.
  uint32_t size;
  // `host:port`, `https://host:port` or `unix:/path`.
  const char *url;
  // File with an API key.
  const char *key_file;
  // PEM file of the trusted certificates, for https.
  const char *ca_file;
  // PEM file of the certificate to present.
  const char *certificate_file;
  // PEM file of that certificate's private key.
  const char *certificate_key_file;
  // Timeout of a call, seconds; 0: 60.
  double timeout_s;
  // The API key itself, instead of `key_file`.
  const char *key;
} palpate_address;

// Triangles over shared vertices, counter-clockwise seen from outside.
typedef struct palpate_mesh {
  // x, y, z of each vertex.
  const float *positions;
  // Number of vertices.
  size_t n_vertices;
  // Three vertex numbers of each triangle, from 0.
  const uint32_t *triangles;
  // Number of triangles.
  size_t n_triangles;
  // Metres per unit of the positions; 0: 1.
  double scale_to_m;
} palpate_mesh;

// Controls that carry the vertices of a tissue: each vertex is at the weighted sum of its controls. See `BindingChunk`
// of the contract.
typedef struct palpate_binding {
  // `sizeof` of this struct.
  uint32_t size;
  // `PALPATE_POINTS` or `PALPATE_FRAMES`.
  uint32_t kind;
  // The controls at rest, metres, scene frame: x, y, z of each point; x, y, z and the quaternion x, y, z, w of each
  // frame.
  const float *controls;
  // Number of controls.
  size_t n_controls;
  // Number of weights of each vertex, 1 to 32, in the order of the mesh.
  const uint32_t *weights_per_vertex;
  // Number of vertices.
  size_t n_vertices;
  // Control of each weight, vertex by vertex.
  const uint32_t *ids;
  // The weights; those of a vertex sum to 1 to within 1e-6.
  const double *weights;
  // Number of weights of all vertices.
  size_t n_weights;
  // Instead of weights, a volume mesh whose nodes are the controls, which are points: each vertex is bound to the cell
  // around it, or else to the nearest. Four corners of each tetrahedron, in either orientation.
  const uint32_t *tetrahedra;
  // Number of tetrahedra.
  size_t n_tetrahedra;
  // Eight corners of each hexahedron: a quadrilateral and, in the same order, the quadrilateral opposite.
  const uint32_t *hexahedra;
  // Number of hexahedra.
  size_t n_hexahedra;
} palpate_binding;

// Options of a tissue.
typedef struct palpate_tissue_options {
  // `sizeof` of this struct.
  uint32_t size;
  // Any of `PALPATE_AS_WOUND` and `PALPATE_FORBIDDEN_REGION`, combined.
  uint32_t flags;
  // Joins open edges whose ends are at most this far apart, metres, up to 10,000. 0: only edges at equal positions.
  double weld_m;
  // Fills each hole in a box with a diagonal of at most this length, metres, up to 10,000. 0: none.
  double fill_holes_m;
  // Lets the points or frames of a solver carry the vertices, which `palpate_drive` moves. NULL: none do.
  const struct palpate_binding *binding;
} palpate_tissue_options;

// A rotation: a quaternion of norm 1, to within 0.001. All zero is refused.
typedef struct palpate_quaternion {
  // Coefficient of i.
  double x;
  // Coefficient of j.
  double y;
  // Coefficient of k.
  double z;
  // The real part; 1 for no rotation.
  double w;
} palpate_quaternion;

// A rigid transform: first the rotation, then the translation.
typedef struct palpate_pose {
  // Metres, in the frame that the pose maps to.
  struct palpate_vec3 position_m;
  // Rotation of the frame.
  struct palpate_quaternion orientation;
} palpate_pose;

// A sphere fixed to a link, such as a tip or a pad, whose distance from tissue each answer tells.
typedef struct palpate_probe {
  // `sizeof` of this struct.
  uint32_t size;
  // Name, unique in its tool.
  const char *name;
  // Centre in the link's frame, metres.
  struct palpate_vec3 position_m;
  // Radius, metres, 0 or more.
  double radius_m;
} palpate_probe;

// A rigid part of a tool.
typedef struct palpate_link {
  // `sizeof` of this struct.
  uint32_t size;
  // Name, unique in its tool.
  const char *name;
  // Mesh in the link's frame.
  struct palpate_mesh mesh;
  // Tool frame from link frame at rest; NULL: the identity.
  const struct palpate_pose *rest_pose;
  // Fills holes as in `palpate_tissue_options`, so that a tool that is meant to be closed is closed.
  double fill_holes_m;
  // Joins open edges as in `palpate_tissue_options`.
  double weld_m;
  // Probes fixed to the link.
  const struct palpate_probe *probes;
  // Number of probes, at most 16 for all links of a tool.
  size_t n_probes;
} palpate_link;

// A cut: one transaction.
typedef struct palpate_cut {
  // `sizeof` of this struct.
  uint32_t size;
  // Triangles to remove, each once.
  const uint32_t *removed;
  // Number of triangles to remove.
  size_t n_removed;
  // x, y, z of each new vertex, scene frame. The first new vertex gets the id `first_vertex` of the answer.
  const float *positions;
  // Number of new vertices.
  size_t n_positions;
  // Three vertex ids of each new triangle, of old and new vertices.
  const uint32_t *triangles;
  // Number of new triangles.
  size_t n_triangles;
  // For each new triangle, the removed triangle that it replaces in part, so that contacts persist; NULL: none.
  const uint32_t *parents;
} palpate_cut;

// Result of a cut.
typedef struct palpate_cut_made {
  // Number of cuts of the tissue so far.
  uint64_t topology_revision;
  // Id of the first new vertex; the others follow.
  uint32_t first_vertex;
  // Id of the first new triangle; the others follow.
  uint32_t first_triangle;
} palpate_cut_made;

// Rendering options of a session's tool. `palpate_session_defaults` fills them in; 0 also selects the default.
typedef struct palpate_session_options {
  // `sizeof` of this struct.
  uint32_t size;
  // Tool that the hand holds.
  uint32_t tool_id;
  // Links that no tissue constrains, blades and needles: bit n is link n.
  uint32_t cutting_links;
  // Not 0: nothing runs by itself, and `palpate_step` replaces `palpate_servo`.
  uint32_t lock_step;
  // Stiffness of the spring, N/m, 1 to 100,000. 0: 500.
  double stiffness_n_per_m;
  // Stiffness against rotation, N m/rad, 0.001 to 1,000. 0: 1.
  double rotational_stiffness_nm_per_rad;
  // Stiffness of each link against its commanded pose, N/m, 1 to 100,000. 0: 500.
  double link_stiffness_n_per_m;
  // Coulomb's coefficient, 0 to 2.
  double friction;
  // Largest force ever sent. 0: 3.3 N.
  double max_force_n;
  // Largest torque ever sent. 0: 0.1 N m.
  double max_torque_nm;
  // Fastest change of force. 0: 300 N/s.
  double max_force_rate_n_per_s;
  // Fastest change of torque. 0: 9 N m/s.
  double max_torque_rate_nm_per_s;
  // Point at which the device holds the tool, tool frame.
  struct palpate_vec3 hold_point_m;
  // Rate at which poses are sent to the engine, 1 to 1,000. 0: 1,000. The servo runs at the device's own rate.
  double rate_hz;
  // Greatest angle between two facets of a tissue that count as one smooth surface to the force, radians, 0 to 1. 0:
  // none.
  double force_shading_rad;
  // Distance within which tissue triangles are contacts of `palpate_surface_contacts`, metres, at most 0.05. 0: the
  // smaller of 0.001 and a quarter of the diagonal of the tool's largest link.
  double contact_margin_m;
  // Maximum of such contacts for each link, deepest first, at most 1,024. 0: 64.
  uint32_t max_contacts;
  // Not 0: contacts between one pose and the next are not searched for.
  uint32_t omit_sweep;
  // Not 0: also find the pairs of `palpate_feature_pairs`.
  uint32_t feature_pairs;
  // Maximum of such pairs for each link, nearest first, at most 1,024. 0: 256.
  uint32_t max_feature_pairs;
  // Time limit of a tick in the engine, seconds, at most 10: after it the answer has what was found so far, and its
  // force is held (`PALPATE_IS_LATE`); the next tick goes on where it stopped. 0: six tenths of the period of `rate_hz`;
  // in lock-step none in this process, and a server's own. A server's own limit can only be lowered.
  double deadline_s;
} palpate_session_options;

// The point of a tissue that is nearest to a queried point. Weights as in `palpate_point_pair`.
typedef struct palpate_surface_point {
  // Nearest tissue; 0: there is no tissue, and all else is zero but the infinite distance.
  uint32_t tissue_id;
  // Triangle of the tissue.
  uint32_t triangle;
  // Weights of `position_m` on the triangle.
  struct palpate_vec3 barycentric;
  // The nearest point, scene frame.
  struct palpate_vec3 position_m;
  // Unit normal outwards, scene frame.
  struct palpate_vec3 normal;
  // Distance; negative: the queried point is inside.
  double signed_distance_m;
  // Certainty of the sign, from 0 (a guess) to 1 (certain).
  double sign_certainty;
} palpate_surface_point;

// A tool at a pose.
typedef struct palpate_contact_query {
  // `sizeof` of this struct.
  uint32_t size;
  // The tool.
  uint32_t tool_id;
  // Scene frame from tool frame.
  struct palpate_pose pose;
  // Tool frame from link frame, one for each link; NULL: all at rest.
  const struct palpate_pose *links;
  // Number of links with a pose: that of the tool, or 0.
  size_t n_links;
  // Distance within which a triangle is a contact, metres; 0: as in a session.
  double contact_margin_m;
} palpate_contact_query;

// A point of a tissue and a point of a link: the closest ones, or two that touch. Weights belong to a triangle's
// vertices in the order of the mesh, except that the second and third are swapped in a triangle that was turned to face
// outwards (see `PALPATE_AS_WOUND`): `palpate_export_tissue` gives the order.
typedef struct palpate_point_pair {
  // The tissue.
  uint32_t tissue_id;
  // Triangle of the tissue. Ids of cut triangles are not used again.
  uint32_t triangle;
  // The link, counted from 0 in the tool.
  uint32_t link;
  // Triangle of the link.
  uint32_t link_triangle;
  // Weights of `on_tissue_m` on the tissue's triangle.
  struct palpate_vec3 barycentric;
  // Weights of `on_tool_m` on the link's triangle; zeros in contacts of an older server.
  struct palpate_vec3 link_barycentric;
  // Point on the tissue, scene frame.
  struct palpate_vec3 on_tissue_m;
  // Point on the link, scene frame: `on_tissue_m` plus `signed_distance_m` times `normal`.
  struct palpate_vec3 on_tool_m;
  // Unit, from tissue to tool, scene frame.
  struct palpate_vec3 normal;
  // Distance of the two points; negative: the depth of the one that is inside.
  double signed_distance_m;
} palpate_point_pair;

// A tissue triangle that is inside a link, or nearer to it than the session's contact margin, or that the sweep met on
// the way to this pose. A contact that the link has left behind on that way has distance 0, and the pose and points of
// its `toi`, which need not be at the same place; with `omit_sweep` there are none of these.
typedef struct palpate_surface_contact {
  // Id, constant while the contact lasts: on the same triangle or a neighbouring one, at a nearby point. The ids of
  // `palpate_contacts` are different ones.
  uint64_t contact_id;
  // Geometry revision of the tissue that the contact was computed from.
  uint64_t geometry_revision;
  // The points that touch, or are within the margin.
  struct palpate_point_pair at;
  // Time at which the link met the triangle on its way: 0 at the pose of the last complete answer, 1 at this pose, never
  // later than the true time. Negative: the sweep did not meet it now.
  double toi;
  // Any of `PALPATE_CONTACT_BEGAN`, `PALPATE_CONTACT_FORBIDDEN` and `PALPATE_CONTACT_WHOLLY_INSIDE`, combined.
  uint32_t flags;
} palpate_surface_contact;

// Distance of a link from the nearest tissue.
typedef struct palpate_link_distance {
  // The closest points, or the two ends of the deepest penetration. With `PALPATE_DISTANCE_BEYOND` only the link and
  // the lower bound as distance; all else is 0.
  struct palpate_point_pair at;
  // No tissue is nearer than this; below 0, none is deeper. The distance itself, unless it was cut short.
  double lower_bound_m;
  // Certainty of the sign, from 0 (a guess) to 1 (certain).
  double sign_certainty;
  // Upper bound of the depth if it is not certain, a positive number; 0: it is certain, or it was cut short.
  double depth_max_m;
  // Number of the link's contacts, including those beyond `max_contacts`.
  uint32_t n_contacts;
  // Any of `PALPATE_DISTANCE_BEYOND` and `PALPATE_DISTANCE_CUT_SHORT`, combined.
  uint32_t flags;
} palpate_link_distance;

// The two revisions between which a tissue moves, each held by `palpate_hold_tissue`, or `PALPATE_NEWEST`.
typedef struct palpate_interval {
  // The tissue.
  uint32_t tissue_id;
  // Geometry revision at time 0; `PALPATE_NEWEST`: as `to_revision`, so that the tissue stands still.
  uint64_t from_revision;
  // Geometry revision at time 1.
  uint64_t to_revision;
} palpate_interval;

// First contact of two features: a vertex and a face, or two edges.
typedef struct palpate_self_contact {
  // Time of the contact, 0 to 1.
  double toi;
  // `PALPATE_VERTEX_FACE` or `PALPATE_EDGE_EDGE`.
  uint32_t kind;
  // Tissue of the vertex, or of the edge that is less by tissue and vertices.
  uint32_t tissue_id;
  // Tissue of the face, or of the other edge.
  uint32_t other_tissue_id;
  // The vertex and the face's three; or the ends of one edge, ascending, then of the other, ascending.
  uint32_t vertices[4];
  // The least triangle that has the vertex or the first edge.
  uint32_t triangle;
  // The face, or the least triangle that has the other edge.
  uint32_t other_triangle;
  // Weights of the contact on `triangle`.
  struct palpate_vec3 barycentric;
  // Weights of the contact on `other_triangle`.
  struct palpate_vec3 other_barycentric;
  // Closest point of the first feature at `toi`, scene frame.
  struct palpate_vec3 point_m;
  // Closest point of the other feature at `toi`.
  struct palpate_vec3 other_point_m;
  // Unit, towards the first feature from the other as they come together; zero if nothing defines it.
  struct palpate_vec3 normal;
} palpate_self_contact;

// A law of contacts, which changes their force and no geometry. All 0 but the size: rigid, with the tool's friction.
typedef struct palpate_material {
  // `sizeof(palpate_material)`.
  uint32_t size;
  // 0: the tool's friction counts, and the friction's numbers do not.
  uint32_t has_friction;
  // Stiffness in series with the tool's coupling at the contact, N/m, 1 to 100,000. 0: rigid.
  double stiffness_n_per_m;
  // Damping against the approach of the device, N s/m, 0 to 4.
  double damping_n_s_per_m;
  // Coefficient of a contact that sticks, 0 to 2.
  double static_friction;
  // Coefficient of a contact that slips fast, 0 to `static_friction`.
  double dynamic_friction;
  // Speed at which the coefficient falls from static to dynamic, m/s, 0.0001 to 10. 0: 0.01.
  double stribeck_velocity_m_s;
} palpate_material;

// Rows of numbers, as a solver has them.
typedef struct palpate_rows {
  // `sizeof` of this struct.
  uint32_t size;
  // `PALPATE_FLOAT` or `PALPATE_DOUBLE`; doubles are rounded to floats.
  uint32_t number;
  // First number of the first row. Rows need not be aligned.
  const void *data;
  // Number of rows.
  size_t n;
  // Distance from a row to the next, bytes; 0: each follows the one before at once.
  size_t stride;
} palpate_rows;

// Rows of three numbers that a call writes, as a solver has them.
typedef struct palpate_writable_rows {
  // `sizeof` of this struct.
  uint32_t size;
  // `PALPATE_FLOAT` or `PALPATE_DOUBLE`.
  uint32_t number;
  // First number of the first row. Rows need not be aligned.
  void *data;
  // Number of rows that have room.
  size_t capacity;
  // Distance from a row to the next, bytes; 0: each follows the one before at once.
  size_t stride;
} palpate_writable_rows;

// Force and torque to send to the hand, scene frame, at the hold point.
typedef struct palpate_wrench {
  // Force, newtons.
  struct palpate_vec3 force_n;
  // Torque about the hold point, newton metres.
  struct palpate_vec3 torque_nm;
  // Time since the tick that the force's model answers was sent, seconds.
  double model_age_s;
  // Any of `PALPATE_LIMITED`, `PALPATE_FADING`, `PALPATE_BEYOND_RADIUS`, and of the newest answer's state
  // `PALPATE_IS_EMBEDDED`, `PALPATE_IS_SQUEEZED` and `PALPATE_IS_LATE`, combined.
  uint32_t flags;
} palpate_wrench;

// State of the tool in the newest answer.
typedef struct palpate_rendering {
  // Sequence of the answered tick; rises.
  uint64_t sequence;
  // Scene frame from tool frame, of the proxy: the pose at which the tool is drawn.
  struct palpate_pose proxy;
  // Relation of the proxy to the tissues.
  enum palpate_render_state state;
  // Number of load-bearing contacts: see `palpate_contacts`.
  uint32_t n_contacts;
  // Distance from the proxy to the nearest tissue, metres; no surface is nearer than this.
  double distance_m;
} palpate_rendering;

// A load-bearing contact.
typedef struct palpate_contact {
  // Id, constant while the contact lasts.
  uint64_t contact_id;
  // Tissue in contact.
  uint32_t tissue_id;
  // Link in contact, counted from 0 in the tool.
  uint32_t link;
  // Point on the tissue, scene frame.
  struct palpate_vec3 position_m;
  // Force on the tool, newtons.
  struct palpate_vec3 force_n;
} palpate_contact;

// A feature of a tissue and one of a link within the contact margin: a row of a solver that treats contact itself. While
// vertices move little, the distance grows by `normal` times the weighted motion of the link's vertices less that of the
// tissue's.
typedef struct palpate_feature_pair {
  // Tissue of the first feature.
  uint32_t tissue_id;
  // The link, counted from 0 in the tool.
  uint32_t link;
  // `PALPATE_VERTEX_FACE`, `PALPATE_EDGE_EDGE` or `PALPATE_FACE_VERTEX`.
  uint32_t kind;
  // Number of the vertices that are the tissue's: 1, 2 or 3.
  uint32_t n_of_tissue;
  // Vertices of the tissue's feature, then those of the link's. Ends of an edge ascend; a face's vertices are in stored
  // order. Vertices that a seam joins have the least number of them.
  uint32_t vertices[4];
  // Weights of the closest points on the two features, which sum to 1 on each.
  double weights[4];
  // Distance of the two features, metres.
  double distance_m;
  // Unit, from the tissue to the link, scene frame; zero if the features meet.
  struct palpate_vec3 normal;
} palpate_feature_pair;

// Distance of a probe from the nearest tissue.
typedef struct palpate_probe_distance {
  // Nearest point of the tissue to the probe's centre. Its `signed_distance_m` is that of the probe's sphere, the
  // radius being subtracted: negative if the probe touches. With `PALPATE_DISTANCE_BEYOND` only the distance is set,
  // as a lower bound.
  struct palpate_surface_point at;
  // Number of the probe, from 0: link by link, in the order in which each was given.
  uint32_t probe;
  // `PALPATE_DISTANCE_BEYOND` or 0.
  uint32_t flags;
} palpate_probe_distance;

// Connection state and counters of a session.
typedef struct palpate_session_status {
  // Not 0: there is a connection; always true in the process.
  uint32_t is_open;
  // Number of reconnections after a broken connection.
  uint64_t reconnected;
  // Number of these at which the session was over: contacts have new ids.
  uint64_t sessions_lost;
  // Ticks that were never sent.
  uint64_t dropped;
  // Time since the newest answer, seconds.
  double age_s;
} palpate_session_status;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Message of this thread's last failed call: UTF-8, valid until this thread's next failure. Empty at first.
const char *palpate_last_error(void);

// Warnings of this thread's last call that added a tissue or tool, each completing "the mesh ...", with "; " between
// them: that it may be in another unit, is open, has several bodies and the like. UTF-8, valid until this thread's next
// such call. Empty if there is none.
const char *palpate_last_warning(void);

// Reports on the mesh of a tissue as it was added; deformations and cuts do not change the report.
enum palpate_code palpate_tissue_report(struct palpate_scene *scene,
                                        uint32_t tissue_id,
                                        struct palpate_mesh_report *report);

// Reports on the mesh of a link, counted from 0 in its tool.
enum palpate_code palpate_link_report(struct palpate_scene *scene,
                                      uint32_t tool_id,
                                      uint32_t link,
                                      struct palpate_mesh_report *report);

// Opens the engine in this process: no server, no network. Its scenes end when it and everything opened from it are
// closed. `header_version`: PALPATE_HEADER_VERSION; `PALPATE_INCOMPATIBLE` if it does not fit the library.
enum palpate_code palpate_open_local(uint32_t header_version,
                                     struct palpate_server **server);

// Connects to a server. Each call waits for its answer, at most `timeout_s`; only `palpate_servo` never waits.
// `header_version` as in `palpate_open_local`.
enum palpate_code palpate_connect(uint32_t header_version,
                                  const struct palpate_address *address,
                                  struct palpate_server **server);

// Closes a server and sets the pointer to NULL; a pointer that is NULL is already closed. Scenes and sessions opened
// from the server continue until they are closed.
enum palpate_code palpate_close(struct palpate_server **server);

// Creates an empty scene. `scene_id`: 1 to 64 of a-z, 0-9 and '-'.
enum palpate_code palpate_create_scene(struct palpate_server *server,
                                       const char *scene_id,
                                       struct palpate_scene **scene);

// Opens an existing scene.
enum palpate_code palpate_open_scene(struct palpate_server *server,
                                     const char *scene_id,
                                     struct palpate_scene **scene);

// Releases a scene, which continues to exist, and sets the pointer to NULL. Its sessions continue.
enum palpate_code palpate_close_scene(struct palpate_scene **scene);

// Deletes the scene; its sessions end. `palpate_close_scene` must still be called.
enum palpate_code palpate_delete_scene(struct palpate_scene *scene);

// Adds a tissue. `name`: unique among the scene's tissues, 1 to 64 characters. `mesh`: NULL for the boundary of the
// binding's cells, whose vertices are the nodes. `options`: NULL for the defaults. See `palpate_last_warning` too.
enum palpate_code palpate_add_tissue(struct palpate_scene *scene,
                                     const char *name,
                                     const struct palpate_mesh *mesh,
                                     const struct palpate_tissue_options *options,
                                     uint32_t *tissue_id);

// As `palpate_add_tissue`, from a mesh file: OBJ, STL, PLY, OFF, VTK, VTU, VTP, MSH or GLB. `scale_to_m`: metres per
// unit of the file.
enum palpate_code palpate_add_tissue_file(struct palpate_scene *scene,
                                          const char *name,
                                          const char *file,
                                          double scale_to_m,
                                          const struct palpate_tissue_options *options,
                                          uint32_t *tissue_id);

// Adds a rigid tool of one to eight links. Builds its distance fields, which takes seconds for large links: see
// `palpate_field_progress`, and `palpate_last_warning`.
enum palpate_code palpate_add_tool(struct palpate_scene *scene,
                                   const char *name,
                                   const struct palpate_link *links,
                                   size_t n_links,
                                   uint32_t *tool_id);

// As `palpate_add_tool`, with one link from a file as in `palpate_add_tissue_file`.
enum palpate_code palpate_add_tool_file(struct palpate_scene *scene,
                                        const char *name,
                                        const char *file,
                                        double scale_to_m,
                                        uint32_t *tool_id);

// Returns the progress of the field that is being built for the tool of this name, 0 to 1: for another thread, while
// `palpate_add_tool` waits. `PALPATE_NOT_FOUND` if none is being built. Each link begins at 0 again.
enum palpate_code palpate_field_progress(struct palpate_scene *scene,
                                         const char *name,
                                         double *share);

// Removes a tissue from the scene.
enum palpate_code palpate_remove_tissue(struct palpate_scene *scene, uint32_t tissue_id);

// Removes a tool from the scene.
enum palpate_code palpate_remove_tool(struct palpate_scene *scene, uint32_t tool_id);

// Moves all vertices of a tissue: x, y, z of each, scene frame. Returns once sessions can see it.
enum palpate_code palpate_deform(struct palpate_scene *scene,
                                 uint32_t tissue_id,
                                 const float *positions,
                                 size_t n_vertices);

// Moves some vertices, each named once.
enum palpate_code palpate_deform_some(struct palpate_scene *scene,
                                      uint32_t tissue_id,
                                      const uint32_t *vertices,
                                      const float *positions,
                                      size_t n_vertices);

// Cuts a tissue. `made` may be NULL.
enum palpate_code palpate_cut_tissue(struct palpate_scene *scene,
                                     uint32_t tissue_id,
                                     const struct palpate_cut *cut,
                                     struct palpate_cut_made *made);

// Cuts a tissue along a line on its surface: at least two points, x, y, z of each, at most 10 mm from the surface.
// `width_m`: greatest width of the gap, to which the surface about it gives way by new vertices; 0: the lips touch, and
// only the vertices on the line are new. `depth_m`: its depth in a closed surface, which stays closed, or 0.
// `left` and `right` have space for `capacity` vertices each, those of the two lips, opposite each other; `n` is set to
// their number, and as many as fit are written. `made` may be NULL.
enum palpate_code palpate_cut_along(struct palpate_scene *scene,
                                    uint32_t tissue_id,
                                    const float *points,
                                    size_t n_points,
                                    double width_m,
                                    double depth_m,
                                    uint32_t *left,
                                    uint32_t *right,
                                    size_t capacity,
                                    size_t *n,
                                    struct palpate_cut_made *made);

// Copies a tissue's surface as it is stored: barycentric weights belong to the vertices of its triangles in this order.
// `n_vertices` and `n_triangles` are set to their numbers; if a buffer is smaller, returns `PALPATE_TOO_SMALL` and as
// many as fit. With both capacities 0 only the numbers are asked for. `positions` has space for three numbers for each
// vertex, `triangle_ids` for one and `triangles` for three numbers for each triangle. Ids ascend, and have gaps where
// triangles were cut away. `geometry_revision` is set to the surface's revision, and may be NULL.
enum palpate_code palpate_export_tissue(struct palpate_scene *scene,
                                        uint32_t tissue_id,
                                        float *positions,
                                        size_t vertex_capacity,
                                        size_t *n_vertices,
                                        uint32_t *triangle_ids,
                                        uint32_t *triangles,
                                        size_t triangle_capacity,
                                        size_t *n_triangles,
                                        uint64_t *geometry_revision);

// Opens a session: a tool held by a hand.
enum palpate_code palpate_open_session(struct palpate_scene *scene,
                                       const struct palpate_session_options *options,
                                       struct palpate_session **session);

// Signed distances of up to 65,536 points to a tissue, or to the nearest one if `tissue_id` is 0. Negative inside,
// infinite without tissue.
enum palpate_code palpate_distances(struct palpate_scene *scene,
                                    uint32_t tissue_id,
                                    const struct palpate_vec3 *points,
                                    double *distances_m,
                                    size_t n_points);

// Finds the point of a tissue that is nearest to each of up to 65,536 points, or of all tissues if `tissue_id` is 0.
enum palpate_code palpate_nearest(struct palpate_scene *scene,
                                  uint32_t tissue_id,
                                  const struct palpate_vec3 *points,
                                  struct palpate_surface_point *nearest,
                                  size_t n_points);

// Finds the contacts of a tool at a pose, and the distance of each of its links from the nearest tissue, without a
// session. Contacts are as in `palpate_surface_contacts`, none swept; `n` is set to their number, and if the buffer is
// smaller, returns `PALPATE_TOO_SMALL` and as many as fit. `distances` is NULL, with `n_distances` 0, or has space for
// one for each link.
enum palpate_code palpate_query_contacts(struct palpate_scene *scene,
                                         const struct palpate_contact_query *query,
                                         struct palpate_surface_contact *contacts,
                                         size_t capacity,
                                         size_t *n,
                                         struct palpate_link_distance *distances,
                                         size_t n_distances);

// Holds the newest revision of a tissue, so that `palpate_self_collisions` may start from it; a tissue holds eight, and
// the oldest gives way. `geometry_revision` is set to it.
enum palpate_code palpate_hold_tissue(struct palpate_scene *scene,
                                      uint32_t tissue_id,
                                      uint64_t *geometry_revision);

// Finds where tissues, each named once, meet themselves and, unless `within_each` is not 0, each other as they move
// straight from one revision to the other: features nearer than `thickness_m`, the earliest first, every two at most
// once. `n` is set to their number, at most 65,536; if the buffer is smaller, returns `PALPATE_TOO_SMALL` and as many as
// fit.
enum palpate_code palpate_self_collisions(struct palpate_scene *scene,
                                          const struct palpate_interval *tissues,
                                          size_t n_tissues,
                                          double thickness_m,
                                          uint32_t within_each,
                                          struct palpate_self_contact *contacts,
                                          size_t capacity,
                                          size_t *n);

// Gives a tissue materials, in place of those before; with `n_materials` 0 it is rigid again. `triangle_materials` has
// an index into `materials` for each triangle id, removed ones included; with `n_triangles` 0 each triangle has the
// first. Makes a geometry revision that moves nothing, to which `geometry_revision` is set.
enum palpate_code palpate_set_feel(struct palpate_scene *scene,
                                   uint32_t tissue_id,
                                   const struct palpate_material *materials,
                                   size_t n_materials,
                                   const uint8_t *triangle_materials,
                                   size_t n_triangles,
                                   uint64_t *geometry_revision);

// Moves controls of a tissue that was added with a binding, and the vertices that they carry. `kind`: that of the
// binding. `controls`: the ids of those that move, each once, or NULL for all. `state`: three numbers for each point,
// seven for each frame, as in `palpate_binding`. Returns once sessions can see it.
enum palpate_code palpate_drive(struct palpate_scene *scene,
                                uint32_t tissue_id,
                                uint32_t kind,
                                const uint32_t *controls,
                                const float *state,
                                size_t n_controls);

// As `palpate_tissue_loads`, of the controls that carry a driven tissue: forces and moments sum to those of the
// contacts. `forces_n` and `torques_nm` have space for three numbers for each of `capacity` controls. Torques are about
// the origins of frames, 0 for points; `torques_nm` may be NULL.
enum palpate_code palpate_control_loads(struct palpate_session *session,
                                        uint32_t tissue_id,
                                        uint32_t *controls,
                                        double *forces_n,
                                        double *torques_nm,
                                        size_t capacity,
                                        size_t *n,
                                        uint64_t *geometry_revision);

// As `palpate_deform`, or `palpate_deform_some` of these `vertices` if that is not NULL, in a solver's own array: rows
// of x, y, z.
enum palpate_code palpate_deform_rows(struct palpate_scene *scene,
                                      uint32_t tissue_id,
                                      const uint32_t *vertices,
                                      const struct palpate_rows *positions);

// As `palpate_drive`, in a solver's own array: rows of three numbers for points, of seven for frames.
enum palpate_code palpate_drive_rows(struct palpate_scene *scene,
                                     uint32_t tissue_id,
                                     uint32_t kind,
                                     const uint32_t *controls,
                                     const struct palpate_rows *state);

// As `palpate_tissue_loads`, into a solver's own array. `vertices` has space for as many ids as `forces_n` has rows.
// The bytes between the rows stay as they are.
enum palpate_code palpate_tissue_load_rows(struct palpate_session *session,
                                           uint32_t tissue_id,
                                           uint32_t *vertices,
                                           const struct palpate_writable_rows *forces_n,
                                           size_t *n,
                                           uint64_t *geometry_revision);

// Makes a tube about `n_points` points at rest, at least two: x, y, z of each, metres, scene frame, no two neighbours
// in one place. `radius_m`: of the circle on which the vertices of a ring are. `sides`: their number, at least 3; 0:
// 12.
enum palpate_code palpate_create_tube(const float *points,
                                      size_t n_points,
                                      double radius_m,
                                      uint32_t sides,
                                      struct palpate_tube **tube);

// Points `mesh` and `binding` to the tube's surface and to the frames that carry it, one for each point of the line,
// for `palpate_add_tissue`. They are valid until the tube is closed. `binding->size` must be set.
enum palpate_code palpate_tube_mesh(const struct palpate_tube *tube,
                                    struct palpate_mesh *mesh,
                                    struct palpate_binding *binding);

// Computes the frames of the tube when its points are at `points`, as many as at rest: seven numbers for each, the
// state for `palpate_drive`. They turn with the line, without twist along it.
enum palpate_code palpate_tube_frames(const struct palpate_tube *tube,
                                      const float *points,
                                      size_t n_points,
                                      float *frames);

// Frees a tube and sets the pointer to NULL. A tissue that was made of it stays.
enum palpate_code palpate_close_tube(struct palpate_tube **tube);

// Fills in the defaults of a tool's session: a desktop device of 3.3 N. `options->size` must be set.
enum palpate_code palpate_session_defaults(uint32_t tool_id,
                                           struct palpate_session_options *options);

// Ends a session and sets the pointer to NULL. No thread may use its servo any more.
enum palpate_code palpate_close_session(struct palpate_session **session);

// Computes the force and torque on the hand at `pose` (scene frame from tool frame), `dt_s` seconds after the last
// call. Call it from the device's own callback, at the device's own rate. Never waits, never allocates. Send the
// wrench after an error too: it is zero, or fades.
enum palpate_code palpate_servo(struct palpate_session *session,
                                const struct palpate_pose *pose,
                                double dt_s,
                                struct palpate_wrench *wrench);

// As `palpate_servo`, with the links' poses (tool frame from link frame), one for each link; none: all at rest.
enum palpate_code palpate_servo_links(struct palpate_session *session,
                                      const struct palpate_pose *pose,
                                      const struct palpate_pose *links,
                                      size_t n_links,
                                      double dt_s,
                                      struct palpate_wrench *wrench);

// Steps a session in lock-step: moves the tool to `pose`, waits for the engine's answer, and computes the wrench of
// that answer `dt_s` seconds after the last call. For hosts that step, for tests and for replays. Equal calls give
// equal wrenches, bit for bit.
enum palpate_code palpate_step(struct palpate_session *session,
                               const struct palpate_pose *pose,
                               const struct palpate_pose *links,
                               size_t n_links,
                               double dt_s,
                               struct palpate_wrench *wrench);

// Returns the newest answer. `PALPATE_NO_ANSWER` before the first answer; another error is the one that ended the
// session, or a refused pose.
enum palpate_code palpate_newest(struct palpate_session *session,
                                 struct palpate_rendering *rendering);

// Returns the load-bearing contacts of the newest answer. `n` is set to their number; if the buffer is smaller,
// returns `PALPATE_TOO_SMALL` and as many contacts as fit.
enum palpate_code palpate_contacts(struct palpate_session *session,
                                   struct palpate_contact *contacts,
                                   size_t capacity,
                                   size_t *n);

// Returns the contacts of the newest answer, load-bearing or not, with triangles, weights and signed distances, at
// the proxy's pose: link by link, the deepest first. `n` is set to their number; if the buffer is smaller, returns
// `PALPATE_TOO_SMALL` and as many contacts as fit. `sequence` is set to the answer's sequence, and may be NULL.
enum palpate_code palpate_surface_contacts(struct palpate_session *session,
                                           struct palpate_surface_contact *contacts,
                                           size_t capacity,
                                           size_t *n,
                                           uint64_t *sequence);

// Returns the pairs of features of tissue and link within the contact margin in the newest answer, at the proxy's pose:
// link by link, the nearest first. `feature_pairs` of the session's options must be set. Each pair is given once,
// whichever triangles share its features. Buffer, `n` and `sequence` as for `palpate_surface_contacts`.
enum palpate_code palpate_feature_pairs(struct palpate_session *session,
                                        struct palpate_feature_pair *pairs,
                                        size_t capacity,
                                        size_t *n,
                                        uint64_t *sequence);

// Returns the distance of each link of the tool from the nearest tissue in the newest answer, at the proxy's pose.
// Buffer, `n` and `sequence` as for `palpate_surface_contacts`.
enum palpate_code palpate_link_distances(struct palpate_session *session,
                                         struct palpate_link_distance *links,
                                         size_t capacity,
                                         size_t *n,
                                         uint64_t *sequence);

// Returns the distance of each probe of the tool from the nearest tissue in the newest answer, at the proxy's pose.
// Buffer, `n` and `sequence` as for `palpate_surface_contacts`.
enum palpate_code palpate_probe_distances(struct palpate_session *session,
                                          struct palpate_probe_distance *probes,
                                          size_t capacity,
                                          size_t *n,
                                          uint64_t *sequence);

// Returns the load of the newest answer's contacts on a tissue: a solver adds it to its external forces. `vertices`
// has space for `capacity` ids and `forces_n` for three numbers each; `n` is set to the number of vertices.
// `geometry_revision`, the revision of the vertices, may be NULL.
enum palpate_code palpate_tissue_loads(struct palpate_session *session,
                                       uint32_t tissue_id,
                                       uint32_t *vertices,
                                       float *forces_n,
                                       size_t capacity,
                                       size_t *n,
                                       uint64_t *geometry_revision);

// Returns the connection state and counters of the session.
enum palpate_code palpate_status(struct palpate_session *session,
                                 struct palpate_session_status *status);

// Checks the session: returns `PALPATE_OK`, or the error that ended the session, or, once, that of a refused pose.
enum palpate_code palpate_check(struct palpate_session *session);

// Copies a scene of this process as it is now, under another name: its tissues move and are cut apart from the
// original's, its tools share their fields. Ids stay the same. Scenes of a server are not copied.
enum palpate_code palpate_copy_scene(struct palpate_scene *scene,
                                     const char *name,
                                     struct palpate_scene **copy);

// Steps different sessions in lock-step, each as `palpate_step` does, on all cores (the variable RAYON_NUM_THREADS
// sets another number of threads). Equal calls give equal results, on any number of threads. `poses` and `wrenches`
// have an entry for each session; `links` has `n_links` for each, or is NULL: all at rest. `renderings`, one for each
// session, and `distances`, `n_links_each` for each, may be NULL; every tool has `n_links_each` links. If a step
// fails, the other steps are done, and the message names the session.
enum palpate_code palpate_step_many(struct palpate_session *const *sessions,
                                    size_t n,
                                    const struct palpate_pose *poses,
                                    const struct palpate_pose *links,
                                    size_t n_links,
                                    double dt_s,
                                    struct palpate_wrench *wrenches,
                                    struct palpate_rendering *renderings,
                                    struct palpate_link_distance *distances,
                                    size_t n_links_each);

// Returns the version of the library, for example `0.1.0`. `PALPATE_VERSION_STRING` is that of the header.
const char *palpate_version(void);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PALPATE_H */
