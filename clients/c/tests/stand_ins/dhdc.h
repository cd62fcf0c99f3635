// As much of Force Dimension's DHD as forcedimension.cpp uses, by the declarations of its public header. The device moves
// along its z axis, in the hand of simulated_hand.h.
#ifndef STAND_IN_DHDC_H
#define STAND_IN_DHDC_H

#include <chrono>
#include <cstring>
#include <thread>

#include "simulated_hand.h"

#define DHD_NO_ERROR 0
#define DHD_ON 1
#define DHD_OFF 0
typedef unsigned char uchar;

namespace stand_in {

struct Device {
    // Half of an omega's 2,000 N/m, which a hand of 150 N/m presses 0.6 mm in.
    SimulatedHand hand{1000, 0.005};
    bool has_force = false;
};

inline Device& device() {
    static Device made;
    return made;
}

}  // namespace stand_in

inline int dhdOpen() { return 0; }
inline int dhdClose(char = -1) {
    stand_in::device().hand.close();
    return DHD_NO_ERROR;
}
inline int dhdEnableForce(uchar on, char = -1) {
    stand_in::device().has_force = on == DHD_ON;
    return DHD_NO_ERROR;
}
inline const char* dhdErrorGetLastStr() { return "no error"; }
inline int dhdGetButton(int button, char = -1) {
    return button == 0 && stand_in::device().hand.is_pressed() ? DHD_ON : DHD_OFF;
}

inline int dhdGetPositionAndOrientationFrame(double* x, double* y, double* z, double matrix[3][3], char = -1) {
    // Turned so that the probe's long tip, along x, points down.
    const double turned[3][3] = {{0, 0, 1}, {0, 1, 0}, {-1, 0, 0}};
    *x = *y = 0;
    *z = stand_in::device().hand.place_m();
    std::memcpy(matrix, turned, sizeof turned);
    return DHD_NO_ERROR;
}

inline int dhdSetForceAndTorqueAndGripperForce(double, double, double fz, double, double, double, double, char = -1) {
    if (stand_in::device().has_force) stand_in::device().hand.give(fz);
    // The device takes a force each 250 us.
    std::this_thread::sleep_for(std::chrono::microseconds(250));
    return DHD_NO_ERROR;
}

#endif
