// A hand presses a tip 3 mm into a slab, feels the force and asks where the tip touches, with the engine in this process
// or, with an address, at a server.
//
//   first_contact [HOST:PORT]

#include <palpate.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

namespace {

// Counter-clockwise seen from outside.
const std::array<float, 24> SLAB = {-1, -1, 0,  1, -1, 0,  1, 1, 0,  -1, 1, 0,
                                    -1, -1, -1, 1, -1, -1, 1, 1, -1, -1, 1, -1};
const std::array<std::uint32_t, 36> SLAB_SIDES = {0, 1, 2, 0, 2, 3, 4, 6, 5, 4, 7, 6, 4, 5, 1, 4, 1, 0,
                                                  5, 6, 2, 5, 2, 1, 6, 7, 3, 6, 3, 2, 7, 4, 0, 7, 0, 3};
const std::array<float, 18> TIP = {1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1};
const std::array<std::uint32_t, 24> TIP_SIDES = {0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4,
                                                 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5};

void touch(palpate::Server server) {
    palpate::Scene scene = server.create_scene("first-contact").value();
    scene.add_tissue("slab", palpate::mesh(SLAB, SLAB_SIDES, 0.05)).value();
    const palpate_link tip[] = {palpate::link("tip", palpate::mesh(TIP, TIP_SIDES, 0.005))};
    const std::uint32_t tool = scene.add_tool("probe", tip).value();

    palpate_session_options options = palpate::session_options(tool);
    options.stiffness_n_per_m = 300;
    palpate::Session session = scene.open_session(options).value();
    palpate_wrench felt{};
    // A device has a callback; here this loop replaces it.
    for (double height_m : {0.006, 0.004, 0.002}) {
        for (int sample = 0; sample < 300; ++sample) {
            const palpate_code code = session.servo(palpate::pose(0, 0, height_m), 1e-3, felt);
            if (code != PALPATE_OK) std::fprintf(stderr, "%s\n", palpate_last_error());
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        std::printf("%4.1f mm deep: %.3f N\n", 1e3 * (0.005 - height_m), felt.force_n.z);
    }
    for (const palpate_surface_contact& contact : session.surface_contacts().value()) {
        const palpate_point_pair& at = contact.at;
        std::printf("triangle %u, %.1f um away, at its weights %.2f %.2f %.2f\n", at.triangle, 1e6 * at.signed_distance_m,
                    at.barycentric.x, at.barycentric.y, at.barycentric.z);
    }
    scene.remove().value();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        touch(argc > 1 ? palpate::Server::connect(argv[1]).value() : palpate::Server::open_local().value());
    } catch (const palpate::Error& error) {
        std::fprintf(stderr, "first_contact: %s\n", error.what());
        return 1;
    }
}
