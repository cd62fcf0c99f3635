// Palpate for C. Made from clients/c/src by cbindgen; see its test.
//
// Units are SI, frames right-handed, quaternions x, y, z, w. Each call gives a code; what was wrong is told
// by palpate_last_error. Handles may be used from any thread, and are closed once.

#ifndef PALPATE_H
#define PALPATE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Cap, rate or radius changed the wrench.
#define PALPATE_LIMITED 1

// Answers are too old, or the pose is none: the force fades.
#define PALPATE_FADING 2

// The proxy was farther than the model is complete: there may be more than the force tells of.
#define PALPATE_BEYOND_RADIUS 4

// How a call went.
typedef enum palpate_code {
  // It did what it should.
  PALPATE_OK = 0,
  // A pointer is NULL, a number is none or out of its range, a mesh is none. Nothing was changed.
  PALPATE_INVALID_ARGUMENT = 1,
  // No such scene, tissue or tool, or not any more.
  PALPATE_NOT_FOUND = 2,
  // The name is taken.
  PALPATE_ALREADY_EXISTS = 3,
  // The server says no: key, role, quota or limit.
  PALPATE_REFUSED = 4,
  // Nobody serves there, or the connection broke and did not come back.
  PALPATE_UNAVAILABLE = 5,
  // Another thread is in this session's servo at this moment.
  PALPATE_BUSY = 6,
  // The call does not fit what was done before: a servo in a session in lock-step, a scene that was deleted.
  PALPATE_WRONG_ORDER = 7,
  // The buffer holds less than there is; the count says how much.
  PALPATE_TOO_SMALL = 8,
  // There is no answer yet.
  PALPATE_NO_ANSWER = 9,
  // A fault of Palpate. The session or scene of the call is not to be used any more.
  PALPATE_INTERNAL = 10,
} palpate_code;

// How a proxy stands to the tissues.
typedef enum palpate_render_state {
  // A word of a newer server.
  PALPATE_UNKNOWN = 0,
  // Nothing holds it.
  PALPATE_FREE = 1,
  // Tissue holds it back.
  PALPATE_TOUCHING = 2,
  // It began inside a tissue, which gives no force until it was outside once.
  PALPATE_EMBEDDED = 3,
  // Tissues leave it no room.
  PALPATE_SQUEEZED = 4,
  // The time was over before it arrived.
  PALPATE_LATE = 5,
} palpate_render_state;

// A scene. Calls may come from any thread.
typedef struct palpate_scene palpate_scene;

// Where scenes are. Calls may come from any thread.
typedef struct palpate_server palpate_server;

// A tool in a hand. Calls may come from any thread; `palpate_servo` from one at a time.
typedef struct palpate_session palpate_session;

// Where a server is, and how it is reached. NULL where there is none.
typedef struct palpate_address {
  // `host:port`, `https://host:port` or `unix:/path`.
  const char *url;
  // A file with an API key.
  const char *key_file;
  // A PEM file of whom to trust, for https.
  const char *ca_file;
  // A PEM file of the certificate to show.
  const char *certificate_file;
  // A PEM file of that certificate's private key.
  const char *certificate_key_file;
  // A call takes no longer, seconds; 0: 60.
  double timeout_s;
} palpate_address;

// Triangles over shared vertices, counter-clockwise seen from outside.
typedef struct palpate_mesh {
  // x, y, z of each vertex.
  const float *positions;
  // How many vertices.
  size_t n_vertices;
  // Three vertex numbers of each triangle, from 0.
  const uint32_t *triangles;
  // How many triangles.
  size_t n_triangles;
  // Metres for each of its units; 0: 1.
  double scale_to_m;
} palpate_mesh;

// A point or direction.
typedef struct palpate_vec3 {
  // Along x.
  double x;
  // Along y.
  double y;
  // Along z.
  double z;
} palpate_vec3;

// A rotation; of length one to 0.001. All zero is none, and refused.
typedef struct palpate_quaternion {
  // Of i.
  double x;
  // Of j.
  double y;
  // Of k.
  double z;
  // The real part; 1 for no rotation.
  double w;
} palpate_quaternion;

// A rigid transform: first the rotation, then the translation.
typedef struct palpate_pose {
  // Metres, in the frame that the pose maps to.
  struct palpate_vec3 position_m;
  // Of the frame.
  struct palpate_quaternion orientation;
} palpate_pose;

// A rigid part of a tool.
typedef struct palpate_link {
  // Unique in its tool.
  const char *name;
  // In the link's frame.
  struct palpate_mesh mesh;
  // Tool frame from link frame at rest; NULL: the same frame.
  const struct palpate_pose *rest_pose;
  // Each hole in a box with a diagonal of no more than this is filled, metres, so that a tool that is meant to be closed
  // is. 0: none.
  double fill_holes_m;
} palpate_link;

// A cut: one transaction.
typedef struct palpate_cut {
  // Triangles to remove, each once.
  const uint32_t *removed;
  // How many.
  size_t n_removed;
  // x, y, z of each new vertex, scene frame. The first gets the id `first_vertex` of the answer.
  const float *positions;
  // How many.
  size_t n_positions;
  // Three vertex ids of each new triangle, old ones and new ones.
  const uint32_t *triangles;
  // How many.
  size_t n_triangles;
  // For each new triangle the removed one that it replaces in part, so that contacts go on; NULL: none.
  const uint32_t *parents;
} palpate_cut;

// What a cut made.
typedef struct palpate_cut_made {
  // Cuts of the tissue so far.
  uint64_t topology_revision;
  // The new vertices have the ids from here on.
  uint32_t first_vertex;
  // The new triangles have the ids from here on.
  uint32_t first_triangle;
} palpate_cut_made;

// How a session renders its tool. `palpate_session_defaults` fills it in; 0 is the default too.
typedef struct palpate_session_options {
  // Of the tool that the hand holds.
  uint32_t tool_id;
  // Links that no tissue constrains, blades and needles: bit n is link n.
  uint32_t cutting_links;
  // Of the spring, N/m, 1 to 100,000. 0: 500.
  double stiffness_n_per_m;
  // Against turning, N m/rad, 0.001 to 1,000. 0: 1.
  double rotational_stiffness_nm_per_rad;
  // Of each link against its command, N/m, 1 to 100,000. 0: 500.
  double link_stiffness_n_per_m;
  // Coulomb's coefficient, 0 to 2.
  double friction;
  // No greater force is ever given. 0: 3.3 N.
  double max_force_n;
  // No greater torque. 0: 0.1 N m.
  double max_torque_nm;
  // No faster change of force. 0: 300 N/s.
  double max_force_rate_n_per_s;
  // No faster change of torque. 0: 9 N m/s.
  double max_torque_rate_nm_per_s;
  // Where the device holds the tool, tool frame.
  struct palpate_vec3 hold_point_m;
  // Poses are sent to the engine so often, 1 to 1,000. 0: 1,000. The servo has the device's own rate.
  double rate_hz;
  // Not 0: nothing runs by itself, and `palpate_step` takes the place of `palpate_servo`.
  uint32_t lock_step;
} palpate_session_options;

// What a hand is to feel, scene frame, at the hold point.
typedef struct palpate_wrench {
  // Newtons.
  struct palpate_vec3 force_n;
  // About the hold point, newton metres.
  struct palpate_vec3 torque_nm;
  // Since the tick that the force's model answers was sent, seconds.
  double model_age_s;
  // Any of `PALPATE_LIMITED`, `PALPATE_FADING` and `PALPATE_BEYOND_RADIUS`, combined.
  uint32_t flags;
} palpate_wrench;

// What the newest answer says of the tool.
typedef struct palpate_rendering {
  // Of the tick that is answered; rises.
  uint64_t sequence;
  // Scene frame from tool frame, of the proxy: what is drawn.
  struct palpate_pose proxy;
  // How it stands.
  enum palpate_render_state state;
  // Contacts that bear: see `palpate_contacts`.
  uint32_t n_contacts;
  // From the proxy to the nearest tissue, metres; no surface is nearer than this.
  double distance_m;
} palpate_rendering;

// A contact that bears.
typedef struct palpate_contact {
  // Stays while the contact does.
  uint64_t contact_id;
  // Whose surface.
  uint32_t tissue_id;
  // Counted from 0 in the tool.
  uint32_t link;
  // On the tissue, scene frame.
  struct palpate_vec3 position_m;
  // On the tool, newtons.
  struct palpate_vec3 force_n;
} palpate_contact;

// What became of a session so far.
typedef struct palpate_session_status {
  // Not 0: there is a connection; always so in the process.
  uint32_t is_open;
  // How often it came back after its connection broke.
  uint64_t reconnected;
  // How often its session was over by then: contacts have new ids.
  uint64_t sessions_lost;
  // Ticks that never left.
  uint64_t dropped;
  // Since the newest answer, seconds.
  double age_s;
} palpate_session_status;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What was wrong with the last call of this thread that failed: UTF-8, until this thread's next failure. Empty at first.
const char *palpate_last_error(void);

// Opens the engine in this process: no server, no network. Its scenes end with it and all that was opened of it.
enum palpate_code palpate_open_local(struct palpate_server **server);

// Connects to a server. Each call waits for its answer, at most `timeout_s`; only `palpate_servo` never waits.
enum palpate_code palpate_connect(const struct palpate_address *address,
                                  struct palpate_server **server);

// Closes a server and sets the pointer to NULL; one that is NULL is closed already. Scenes and sessions that were opened
// of it go on until they are closed.
enum palpate_code palpate_close(struct palpate_server **server);

// Makes an empty scene. `scene_id`: 1 to 64 of a-z, 0-9 and '-'.
enum palpate_code palpate_create_scene(struct palpate_server *server,
                                       const char *scene_id,
                                       struct palpate_scene **scene);

// Opens a scene that is there.
enum palpate_code palpate_open_scene(struct palpate_server *server,
                                     const char *scene_id,
                                     struct palpate_scene **scene);

// Lets go of a scene, which stays where it is, and sets the pointer to NULL. Its sessions go on.
enum palpate_code palpate_close_scene(struct palpate_scene **scene);

// Removes the scene from where it is; its sessions end. `palpate_close_scene` is still to be called.
enum palpate_code palpate_delete_scene(struct palpate_scene *scene);

// Adds a tissue. `name`: unique among the scene's tissues, 1 to 64 characters.
enum palpate_code palpate_add_tissue(struct palpate_scene *scene,
                                     const char *name,
                                     const struct palpate_mesh *mesh,
                                     uint32_t *tissue_id);

// The same from an OBJ, STL, PLY, OFF or VTK file. `scale_to_m`: metres for each of its units.
enum palpate_code palpate_add_tissue_file(struct palpate_scene *scene,
                                          const char *name,
                                          const char *file,
                                          double scale_to_m,
                                          uint32_t *tissue_id);

// Adds a rigid tool of one to eight links. Its distance fields are built, which takes seconds for large ones.
enum palpate_code palpate_add_tool(struct palpate_scene *scene,
                                   const char *name,
                                   const struct palpate_link *links,
                                   size_t n_links,
                                   uint32_t *tool_id);

// The same of one link from a file, as `palpate_add_tissue_file`.
enum palpate_code palpate_add_tool_file(struct palpate_scene *scene,
                                        const char *name,
                                        const char *file,
                                        double scale_to_m,
                                        uint32_t *tool_id);

// Takes a tissue out of the scene.
enum palpate_code palpate_remove_tissue(struct palpate_scene *scene, uint32_t tissue_id);

// Takes a tool out of the scene.
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

// Signed distances of up to 65,536 points to a tissue, 0: to the nearest of all. Negative inside, infinite without tissue.
enum palpate_code palpate_distances(struct palpate_scene *scene,
                                    uint32_t tissue_id,
                                    const struct palpate_vec3 *points,
                                    double *distances_m,
                                    size_t n_points);

// Opens a session: a tool in a hand.
enum palpate_code palpate_open_session(struct palpate_scene *scene,
                                       const struct palpate_session_options *options,
                                       struct palpate_session **session);

// Fills in the defaults of a tool's session: a desktop device of 3.3 N.
enum palpate_code palpate_session_defaults(uint32_t tool_id,
                                           struct palpate_session_options *options);

// Ends a session and sets the pointer to NULL. No thread may be in its servo any more.
enum palpate_code palpate_close_session(struct palpate_session **session);

// What the hand feels at `pose` (scene frame from tool frame), `dt_s` seconds after the last call: to be called from the
// device's own callback, at its own rate. Never waits, never allocates. On an error the wrench is still to be sent: it is
// none, or fades.
enum palpate_code palpate_servo(struct palpate_session *session,
                                const struct palpate_pose *pose,
                                double dt_s,
                                struct palpate_wrench *wrench);

// The same with the links' poses (tool frame from link frame), one for each; none: all at rest.
enum palpate_code palpate_servo_links(struct palpate_session *session,
                                      const struct palpate_pose *pose,
                                      const struct palpate_pose *links,
                                      size_t n_links,
                                      double dt_s,
                                      struct palpate_wrench *wrench);

// In lock-step: the tool goes to `pose`, the engine answers, and the hand feels that answer `dt_s` seconds after the last
// call. Waits for the answer: for hosts that step, for tests and for replays. The same calls give the same wrenches, bit for
// bit.
enum palpate_code palpate_step(struct palpate_session *session,
                               const struct palpate_pose *pose,
                               const struct palpate_pose *links,
                               size_t n_links,
                               double dt_s,
                               struct palpate_wrench *wrench);

// What the newest answer says. `PALPATE_NO_ANSWER` before the first; another error is what ended the session, or a pose that
// was refused.
enum palpate_code palpate_newest(struct palpate_session *session,
                                 struct palpate_rendering *rendering);

// The contacts of the newest answer that bear. `n` is set to how many there are; with a buffer for fewer,
// `PALPATE_TOO_SMALL`, and as many as fit.
enum palpate_code palpate_contacts(struct palpate_session *session,
                                   struct palpate_contact *contacts,
                                   size_t capacity,
                                   size_t *n);

// What a tissue bears of the newest answer's contacts: a solver adds it to its external forces. `vertices` has room for
// `capacity` ids and `forces_n` for three numbers each; `n` is set to how many there are. `geometry_revision`, of the
// vertices, may be NULL.
enum palpate_code palpate_tissue_loads(struct palpate_session *session,
                                       uint32_t tissue_id,
                                       uint32_t *vertices,
                                       float *forces_n,
                                       size_t capacity,
                                       size_t *n,
                                       uint64_t *geometry_revision);

// What became of the session so far.
enum palpate_code palpate_status(struct palpate_session *session,
                                 struct palpate_session_status *status);

// Whether the session goes on: `PALPATE_OK`, or what ended it, or a pose that was refused, once.
enum palpate_code palpate_check(struct palpate_session *session);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* PALPATE_H */
