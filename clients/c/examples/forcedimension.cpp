// An omega, delta, sigma or Falcon by Force Dimension's DHD: feels a tissue by a probe until Enter is pressed.
//
//   forcedimension TISSUE PROBE [--scale-to-m X] [--workspace-scale X] [--server HOST:PORT]
//
// The first button lets the tool stay where it is while the hand moves on. DHD's axes are the scene's: x towards the user,
// y to the right, z up.

#include "hand.hpp"

#include <dhdc.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace {

// DHD does not tell a device's limits: these are an omega's. A Falcon renders less, its manual says what.
const Limits OMEGA = {12.0, 2000.0};

// The device's thread, which DHD leaves to its user.
void feel(Hand& hand, const std::atomic<bool>& is_running) {
    auto last = std::chrono::steady_clock::now();
    while (is_running) {
        palpate_pose at{};
        double turned[3][3];
        palpate_vec3& p = at.position_m;
        if (dhdGetPositionAndOrientationFrame(&p.x, &p.y, &p.z, turned) < 0) {
            std::fprintf(stderr, "forcedimension: %s\n", dhdErrorGetLastStr());
            break;
        }
        at.orientation = quaternion_of(turned);
        const auto now = std::chrono::steady_clock::now();
        const double dt_s = std::chrono::duration<double>(now - last).count();
        last = now;
        const palpate_wrench felt = hand.feel({at, dhdGetButton(0) == DHD_ON, dt_s});
        // Returns after the device has taken it: that is this loop's clock, up to 4 kHz.
        dhdSetForceAndTorqueAndGripperForce(felt.force_n.x, felt.force_n.y, felt.force_n.z, felt.torque_nm.x,
                                            felt.torque_nm.y, felt.torque_nm.z, 0);
    }
    dhdSetForceAndTorqueAndGripperForce(0, 0, 0, 0, 0, 0, 0);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Hand hand(Arguments::of(argc, argv));
        if (dhdOpen() < 0 || dhdEnableForce(DHD_ON) < 0) {
            std::fprintf(stderr, "forcedimension: no device: %s\n", dhdErrorGetLastStr());
            return EXIT_FAILURE;
        }
        hand.hold(OMEGA);
        std::atomic<bool> is_running{true};
        std::thread haptics([&] { feel(hand, is_running); });
        std::puts("Move the probe to the tissue. Enter ends.");
        std::getchar();
        is_running = false;
        haptics.join();
        dhdClose();
    } catch (const palpate::Error& error) {
        std::fprintf(stderr, "forcedimension: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
