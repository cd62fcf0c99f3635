// Palpate for C++17, header only, over palpate.h: handles that close themselves, spans, results.
//
// A call returns a Result. `value()` throws palpate::Error if the call failed; with PALPATE_NO_EXCEPTIONS, or
// -fno-exceptions, it ends the program instead: check `ok()` first. `Session::servo` never throws, never waits and
// never allocates.
#ifndef PALPATE_HPP
#define PALPATE_HPP

#include "palpate.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if !defined(PALPATE_NO_EXCEPTIONS) && !defined(__cpp_exceptions) && !defined(_CPPUNWIND)
#define PALPATE_NO_EXCEPTIONS
#endif
#ifndef PALPATE_NO_EXCEPTIONS
#include <stdexcept>
#endif

namespace palpate {

#ifndef PALPATE_NO_EXCEPTIONS
// Error of a failed call.
class Error : public std::runtime_error {
public:
    Error(palpate_code code, const std::string& message) : std::runtime_error(message), code_(code) {}
    palpate_code code() const noexcept { return code_; }

private:
    palpate_code code_;
};
#endif

// A view of contiguous numbers, like C++20's std::span.
template <typename T>
class Span {
public:
    constexpr Span() noexcept = default;
    constexpr Span(T* data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <std::size_t N>
    constexpr Span(T (&array)[N]) noexcept : data_(array), size_(N) {}
    template <typename Container,
              typename = std::enable_if_t<std::is_convertible_v<decltype(std::declval<Container&>().data()), T*>>>
    constexpr Span(Container& from) noexcept : data_(from.data()), size_(from.size()) {}
    template <typename Container,
              typename = std::enable_if_t<std::is_convertible_v<decltype(std::declval<const Container&>().data()), T*>>,
              typename = void>
    constexpr Span(const Container& from) noexcept : data_(from.data()), size_(from.size()) {}
    constexpr T* data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }

private:
    T* data_ = nullptr;
    std::size_t size_ = 0;
};

namespace detail {
struct Nothing {};

[[noreturn]] inline void fail(palpate_code code, const std::string& message) {
#ifndef PALPATE_NO_EXCEPTIONS
    throw Error(code, message);
#else
    std::fprintf(stderr, "palpate: %s (code %d)\n", message.c_str(), static_cast<int>(code));
    std::abort();
#endif
}
}  // namespace detail

// Value of a call, or its error.
template <typename T>
class [[nodiscard]] Result {
public:
    Result(T value) : value_(std::move(value)) {}
    static Result failed(palpate_code code) {
        Result result;
        result.code_ = code;
        result.message_ = palpate_last_error();
        return result;
    }
    bool ok() const noexcept { return code_ == PALPATE_OK; }
    explicit operator bool() const noexcept { return ok(); }
    palpate_code code() const noexcept { return code_; }
    // Empty if the call succeeded.
    const std::string& message() const noexcept { return message_; }
    T& value() & { return require(), *value_; }
    const T& value() const& { return require(), *value_; }
    // Moves the value out, so that `for (auto& contact : session.contacts().value())` owns what it walks.
    T value() && { return require(), std::move(*value_); }

private:
    Result() = default;
    void require() const {
        if (!ok()) detail::fail(code_, message_);
    }
    std::optional<T> value_;
    palpate_code code_ = PALPATE_OK;
    std::string message_;
};

namespace detail {

template <typename T, typename Ask>
Result<std::vector<T>> all(const Ask& ask) {
    std::vector<T> found(64);
    for (;;) {
        std::size_t n = 0;
        const palpate_code code = ask(found.data(), found.size(), &n);
        if (code != PALPATE_OK && code != PALPATE_TOO_SMALL) return Result<std::vector<T>>::failed(code);
        found.resize(n);
        if (code == PALPATE_OK) return found;
    }
}

}  // namespace detail

using Done = Result<detail::Nothing>;

inline Done done(palpate_code code) {
    return code == PALPATE_OK ? Done(detail::Nothing{}) : Done::failed(code);
}

// A mesh in metres times `scale_to_m`: x, y, z of each vertex, three vertex numbers of each triangle.
inline palpate_mesh mesh(Span<const float> positions, Span<const std::uint32_t> triangles, double scale_to_m = 1.0) {
    return palpate_mesh{positions.data(), positions.size() / 3, triangles.data(), triangles.size() / 3, scale_to_m};
}

// Warnings of this thread's last call that added a tissue or tool, for example that a mesh may be in another unit or is
// open; empty if there is none.
inline std::string last_warning() { return palpate_last_warning(); }

// Rows of a solver's own doubles, for `palpate_deform_rows` and `palpate_drive_rows`; `stride`: bytes from a row to the next.
inline palpate_rows rows(const double* data, std::size_t n, std::size_t stride = 0) {
    palpate_rows rows{};
    rows.size = sizeof rows;
    rows.number = PALPATE_DOUBLE;
    rows.data = data;
    rows.n = n;
    rows.stride = stride;
    return rows;
}

// Room for rows of three doubles in a solver's own array, for `palpate_tissue_load_rows`.
inline palpate_writable_rows writable_rows(double* data, std::size_t capacity, std::size_t stride = 0) {
    palpate_writable_rows rows{};
    rows.size = sizeof rows;
    rows.number = PALPATE_DOUBLE;
    rows.data = data;
    rows.capacity = capacity;
    rows.stride = stride;
    return rows;
}

// A sphere fixed to a link, for `palpate_link::probes`.
inline palpate_probe probe(const char* name, const palpate_vec3& position_m, double radius_m) {
    palpate_probe probe{};
    probe.size = sizeof probe;
    probe.name = name;
    probe.position_m = position_m;
    probe.radius_m = radius_m;
    return probe;
}

// A rigid part of a tool. `rest_pose` and what the caller adds as `probes` are not copied.
inline palpate_link link(const char* name, const palpate_mesh& mesh, const palpate_pose* rest_pose = nullptr) {
    palpate_link link{};
    link.size = sizeof link;
    link.name = name;
    link.mesh = mesh;
    link.rest_pose = rest_pose;
    return link;
}

inline palpate_pose pose(double x, double y, double z) {
    return palpate_pose{{x, y, z}, {0.0, 0.0, 0.0, 1.0}};
}

// Load on one tissue.
struct TissueLoad {
    std::uint64_t geometry_revision = 0;
    std::vector<std::uint32_t> vertices;
    // Three numbers for each vertex, newtons.
    std::vector<float> forces_n;
};

// Load on the controls of one driven tissue.
struct ControlLoad {
    std::uint64_t geometry_revision = 0;
    std::vector<std::uint32_t> controls;
    // Three numbers for each control: newtons, and newton metres about the origin of a frame, 0 for points.
    std::vector<double> forces_n, torques_nm;
};

// A closed tube about a line of points, which carry it: a suture, a catheter. `Scene::add_tissue` takes its mesh, with
// the binding in the options, and `Scene::drive` its frames.
class Tube {
public:
    // x, y, z of each point at rest, metres.
    static Result<Tube> about(Span<const float> points, double radius_m, std::uint32_t sides = 0) {
        palpate_tube* tube = nullptr;
        const std::size_t n = points.size() / 3;
        palpate_code code = palpate_create_tube(points.data(), n, radius_m, sides, &tube);
        Tube made(tube);
        if (code == PALPATE_OK) code = palpate_tube_mesh(tube, &made.mesh_, &made.binding_);
        return code == PALPATE_OK ? Result<Tube>(std::move(made)) : Result<Tube>::failed(code);
    }
    const palpate_mesh& mesh() const noexcept { return mesh_; }
    const palpate_binding& binding() const noexcept { return binding_; }
    // The frames of all points, now: seven numbers for each.
    Result<std::vector<float>> frames(Span<const float> points) const {
        std::vector<float> state(7 * (points.size() / 3));
        palpate_code code = palpate_tube_frames(tube_.get(), points.data(), points.size() / 3, state.data());
        return code == PALPATE_OK ? Result<std::vector<float>>(std::move(state))
                                  : Result<std::vector<float>>::failed(code);
    }

private:
    explicit Tube(palpate_tube* owned) : tube_(owned) { binding_.size = sizeof binding_; }
    struct Close {
        void operator()(palpate_tube* tube) const noexcept { palpate_close_tube(&tube); }
    };
    std::unique_ptr<palpate_tube, Close> tube_;
    palpate_mesh mesh_{};
    palpate_binding binding_{};
};

// A cut along a line, and the vertices of its two lips, opposite each other.
struct Lips {
    palpate_cut_made made{};
    std::vector<std::uint32_t> left, right;
};

// A tissue's surface as it is stored.
struct Surface {
    std::uint64_t geometry_revision = 0;
    // x, y, z of each vertex, metres.
    std::vector<float> positions;
    std::vector<std::uint32_t> triangle_ids;
    // Three vertices of each triangle.
    std::vector<std::uint32_t> triangles;
};

// A tool in a hand.
class Session {
public:
    explicit Session(palpate_session* owned) : session_(owned) {}

    // Call this in the device's callback. Send the wrench whatever the code is.
    palpate_code servo(const palpate_pose& at, double dt_s, palpate_wrench& wrench) noexcept {
        return palpate_servo(session_.get(), &at, dt_s, &wrench);
    }
    palpate_code servo(const palpate_pose& at, Span<const palpate_pose> links, double dt_s,
                       palpate_wrench& wrench) noexcept {
        return palpate_servo_links(session_.get(), &at, links.data(), links.size(), dt_s, &wrench);
    }
    // Only in lock-step.
    Result<palpate_wrench> step(const palpate_pose& at, double dt_s, Span<const palpate_pose> links = {}) {
        palpate_wrench wrench{};
        palpate_code code = palpate_step(session_.get(), &at, links.data(), links.size(), dt_s, &wrench);
        return code == PALPATE_OK ? Result<palpate_wrench>(wrench) : Result<palpate_wrench>::failed(code);
    }
    Result<palpate_rendering> newest() const {
        palpate_rendering rendering{};
        palpate_code code = palpate_newest(session_.get(), &rendering);
        return code == PALPATE_OK ? Result<palpate_rendering>(rendering) : Result<palpate_rendering>::failed(code);
    }
    Result<std::vector<palpate_contact>> contacts() const {
        return detail::all<palpate_contact>([this](palpate_contact* to, std::size_t room, std::size_t* n) {
            return palpate_contacts(session_.get(), to, room, n);
        });
    }
    // Contacts with triangles, weights and signed distances. A loop that must not allocate calls
    // palpate_surface_contacts with a buffer of its own.
    Result<std::vector<palpate_surface_contact>> surface_contacts(std::uint64_t* sequence = nullptr) const {
        return detail::all<palpate_surface_contact>([&](palpate_surface_contact* to, std::size_t room, std::size_t* n) {
            return palpate_surface_contacts(session_.get(), to, room, n, sequence);
        });
    }
    // Vertices and faces, edges and edges within the contact margin; `feature_pairs` of the options must be set.
    Result<std::vector<palpate_feature_pair>> feature_pairs(std::uint64_t* sequence = nullptr) const {
        return detail::all<palpate_feature_pair>([&](palpate_feature_pair* to, std::size_t room, std::size_t* n) {
            return palpate_feature_pairs(session_.get(), to, room, n, sequence);
        });
    }
    // Distance of each link from the nearest tissue.
    Result<std::vector<palpate_link_distance>> link_distances(std::uint64_t* sequence = nullptr) const {
        return detail::all<palpate_link_distance>([&](palpate_link_distance* to, std::size_t room, std::size_t* n) {
            return palpate_link_distances(session_.get(), to, room, n, sequence);
        });
    }
    // Distance of each probe from the nearest tissue.
    Result<std::vector<palpate_probe_distance>> probe_distances(std::uint64_t* sequence = nullptr) const {
        return detail::all<palpate_probe_distance>([&](palpate_probe_distance* to, std::size_t room, std::size_t* n) {
            return palpate_probe_distances(session_.get(), to, room, n, sequence);
        });
    }
    Result<TissueLoad> tissue_load(std::uint32_t tissue_id) const {
        return load<TissueLoad>([&](TissueLoad& to, std::size_t* room) {
            to.vertices.resize(*room);
            to.forces_n.resize(3 * *room);
            return palpate_tissue_loads(session_.get(), tissue_id, to.vertices.data(), to.forces_n.data(), *room, room,
                                        &to.geometry_revision);
        });
    }
    // The same in a solver's own array, with room for the ids of as many vertices: returns their number.
    Result<std::size_t> tissue_load(std::uint32_t tissue_id, std::uint32_t* vertices,
                                    const palpate_writable_rows& forces_n) const {
        std::size_t n = 0;
        const palpate_code code =
            palpate_tissue_load_rows(session_.get(), tissue_id, vertices, &forces_n, &n, nullptr);
        return code == PALPATE_OK ? Result<std::size_t>(n) : Result<std::size_t>::failed(code);
    }
    Result<ControlLoad> control_load(std::uint32_t tissue_id) const {
        return load<ControlLoad>([&](ControlLoad& to, std::size_t* room) {
            to.controls.resize(*room);
            to.forces_n.resize(3 * *room);
            to.torques_nm.resize(3 * *room);
            return palpate_control_loads(session_.get(), tissue_id, to.controls.data(), to.forces_n.data(),
                                         to.torques_nm.data(), *room, room, &to.geometry_revision);
        });
    }
    Result<palpate_session_status> status() const {
        palpate_session_status status{};
        palpate_code code = palpate_status(session_.get(), &status);
        return code == PALPATE_OK ? Result<palpate_session_status>(status)
                                  : Result<palpate_session_status>::failed(code);
    }
    // The error that ended the session, or, once, that of a refused pose.
    Done health() const { return done(palpate_check(session_.get())); }
    palpate_session* get() const noexcept { return session_.get(); }

private:
    // Asks until the load has exactly as much room as it needs.
    template <typename T, typename Ask>
    static Result<T> load(const Ask& ask) {
        T found;
        std::size_t room = 256;
        for (;;) {
            const std::size_t before = room;
            const palpate_code code = ask(found, &room);
            if (code != PALPATE_OK && code != PALPATE_TOO_SMALL) return Result<T>::failed(code);
            if (code == PALPATE_OK && room == before) return found;
        }
    }
    struct Close {
        void operator()(palpate_session* session) const noexcept { palpate_close_session(&session); }
    };
    std::unique_ptr<palpate_session, Close> session_;
};

inline palpate_session_options session_options(std::uint32_t tool_id) {
    palpate_session_options options{};
    options.size = sizeof options;
    palpate_session_defaults(tool_id, &options);
    return options;
}

// A scene. It stays in the engine or on the server when this object is destroyed, unless it is removed. Its functions
// set the `size` of the structs that they are given.
class Scene {
public:
    explicit Scene(palpate_scene* owned) : scene_(owned) {}

    Result<std::uint32_t> add_tissue(const std::string& name, const palpate_mesh& mesh,
                                     palpate_tissue_options options = {}) {
        std::uint32_t id = 0;
        options.size = sizeof options;
        const palpate_code code = palpate_add_tissue(get(), name.c_str(), &mesh, &options, &id);
        return with(code, id);
    }
    Result<std::uint32_t> add_tissue_file(const std::string& name, const std::string& file, double scale_to_m = 1.0,
                                          palpate_tissue_options options = {}) {
        std::uint32_t id = 0;
        options.size = sizeof options;
        const palpate_code code =
            palpate_add_tissue_file(get(), name.c_str(), file.c_str(), scale_to_m, &options, &id);
        return with(code, id);
    }
    Result<std::uint32_t> add_tool(const std::string& name, Span<const palpate_link> links) {
        std::uint32_t id = 0;
        std::vector<palpate_link> sent(links.data(), links.data() + links.size());
        for (palpate_link& link : sent) link.size = sizeof link;
        const palpate_code code = palpate_add_tool(get(), name.c_str(), sent.data(), sent.size(), &id);
        return with(code, id);
    }
    Result<std::uint32_t> add_tool_file(const std::string& name, const std::string& file, double scale_to_m = 1.0) {
        std::uint32_t id = 0;
        const palpate_code code = palpate_add_tool_file(get(), name.c_str(), file.c_str(), scale_to_m, &id);
        return with(code, id);
    }
    // Progress of the field that is being built for a tool, 0 to 1: for another thread, while `add_tool` waits.
    Result<double> field_progress(const std::string& tool) const {
        double share = 0.0;
        const palpate_code code = palpate_field_progress(get(), tool.c_str(), &share);
        return with(code, share);
    }
    Done remove_tissue(std::uint32_t tissue_id) { return done(palpate_remove_tissue(get(), tissue_id)); }
    Done remove_tool(std::uint32_t tool_id) { return done(palpate_remove_tool(get(), tool_id)); }
    // Moves all vertices: x, y, z of each.
    Done deform(std::uint32_t tissue_id, Span<const float> positions) {
        return done(palpate_deform(get(), tissue_id, positions.data(), positions.size() / 3));
    }
    // Moves some vertices: x, y, z of each. The arrays must have the same number of vertices.
    Done deform(std::uint32_t tissue_id, Span<const std::uint32_t> vertices, Span<const float> positions) {
        if (positions.size() != 3 * vertices.size()) {
            return done(palpate_deform_some(get(), tissue_id, vertices.data(), nullptr, vertices.size()));
        }
        return done(palpate_deform_some(get(), tissue_id, vertices.data(), positions.data(), vertices.size()));
    }
    // Moves controls of a driven tissue: three numbers for each point, seven for each frame. `controls`: empty for all.
    Done drive(std::uint32_t tissue_id, std::uint32_t kind, Span<const float> state,
               Span<const std::uint32_t> controls = {}) {
        const std::size_t each = kind == PALPATE_FRAMES ? 7 : 3, n = state.size() / each;
        const bool is_even = state.size() == each * n && (controls.size() == 0 || controls.size() == n);
        return done(palpate_drive(get(), tissue_id, kind, controls.data(), is_even ? state.data() : nullptr, n));
    }
    Result<palpate_cut_made> cut(std::uint32_t tissue_id, palpate_cut cut) {
        palpate_cut_made made{};
        cut.size = sizeof cut;
        const palpate_code code = palpate_cut_tissue(get(), tissue_id, &cut, &made);
        return with(code, made);
    }
    // Cuts along a line on the surface: x, y, z of each point.
    Result<Lips> cut_along(std::uint32_t tissue_id, Span<const float> points, double width_m = 0, double depth_m = 0) {
        Lips lips;
        // More vertices than a line crosses edges.
        std::size_t n = 0, room = 1 << 16;
        lips.left.resize(room);
        lips.right.resize(room);
        const palpate_code code = palpate_cut_along(get(), tissue_id, points.data(), points.size() / 3, width_m, depth_m,
                                                    lips.left.data(), lips.right.data(), room, &n, &lips.made);
        lips.left.resize(n < room ? n : room);
        lips.right.resize(lips.left.size());
        return with(code, std::move(lips));
    }
    Result<Surface> export_tissue(std::uint32_t tissue_id) const {
        Surface surface;
        std::size_t vertices = 0, triangles = 0;
        for (;;) {
            surface.positions.resize(3 * vertices);
            surface.triangle_ids.resize(triangles);
            surface.triangles.resize(3 * triangles);
            const palpate_code code = palpate_export_tissue(
                get(), tissue_id, surface.positions.data(), vertices, &vertices, surface.triangle_ids.data(),
                surface.triangles.data(), triangles, &triangles, &surface.geometry_revision);
            if (code != PALPATE_OK && code != PALPATE_TOO_SMALL) return Result<Surface>::failed(code);
            if (code == PALPATE_TOO_SMALL) continue;
            surface.positions.resize(3 * vertices);
            surface.triangle_ids.resize(triangles);
            surface.triangles.resize(3 * triangles);
            return with(code, std::move(surface));
        }
    }
    Result<palpate_mesh_report> tissue_report(std::uint32_t tissue_id) const {
        palpate_mesh_report report{};
        const palpate_code code = palpate_tissue_report(get(), tissue_id, &report);
        return with(code, report);
    }
    Result<palpate_mesh_report> link_report(std::uint32_t tool_id, std::uint32_t link) const {
        palpate_mesh_report report{};
        const palpate_code code = palpate_link_report(get(), tool_id, link, &report);
        return with(code, report);
    }
    // Signed distances, metres; tissue 0: to the nearest of all tissues.
    Result<std::vector<double>> distances(Span<const palpate_vec3> points, std::uint32_t tissue_id = 0) const {
        std::vector<double> metres(points.size());
        palpate_code code = palpate_distances(get(), tissue_id, points.data(), metres.data(), points.size());
        return with(code, std::move(metres));
    }
    // The nearest point of a tissue to each point; tissue 0: of all tissues.
    Result<std::vector<palpate_surface_point>> nearest(Span<const palpate_vec3> points,
                                                       std::uint32_t tissue_id = 0) const {
        std::vector<palpate_surface_point> found(points.size());
        palpate_code code = palpate_nearest(get(), tissue_id, points.data(), found.data(), points.size());
        return with(code, std::move(found));
    }
    // What a tool touches at a pose, without a session. `distances`: empty, or one for each link, which are filled.
    Result<std::vector<palpate_surface_contact>> query_contacts(palpate_contact_query query,
                                                                Span<palpate_link_distance> distances = {}) const {
        query.size = sizeof query;
        return detail::all<palpate_surface_contact>([&](palpate_surface_contact* to, std::size_t room, std::size_t* n) {
            return palpate_query_contacts(get(), &query, to, room, n, distances.data(), distances.size());
        });
    }
    // Where tissues meet themselves and each other as they move from one revision to another, the earliest first.
    Result<std::vector<palpate_self_contact>> self_collisions(Span<const palpate_interval> tissues,
                                                              double thickness_m = 0) const {
        return detail::all<palpate_self_contact>([&](palpate_self_contact* to, std::size_t room, std::size_t* n) {
            return palpate_self_collisions(get(), tissues.data(), tissues.size(), thickness_m, 0, to, room, n);
        });
    }
    // Gives a tissue materials, and each triangle id an index into them; empty: each triangle has the first. Without
    // materials the tissue is rigid again. Returns the geometry revision.
    Result<std::uint64_t> set_feel(std::uint32_t tissue_id, Span<const palpate_material> materials,
                                   Span<const std::uint8_t> triangle_materials = {}) {
        std::uint64_t revision = 0;
        const palpate_code code =
            palpate_set_feel(get(), tissue_id, materials.data(), materials.size(), triangle_materials.data(),
                             triangle_materials.size(), &revision);
        return with(code, revision);
    }
    // Holds the newest revision of a tissue for `self_collisions`, and returns it.
    Result<std::uint64_t> hold(std::uint32_t tissue_id) {
        std::uint64_t revision = 0;
        const palpate_code code = palpate_hold_tissue(get(), tissue_id, &revision);
        return with(code, revision);
    }
    // Moves all vertices in a solver's own array.
    Done deform(std::uint32_t tissue_id, const palpate_rows& positions) {
        return done(palpate_deform_rows(get(), tissue_id, nullptr, &positions));
    }
    Result<Session> open_session(palpate_session_options options) {
        palpate_session* session = nullptr;
        options.size = sizeof options;
        palpate_code code = palpate_open_session(get(), &options, &session);
        return with(code, Session(session));
    }
    // The scene as it is now, under another name, in this process: its tissues move apart from this one's.
    Result<Scene> copy(const std::string& name) const {
        palpate_scene* made = nullptr;
        const palpate_code code = palpate_copy_scene(scene_.get(), name.c_str(), &made);
        return with(code, Scene(made));
    }
    // Removes the scene from the engine or the server.
    Done remove() { return done(palpate_delete_scene(get())); }
    palpate_scene* get() const noexcept { return scene_.get(); }

private:
    template <typename T>
    static Result<T> with(palpate_code code, T value) {
        return code == PALPATE_OK ? Result<T>(std::move(value)) : Result<T>::failed(code);
    }
    struct Close {
        void operator()(palpate_scene* scene) const noexcept { palpate_close_scene(&scene); }
    };
    std::unique_ptr<palpate_scene, Close> scene_;
};

// The engine in this process, or a server.
class Server {
public:
    static Result<Server> open_local() {
        palpate_server* server = nullptr;
        palpate_code code = palpate_open_local(PALPATE_HEADER_VERSION, &server);
        return code == PALPATE_OK ? Result<Server>(Server(server)) : Result<Server>::failed(code);
    }
    static Result<Server> connect(palpate_address address) {
        palpate_server* server = nullptr;
        address.size = sizeof address;
        palpate_code code = palpate_connect(PALPATE_HEADER_VERSION, &address, &server);
        return code == PALPATE_OK ? Result<Server>(Server(server)) : Result<Server>::failed(code);
    }
    static Result<Server> connect(const std::string& url) {
        palpate_address address{};
        address.url = url.c_str();
        return connect(address);
    }
    Result<Scene> create_scene(const std::string& id) {
        palpate_scene* scene = nullptr;
        palpate_code code = palpate_create_scene(server_.get(), id.c_str(), &scene);
        return code == PALPATE_OK ? Result<Scene>(Scene(scene)) : Result<Scene>::failed(code);
    }
    Result<Scene> open_scene(const std::string& id) {
        palpate_scene* scene = nullptr;
        palpate_code code = palpate_open_scene(server_.get(), id.c_str(), &scene);
        return code == PALPATE_OK ? Result<Scene>(Scene(scene)) : Result<Scene>::failed(code);
    }

private:
    explicit Server(palpate_server* owned) : server_(owned) {}
    struct Close {
        void operator()(palpate_server* server) const noexcept { palpate_close(&server); }
    };
    std::unique_ptr<palpate_server, Close> server_;
};

}  // namespace palpate

#endif  // PALPATE_HPP
