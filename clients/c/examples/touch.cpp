// A 3D Systems Touch, or any device of OpenHaptics: feels a tissue by a probe until Enter is pressed.
//
//   touch TISSUE PROBE [--scale-to-m X] [--workspace-scale X] [--server HOST:PORT]
//
// The second button lets the tool stay where it is while the hand moves on. HD's axes are the scene's: x to the right, y
// up, z towards the user.

#include "hand.hpp"

#include <HD/hd.h>

#include <chrono>

namespace {

// HD's lengths are millimetres, its stiffness N/mm.
const double METRES = 1e-3;

palpate_pose pose_of(const HDdouble (&m)[16]) {
    // Column by column: axes, then the place.
    const double turned[3][3] = {{m[0], m[4], m[8]}, {m[1], m[5], m[9]}, {m[2], m[6], m[10]}};
    return {{METRES * m[12], METRES * m[13], METRES * m[14]}, quaternion_of(turned)};
}

struct Servo {
    Hand& hand;
    std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
};

HDCallbackCode HDCALLBACK feel(void* data) {
    Servo& servo = *static_cast<Servo*>(data);
    const auto now = std::chrono::steady_clock::now();
    const double dt_s = std::chrono::duration<double>(now - servo.last).count();
    servo.last = now;
    hdBeginFrame(hdGetCurrentDevice());
    HDdouble transform[16];
    HDint buttons = 0;
    hdGetDoublev(HD_CURRENT_TRANSFORM, transform);
    hdGetIntegerv(HD_CURRENT_BUTTONS, &buttons);
    const palpate_wrench felt = servo.hand.feel({pose_of(transform), (buttons & HD_DEVICE_BUTTON_2) != 0, dt_s});
    const HDdouble force_n[3] = {felt.force_n.x, felt.force_n.y, felt.force_n.z};
    hdSetDoublev(HD_CURRENT_FORCE, force_n);
    hdEndFrame(hdGetCurrentDevice());
    HDErrorInfo error;
    while (HD_DEVICE_ERROR(error = hdGetError())) {
        std::fprintf(stderr, "touch: %s\n", hdGetErrorString(error.errorCode));
    }
    return HD_CALLBACK_CONTINUE;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Hand hand(Arguments::of(argc, argv));
        const HHD device = hdInitDevice(HD_DEFAULT_DEVICE);
        const HDErrorInfo error = hdGetError();
        if (HD_DEVICE_ERROR(error)) {
            std::fprintf(stderr, "touch: no device: %s\n", hdGetErrorString(error.errorCode));
            return EXIT_FAILURE;
        }
        HDdouble force_n = 0, stiffness_n_per_mm = 0;
        hdGetDoublev(HD_NOMINAL_MAX_FORCE, &force_n);
        hdGetDoublev(HD_NOMINAL_MAX_STIFFNESS, &stiffness_n_per_mm);
        hand.hold({force_n, stiffness_n_per_mm / METRES});
        Servo servo{hand};
        const HDSchedulerHandle feeling = hdScheduleAsynchronous(feel, &servo, HD_MAX_SCHEDULER_PRIORITY);
        hdEnable(HD_FORCE_OUTPUT);
        hdStartScheduler();
        std::puts("Move the probe to the tissue. Enter ends.");
        std::getchar();
        // The device's thread has ended before the hand it calls does.
        hdStopScheduler();
        hdUnschedule(feeling);
        hdDisableDevice(device);
    } catch (const palpate::Error& error) {
        std::fprintf(stderr, "touch: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
