// Every function with NULL, NaN, wrong sizes and in wrong order, from two threads: a code and a message, no crash. To be
// built with the address and undefined-behaviour sanitizers. misuse FOLDER [HOST:PORT]

#include <palpate.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <thread>

namespace {

const double NAN_ = std::numeric_limits<double>::quiet_NaN();
int checks = 0;

void expect(palpate_code got, palpate_code wanted, const char* what, const char* says = "") {
    ++checks;
    const std::string message = palpate_last_error();
    const bool is_told = wanted == PALPATE_OK || (!message.empty() && message.find(says) != std::string::npos);
    if (got != wanted || !is_told) {
        std::fprintf(stderr, "%s gave %d (%s), expected %d (%s)\n", what, got, message.c_str(), wanted, says);
        std::exit(1);
    }
}
#define REFUSED(call, says) expect(call, PALPATE_INVALID_ARGUMENT, #call, says)
#define GIVES(code, call) expect(call, code, #call)

// The line of what is not so, and the end.
#define MUST(condition) \
    if (!(condition)) std::fprintf(stderr, "line %d: not %s\n", __LINE__, #condition), std::exit(1)

bool is_none(const palpate_wrench& wrench) {
    return wrench.force_n.x == 0 && wrench.force_n.y == 0 && wrench.force_n.z == 0;
}

void nulls() {
    palpate_server* server = nullptr;
    palpate_scene* scene = nullptr;
    palpate_session* session = nullptr;
    palpate_address address{};
    palpate_mesh mesh{};
    palpate_cut cut{};
    palpate_session_options options{};
    palpate_pose pose = palpate::pose(0, 0, 0);
    palpate_wrench wrench{};
    palpate_rendering rendering;
    palpate_session_status status;
    std::uint32_t id = 0;
    std::size_t n = 0;
    double metres = 0;
    palpate_vec3 point{};
    float xyz[3] = {};
    REFUSED(palpate_open_local(nullptr), "server is NULL");
    REFUSED(palpate_connect(nullptr, &server), "address is NULL");
    REFUSED(palpate_connect(&address, nullptr), "server is NULL");
    REFUSED(palpate_connect(&address, &server), "url is NULL");
    REFUSED(palpate_close(nullptr), "server is NULL");
    GIVES(PALPATE_OK, palpate_close(&server));
    REFUSED(palpate_create_scene(nullptr, "a", &scene), "server is NULL");
    REFUSED(palpate_open_scene(nullptr, "a", &scene), "server is NULL");
    REFUSED(palpate_close_scene(nullptr), "scene is NULL");
    GIVES(PALPATE_OK, palpate_close_scene(&scene));
    REFUSED(palpate_delete_scene(nullptr), "scene is NULL");
    REFUSED(palpate_add_tissue(nullptr, "a", &mesh, &id), "scene is NULL");
    REFUSED(palpate_add_tissue_file(nullptr, "a", "b.obj", 1, &id), "scene is NULL");
    REFUSED(palpate_add_tool(nullptr, "a", nullptr, 0, &id), "scene is NULL");
    REFUSED(palpate_add_tool_file(nullptr, "a", "b.obj", 1, &id), "scene is NULL");
    REFUSED(palpate_remove_tissue(nullptr, 1), "scene is NULL");
    REFUSED(palpate_remove_tool(nullptr, 1), "scene is NULL");
    REFUSED(palpate_deform(nullptr, 1, xyz, 1), "scene is NULL");
    REFUSED(palpate_deform_some(nullptr, 1, &id, xyz, 1), "scene is NULL");
    REFUSED(palpate_cut_tissue(nullptr, 1, &cut, nullptr), "scene is NULL");
    REFUSED(palpate_distances(nullptr, 0, &point, &metres, 1), "scene is NULL");
    REFUSED(palpate_open_session(nullptr, &options, &session), "scene is NULL");
    REFUSED(palpate_session_defaults(1, nullptr), "options is NULL");
    REFUSED(palpate_close_session(nullptr), "session is NULL");
    GIVES(PALPATE_OK, palpate_close_session(&session));
    REFUSED(palpate_servo(nullptr, &pose, 1e-3, &wrench), "session is NULL");
    REFUSED(palpate_servo(nullptr, &pose, 1e-3, nullptr), "wrench is NULL");
    REFUSED(palpate_servo_links(nullptr, &pose, nullptr, 0, 1e-3, &wrench), "session is NULL");
    REFUSED(palpate_step(nullptr, &pose, nullptr, 0, 1e-3, &wrench), "session is NULL");
    REFUSED(palpate_newest(nullptr, &rendering), "session is NULL");
    REFUSED(palpate_contacts(nullptr, nullptr, 0, &n), "session is NULL");
    REFUSED(palpate_tissue_loads(nullptr, 1, nullptr, nullptr, 0, &n, nullptr), "session is NULL");
    REFUSED(palpate_status(nullptr, &status), "session is NULL");
    REFUSED(palpate_check(nullptr), "session is NULL");
    address.url = "127.0.0.1:1";
    GIVES(PALPATE_UNAVAILABLE, palpate_connect(&address, &server));
    address.timeout_s = NAN_;
    REFUSED(palpate_connect(&address, &server), "timeout_s");
    address.timeout_s = 0;
    address.key_file = "/nowhere/key";
    REFUSED(palpate_connect(&address, &server), "/nowhere/key");
    address.key_file = nullptr;
    address.certificate_file = "/nowhere/certificate";
    REFUSED(palpate_connect(&address, &server), "certificate");
    MUST(!server);
}

void scenes(palpate_server* server, const std::string& folder) {
    palpate_scene* scene = nullptr;
    REFUSED(palpate_create_scene(server, nullptr, &scene), "scene_id is NULL");
    REFUSED(palpate_create_scene(server, "a", nullptr), "scene is NULL");
    REFUSED(palpate_create_scene(server, "\xff", &scene), "no UTF-8");
    REFUSED(palpate_create_scene(server, "No Such", &scene), "scene_id");
    GIVES(PALPATE_NOT_FOUND, palpate_open_scene(server, "misuse", &scene));
    GIVES(PALPATE_OK, palpate_create_scene(server, "misuse", &scene));
    palpate_scene* second = nullptr;
    GIVES(PALPATE_ALREADY_EXISTS, palpate_create_scene(server, "misuse", &second));
    GIVES(PALPATE_OK, palpate_open_scene(server, "misuse", &second));
    GIVES(PALPATE_OK, palpate_close_scene(&second));

    const std::array<float, 12> corners = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const std::array<std::uint32_t, 12> sides = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
    palpate_mesh mesh = palpate::mesh(corners, sides, 0.05);
    std::uint32_t tissue = 0, tool = 0;
    REFUSED(palpate_add_tissue(scene, nullptr, &mesh, &tissue), "name is NULL");
    REFUSED(palpate_add_tissue(scene, "a", nullptr, &tissue), "mesh is NULL");
    REFUSED(palpate_add_tissue(scene, "a", &mesh, nullptr), "tissue_id is NULL");
    REFUSED(palpate_add_tissue(scene, "", &mesh, &tissue), "name");
    for (double scale : {NAN_, -1.0, 1e9}) {
        palpate_mesh wrong = mesh;
        wrong.scale_to_m = scale;
        REFUSED(palpate_add_tissue(scene, "a", &wrong, &tissue), "scale_to_m");
    }
    palpate_mesh wrong = mesh;
    wrong.positions = nullptr;
    REFUSED(palpate_add_tissue(scene, "a", &wrong, &tissue), "positions is NULL");
    wrong = mesh;
    wrong.positions = reinterpret_cast<const float*>(reinterpret_cast<const char*>(corners.data()) + 1);
    REFUSED(palpate_add_tissue(scene, "a", &wrong, &tissue), "not aligned");
    wrong = mesh;
    wrong.n_triangles = std::numeric_limits<std::size_t>::max();
    REFUSED(palpate_add_tissue(scene, "a", &wrong, &tissue), "triangles has");
    wrong = mesh;
    wrong.n_vertices = 3;
    REFUSED(palpate_add_tissue(scene, "a", &wrong, &tissue), "expected < 3");
    wrong = mesh;
    wrong.n_triangles = 0;
    REFUSED(palpate_add_tissue(scene, "a", &wrong, &tissue), "triangle");
    std::array<float, 12> broken = corners;
    broken[4] = std::numeric_limits<float>::quiet_NaN();
    wrong = palpate::mesh(broken, sides);
    REFUSED(palpate_add_tissue(scene, "a", &wrong, &tissue), "NaN");
    REFUSED(palpate_add_tissue_file(scene, "a", "/nowhere/a.obj", 1, &tissue), "/nowhere/a.obj");
    REFUSED(palpate_add_tissue_file(scene, "a", nullptr, 1, &tissue), "file is NULL");
    REFUSED(palpate_add_tissue_file(scene, "a", (folder + "/poses.bin").c_str(), 1, &tissue), "bin");
    REFUSED(palpate_add_tool_file(scene, "a", (folder + "/tool.obj").c_str(), NAN_, &tool), "scale_to_m");
    GIVES(PALPATE_OK, palpate_add_tissue(scene, "organ", &mesh, &tissue));
    GIVES(PALPATE_ALREADY_EXISTS, palpate_add_tissue(scene, "organ", &mesh, &tissue));

    palpate_link link = {"tip", palpate::mesh(corners, sides, 0.005), nullptr, 0.0};
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
    const palpate_link twice[] = {link, link};
    REFUSED(palpate_add_tool(scene, "probe", twice, 2, &tool), "");
    GIVES(PALPATE_OK, palpate_add_tool(scene, "probe", &link, 1, &tool));

    float moved[12];
    std::memcpy(moved, corners.data(), sizeof moved);
    for (float& x : moved) x *= 0.05f;
    const std::uint32_t ids[] = {3, 9}, same[] = {3, 3};
    REFUSED(palpate_deform(scene, tissue, moved, 3), "");
    REFUSED(palpate_deform(scene, tissue, nullptr, 4), "positions is NULL");
    REFUSED(palpate_deform(scene, tissue, broken.data(), 4), "");
    REFUSED(palpate_deform_some(scene, tissue, ids, moved, 2), "");
    REFUSED(palpate_deform_some(scene, tissue, same, moved, 2), "");
    REFUSED(palpate_deform_some(scene, tissue, nullptr, moved, 1), "vertices is NULL");
    GIVES(PALPATE_NOT_FOUND, palpate_deform(scene, 77, moved, 4));
    GIVES(PALPATE_OK, palpate_deform(scene, tissue, moved, 4));
    palpate_cut cut{};
    const std::uint32_t gone[] = {99};
    cut.removed = gone;
    cut.n_removed = 1;
    REFUSED(palpate_cut_tissue(scene, tissue, &cut, nullptr), "");
    REFUSED(palpate_cut_tissue(scene, tissue, nullptr, nullptr), "cut is NULL");
    const std::uint32_t first[] = {0};
    cut.removed = first;
    palpate_cut_made made{};
    GIVES(PALPATE_OK, palpate_cut_tissue(scene, tissue, &cut, &made));
    MUST(made.topology_revision == 1);

    const palpate_vec3 points[] = {{0.01, 0.01, 0.01}, {NAN_, 0, 0}};
    double metres[2] = {};
    REFUSED(palpate_distances(scene, tissue, points, metres, 2), "");
    REFUSED(palpate_distances(scene, tissue, nullptr, metres, 1), "points is NULL");
    REFUSED(palpate_distances(scene, tissue, points, nullptr, 1), "distances_m is NULL");
    GIVES(PALPATE_NOT_FOUND, palpate_distances(scene, 77, points, metres, 1));
    GIVES(PALPATE_OK, palpate_distances(scene, 0, points, metres, 1));
    GIVES(PALPATE_OK, palpate_distances(scene, 0, nullptr, nullptr, 0));

    palpate_session* session = nullptr;
    palpate_session_options options = palpate::session_options(tool);
    REFUSED(palpate_open_session(scene, nullptr, &session), "options is NULL");
    REFUSED(palpate_open_session(scene, &options, nullptr), "session is NULL");
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
    options = palpate::session_options(77);
    GIVES(PALPATE_NOT_FOUND, palpate_open_session(scene, &options, &session));
    GIVES(PALPATE_NOT_FOUND, palpate_remove_tissue(scene, 77));
    GIVES(PALPATE_NOT_FOUND, palpate_remove_tool(scene, 77));
    GIVES(PALPATE_OK, palpate_delete_scene(scene));
    GIVES(PALPATE_NOT_FOUND, palpate_delete_scene(scene));
    GIVES(PALPATE_NOT_FOUND, palpate_add_tissue(scene, "late", &mesh, &tissue));
    options = palpate::session_options(tool);
    GIVES(PALPATE_NOT_FOUND, palpate_open_session(scene, &options, &session));
    GIVES(PALPATE_OK, palpate_close_scene(&scene));
}

palpate_session* held(palpate_server* server, const std::string& folder, bool lock_step, palpate_scene** scene) {
    std::uint32_t tissue = 0, tool = 0;
    GIVES(PALPATE_OK, palpate_create_scene(server, lock_step ? "steps" : "runs", scene));
    GIVES(PALPATE_OK, palpate_add_tissue_file(*scene, "organ", (folder + "/organ.obj").c_str(), 1, &tissue));
    GIVES(PALPATE_OK, palpate_add_tool_file(*scene, "tool", (folder + "/tool.obj").c_str(), 1, &tool));
    palpate_session_options options = palpate::session_options(tool);
    options.lock_step = lock_step;
    palpate_session* session = nullptr;
    GIVES(PALPATE_OK, palpate_open_session(*scene, &options, &session));
    return session;
}

void wait_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Until a force is felt, or for ten seconds.
palpate_wrench press(palpate_session* session) {
    palpate_wrench felt{};
    for (int n = 0; n < 10000 && felt.force_n.z < 0.5; ++n) {
        const palpate_pose pose = palpate::pose(0, 0, n < 50 ? 0.01 - 2e-4 * n : -0.002);
        GIVES(PALPATE_OK, palpate_servo(session, &pose, 1e-3, &felt));
        wait_ms(1);
    }
    if (felt.force_n.z < 0.5) {
        std::fprintf(stderr, "nothing is felt\n");
        std::exit(1);
    }
    return felt;
}

void sessions(palpate_server* server, const std::string& folder) {
    palpate_scene* scene = nullptr;
    palpate_session* session = held(server, folder, true, &scene);
    palpate_pose pose = palpate::pose(0, 0, 0.02), no_pose{};
    palpate_wrench wrench{};
    palpate_rendering rendering;
    expect(palpate_servo(session, &pose, 1e-3, &wrench), PALPATE_WRONG_ORDER, "servo in lock-step", "palpate_step");
    GIVES(PALPATE_NO_ANSWER, palpate_newest(session, &rendering));
    REFUSED(palpate_step(session, &no_pose, nullptr, 0, 1e-3, &wrench), "pose");
    REFUSED(palpate_step(session, &pose, nullptr, 3, 1e-3, &wrench), "links is NULL");
    REFUSED(palpate_step(session, &pose, &pose, 9, 1e-3, &wrench), "n_links");
    REFUSED(palpate_step(session, &pose, nullptr, 0, NAN_, &wrench), "dt_s");
    const palpate_pose two[] = {pose, pose};
    REFUSED(palpate_step(session, &pose, two, 2, 1e-3, &wrench), "");
    GIVES(PALPATE_OK, palpate_step(session, &pose, nullptr, 0, 1e-3, &wrench));
    for (int n = 0; n < 100; ++n) {
        pose = palpate::pose(0, 0, 0.005 - 8e-5 * n);
        GIVES(PALPATE_OK, palpate_step(session, &pose, nullptr, 0, 1e-3, &wrench));
    }
    GIVES(PALPATE_OK, palpate_newest(session, &rendering));
    std::size_t n = 0;
    REFUSED(palpate_newest(session, nullptr), "rendering is NULL");
    REFUSED(palpate_contacts(session, nullptr, 0, nullptr), "n is NULL");
    REFUSED(palpate_contacts(session, nullptr, 4, &n), "contacts is NULL");
    GIVES(PALPATE_TOO_SMALL, palpate_contacts(session, nullptr, 0, &n));
    MUST(n == rendering.n_contacts && n > 0 && wrench.force_n.z > 0);
    std::uint32_t vertices[1];
    float forces[3];
    std::uint64_t revision = 7;
    GIVES(PALPATE_TOO_SMALL, palpate_tissue_loads(session, 1, vertices, forces, 1, &n, &revision));
    MUST(n >= 2 && revision == 0);
    GIVES(PALPATE_OK, palpate_tissue_loads(session, 77, vertices, forces, 1, &n, nullptr));
    MUST(n == 0);
    GIVES(PALPATE_OK, palpate_close_session(&session));
    GIVES(PALPATE_OK, palpate_close_session(&session));
    GIVES(PALPATE_OK, palpate_delete_scene(scene));
    GIVES(PALPATE_OK, palpate_close_scene(&scene));

    session = held(server, folder, false, &scene);
    expect(palpate_step(session, &pose, nullptr, 0, 1e-3, &wrench), PALPATE_WRONG_ORDER, "step", "palpate_servo");
    press(session);
    // What is no pose lets the force fade, and it does so within its time.
    double last = 1e9;
    for (int k = 0; k < 60; ++k) {
        expect(palpate_servo(session, k % 2 ? &no_pose : nullptr, 1e-3, &wrench), PALPATE_INVALID_ARGUMENT, "servo");
        const double force = std::hypot(wrench.force_n.x, wrench.force_n.y, wrench.force_n.z);
        MUST(force <= last && (wrench.flags & PALPATE_FADING));
        last = force;
    }
    MUST(last == 0);
    for (double dt_s : {NAN_, -1.0, 1e9}) {
        REFUSED(palpate_servo(session, &pose, dt_s, &wrench), "dt_s");
        MUST(std::isfinite(wrench.force_n.z));
    }
    // Lifted, and pressed again.
    press(session);
    // Two threads: each call gives a wrench, or says that another is at it.
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
        std::size_t found = 0;
        for (int k = 0; k < 2000; ++k) {
            const palpate_code code = palpate_newest(session, &newest);
            MUST(code == PALPATE_OK || code == PALPATE_NO_ANSWER);
            palpate_contacts(session, contacts, 64, &found);
            palpate_status(session, &status);
        }
    };
    std::thread first(device), second(device), third(looks);
    first.join();
    second.join();
    third.join();
    std::printf("two threads in one servo: %d of 40000 calls found it busy\n", busy.load());
    // The scene goes while the hand presses: the force fades, and the session says why.
    GIVES(PALPATE_OK, palpate_delete_scene(scene));
    GIVES(PALPATE_OK, palpate_close_scene(&scene));
    const palpate_pose at = palpate::pose(0, 0, -0.002);
    palpate_code code = PALPATE_OK;
    for (int k = 0; k < 5000 && (code == PALPATE_OK || !is_none(wrench)); ++k) {
        GIVES(PALPATE_OK, palpate_servo(session, &at, 1e-3, &wrench));
        code = code == PALPATE_OK ? palpate_check(session) : code;
        wait_ms(1);
    }
    expect(code, PALPATE_NOT_FOUND, "a session of a deleted scene");
    MUST(is_none(wrench));
    GIVES(PALPATE_OK, palpate_close_session(&session));
}

void close_in_any_order(palpate_server* server, const std::string& folder) {
    palpate_scene* scene = nullptr;
    palpate_session* session = held(server, folder, false, &scene);
    GIVES(PALPATE_OK, palpate_close_scene(&scene));
    GIVES(PALPATE_OK, palpate_close(&server));
    press(session);
    GIVES(PALPATE_OK, palpate_check(session));
    GIVES(PALPATE_OK, palpate_close_session(&session));
}

void wrapper(const std::string& folder) {
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
    const std::array<palpate_vec3, 1> below = {{{0, 0, -0.01}}};
    MUST(scene.distances(below).value()[0] < -0.005);
    scene.remove().value();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    auto open = [&] {
        palpate_server* server = nullptr;
        palpate_address address{};
        if (argc > 2) address.url = argv[2];
        GIVES(PALPATE_OK, argc > 2 ? palpate_connect(&address, &server) : palpate_open_local(&server));
        return server;
    };
    nulls();
    palpate_server* server = open();
    scenes(server, argv[1]);
    sessions(server, argv[1]);
    GIVES(PALPATE_OK, palpate_close(&server));
    close_in_any_order(open(), argv[1]);
    wrapper(argv[1]);
    std::printf("%s: %d calls gave the code and the words they should\n", argc > 2 ? "server" : "in process", checks);
}
