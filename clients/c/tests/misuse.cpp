// Calls every function with NULL, NaN, wrong sizes and in wrong order, from two threads: each must give a code and a
// message, and none may crash. Build it with the address and undefined-behaviour sanitizers. misuse FOLDER [HOST:PORT]

#include <palpate.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace {

const double NAN_ = std::numeric_limits<double>::quiet_NaN();
const std::uint32_t VERSION = PALPATE_HEADER_VERSION;
std::atomic<int> checks{0};

void expect(palpate_code got, palpate_code wanted, const char* what, const char* says = nullptr) {
    ++checks;
    const std::string message = palpate_last_error();
    const bool is_told = wanted == PALPATE_OK || (says && message.find(says) != std::string::npos);
    if (got != wanted || !is_told) {
        std::fprintf(stderr, "%s gave %d (%s), expected %d (%s)\n", what, got, message.c_str(), wanted, says ? says : "");
        std::exit(1);
    }
}
#define REFUSED(call, says) expect(call, PALPATE_INVALID_ARGUMENT, #call, says)
#define FAILS(code, call, says) expect(call, code, #call, says)
#define DOES(call) expect(call, PALPATE_OK, #call)

// Prints the failed condition with its line, and exits.
#define MUST(condition) \
    if (!(condition)) std::fprintf(stderr, "line %d: not %s\n", __LINE__, #condition), std::exit(1)

// A struct of zeros that may grow, with its size.
template <typename T>
T sized() {
    T value{};
    value.size = sizeof value;
    return value;
}

// Copies the first bytes of a struct into a buffer of just that length, so that a sanitizer sees a read beyond it.
template <typename T>
class Short {
public:
    Short(T value, std::uint32_t size) : bytes_(size) {
        value.size = size;
        std::memcpy(bytes_.data(), &value, size);
    }
    T* get() { return reinterpret_cast<T*>(bytes_.data()); }

private:
    std::vector<char> bytes_;
};

// A size that no header has: 0, beyond this version's, within a field.
template <typename T, typename Call>
void wrong_sizes(T value, const char* says, Call call) {
    for (std::size_t size : {std::size_t{0}, sizeof value + 8, std::size_t{UINT32_MAX}, std::size_t{12}}) {
        value.size = static_cast<std::uint32_t>(size);
        REFUSED(call(&value), (says + std::to_string(size) + ", expected").c_str());
    }
}

void wait_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

bool is_none(const palpate_wrench& wrench) {
    return wrench.force_n.x == 0 && wrench.force_n.y == 0 && wrench.force_n.z == 0;
}

void nulls() {
    palpate_server* server = nullptr;
    palpate_scene* scene = nullptr;
    palpate_session* session = nullptr;
    auto address = sized<palpate_address>();
    palpate_mesh mesh{};
    auto cut = sized<palpate_cut>();
    auto options = sized<palpate_session_options>();
    palpate_pose pose = palpate::pose(0, 0, 0);
    palpate_wrench wrench{};
    palpate_rendering rendering;
    palpate_session_status status;
    std::uint32_t id = 0;
    std::size_t n = 0;
    double metres = 0;
    palpate_vec3 point{};
    float xyz[3] = {};
    REFUSED(palpate_open_local(VERSION, nullptr), "server is NULL");
    REFUSED(palpate_connect(VERSION, nullptr, &server), "address is NULL");
    REFUSED(palpate_connect(VERSION, &address, nullptr), "server is NULL");
    REFUSED(palpate_connect(VERSION, &address, &server), "url is NULL");
    REFUSED(palpate_close(nullptr), "server is NULL");
    DOES(palpate_close(&server));
    REFUSED(palpate_create_scene(nullptr, "a", &scene), "server is NULL");
    REFUSED(palpate_open_scene(nullptr, "a", &scene), "server is NULL");
    REFUSED(palpate_close_scene(nullptr), "scene is NULL");
    DOES(palpate_close_scene(&scene));
    REFUSED(palpate_delete_scene(nullptr), "scene is NULL");
    REFUSED(palpate_add_tissue(nullptr, "a", &mesh, nullptr, &id), "scene is NULL");
    REFUSED(palpate_add_tissue_file(nullptr, "a", "b.obj", 1, nullptr, &id), "scene is NULL");
    REFUSED(palpate_add_tool(nullptr, "a", nullptr, 0, &id), "scene is NULL");
    REFUSED(palpate_add_tool_file(nullptr, "a", "b.obj", 1, &id), "scene is NULL");
    REFUSED(palpate_remove_tissue(nullptr, 1), "scene is NULL");
    REFUSED(palpate_remove_tool(nullptr, 1), "scene is NULL");
    REFUSED(palpate_deform(nullptr, 1, xyz, 1), "scene is NULL");
    REFUSED(palpate_deform_some(nullptr, 1, &id, xyz, 1), "scene is NULL");
    REFUSED(palpate_drive(nullptr, 1, PALPATE_POINTS, &id, xyz, 1), "scene is NULL");
    REFUSED(palpate_cut_along(nullptr, 1, xyz, 2, 0, 0, &id, &id, 1, &n, nullptr), "scene is NULL");
    palpate_tube* tube = nullptr;
    palpate_mesh tube_mesh{};
    auto tube_binding = sized<palpate_binding>();
    REFUSED(palpate_create_tube(xyz, 2, 0.1, 0, nullptr), "tube is NULL");
    REFUSED(palpate_create_tube(nullptr, 2, 0.1, 0, &tube), "points is NULL");
    REFUSED(palpate_tube_mesh(nullptr, &tube_mesh, &tube_binding), "tube is NULL");
    REFUSED(palpate_tube_frames(nullptr, xyz, 2, xyz), "tube is NULL");
    REFUSED(palpate_close_tube(nullptr), "tube is NULL");
    DOES(palpate_close_tube(&tube));
    REFUSED(palpate_cut_tissue(nullptr, 1, &cut, nullptr), "scene is NULL");
    REFUSED(palpate_distances(nullptr, 0, &point, &metres, 1), "scene is NULL");
    palpate_surface_point near{};
    REFUSED(palpate_nearest(nullptr, 0, &point, &near, 1), "scene is NULL");
    REFUSED(palpate_export_tissue(nullptr, 1, xyz, 1, &n, &id, &id, 0, &n, nullptr), "scene is NULL");
    palpate_mesh_report report;
    REFUSED(palpate_tissue_report(nullptr, 1, &report), "scene is NULL");
    REFUSED(palpate_link_report(nullptr, 1, 0, &report), "scene is NULL");
    REFUSED(palpate_open_session(nullptr, &options, &session), "scene is NULL");
    REFUSED(palpate_session_defaults(1, nullptr), "options is NULL");
    REFUSED(palpate_close_session(nullptr), "session is NULL");
    DOES(palpate_close_session(&session));
    REFUSED(palpate_servo(nullptr, &pose, 1e-3, &wrench), "session is NULL");
    REFUSED(palpate_servo(nullptr, &pose, 1e-3, nullptr), "wrench is NULL");
    REFUSED(palpate_servo_links(nullptr, &pose, nullptr, 0, 1e-3, &wrench), "session is NULL");
    REFUSED(palpate_step(nullptr, &pose, nullptr, 0, 1e-3, &wrench), "session is NULL");
    REFUSED(palpate_newest(nullptr, &rendering), "session is NULL");
    REFUSED(palpate_contacts(nullptr, nullptr, 0, &n), "session is NULL");
    REFUSED(palpate_surface_contacts(nullptr, nullptr, 0, &n, nullptr), "session is NULL");
    REFUSED(palpate_link_distances(nullptr, nullptr, 0, &n, nullptr), "session is NULL");
    REFUSED(palpate_tissue_loads(nullptr, 1, nullptr, nullptr, 0, &n, nullptr), "session is NULL");
    REFUSED(palpate_control_loads(nullptr, 1, nullptr, nullptr, nullptr, 0, &n, nullptr), "session is NULL");
    REFUSED(palpate_status(nullptr, &status), "session is NULL");
    REFUSED(palpate_check(nullptr), "session is NULL");
    REFUSED(palpate_field_progress(nullptr, "a", &metres), "scene is NULL");
    MUST(*palpate_last_warning() == 0);
    for (std::uint32_t other : {0u, VERSION + 1000, VERSION + 1000000, UINT32_MAX}) {
        FAILS(PALPATE_INCOMPATIBLE, palpate_open_local(other, &server), "compiled with palpate.h");
        FAILS(PALPATE_INCOMPATIBLE, palpate_connect(other, &address, &server), "the library is version");
        FAILS(PALPATE_INCOMPATIBLE, palpate_open_local(other, nullptr), "the library is version");
    }
    MUST(std::strcmp(palpate_version(), PALPATE_VERSION_STRING) == 0);
    wrong_sizes(address, "address.size is ", [&](auto* sent) { return palpate_connect(VERSION, sent, &server); });
    wrong_sizes(options, "options.size is ", [&](auto* sent) { return palpate_session_defaults(1, sent); });
    address.url = "127.0.0.1:1";
    // A caller of an older version: the fields that it does not know have their defaults.
    FAILS(PALPATE_UNAVAILABLE, palpate_connect(VERSION, Short(address, 16).get(), &server), "127.0.0.1:1");
    REFUSED(palpate_connect(VERSION, Short(address, 8).get(), &server), "url is NULL");
    Short few(options, 24);
    DOES(palpate_session_defaults(7, few.get()));
    palpate_session_options known{};
    std::memcpy(&known, few.get(), 24);
    MUST(known.size == 24 && known.tool_id == 7 && known.stiffness_n_per_m == 500);
    FAILS(PALPATE_UNAVAILABLE, palpate_connect(VERSION, &address, &server), "127.0.0.1:1");
    address.timeout_s = NAN_;
    REFUSED(palpate_connect(VERSION, &address, &server), "timeout_s");
    address.timeout_s = 0;
    address.key_file = "/nowhere/key";
    REFUSED(palpate_connect(VERSION, &address, &server), "/nowhere/key");
    address.key = "secret";
    REFUSED(palpate_connect(VERSION, &address, &server), "key and key_file are both set");
    address.key_file = nullptr;
    address.key = "two\nlines";
    REFUSED(palpate_connect(VERSION, &address, &server), "key: ");
    address.key = nullptr;
    address.certificate_file = "/nowhere/certificate";
    REFUSED(palpate_connect(VERSION, &address, &server), "certificate");
    MUST(!server);
}

void scenes(palpate_server* server, const std::string& folder) {
    palpate_scene* scene = nullptr;
    REFUSED(palpate_create_scene(server, nullptr, &scene), "scene_id is NULL");
    REFUSED(palpate_create_scene(server, "a", nullptr), "scene is NULL");
    REFUSED(palpate_create_scene(server, "\xff", &scene), "no UTF-8");
    REFUSED(palpate_create_scene(server, "No Such", &scene), "scene_id");
    FAILS(PALPATE_NOT_FOUND, palpate_open_scene(server, "misuse", &scene), "misuse");
    DOES(palpate_create_scene(server, "misuse", &scene));
    palpate_scene* second = nullptr;
    FAILS(PALPATE_ALREADY_EXISTS, palpate_create_scene(server, "misuse", &second), "misuse");
    DOES(palpate_open_scene(server, "misuse", &second));
    DOES(palpate_close_scene(&second));

    const std::array<float, 12> corners = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const std::array<std::uint32_t, 12> sides = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    palpate_mesh mesh = palpate::mesh(corners, sides, 0.05);
    std::uint32_t tissue = 0, tool = 0;
    REFUSED(palpate_add_tissue(scene, nullptr, &mesh, nullptr, &tissue), "name is NULL");
    REFUSED(palpate_add_tissue(scene, "a", nullptr, nullptr, &tissue), "mesh is NULL");
    REFUSED(palpate_add_tissue(scene, "a", &mesh, nullptr, nullptr), "tissue_id is NULL");
    REFUSED(palpate_add_tissue(scene, "", &mesh, nullptr, &tissue), "name");
    for (double scale : {NAN_, -1.0, 1e9}) {
        palpate_mesh wrong = mesh;
        wrong.scale_to_m = scale;
        REFUSED(palpate_add_tissue(scene, "a", &wrong, nullptr, &tissue), "scale_to_m");
    }
    palpate_mesh wrong = mesh;
    wrong.positions = nullptr;
    REFUSED(palpate_add_tissue(scene, "a", &wrong, nullptr, &tissue), "positions is NULL");
    wrong = mesh;
    wrong.positions = reinterpret_cast<const float*>(reinterpret_cast<const char*>(corners.data()) + 1);
    REFUSED(palpate_add_tissue(scene, "a", &wrong, nullptr, &tissue), "not aligned");
    wrong = mesh;
    wrong.n_triangles = std::numeric_limits<std::size_t>::max();
    REFUSED(palpate_add_tissue(scene, "a", &wrong, nullptr, &tissue), "n_triangles is");
    wrong = mesh;
    wrong.n_vertices = 3;
    REFUSED(palpate_add_tissue(scene, "a", &wrong, nullptr, &tissue), "expected < 3");
    wrong = mesh;
    wrong.n_triangles = 0;
    REFUSED(palpate_add_tissue(scene, "a", &wrong, nullptr, &tissue), "triangle");
    std::array<float, 12> broken = corners;
    broken[4] = std::numeric_limits<float>::quiet_NaN();
    wrong = palpate::mesh(broken, sides);
    REFUSED(palpate_add_tissue(scene, "a", &wrong, nullptr, &tissue), "NaN");
    auto options_of_tissue = sized<palpate_tissue_options>();
    wrong_sizes(options_of_tissue, "options.size is ",
                [&](auto* sent) { return palpate_add_tissue(scene, "a", &mesh, sent, &tissue); });
    options_of_tissue.flags = 4;
    REFUSED(palpate_add_tissue(scene, "a", &mesh, &options_of_tissue, &tissue), "options.flags is 4");
    options_of_tissue.flags = 0;
    for (double metres : {NAN_, -1.0, 1e9}) {
        options_of_tissue.weld_m = metres;
        REFUSED(palpate_add_tissue(scene, "a", &mesh, &options_of_tissue, &tissue), "options.weld_m is");
        REFUSED(palpate_add_tissue_file(scene, "a", "a.obj", 1, &options_of_tissue, &tissue), "options.weld_m is");
        options_of_tissue.weld_m = 0;
        options_of_tissue.fill_holes_m = metres;
        REFUSED(palpate_add_tissue(scene, "a", &mesh, &options_of_tissue, &tissue), "options.fill_holes_m is");
        options_of_tissue.fill_holes_m = 0;
    }
    REFUSED(palpate_add_tissue_file(scene, "a", "/nowhere/a.obj", 1, nullptr, &tissue), "/nowhere/a.obj");
    REFUSED(palpate_add_tissue_file(scene, "a", nullptr, 1, nullptr, &tissue), "file is NULL");
    REFUSED(palpate_add_tissue_file(scene, "a", (folder + "/poses.bin").c_str(), 1, nullptr, &tissue), "bin");
    REFUSED(palpate_add_tool_file(scene, "a", (folder + "/tool.obj").c_str(), NAN_, &tool), "scale_to_m");
    DOES(palpate_add_tissue(scene, "organ", &mesh, nullptr, &tissue));
    FAILS(PALPATE_ALREADY_EXISTS, palpate_add_tissue(scene, "organ", &mesh, nullptr, &tissue), "organ");

    const palpate_link link = palpate::link("tip", palpate::mesh(corners, sides, 0.005));
    REFUSED(palpate_add_tool(scene, "probe", &link, 0, &tool), "links");
    REFUSED(palpate_add_tool(scene, "probe", nullptr, 1, &tool), "links is NULL");
    palpate_pose no_pose{};
    palpate_link bent = link;
    bent.rest_pose = &no_pose;
    REFUSED(palpate_add_tool(scene, "probe", &bent, 1, &tool), "rest_pose");
    bent = link;
    bent.name = nullptr;
    REFUSED(palpate_add_tool(scene, "probe", &bent, 1, &tool), "name is NULL");
    bent = link;
    bent.fill_holes_m = NAN_;
    REFUSED(palpate_add_tool(scene, "probe", &bent, 1, &tool), "link.fill_holes_m");
    wrong_sizes(link, "links[0].size is ",
                [&](auto* sent) { return palpate_add_tool(scene, "probe", sent, 1, &tool); });
    palpate_link unequal[] = {link, link};
    unequal[1].size = 0;
    REFUSED(palpate_add_tool(scene, "probe", unequal, 2, &tool), "links[1].size is 0, expected");
    bent = link;
    bent.weld_m = -1;
    REFUSED(palpate_add_tool(scene, "probe", &bent, 1, &tool), "link.weld_m is -1");
    palpate_probe probes[17];
    for (palpate_probe& probe : probes) probe = palpate::probe("tip", {0, 0, 0}, 0);
    bent = link;
    bent.probes = probes;
    const auto probed = [&](std::size_t n) {
        bent.n_probes = n;
        return palpate_add_tool(scene, "probe", &bent, 1, &tool);
    };
    REFUSED(probed(17), "n_probes is 17, expected at most 16");
    REFUSED(probed(2), "\"tip\"");
    probes[0].radius_m = NAN_;
    REFUSED(probed(1), "probe.radius_m is NaN");
    probes[0] = palpate::probe("tip", {0, 1e9, 0}, 0);
    REFUSED(probed(1), "probe.position_m is");
    probes[0] = palpate::probe(nullptr, {0, 0, 0}, 0);
    REFUSED(probed(1), "probe.name is NULL");
    probes[0].size = 3;
    REFUSED(probed(1), "link.probes[0].size is 3");
    bent.probes = nullptr;
    REFUSED(probed(1), "link.probes is NULL");
    double share = 0;
    REFUSED(palpate_field_progress(scene, nullptr, &share), "name is NULL");
    REFUSED(palpate_field_progress(scene, "probe", nullptr), "share is NULL");
    FAILS(PALPATE_NOT_FOUND, palpate_field_progress(scene, "probe", &share), "\"probe\"");
    const palpate_link twice[] = {link, link};
    REFUSED(palpate_add_tool(scene, "probe", twice, 2, &tool), "name");
    DOES(palpate_add_tool(scene, "probe", &link, 1, &tool));

    float moved[12];
    std::memcpy(moved, corners.data(), sizeof moved);
    for (float& x : moved) x *= 0.05f;
    const std::uint32_t ids[] = {3, 9}, same[] = {3, 3}, first[] = {0};
    REFUSED(palpate_deform(scene, tissue, moved, 3), "expected 4");
    REFUSED(palpate_deform(scene, tissue, nullptr, 4), "positions is NULL");
    REFUSED(palpate_deform(scene, tissue, broken.data(), 4), "NaN");
    REFUSED(palpate_deform_some(scene, tissue, ids, moved, 2), "vertex 9");
    REFUSED(palpate_deform_some(scene, tissue, same, moved, 2), "named before");
    REFUSED(palpate_deform_some(scene, tissue, first, broken.data() + 3, 1), "NaN");
    REFUSED(palpate_deform_some(scene, tissue, nullptr, moved, 1), "vertices is NULL");
    REFUSED(palpate_deform_some(scene, tissue, first, nullptr, 1), "positions is NULL");
    // A solver's own arrays: doubles, five bytes after each other's end and nowhere aligned.
    const std::size_t stride = 3 * sizeof(double) + 5;
    std::vector<unsigned char> own(1 + 4 * stride);
    for (std::size_t row = 0; row < 4; ++row) {
        for (std::size_t k = 0; k < 3; ++k) {
            const double number = moved[3 * row + k];
            std::memcpy(&own[1 + row * stride + k * sizeof number], &number, sizeof number);
        }
    }
    palpate_rows rows{};
    rows.size = sizeof rows;
    rows.number = PALPATE_DOUBLE;
    rows.data = &own[1];
    rows.n = 4;
    rows.stride = stride;
    const auto deformed = [&](const palpate_rows& given, const std::uint32_t* vertices = nullptr) {
        return palpate_deform_rows(scene, tissue, vertices, &given);
    };
    REFUSED(palpate_deform_rows(nullptr, tissue, nullptr, &rows), "scene is NULL");
    REFUSED(palpate_deform_rows(scene, tissue, nullptr, nullptr), "positions is NULL");
    wrong_sizes(rows, "positions.size is ",
                [&](auto* sent) { return palpate_deform_rows(scene, tissue, nullptr, sent); });
    palpate_rows odd = rows;
    odd.n = 3;
    REFUSED(deformed(odd), "positions.n is 3, expected 4");
    odd.n = SIZE_MAX;
    REFUSED(deformed(odd, ids), "positions.n is");
    odd = rows;
    odd.number = 2;
    REFUSED(deformed(odd), "positions.number is 2");
    odd = rows;
    odd.stride = 23;
    REFUSED(deformed(odd), "positions.stride is 23, expected at least 24");
    odd.stride = SIZE_MAX;
    REFUSED(deformed(odd), "positions.stride is");
    odd = rows;
    odd.data = nullptr;
    REFUSED(deformed(odd), "positions.data is NULL");
    REFUSED(palpate_drive_rows(scene, tissue, PALPATE_POINTS, nullptr, &rows), "has no controls");
    DOES(deformed(rows));
    float stored[12];
    std::size_t n_stored = 0, n_sides = 0;
    std::uint32_t side_ids[4], corners_of[12];
    DOES(palpate_export_tissue(scene, tissue, stored, 4, &n_stored, side_ids, corners_of, 4, &n_sides, nullptr));
    MUST(n_stored == 4 && std::memcmp(stored, moved, sizeof moved) == 0);
    FAILS(PALPATE_NOT_FOUND, palpate_deform(scene, 77, moved, 4), "tissue 77");
    DOES(palpate_deform(scene, tissue, moved, 4));
    auto cut = sized<palpate_cut>();
    const std::uint32_t gone[] = {99};
    cut.removed = gone;
    cut.n_removed = 1;
    REFUSED(palpate_cut_tissue(scene, tissue, &cut, nullptr), "removed_triangles[0]");
    REFUSED(palpate_cut_tissue(scene, tissue, nullptr, nullptr), "cut is NULL");
    wrong_sizes(cut, "cut.size is ", [&](auto* sent) { return palpate_cut_tissue(scene, tissue, sent, nullptr); });
    cut.removed = nullptr;
    REFUSED(palpate_cut_tissue(scene, tissue, &cut, nullptr), "removed is NULL");
    cut.removed = first;
    cut.n_positions = 1;
    REFUSED(palpate_cut_tissue(scene, tissue, &cut, nullptr), "positions is NULL");
    cut.positions = broken.data() + 3;
    REFUSED(palpate_cut_tissue(scene, tissue, &cut, nullptr), "NaN");
    cut.positions = moved;
    cut.n_triangles = 1;
    REFUSED(palpate_cut_tissue(scene, tissue, &cut, nullptr), "triangles is NULL");
    cut.triangles = gone;
    cut.n_triangles = std::numeric_limits<std::size_t>::max();
    REFUSED(palpate_cut_tissue(scene, tissue, &cut, nullptr), "n_triangles is");
    const std::uint32_t far[] = {0, 1, 9}, near[] = {0, 1, 4};
    cut.triangles = far;
    cut.n_triangles = 1;
    REFUSED(palpate_cut_tissue(scene, tissue, &cut, nullptr), "vertex 9");
    cut.triangles = near;
    cut.parents = gone;
    REFUSED(palpate_cut_tissue(scene, tissue, &cut, nullptr), "added_triangle_parents[0]");
    FAILS(PALPATE_NOT_FOUND, palpate_cut_tissue(scene, 77, &cut, nullptr), "tissue 77");
    cut.parents = nullptr;
    palpate_cut_made made{};
    DOES(palpate_cut_tissue(scene, tissue, &cut, &made));
    MUST(made.topology_revision == 1);

    const palpate_vec3 points[] = {{0.01, 0.01, 0.01}, {NAN_, 0, 0}};
    double metres[2] = {};
    REFUSED(palpate_distances(scene, tissue, points, metres, 2), "NaN");
    REFUSED(palpate_distances(scene, tissue, nullptr, metres, 1), "points is NULL");
    REFUSED(palpate_distances(scene, tissue, points, nullptr, 1), "distances_m is NULL");
    REFUSED(palpate_distances(scene, tissue, points, metres, SIZE_MAX), "n_points is");
    FAILS(PALPATE_NOT_FOUND, palpate_distances(scene, 77, points, metres, 1), "tissue 77");
    DOES(palpate_distances(scene, 0, points, metres, 1));
    DOES(palpate_distances(scene, 0, nullptr, nullptr, 0));
    palpate_surface_point nearest[2] = {};
    REFUSED(palpate_nearest(scene, tissue, points, nearest, 2), "NaN");
    REFUSED(palpate_nearest(scene, tissue, nullptr, nearest, 1), "points is NULL");
    REFUSED(palpate_nearest(scene, tissue, points, nullptr, 1), "nearest is NULL");
    REFUSED(palpate_nearest(scene, tissue, points, nearest, SIZE_MAX), "n_points is");
    FAILS(PALPATE_NOT_FOUND, palpate_nearest(scene, 77, points, nearest, 1), "tissue 77");
    DOES(palpate_nearest(scene, tissue, points, nearest, 1));
    MUST(nearest[0].tissue_id == tissue && nearest[0].signed_distance_m == metres[0]);
    DOES(palpate_nearest(scene, 0, nullptr, nullptr, 0));

    palpate_contact_query query{};
    query.size = sizeof query;
    query.tool_id = tool;
    query.pose = palpate::pose(0.01, 0.01, -0.0045);
    palpate_surface_contact touched[32];
    palpate_link_distance distance[2];
    std::size_t n_touched = 7;
    const auto asked = [&](std::size_t room, std::size_t n_distances) {
        return palpate_query_contacts(scene, &query, touched, room, &n_touched, distance, n_distances);
    };
    REFUSED(palpate_query_contacts(nullptr, &query, touched, 32, &n_touched, distance, 1), "scene is NULL");
    REFUSED(palpate_query_contacts(scene, nullptr, touched, 32, &n_touched, distance, 1), "query is NULL");
    REFUSED(palpate_query_contacts(scene, &query, nullptr, 32, &n_touched, distance, 1), "contacts is NULL");
    REFUSED(palpate_query_contacts(scene, &query, touched, 32, nullptr, distance, 1), "n is NULL");
    REFUSED(palpate_query_contacts(scene, &query, touched, 32, &n_touched, nullptr, 1), "distances is NULL");
    REFUSED(asked(SIZE_MAX, 1), "contacts has");
    REFUSED(asked(32, 2), "n_distances is 2, expected 1");
    MUST(n_touched == 0);
    wrong_sizes(query, "query.size is ", [&](auto* sent) {
        return palpate_query_contacts(scene, sent, touched, 32, &n_touched, distance, 1);
    });
    palpate_contact_query good = query;
    query.contact_margin_m = NAN_;
    REFUSED(asked(32, 1), "contact_margin_m");
    query = good;
    query.pose.orientation.w = 3;
    REFUSED(asked(32, 1), "query.pose is");
    query = good;
    query.n_links = 1;
    REFUSED(asked(32, 1), "query.links is NULL");
    query.links = &no_pose;
    REFUSED(asked(32, 1), "query.links is");
    const palpate_pose two[] = {query.pose, query.pose};
    query.links = two;
    query.n_links = 2;
    REFUSED(asked(32, 1), "expected");
    query.n_links = 100;
    REFUSED(asked(32, 1), "query.n_links is 100, expected at most");
    query = good;
    query.tool_id = 77;
    FAILS(PALPATE_NOT_FOUND, asked(32, 1), "tool 77");
    query = good;
    DOES(asked(32, 1));
    MUST(n_touched > 0 && distance[0].at.link == 0 && distance[0].n_contacts == n_touched);
    const std::size_t all = n_touched;
    FAILS(PALPATE_TOO_SMALL, asked(0, 0), "holds 0");
    MUST(n_touched == all);

    std::size_t n_vertices = 0, n_triangles = 0;
    std::uint64_t revision = 0;
    float some[3];
    std::uint32_t some_ids[1], some_sides[3];
    REFUSED(palpate_export_tissue(scene, tissue, some, 1, nullptr, some_ids, some_sides, 1, &n_triangles, &revision), "n_vertices is NULL");
    REFUSED(palpate_export_tissue(scene, tissue, some, 1, &n_vertices, some_ids, some_sides, 1, nullptr, &revision), "n_triangles is NULL");
    REFUSED(palpate_export_tissue(scene, tissue, nullptr, 1, &n_vertices, some_ids, some_sides, 1, &n_triangles, &revision), "positions is NULL");
    REFUSED(palpate_export_tissue(scene, tissue, some, SIZE_MAX, &n_vertices, some_ids, some_sides, 1, &n_triangles, &revision), "positions has");
    REFUSED(palpate_export_tissue(scene, tissue, some, 1, &n_vertices, nullptr, some_sides, 1, &n_triangles, &revision), "triangle_ids is NULL");
    REFUSED(palpate_export_tissue(scene, tissue, some, 1, &n_vertices, some_ids, nullptr, 1, &n_triangles, &revision), "triangles is NULL");
    palpate_mesh_report report;
    REFUSED(palpate_tissue_report(scene, tissue, nullptr), "report is NULL");
    REFUSED(palpate_link_report(scene, tool, 0, nullptr), "report is NULL");
    FAILS(PALPATE_NOT_FOUND, palpate_tissue_report(scene, 77, &report), "tissue 77");
    FAILS(PALPATE_NOT_FOUND, palpate_link_report(scene, 77, 0, &report), "link 0 of tool 77");
    FAILS(PALPATE_NOT_FOUND, palpate_link_report(scene, tool, 1, &report), "link 1 of tool");
    FAILS(PALPATE_NOT_FOUND, palpate_export_tissue(scene, 77, some, 1, &n_vertices, some_ids, some_sides, 1, &n_triangles, &revision), "tissue 77");
    FAILS(PALPATE_TOO_SMALL, palpate_export_tissue(scene, tissue, some, 1, &n_vertices, some_ids, some_sides, 1, &n_triangles, &revision), "holds 1");
    MUST(n_vertices > 1 && n_triangles > 1 && some_sides[2] < n_vertices);

    palpate_session* session = nullptr;
    palpate_session_options options = palpate::session_options(tool);
    REFUSED(palpate_open_session(scene, nullptr, &session), "options is NULL");
    REFUSED(palpate_open_session(scene, &options, nullptr), "session is NULL");
    wrong_sizes(options, "options.size is ", [&](auto* sent) { return palpate_open_session(scene, sent, &session); });
    options.stiffness_n_per_m = NAN_;
    REFUSED(palpate_open_session(scene, &options, &session), "stiffness_n_per_m");
    options = palpate::session_options(tool);
    options.rate_hz = -3;
    REFUSED(palpate_open_session(scene, &options, &session), "rate_hz");
    options = palpate::session_options(tool);
    options.hold_point_m.x = NAN_;
    REFUSED(palpate_open_session(scene, &options, &session), "hold_point_m");
    options = palpate::session_options(tool);
    options.cutting_links = 1u << 31;
    REFUSED(palpate_open_session(scene, &options, &session), "cutting_links");
    // A short struct ends before the rate: nobody reads the value that was there.
    options.cutting_links = 0;
    options.rate_hz = NAN_;
    DOES(palpate_open_session(scene, Short(options, offsetof(palpate_session_options, rate_hz)).get(), &session));
    DOES(palpate_close_session(&session));
    options = palpate::session_options(77);
    FAILS(PALPATE_NOT_FOUND, palpate_open_session(scene, &options, &session), "tool 77");
    FAILS(PALPATE_NOT_FOUND, palpate_remove_tissue(scene, 77), "tissue 77");
    FAILS(PALPATE_NOT_FOUND, palpate_remove_tool(scene, 77), "tool 77");
    std::uint32_t spare = 0;
    DOES(palpate_add_tissue(scene, "spare", &mesh, nullptr, &spare));
    DOES(palpate_remove_tissue(scene, spare));
    FAILS(PALPATE_NOT_FOUND, palpate_remove_tissue(scene, spare), "tissue");
    FAILS(PALPATE_NOT_FOUND, palpate_deform(scene, spare, moved, 4), "tissue");
    DOES(palpate_add_tool(scene, "spare", Short(link, offsetof(palpate_link, fill_holes_m)).get(), 1, &spare));
    DOES(palpate_remove_tool(scene, spare));
    FAILS(PALPATE_NOT_FOUND, palpate_remove_tool(scene, spare), "tool");
    // Every call reports a deleted scene, and its handle can still be closed.
    options = palpate::session_options(tool);
    DOES(palpate_delete_scene(scene));
    FAILS(PALPATE_NOT_FOUND, palpate_delete_scene(scene), "misuse");
    FAILS(PALPATE_NOT_FOUND, palpate_add_tissue(scene, "late", &mesh, nullptr, &tissue), "misuse");
    FAILS(PALPATE_NOT_FOUND, palpate_add_tool(scene, "late", &link, 1, &spare), "misuse");
    FAILS(PALPATE_NOT_FOUND, palpate_field_progress(scene, "late", &share), "");
    FAILS(PALPATE_NOT_FOUND, palpate_deform(scene, tissue, moved, 4), "misuse");
    FAILS(PALPATE_NOT_FOUND, palpate_deform_some(scene, tissue, first, moved, 1), "misuse");
    FAILS(PALPATE_NOT_FOUND, palpate_cut_tissue(scene, tissue, &cut, &made), "misuse");
    FAILS(PALPATE_NOT_FOUND, palpate_distances(scene, tissue, points, metres, 1), "misuse");
    FAILS(PALPATE_NOT_FOUND, palpate_tissue_report(scene, tissue, &report), "misuse");
    FAILS(PALPATE_NOT_FOUND, palpate_link_report(scene, tool, 0, &report), "misuse");
    FAILS(PALPATE_NOT_FOUND, palpate_remove_tissue(scene, tissue), "misuse");
    FAILS(PALPATE_NOT_FOUND, palpate_remove_tool(scene, tool), "misuse");
    FAILS(PALPATE_NOT_FOUND, palpate_open_session(scene, &options, &session), "misuse");
    MUST(!session);
    DOES(palpate_close_scene(&scene));
}

// Options of tissues: their side, their seams, their role; and the warning of a mesh in another unit.
void tissues(palpate_server* server) {
    palpate_scene* scene = nullptr;
    DOES(palpate_create_scene(server, "tissues", &scene));
    const std::array<float, 12> corners = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const std::array<std::uint32_t, 12> outwards = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    const std::array<std::uint32_t, 12> inwards = {0, 1, 2, 0, 3, 1, 1, 3, 2, 2, 3, 0};
    auto options = sized<palpate_tissue_options>();
    std::uint32_t tissue = 0;
    const palpate_vec3 middle = {0.01, 0.01, 0.01};
    palpate_mesh_report report{};
    auto distance = [&](const palpate_vec3& at) {
        double metres = 0;
        DOES(palpate_tissue_report(scene, tissue, &report));
        DOES(palpate_distances(scene, tissue, &at, &metres, 1));
        DOES(palpate_remove_tissue(scene, tissue));
        return metres;
    };
    const palpate_mesh lumen = palpate::mesh(corners, inwards, 0.05);
    DOES(palpate_add_tissue(scene, "turned", &lumen, nullptr, &tissue));
    MUST(distance(middle) < -1e-3);
    MUST(report.n_vertices == 4 && report.n_triangles == 4 && report.n_bodies == 1 && report.is_closed == 1);
    MUST(report.reversed_triangles == 4 && report.sign_rule == PALPATE_SIGN_PSEUDONORMAL);
    const double volume = 0.05 * 0.05 * 0.05 / 6;
    MUST(std::fabs(report.volume_m3 / volume - 1) < 1e-6);
    MUST(std::fabs(report.box_max_m.x - 0.05) < 1e-8 && report.box_min_m.x == 0);
    options.flags = PALPATE_AS_WOUND;
    DOES(palpate_add_tissue(scene, "lumen", &lumen, &options, &tissue));
    MUST(distance(middle) > 1e-3);
    MUST(report.reversed_triangles == 0 && std::fabs(report.volume_m3 / volume + 1) < 1e-6);

    // A short struct ends before the length: no seam is joined.
    options.flags = 0;
    options.weld_m = 1e-4;
    std::array<float, 36> apart{};
    for (std::size_t v = 0; v < 12; ++v) {
        for (std::size_t k = 0; k < 3; ++k) apart[3 * v + k] = 0.05f * corners[3 * outwards[v] + k];
        if (v >= 6) apart[3 * v + 2] += 1e-5f;
    }
    const std::array<std::uint32_t, 12> each = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    const palpate_mesh seams = palpate::mesh(apart, each);
    // The corner on top of the third triangle, which stands out until the weld.
    const palpate_vec3 moved = {apart[24], apart[25], apart[26]};
    Short few(options, offsetof(palpate_tissue_options, weld_m));
    DOES(palpate_add_tissue(scene, "apart", &seams, few.get(), &tissue));
    MUST(std::fabs(distance(moved)) < 1e-7);
    MUST(report.is_closed == 0 && report.open_edges + 2 * report.welded_edges == 12 && report.welded_edges < 6);
    DOES(palpate_add_tissue(scene, "welded", &seams, &options, &tissue));
    const double welded = std::fabs(distance(moved));
    MUST(welded > 5e-6 && welded < 2e-5);
    MUST(report.is_closed == 1 && report.welded_edges == 6 && report.open_edges == 0);

    // Without its last triangle, a short struct ends before the option that fills the hole.
    options.weld_m = 0;
    options.fill_holes_m = 0.1;
    const palpate_mesh open = palpate::mesh(corners, palpate::Span<const std::uint32_t>(outwards.data(), 9), 0.05);
    Short fewer(options, offsetof(palpate_tissue_options, fill_holes_m));
    DOES(palpate_add_tissue(scene, "open", &open, fewer.get(), &tissue));
    distance(middle);
    MUST(report.is_closed == 0 && report.open_edges == 3 && report.filled_holes == 0);
    MUST(report.sign_rule == PALPATE_SIGN_WINDING_NUMBER);
    DOES(palpate_add_tissue(scene, "filled", &open, &options, &tissue));
    MUST(distance(middle) < -1e-3);
    MUST(report.is_closed == 1 && report.filled_holes == 1 && report.added_triangles == 1 && report.n_triangles == 4);

    const float line[] = {0, 0, 0, 0.02f, 0, 0, 0.04f, 0, 0}, up[] = {0, 0, 0, 0, 0, 0.02f, 0, 0, 0.04f};
    palpate_tube* tube = nullptr;
    palpate_mesh tube_mesh{};
    auto carried = sized<palpate_binding>();
    float frames[21];
    REFUSED(palpate_create_tube(line, SIZE_MAX, 0.001, 0, &tube), "n_points is ");
    REFUSED(palpate_create_tube(line, 3, 0.001, UINT32_MAX, &tube), "sides is 4294967295, expected at most");
    REFUSED(palpate_create_tube(line, 3, 0.001, 2, &tube), "a ring has 2 sides");
    REFUSED(palpate_create_tube(line, 3, 0.0, 0, &tube), "the radius is 0 m");
    REFUSED(palpate_create_tube(line, 1, 0.001, 0, &tube), "the line has 1 points");
    MUST(tube == nullptr);
    DOES(palpate_create_tube(line, 3, 0.001, 0, &tube));
    REFUSED(palpate_tube_mesh(tube, nullptr, &carried), "mesh is NULL");
    REFUSED(palpate_tube_mesh(tube, &tube_mesh, nullptr), "binding is NULL");
    wrong_sizes(carried, "binding.size is ", [&](auto* sent) { return palpate_tube_mesh(tube, &tube_mesh, sent); });
    REFUSED(palpate_tube_frames(tube, line, 2, frames), "the line has 2 points, expected 3");
    REFUSED(palpate_tube_frames(tube, line, SIZE_MAX, frames), "n_points is ");
    REFUSED(palpate_tube_frames(tube, line, 3, nullptr), "frames is NULL");
    DOES(palpate_close_tube(&tube));
    auto suture = palpate::Tube::about(line, 0.001).value();
    options = sized<palpate_tissue_options>();
    options.binding = &suture.binding();
    DOES(palpate_add_tissue(scene, "suture", &suture.mesh(), &options, &tissue));
    DOES(palpate_drive(scene, tissue, PALPATE_FRAMES, nullptr, suture.frames(up).value().data(), 3));
    MUST(distance({0.0, 0.0, 0.02}) < -5e-4);
    MUST(!palpate::Tube::about(line, -1.0).ok());

    // An incision, from near a corner to near another, in the tetrahedron's face z = 0.
    DOES(palpate_add_tissue(scene, "incised", &lumen, nullptr, &tissue));
    const float nick[] = {0.005f, 0.02f, 0, 0.02f, 0.01f, 0}, nan[] = {NAN, 0, 0, 0, 0, 0};
    std::uint32_t left[8], right[8];
    std::size_t along = 0;
    palpate_cut_made made{};
    auto cut = [&](const float* path, std::size_t n, double width, double depth, std::size_t* to) {
        return palpate_cut_along(scene, tissue, path, n, width, depth, left, right, 8, to, &made);
    };
    REFUSED(cut(nullptr, 2, 0, 0, &along), "points is NULL");
    REFUSED(cut(nick, SIZE_MAX, 0, 0, &along), "n_points is");
    REFUSED(cut(nick, 1, 0, 0, &along), "1 points");
    REFUSED(cut(nick, 2, 0, 0, nullptr), "n is NULL");
    REFUSED(cut(nick, 2, NAN, 0, &along), "width_m is NaN");
    REFUSED(cut(nick, 2, 0, 0.5, &along), "comes out of the surface");
    REFUSED(cut(nan, 2, 0, 0, &along), "point 0 is NaN m from");
    REFUSED(palpate_cut_along(scene, tissue, nick, 2, 0, 0, nullptr, right, 8, &along, &made), "left is NULL");
    DOES(cut(nick, 2, 0.001, 0.001, &along));
    MUST(made.topology_revision == 1 && along == 3 && left[0] == right[0] && left[1] != right[1] && left[2] == right[2]);
    // Without space for the lips they are only counted.
    const float other[] = {0.03f, 0.01f, 0, 0.035f, 0.003f, 0};
    DOES(palpate_cut_along(scene, tissue, other, 2, 0, 0, nullptr, nullptr, 0, &along, nullptr));
    DOES(palpate_remove_tissue(scene, tissue));

    options = sized<palpate_tissue_options>();
    auto binding = sized<palpate_binding>();
    const palpate_mesh solid = palpate::mesh(corners, outwards, 0.05);
    const std::uint32_t ids[] = {0, 0, 0, 0}, counts[] = {1, 1, 1, 1};
    const float rest[] = {0, 0, 0, 0, 0, 0, 1}, turned[] = {0, 0, 0.1f, 0, 0, 1, 0};
    const double weights[] = {1, 1, 1, 1};
    options.binding = &binding;
    binding.kind = 9;
    REFUSED(palpate_add_tissue(scene, "driven", &solid, &options, &tissue), "binding.kind is 9");
    binding.kind = PALPATE_FRAMES;
    binding.n_controls = 1;
    REFUSED(palpate_add_tissue(scene, "driven", &solid, &options, &tissue), "binding.controls is NULL");
    binding.controls = rest;
    binding.weights_per_vertex = counts;
    binding.n_vertices = 4;
    binding.ids = ids;
    binding.n_weights = SIZE_MAX;
    REFUSED(palpate_add_tissue(scene, "driven", &solid, &options, &tissue), "binding.n_weights is");
    binding.n_weights = 4;
    REFUSED(palpate_add_tissue(scene, "driven", &solid, &options, &tissue), "binding.weights is NULL");
    binding.weights = weights;
    wrong_sizes(binding, "binding.size is ", [&](auto* sent) {
        options.binding = sent;
        return palpate_add_tissue(scene, "driven", &solid, &options, &tissue);
    });
    options.binding = &binding;
    DOES(palpate_add_tissue(scene, "driven", &solid, &options, &tissue));
    REFUSED(palpate_drive(scene, tissue, PALPATE_POINTS, nullptr, rest, 1), "kind is 0");
    REFUSED(palpate_drive(scene, tissue, PALPATE_FRAMES, nullptr, rest, SIZE_MAX), "n_controls is");
    REFUSED(palpate_drive(scene, tissue, PALPATE_FRAMES, nullptr, nullptr, 1), "state is NULL");
    FAILS(PALPATE_NOT_FOUND, palpate_drive(scene, 77, PALPATE_FRAMES, nullptr, rest, 1), "tissue 77");
    DOES(palpate_drive(scene, tissue, PALPATE_FRAMES, nullptr, turned, 1));
    // Half a turn about z, and 0.1 m up.
    MUST(distance({-0.01, -0.01, 0.11}) < -1e-3);

    auto cells = sized<palpate_binding>();
    const std::uint32_t cell[] = {0, 1, 2, 3};
    const float nodes[] = {0, 0, 0.2f, 0.05f, 0, 0.2f, 0, 0.05f, 0.2f, 0, 0, 0.25f};
    cells.controls = nodes;
    cells.n_controls = 4;
    options.binding = &cells;
    REFUSED(palpate_add_tissue(scene, "cell", nullptr, &options, &tissue), "mesh is NULL");
    cells.n_tetrahedra = SIZE_MAX;
    REFUSED(palpate_add_tissue(scene, "cell", nullptr, &options, &tissue), "binding.n_tetrahedra is");
    cells.n_tetrahedra = 1;
    REFUSED(palpate_add_tissue(scene, "cell", nullptr, &options, &tissue), "binding.tetrahedra is NULL");
    cells.tetrahedra = cell;
    cells.n_hexahedra = SIZE_MAX / 4;
    REFUSED(palpate_add_tissue(scene, "cell", nullptr, &options, &tissue), "binding.n_hexahedra is");
    cells.n_hexahedra = 0;
    DOES(palpate_add_tissue(scene, "cell", nullptr, &options, &tissue));
    MUST(distance({0.01, 0.01, 0.21}) < -1e-3);

    MUST(*palpate_last_warning() == 0);
    const palpate_mesh millimetres = palpate::mesh(corners, outwards, 50);
    DOES(palpate_add_tissue(scene, "large", &millimetres, nullptr, &tissue));
    MUST(std::strstr(palpate_last_warning(), "millimetres"));
    palpate_link link = palpate::link("large", millimetres);
    link.mesh.scale_to_m = 0.05;
    link.weld_m = 1e-4;
    std::uint32_t tool = 0;
    DOES(palpate_add_tool(scene, "usual", &link, 1, &tool));
    MUST(*palpate_last_warning() == 0);
    DOES(palpate_link_report(scene, tool, 0, &report));
    MUST(report.is_closed == 1 && std::fabs(report.volume_m3 / volume - 1) < 1e-6);
    DOES(palpate_delete_scene(scene));
    DOES(palpate_close_scene(&scene));
}

// Another thread sees the progress of a field. A server may have the field in its cache.
void progress(palpate_server* server, const std::string& folder, bool is_local) {
    palpate_scene* scene = nullptr;
    DOES(palpate_create_scene(server, "progress", &scene));
    std::atomic<bool> is_over{false};
    int n = 0;
    double last = 0;
    std::thread watch([&] {
        while (!is_over) {
            double share = -1;
            const palpate_code code = palpate_field_progress(scene, "rod", &share);
            MUST(code == PALPATE_NOT_FOUND || (code == PALPATE_OK && share >= last && share <= 1));
            if (code == PALPATE_OK) ++n, last = share;
            wait_ms(1);
        }
    });
    std::uint32_t tool = 0;
    const auto begin = std::chrono::steady_clock::now();
    DOES(palpate_add_tool_file(scene, "rod", (folder + "/tool.obj").c_str(), 0.9, &tool));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    is_over = true;
    watch.join();
    std::printf("a field took %.2f s, %d times its progress was read, at last %.2f\n", took.count(), n, last);
    MUST(!is_local || (n > 0 && last > 0));
    FAILS(PALPATE_NOT_FOUND, palpate_field_progress(scene, "rod", &last), "being built");
    DOES(palpate_delete_scene(scene));
    DOES(palpate_close_scene(&scene));
}

palpate_session* held(palpate_server* server, const std::string& folder, bool lock_step, palpate_scene** scene) {
    std::uint32_t tissue = 0, tool = 0;
    DOES(palpate_create_scene(server, lock_step ? "steps" : "runs", scene));
    DOES(palpate_add_tissue_file(*scene, "organ", (folder + "/organ.obj").c_str(), 1, nullptr, &tissue));
    DOES(palpate_add_tool_file(*scene, "tool", (folder + "/tool.obj").c_str(), 1, &tool));
    palpate_session_options options = palpate::session_options(tool);
    options.lock_step = lock_step;
    palpate_session* session = nullptr;
    DOES(palpate_open_session(*scene, &options, &session));
    return session;
}

// Presses until the force is felt, for ten seconds at most.
palpate_wrench press(palpate_session* session) {
    palpate_wrench felt{};
    // A tool that is inside tissue when a busy engine first sees it is not pushed out.
    palpate_rendering seen{};
    for (int n = 0; n < 10000 && !(seen.distance_m > 0.002); ++n) {
        const palpate_pose above = palpate::pose(0, 0, 0.01);
        DOES(palpate_servo(session, &above, 1e-3, &felt));
        wait_ms(1);
        if (palpate_newest(session, &seen) != PALPATE_OK) seen.distance_m = 0;
    }
    for (int n = 0; n < 10000 && felt.force_n.z < 0.5; ++n) {
        const palpate_pose pose = palpate::pose(0, 0, n < 50 ? 0.01 - 2e-4 * n : -0.002);
        DOES(palpate_servo(session, &pose, 1e-3, &felt));
        wait_ms(1);
    }
    if (felt.force_n.z < 0.5) {
        std::fprintf(stderr, "nothing is felt\n");
        std::exit(1);
    }
    return felt;
}

// A tool of one link, which may be posed; after any error the wrench can still be sent.
void links(palpate_session* session) {
    const palpate_pose at = palpate::pose(0, 0, -0.002), rest = palpate::pose(0, 0, 0), no_pose{};
    palpate_wrench felt{};
    DOES(palpate_servo_links(session, &at, &rest, 1, 1e-3, &felt));
    MUST(felt.force_n.z > 0.5);
    REFUSED(palpate_servo_links(session, &at, &rest, 1, 1e-3, nullptr), "wrench is NULL");
    REFUSED(palpate_servo_links(session, nullptr, &rest, 1, 1e-3, &felt), "pose is NULL");
    MUST(felt.flags & PALPATE_FADING);
    REFUSED(palpate_servo_links(session, &at, nullptr, 1, 1e-3, &felt), "links is NULL");
    MUST(felt.flags & PALPATE_FADING);
    REFUSED(palpate_servo_links(session, &at, &no_pose, 1, 1e-3, &felt), "a pose is none");
    MUST(felt.flags & PALPATE_FADING);
    REFUSED(palpate_servo_links(session, &at, &rest, 9, 1e-3, &felt), "n_links is 9");
    REFUSED(palpate_servo_links(session, &at, &rest, SIZE_MAX, 1e-3, &felt), "n_links is");
    MUST(felt.flags & PALPATE_FADING);
    const auto* unaligned = reinterpret_cast<const palpate_pose*>(reinterpret_cast<const char*>(&rest) + 1);
    REFUSED(palpate_servo_links(session, &at, unaligned, 1, 1e-3, &felt), "links is");
    REFUSED(palpate_servo_links(session, &at, &rest, 1, NAN_, &felt), "dt_s");
    MUST(std::isfinite(felt.force_n.z));
    DOES(palpate_servo_links(session, &at, nullptr, 0, 1e-3, &felt));
    DOES(palpate_check(session));
    // Two poses belong to another tool: they are not read.
    REFUSED(palpate_servo_links(session, &at, &rest, 2, 1e-3, &felt), "n_links is 2, expected 0 or 1");
    MUST(felt.flags & PALPATE_FADING);
    press(session);
    DOES(palpate_check(session));
}

void sessions(palpate_server* server, const std::string& folder) {
    palpate_scene* scene = nullptr;
    palpate_session* session = held(server, folder, true, &scene);
    palpate_pose pose = palpate::pose(0, 0, 0.02), no_pose{};
    palpate_wrench wrench{};
    palpate_rendering rendering;
    expect(palpate_servo(session, &pose, 1e-3, &wrench), PALPATE_WRONG_ORDER, "servo in lock-step", "palpate_step");
    FAILS(PALPATE_WRONG_ORDER, palpate_servo_links(session, &pose, &pose, 1, 1e-3, &wrench), "palpate_step");
    FAILS(PALPATE_NO_ANSWER, palpate_newest(session, &rendering), "no answer");
    REFUSED(palpate_step(session, &no_pose, nullptr, 0, 1e-3, &wrench), "pose");
    REFUSED(palpate_step(session, &pose, nullptr, 1, 1e-3, &wrench), "links is NULL");
    REFUSED(palpate_step(session, &pose, &pose, 2, 1e-3, &wrench), "n_links is 2");
    REFUSED(palpate_step(session, &pose, nullptr, 0, NAN_, &wrench), "dt_s");
    DOES(palpate_step(session, &pose, nullptr, 0, 1e-3, &wrench));
    for (int n = 0; n < 100; ++n) {
        pose = palpate::pose(0, 0, 0.005 - 8e-5 * n);
        DOES(palpate_step(session, &pose, nullptr, 0, 1e-3, &wrench));
    }
    DOES(palpate_newest(session, &rendering));
    std::size_t n = 0;
    REFUSED(palpate_newest(session, nullptr), "rendering is NULL");
    REFUSED(palpate_contacts(session, nullptr, 0, nullptr), "n is NULL");
    REFUSED(palpate_contacts(session, nullptr, 4, &n), "contacts is NULL");
    palpate_contact contact;
    REFUSED(palpate_contacts(session, &contact, SIZE_MAX, &n), "contacts has");
    FAILS(PALPATE_TOO_SMALL, palpate_contacts(session, nullptr, 0, &n), "holds 0");
    MUST(n == rendering.n_contacts && n > 0 && wrench.force_n.z > 0);
    palpate_surface_contact touched;
    palpate_link_distance link;
    std::uint64_t sequence = 0;
    REFUSED(palpate_surface_contacts(session, nullptr, 0, nullptr, &sequence), "n is NULL");
    REFUSED(palpate_surface_contacts(session, nullptr, 4, &n, &sequence), "contacts is NULL");
    REFUSED(palpate_surface_contacts(session, &touched, SIZE_MAX, &n, &sequence), "contacts has");
    REFUSED(palpate_link_distances(session, nullptr, 0, nullptr, &sequence), "n is NULL");
    REFUSED(palpate_link_distances(session, nullptr, 4, &n, &sequence), "links is NULL");
    REFUSED(palpate_link_distances(session, &link, SIZE_MAX, &n, &sequence), "links has");
    FAILS(PALPATE_TOO_SMALL, palpate_surface_contacts(session, &touched, 1, &n, nullptr), "holds 1");
    MUST(n > 1 && touched.at.tissue_id == 1 && touched.at.link == 0);
    palpate_feature_pair feature;
    REFUSED(palpate_feature_pairs(session, nullptr, 0, nullptr, &sequence), "n is NULL");
    REFUSED(palpate_feature_pairs(session, nullptr, 4, &n, &sequence), "pairs is NULL");
    REFUSED(palpate_feature_pairs(session, &feature, SIZE_MAX, &n, &sequence), "pairs has");
    DOES(palpate_feature_pairs(session, &feature, 1, &n, nullptr));
    MUST(n == 0);  // They were not asked for.
    palpate_probe_distance probe;
    REFUSED(palpate_probe_distances(session, nullptr, 0, nullptr, &sequence), "n is NULL");
    REFUSED(palpate_probe_distances(session, nullptr, 4, &n, &sequence), "probes is NULL");
    REFUSED(palpate_probe_distances(session, &probe, SIZE_MAX, &n, &sequence), "probes has");
    DOES(palpate_probe_distances(session, &probe, 1, &n, nullptr));
    MUST(n == 0);  // The tool has none.
    DOES(palpate_link_distances(session, &link, 1, &n, &sequence));
    MUST(n == 1 && sequence == rendering.sequence && link.at.signed_distance_m == rendering.distance_m);
    std::uint32_t vertices[1];
    float forces[3];
    std::uint64_t revision = 7;
    REFUSED(palpate_tissue_loads(session, 1, vertices, forces, 1, nullptr, &revision), "n is NULL");
    REFUSED(palpate_tissue_loads(session, 1, nullptr, forces, 1, &n, &revision), "vertices is NULL");
    REFUSED(palpate_tissue_loads(session, 1, vertices, nullptr, 1, &n, &revision), "forces_n is NULL");
    REFUSED(palpate_tissue_loads(session, 1, vertices, forces, SIZE_MAX, &n, &revision), "vertices has");
    double wide[3];
    palpate_writable_rows rows = palpate::writable_rows(wide, 1);
    const auto loaded = [&](const palpate_writable_rows& to) {
        return palpate_tissue_load_rows(session, 1, vertices, &to, &n, &revision);
    };
    REFUSED(palpate_tissue_load_rows(nullptr, 1, vertices, &rows, &n, nullptr), "session is NULL");
    REFUSED(palpate_tissue_load_rows(session, 1, vertices, nullptr, &n, nullptr), "forces_n is NULL");
    REFUSED(palpate_tissue_load_rows(session, 1, nullptr, &rows, &n, nullptr), "vertices is NULL");
    REFUSED(palpate_tissue_load_rows(session, 1, vertices, &rows, nullptr, nullptr), "n is NULL");
    wrong_sizes(rows, "forces_n.size is ",
                [&](auto* sent) { return palpate_tissue_load_rows(session, 1, vertices, sent, &n, nullptr); });
    palpate_writable_rows odd = rows;
    odd.number = 2;
    REFUSED(loaded(odd), "forces_n.number is 2");
    odd = rows;
    odd.stride = 23;
    REFUSED(loaded(odd), "forces_n.stride is 23, expected at least 24");
    odd.stride = SIZE_MAX / 2;
    odd.capacity = 4;
    REFUSED(loaded(odd), "forces_n.stride is");
    odd = rows;
    odd.data = nullptr;
    REFUSED(loaded(odd), "forces_n.data is NULL");
    odd.capacity = SIZE_MAX;
    REFUSED(loaded(odd), "vertices has");
    // Many sessions in one call; `palpate_step` has the words for each.
    palpate_session* one[] = {session, nullptr};
    REFUSED(palpate_step_many(nullptr, 1, &pose, nullptr, 0, 1e-3, &wrench, nullptr, nullptr, 0), "sessions is NULL");
    REFUSED(palpate_step_many(one, 1, nullptr, nullptr, 0, 1e-3, &wrench, nullptr, nullptr, 0), "poses is NULL");
    REFUSED(palpate_step_many(one, 1, &pose, nullptr, 0, 1e-3, nullptr, nullptr, nullptr, 0), "wrenches is NULL");
    REFUSED(palpate_step_many(one, SIZE_MAX, &pose, nullptr, 0, 1e-3, &wrench, nullptr, nullptr, 0), "sessions has");
    REFUSED(palpate_step_many(one + 1, 1, &pose, nullptr, 0, 1e-3, &wrench, nullptr, nullptr, 0), "sessions[0] is NULL");
    REFUSED(palpate_step_many(one, 1, &pose, nullptr, 0, NAN_, &wrench, nullptr, nullptr, 0), "sessions[0]: dt_s is");
    REFUSED(palpate_step_many(one, 1, &pose, nullptr, 0, 1e-3, &wrench, nullptr, &link, 3), "n_links_each is 3");
    DOES(palpate_step_many(one, 1, &pose, &pose, 0, 1e-3, &wrench, &rendering, &link, 1));
    MUST(link.at.signed_distance_m == rendering.distance_m);
    DOES(palpate_step_many(nullptr, 0, nullptr, nullptr, 0, 1e-3, nullptr, nullptr, nullptr, 0));
    palpate_scene* copied = nullptr;
    REFUSED(palpate_copy_scene(nullptr, "copied", &copied), "scene is NULL");
    REFUSED(palpate_copy_scene(scene, nullptr, &copied), "name is NULL");
    REFUSED(palpate_copy_scene(scene, "copied", nullptr), "copy is NULL");
    FAILS(PALPATE_TOO_SMALL, loaded(rows), "holds 1");
    MUST(n >= 2 && revision == 0);
    // Rows that are apart and not aligned; what lies between them stays.
    {
        std::vector<std::uint32_t> ids(n);
        std::vector<float> close(3 * n);
        std::vector<unsigned char> apart(1 + 29 * n, 0xa5);
        DOES(palpate_tissue_loads(session, 1, ids.data(), close.data(), n, &n, nullptr));
        rows.data = apart.data() + 1;
        rows.capacity = ids.size();
        rows.stride = 29;
        std::vector<std::uint32_t> same(n);
        DOES(palpate_tissue_load_rows(session, 1, same.data(), &rows, &n, nullptr));
        MUST(same == ids && apart[0] == 0xa5);
        for (std::size_t row = 0; row < n; ++row) {
            double force[3];
            std::memcpy(force, apart.data() + 1 + 29 * row, sizeof force);
            for (int k = 0; k < 3; ++k) MUST(static_cast<float>(force[k]) == close[3 * row + k]);
            for (int k = 24; k < 29; ++k) MUST(apart[1 + 29 * row + k] == 0xa5);
        }
    }
    REFUSED(palpate_control_loads(session, 1, vertices, wide, nullptr, 1, nullptr, &revision), "n is NULL");
    REFUSED(palpate_control_loads(session, 1, nullptr, wide, nullptr, 1, &n, &revision), "controls is NULL");
    REFUSED(palpate_control_loads(session, 1, vertices, nullptr, nullptr, 1, &n, &revision), "forces_n is NULL");
    REFUSED(palpate_control_loads(session, 1, vertices, wide, wide, SIZE_MAX, &n, &revision), "controls has");
    DOES(palpate_control_loads(session, 1, vertices, wide, wide, 1, &n, &revision));
    MUST(n == 0);  // This tissue has no controls.
    REFUSED(palpate_status(session, nullptr), "status is NULL");
    FAILS(PALPATE_TOO_SMALL, palpate_tissue_loads(session, 1, vertices, forces, 1, &n, &revision), "holds 1");
    MUST(n >= 2 && revision == 0);
    DOES(palpate_tissue_loads(session, 77, vertices, forces, 1, &n, nullptr));
    MUST(n == 0);
    DOES(palpate_close_session(&session));
    DOES(palpate_close_session(&session));
    DOES(palpate_delete_scene(scene));
    DOES(palpate_close_scene(&scene));

    session = held(server, folder, false, &scene);
    expect(palpate_step(session, &pose, nullptr, 0, 1e-3, &wrench), PALPATE_WRONG_ORDER, "step", "palpate_servo");
    press(session);
    // An invalid pose makes the force fade within the fade time.
    double last = 1e9;
    for (int k = 0; k < 60; ++k) {
        REFUSED(palpate_servo(session, k % 2 ? &no_pose : nullptr, 1e-3, &wrench), k % 2 ? "a pose is none" : "pose is NULL");
        const double force = std::hypot(wrench.force_n.x, wrench.force_n.y, wrench.force_n.z);
        MUST(force <= last && (wrench.flags & PALPATE_FADING));
        last = force;
    }
    MUST(last == 0);
    for (double dt_s : {NAN_, -1.0, 1e9}) {
        REFUSED(palpate_servo(session, &pose, dt_s, &wrench), "dt_s");
        MUST(std::isfinite(wrench.force_n.z));
    }
    // Lifts, and presses again.
    press(session);
    links(session);
    // Two threads: each call gives a wrench, or reports that another call is in progress.
    std::atomic<int> busy{0};
    auto device = [&] {
        const palpate_pose at = palpate::pose(0, 0, -0.002);
        palpate_wrench felt;
        for (int k = 0; k < 20000; ++k) {
            const palpate_code code = palpate_servo(session, &at, 1e-5, &felt);
            if (code == PALPATE_BUSY) ++busy;
            MUST(code == PALPATE_OK || (code == PALPATE_BUSY && is_none(felt)));
            MUST(std::isfinite(felt.force_n.z) && felt.force_n.z < 3.31);
        }
    };
    auto looks = [&] {
        palpate_rendering newest;
        palpate_session_status status;
        palpate_contact contacts[64];
        palpate_surface_contact touched[64];
        palpate_link_distance link;
        std::size_t found = 0;
        for (int k = 0; k < 2000; ++k) {
            const palpate_code code = palpate_newest(session, &newest);
            if (code != PALPATE_NO_ANSWER) expect(code, PALPATE_OK, "what another thread looks at");
            palpate_contacts(session, contacts, 64, &found);
            palpate_surface_contacts(session, touched, 64, &found, nullptr);
            palpate_link_distances(session, &link, 1, &found, nullptr);
            palpate_status(session, &status);
        }
    };
    std::thread first(device), second(device), third(looks);
    first.join();
    second.join();
    third.join();
    std::printf("two threads in one servo: %d of 40000 calls found it busy\n", busy.load());
    // The scene is deleted while the hand presses: the force fades, and the session reports why.
    DOES(palpate_delete_scene(scene));
    DOES(palpate_close_scene(&scene));
    const palpate_pose at = palpate::pose(0, 0, -0.002);
    palpate_code code = PALPATE_OK;
    for (int k = 0; k < 5000 && (code == PALPATE_OK || !is_none(wrench)); ++k) {
        DOES(palpate_servo(session, &at, 1e-3, &wrench));
        code = code == PALPATE_OK ? palpate_check(session) : code;
        wait_ms(1);
    }
    expect(code, PALPATE_NOT_FOUND, "a session of a deleted scene", "runs");
    MUST(is_none(wrench));
    DOES(palpate_close_session(&session));
}

// Two threads change one scene, and each other's tissue, while a hand presses. Each call succeeds or reports the other
// thread's change.
void changes(palpate_server* server, const std::string& folder) {
    palpate_scene* scene = nullptr;
    palpate_session* session = held(server, folder, false, &scene);
    press(session);
    // A tetrahedron next to the organ.
    const std::array<float, 12> corners = {1, 0, 0, 1.1f, 0, 0, 1, 0.1f, 0, 1, 0, 0.1f};
    const std::array<std::uint32_t, 12> sides = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    const float middle[] = {1.03f, 0.03f, -0.01f};
    const std::uint32_t first[] = {0}, three[] = {0, 2, 4, 2, 1, 4, 1, 0, 4}, parents[] = {0, 0, 0};
    const palpate_cut cut = {sizeof cut, first, 1, middle, 1, three, 3, parents};
    const palpate_vec3 point = {1, 0, 0.2};
    const palpate_mesh mesh = palpate::mesh(corners, sides);
    const palpate_link tip = palpate::link("tip", palpate::mesh(corners, sides, 0.005));
    std::atomic<std::uint32_t> shared{0};
    std::atomic<int> added{0}, removed{0}, moved{0}, made{0}, measured{0};
    auto is_one_of = [](palpate_code code, std::initializer_list<palpate_code> good) {
        for (palpate_code one : good) {
            if (code == one) return code == PALPATE_OK;
        }
        std::fprintf(stderr, "a change gave %d (%s)\n", code, palpate_last_error());
        std::exit(1);
    };
    auto change = [&](const char* own) {
        for (int k = 0; k < 40; ++k) {
            std::uint32_t tissue = 0, tool = 0;
            const palpate_code code = palpate_add_tissue(scene, "shared", &mesh, nullptr, &tissue);
            if (is_one_of(code, {PALPATE_OK, PALPATE_ALREADY_EXISTS})) {
                ++added;
                shared = tissue;
            }
            tissue = shared;
            // After a cut there are five vertices, and the removed triangle no longer exists.
            const auto good = {PALPATE_OK, PALPATE_NOT_FOUND, PALPATE_INVALID_ARGUMENT};
            moved += is_one_of(palpate_deform(scene, tissue, corners.data(), 4), good);
            made += is_one_of(palpate_cut_tissue(scene, tissue, &cut, nullptr), good);
            double metres = 0;
            if (is_one_of(palpate_distances(scene, tissue, &point, &metres, 1), {PALPATE_OK, PALPATE_NOT_FOUND})) {
                ++measured;
                MUST(metres > 0.09 && metres < 0.11);
            }
            if (k % 8 == 0) DOES(palpate_add_tool(scene, own, &tip, 1, &tool));
            removed += is_one_of(palpate_remove_tissue(scene, tissue), {PALPATE_OK, PALPATE_NOT_FOUND});
            if (k % 8 == 0) DOES(palpate_remove_tool(scene, tool));
        }
    };
    std::atomic<bool> is_over{false};
    std::thread one(change, "one"), other(change, "other"), hand([&] {
        const palpate_pose at = palpate::pose(0, 0, -0.002);
        palpate_wrench felt;
        while (!is_over) {
            MUST(palpate_servo(session, &at, 1e-3, &felt) == PALPATE_OK);
            MUST(std::isfinite(felt.force_n.z) && felt.force_n.z < 3.31);
            wait_ms(1);
        }
    });
    one.join();
    other.join();
    is_over = true;
    hand.join();
    removed += palpate_remove_tissue(scene, shared) == PALPATE_OK;
    std::printf("two threads: %d tissues added, %d removed, %d times moved, %d cut, %d measured\n", added.load(),
                removed.load(), moved.load(), made.load(), measured.load());
    MUST(added == removed && added > 0 && moved > 0 && made > 0 && made <= added && measured > 0);
    DOES(palpate_check(session));
    press(session);
    DOES(palpate_close_session(&session));
    DOES(palpate_delete_scene(scene));
    DOES(palpate_close_scene(&scene));
}

void close_in_any_order(palpate_server* server, const std::string& folder) {
    palpate_scene* scene = nullptr;
    palpate_session* session = held(server, folder, false, &scene);
    DOES(palpate_close_scene(&scene));
    DOES(palpate_close(&server));
    press(session);
    DOES(palpate_check(session));
    DOES(palpate_close_session(&session));
}

void wrapper(const std::string& folder) {
    static_assert(std::is_same_v<decltype(std::declval<const palpate::Result<int>&>().value()), const int&>);
    static_assert(std::is_same_v<decltype(std::declval<palpate::Result<int>>().value()), int>);
    palpate::Result<std::unique_ptr<int>> owned(std::make_unique<int>(7));
    MUST(*std::move(owned).value() == 7 && !owned.value());
    palpate::Scene scene = palpate::Server::open_local().value().create_scene("wrapper").value();
    auto refused = scene.add_tissue_file("organ", folder + "/none.obj");
    MUST(!refused && refused.code() == PALPATE_INVALID_ARGUMENT && !refused.message().empty());
#ifndef PALPATE_NO_EXCEPTIONS
    bool is_thrown = false;
    try {
        refused.value();
    } catch (const palpate::Error& error) {
        is_thrown = error.code() == PALPATE_INVALID_ARGUMENT;
    }
    MUST(is_thrown);
#endif
    const std::uint32_t organ = scene.add_tissue_file("organ", folder + "/organ.obj").value();
    palpate_session_options options =
        palpate::session_options(scene.add_tool_file("tool", folder + "/tool.obj").value());
    options.lock_step = 1;
    palpate::Session session = scene.open_session(options).value();
    palpate_wrench felt{};
    for (int n = 0; n < 100; ++n) felt = session.step(palpate::pose(0, 0, 0.005 - 8e-5 * n), 1e-3).value();
    const auto contacts = session.contacts().value();
    const palpate::TissueLoad load = session.tissue_load(organ).value();
    double contact_n = 0, load_n = 0;
    for (const palpate_contact& contact : contacts) contact_n += contact.force_n.z;
    for (std::size_t v = 0; v < load.vertices.size(); ++v) load_n += load.forces_n[3 * v + 2];
    MUST(contacts.size() == session.newest().value().n_contacts);
    MUST(contact_n > 0.5 && std::fabs(contact_n + load_n) < 1e-5 * contact_n);
    // The wrapper's first buffer is too small for these.
    options.contact_margin_m = 0.02;
    options.max_contacts = 1024;
    options.feature_pairs = 1;
    options.max_feature_pairs = 1024;
    palpate::Session wide = scene.open_session(options).value();
    wide.step(palpate::pose(0, 0, 0.005), 1e-3).value();
    std::uint64_t sequence = 0;
    const auto links = wide.link_distances(&sequence).value();
    const auto touched = wide.surface_contacts().value();
    MUST(links.size() == 1 && sequence == 1 && touched.size() == links[0].n_contacts && touched.size() > 64);
    const palpate::Surface surface = scene.export_tissue(organ).value();
    for (const palpate_surface_contact& contact : touched) {
        const palpate_point_pair& c = contact.at;
        MUST(c.tissue_id == organ && c.signed_distance_m < 0.0201 && surface.triangle_ids[c.triangle] == c.triangle);
        const double weights[] = {c.barycentric.x, c.barycentric.y, c.barycentric.z};
        double z = 0;
        for (int k = 0; k < 3; ++k) z += weights[k] * surface.positions[3 * surface.triangles[3 * c.triangle + k] + 2];
        MUST(std::fabs(z - c.on_tissue_m.z) < 1e-7);
    }
    const auto pairs = wide.feature_pairs().value();
    MUST(pairs.size() > 64);
    for (const palpate_feature_pair& pair : pairs) {
        double sum = 0;
        for (std::uint32_t k = 0; k < pair.n_of_tissue; ++k) {
            MUST(pair.vertices[k] < surface.positions.size() / 3);
            sum += pair.weights[k];
        }
        const palpate_vec3 n = pair.normal;
        MUST(pair.tissue_id == organ && pair.link == 0 && std::fabs(sum - 1) < 1e-6 && pair.distance_m < 0.0201);
        MUST(pair.distance_m == 0 || std::fabs(n.x * n.x + n.y * n.y + n.z * n.z - 1) < 1e-6);
        MUST(pair.n_of_tissue == (pair.kind == PALPATE_VERTEX_FACE ? 1 : pair.kind == PALPATE_EDGE_EDGE ? 2 : 3));
    }
    options.max_feature_pairs = 1025;
    MUST(scene.open_session(options).code() == PALPATE_INVALID_ARGUMENT);
    options.max_feature_pairs = 0;
    options.contact_margin_m = 0.06;
    MUST(scene.open_session(options).code() == PALPATE_INVALID_ARGUMENT);
    options.contact_margin_m = 0;
    options.max_contacts = 1025;
    MUST(scene.open_session(options).code() == PALPATE_INVALID_ARGUMENT);
    options.max_contacts = 0;
    for (double deadline_s : {NAN_, -1.0, 10.1, static_cast<double>(INFINITY)}) {
        options.deadline_s = deadline_s;
        const auto refused = scene.open_session(options);
        MUST(refused.code() == PALPATE_INVALID_ARGUMENT);
        MUST(refused.message().find("deadline_s is ") != std::string::npos);
    }
    MUST(session.health().ok());
    const std::uint32_t top[] = {0};
    palpate_cut cut{};  // The wrapper sets the size.
    cut.removed = top;
    cut.n_removed = 1;
    MUST(scene.cut(organ, cut).value().topology_revision == 1);
    MUST(scene.copy("apart").value().export_tissue(organ).value().triangle_ids.size() == surface.triangle_ids.size() - 1);
    MUST(scene.copy("apart").code() == PALPATE_ALREADY_EXISTS);
    MUST(scene.drive(organ, PALPATE_POINTS, {}).message().find("has no controls") != std::string::npos);
    MUST(session.control_load(organ).value().controls.empty());
    const std::array<palpate_vec3, 1> below = {{{0, 0, -0.01}}};
    MUST(scene.distances(below).value()[0] < -0.005);
    MUST(scene.nearest(below).value()[0].signed_distance_m == scene.distances(below).value()[0]);
    scene.remove().value();
}

// A forbidden region holds the tool back, and bears nothing.
void region(const std::string& folder) {
    palpate::Scene scene = palpate::Server::open_local().value().create_scene("region").value();
    palpate_tissue_options forbidden{};
    forbidden.flags = PALPATE_FORBIDDEN_REGION;
    const std::uint32_t organ = scene.add_tissue_file("organ", folder + "/organ.obj", 1.0, forbidden).value();
    MUST(palpate::last_warning().empty());
    palpate_session_options options =
        palpate::session_options(scene.add_tool_file("tool", folder + "/tool.obj").value());
    MUST(scene.field_progress("tool").code() == PALPATE_NOT_FOUND);
    options.lock_step = 1;
    palpate::Session session = scene.open_session(options).value();
    palpate_wrench felt{};
    for (int n = 0; n < 100; ++n) felt = session.step(palpate::pose(0, 0, 0.005 - 8e-5 * n), 1e-3).value();
    MUST(felt.force_n.z > 0.5 && session.tissue_load(organ).value().vertices.empty());
    scene.remove().value();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    auto open = [&] {
        palpate_server* server = nullptr;
        auto address = sized<palpate_address>();
        if (argc > 2) address.url = argv[2];
        DOES(argc > 2 ? palpate_connect(VERSION, &address, &server) : palpate_open_local(VERSION, &server));
        return server;
    };
    nulls();
    palpate_server* server = open();
    scenes(server, argv[1]);
    tissues(server);
    progress(server, argv[1], argc == 2);
    sessions(server, argv[1]);
    changes(server, argv[1]);
    DOES(palpate_close(&server));
    close_in_any_order(open(), argv[1]);
    wrapper(argv[1]);
    region(argv[1]);
    std::printf("%s: %d calls gave the code and the words they should\n", argc > 2 ? "server" : "in process", checks.load());
}
