// Replays recorded poses in lock-step, and writes the wrenches: replay FOLDER OUT [HOST:PORT]

#include <palpate.hpp>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const std::string folder = argv[1];
    palpate::Server server =
        argc > 3 ? palpate::Server::connect(argv[3]).value() : palpate::Server::open_local().value();
    palpate::Scene scene = server.create_scene("replay-cpp").value();
    scene.add_tissue_file("organ", folder + "/organ.obj").value();
    palpate_session_options options =
        palpate::session_options(scene.add_tool_file("tool", folder + "/tool.obj").value());
    options.lock_step = 1;
    options.friction = 0.2;
    options.hold_point_m = {0, 0, 0.03};
    palpate::Session session = scene.open_session(options).value();
    std::FILE* in = std::fopen((folder + "/poses.bin").c_str(), "rb");
    std::FILE* out = std::fopen(argv[2], "wb");
    if (!in || !out) return 2;
    palpate_pose at;
    static_assert(sizeof(at) == 7 * sizeof(double), "poses are seven numbers");
    while (std::fread(&at, sizeof(at), 1, in) == 1) {
        const palpate_wrench felt = session.step(at, 1e-3).value();
        std::fwrite(&felt, sizeof(double), 6, out);
    }
    std::fclose(in);
    if (std::fclose(out) != 0) return 2;
    scene.remove().value();
}
