// What the programs for devices share: a scene with one tissue and one probe, and the device's place in it.
#ifndef HAND_HPP
#define HAND_HPP

#include <palpate.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

// Limits of a device, by its maker.
struct Limits {
    double force_n;
    double stiffness_n_per_m;
};

// Where the hand is on the device and what it presses.
struct Sample {
    palpate_pose pose;
    // The tool stays where it is, and only turns, while the hand moves on: for a hand at the end of its device's reach.
    bool clutch;
    // Since the last sample, by a clock that never jumps.
    double dt_s;
};

// Of a rotation whose columns are the axes of what is turned.
inline palpate_quaternion quaternion_of(const double (&m)[3][3]) {
    const double squares[4] = {1 + m[0][0] - m[1][1] - m[2][2], 1 - m[0][0] + m[1][1] - m[2][2],
                               1 - m[0][0] - m[1][1] + m[2][2], 1 + m[0][0] + m[1][1] + m[2][2]};
    const long largest = std::max_element(squares, squares + 4) - squares;
    const double s = 2 * std::sqrt(squares[largest]);
    const double xy = m[0][1] + m[1][0], xz = m[0][2] + m[2][0], yz = m[1][2] + m[2][1];
    const double x = m[2][1] - m[1][2], y = m[0][2] - m[2][0], z = m[1][0] - m[0][1];
    switch (largest) {
        case 0: return {s / 4, xy / s, xz / s, x / s};
        case 1: return {xy / s, s / 4, yz / s, y / s};
        case 2: return {xz / s, yz / s, s / 4, z / s};
        default: return {x / s, y / s, z / s, s / 4};
    }
}

struct Arguments {
    std::string tissue, probe, server;
    double scale_to_m = 1;
    // Way of the tool for a way of the hand.
    double workspace_scale = 1;

    static Arguments of(int argc, char** argv) {
        Arguments read;
        std::string* next[] = {&read.tissue, &read.probe};
        int n = 0;
        for (int i = 1; i < argc; ++i) {
            const auto is = [&](const char* name) { return std::strcmp(argv[i], name) == 0 && i + 1 < argc; };
            if (is("--server")) read.server = argv[++i];
            else if (is("--scale-to-m")) read.scale_to_m = std::atof(argv[++i]);
            else if (is("--workspace-scale")) read.workspace_scale = std::atof(argv[++i]);
            else if (n < 2 && argv[i][0] != '-') *next[n++] = argv[i];
            else n = 3;
        }
        if (n != 2 || !(read.workspace_scale > 0)) {
            std::fprintf(stderr, "usage: %s TISSUE PROBE [--scale-to-m X] [--workspace-scale X] [--server HOST:PORT]\n",
                         argv[0]);
            std::exit(2);
        }
        return read;
    }
};

// A probe that a device holds. The device's axes are the scene's, and so is its origin until the clutch is used.
class Hand {
public:
    explicit Hand(const Arguments& given)
        : scale_(given.workspace_scale),
          scene_((given.server.empty() ? palpate::Server::open_local() : palpate::Server::connect(given.server))
                     .value()
                     .create_scene("device")
                     .value()) {
        scene_.add_tissue_file("tissue", given.tissue, given.scale_to_m).value();
        if (!palpate::last_warning().empty()) std::fprintf(stderr, "the tissue %s\n", palpate::last_warning().c_str());
        tool_ = scene_.add_tool_file("probe", given.probe, given.scale_to_m).value();
    }
    ~Hand() {
        session_ = palpate::Session(nullptr);
        (void)scene_.remove();
    }
    Hand(const Hand&) = delete;
    Hand& operator=(const Hand&) = delete;

    // Before the device asks for its first force.
    void hold(const Limits& device) {
        palpate_session_options options = palpate::session_options(tool_);
        // Half of what the device may render, so that it stays stable in a light grip.
        options.stiffness_n_per_m = 0.5 * device.stiffness_n_per_m / scale_;
        options.max_force_n = std::min(options.max_force_n, device.force_n);
        session_ = scene_.open_session(options).value();
    }

    // Returns what the hand feels. For the device's thread: never waits. A tool that begins inside the tissue is given no
    // force before it was out of it.
    palpate_wrench feel(const Sample& sample) {
        // The tool is let go of only where nothing pulls: the hand would take the force along.
        const bool holds_still = sample.clutch && (was_still_ || force_n_ < 0.05);
        const palpate_vec3 &device = sample.pose.position_m, tool = tool_at_.position_m;
        if (was_still_ && !holds_still) {
            // The tool goes on from where it was.
            origin_ = {tool.x - scale_ * device.x, tool.y - scale_ * device.y, tool.z - scale_ * device.z};
        }
        was_still_ = holds_still;
        if (!holds_still) {
            tool_at_.position_m = {origin_.x + scale_ * device.x, origin_.y + scale_ * device.y,
                                   origin_.z + scale_ * device.z};
        }
        tool_at_.orientation = sample.pose.orientation;
        palpate_wrench felt{};
        // Whatever the code says, the wrench is what the hand is to feel.
        (void)session_.servo(tool_at_, sample.dt_s, felt);
        force_n_ = std::max({std::abs(felt.force_n.x), std::abs(felt.force_n.y), std::abs(felt.force_n.z)});
        return felt;
    }

private:
    double scale_;
    palpate::Scene scene_;
    std::uint32_t tool_ = 0;
    palpate::Session session_{nullptr};
    // The rest is the device's thread's alone.
    palpate_vec3 origin_{};
    palpate_pose tool_at_{};
    bool was_still_ = false;
    double force_n_ = 0;
};

#endif
