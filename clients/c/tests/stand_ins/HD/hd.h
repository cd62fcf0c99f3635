// As much of OpenHaptics' HD API as touch.cpp uses, by the names and types of its public headers. The device moves along
// its y axis, in the hand of simulated_hand.h.
#ifndef STAND_IN_HD_H
#define STAND_IN_HD_H

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "../simulated_hand.h"

typedef double HDdouble;
typedef int HDint;
typedef unsigned int HDenum;
typedef unsigned int HDuint;
typedef unsigned short HDushort;
typedef unsigned int HHD;
typedef unsigned int HDCallbackCode;
typedef unsigned long HDSchedulerHandle;
typedef HDuint HDerror;
typedef const char* HDstring;

#define HDCALLBACK
typedef HDCallbackCode(HDCALLBACK* HDSchedulerCallback)(void*);

struct HDErrorInfo {
    HDerror errorCode;
    int internalErrorCode;
    HHD hHD;
};

#define HD_SUCCESS 0x0000
#define HD_DEVICE_ERROR(error) ((error).errorCode != HD_SUCCESS)
#define HD_DEFAULT_DEVICE ((HDstring) nullptr)
#define HD_CALLBACK_DONE 0
#define HD_CALLBACK_CONTINUE 1
#define HD_MAX_SCHEDULER_PRIORITY 65535
#define HD_CURRENT_BUTTONS 0x2000
#define HD_CURRENT_TRANSFORM 0x2052
#define HD_NOMINAL_MAX_STIFFNESS 0x2602
#define HD_NOMINAL_MAX_FORCE 0x2603
#define HD_CURRENT_FORCE 0x2700
#define HD_DEVICE_BUTTON_2 (1 << 1)
#define HD_FORCE_OUTPUT 0x4000

namespace stand_in {

// A Touch's own: 0.6 N/mm; half of that is rendered.
const double STIFFNESS_N_PER_MM = 0.6;

struct Device {
    SimulatedHand hand{500 * STIFFNESS_N_PER_MM, 0.005};
    HDSchedulerCallback callback = nullptr;
    void* data = nullptr;
    std::thread scheduler;
    std::atomic<bool> is_running{false};
    bool has_force = false;
};

inline Device& device() {
    static Device made;
    return made;
}

}  // namespace stand_in

inline HHD hdInitDevice(HDstring) { return 0; }
inline HHD hdGetCurrentDevice() { return 0; }
inline HDErrorInfo hdGetError() { return {HD_SUCCESS, 0, 0}; }
inline HDstring hdGetErrorString(HDerror) { return "no error"; }
inline void hdEnable(HDenum what) { stand_in::device().has_force = what == HD_FORCE_OUTPUT; }
inline void hdBeginFrame(HHD) {}
inline void hdEndFrame(HHD) {}

inline void hdGetDoublev(HDenum what, HDdouble* into) {
    if (what == HD_NOMINAL_MAX_FORCE) *into = 3.3;
    if (what == HD_NOMINAL_MAX_STIFFNESS) *into = stand_in::STIFFNESS_N_PER_MM;
    if (what == HD_CURRENT_TRANSFORM) {
        // Turned so that the probe's long tip, along x, points down.
        const HDdouble turned[16] = {0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1e3 * stand_in::device().hand.place_m(), 0, 1};
        std::memcpy(into, turned, sizeof turned);
    }
}

inline void hdGetIntegerv(HDenum what, HDint* into) {
    const bool is_pressed = what == HD_CURRENT_BUTTONS && stand_in::device().hand.is_pressed();
    *into = is_pressed ? HD_DEVICE_BUTTON_2 : 0;
}

inline void hdSetDoublev(HDenum what, const HDdouble* force_n) {
    stand_in::Device& device = stand_in::device();
    if (what == HD_CURRENT_FORCE && device.has_force) device.hand.give(force_n[1]);
}

inline HDSchedulerHandle hdScheduleAsynchronous(HDSchedulerCallback callback, void* data, HDushort) {
    stand_in::device().callback = callback;
    stand_in::device().data = data;
    return 1;
}

inline void hdStartScheduler() {
    stand_in::Device& device = stand_in::device();
    device.is_running = true;
    device.scheduler = std::thread([&device] {
        while (device.is_running && device.callback(device.data) == HD_CALLBACK_CONTINUE) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        // The device gives up its force.
        device.hand.give(0);
    });
}

inline void hdStopScheduler() {
    stand_in::device().is_running = false;
    stand_in::device().scheduler.join();
}

inline void hdUnschedule(HDSchedulerHandle) {}
inline void hdDisableDevice(HHD) { stand_in::device().hand.close(); }

#endif
