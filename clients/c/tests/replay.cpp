// Replays recorded poses in lock-step. Writes the wrenches to OUT, and to OUT.found all that the answers have of contacts:
// replay FOLDER OUT [HOST:PORT]

#include <palpate.hpp>

#include <cstdio>
#include <string>

namespace {

constexpr int ASKED_EVERY = 50;

struct Numbers {
    std::FILE* out;

    void put(double number) { std::fwrite(&number, sizeof number, 1, out); }
    void put(const palpate_vec3& v) {
        for (double number : {v.x, v.y, v.z}) put(number);
    }
    void put(const palpate_point_pair& at) {
        for (double id : {at.tissue_id, at.triangle, at.link, at.link_triangle}) put(id);
        for (const auto& v : {at.barycentric, at.link_barycentric, at.on_tissue_m, at.on_tool_m, at.normal}) put(v);
        put(at.signed_distance_m);
    }
};

void found(const palpate::Session& session, Numbers& to) {
    const auto contacts = session.surface_contacts().value();
    to.put(static_cast<double>(contacts.size()));
    for (const auto& contact : contacts) {
        to.put(static_cast<double>(contact.contact_id));
        to.put(contact.at);
        to.put(contact.toi);
        to.put(contact.flags);
    }
    for (const auto& link : session.link_distances().value()) {
        to.put(link.at);
        for (double number : {link.lower_bound_m, link.sign_certainty, link.depth_max_m}) to.put(number);
        to.put(link.n_contacts);
        to.put(link.flags);
    }
    const auto pairs = session.feature_pairs().value();
    to.put(static_cast<double>(pairs.size()));
    for (const auto& pair : pairs) {
        for (double id : {pair.tissue_id, pair.link, pair.kind}) to.put(id);
        for (double id : pair.vertices) to.put(id);
        for (double weight : pair.weights) to.put(weight);
        to.put(pair.distance_m);
        to.put(pair.normal);
    }
}

}  // namespace

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
    options.feature_pairs = 1;
    palpate::Session session = scene.open_session(options).value();
    std::FILE* in = std::fopen((folder + "/poses.bin").c_str(), "rb");
    std::FILE* out = std::fopen(argv[2], "wb");
    Numbers to{std::fopen((argv[2] + std::string(".found")).c_str(), "wb")};
    if (!in || !out || !to.out) return 2;
    palpate_pose at;
    static_assert(sizeof(at) == 7 * sizeof(double), "poses are seven numbers");
    for (int n = 0; std::fread(&at, sizeof(at), 1, in) == 1; ++n) {
        const palpate_wrench felt = session.step(at, 1e-3).value();
        std::fwrite(&felt, sizeof(double), 6, out);
        found(session, to);
        if (n % ASKED_EVERY != 0) continue;
        const auto near = scene.nearest(palpate::Span<const palpate_vec3>(&at.position_m, 1)).value().at(0);
        for (double id : {near.tissue_id, near.triangle}) to.put(id);
        for (const auto& v : {near.barycentric, near.position_m, near.normal}) to.put(v);
        to.put(near.signed_distance_m);
        to.put(near.sign_certainty);
    }
    std::fclose(in);
    if (std::fclose(out) != 0 || std::fclose(to.out) != 0) return 2;
    scene.remove().value();
}
