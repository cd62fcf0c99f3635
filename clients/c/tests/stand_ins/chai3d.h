// As much of CHAI3D 3.2 as the guide uses, by the names of its public headers. The device lowers itself onto a slab, rests
// 3 mm deep, and says what it was given there when it is closed: it fails unless that was right and the force is gone.
#ifndef STAND_IN_CHAI3D_H
#define STAND_IN_CHAI3D_H

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

namespace chai3d {

class cVector3d {
public:
    cVector3d() = default;
    cVector3d(double x, double y, double z) : x_(x), y_(y), z_(z) {}
    double x() const { return x_; }
    double y() const { return y_; }
    double z() const { return z_; }

private:
    double x_ = 0, y_ = 0, z_ = 0;
};

// The identity is all that is needed of it.
class cMatrix3d {};

struct cQuaternion {
    double w = 0, x = 0, y = 0, z = 0;
    void fromRotMat(const cMatrix3d&) { *this = cQuaternion{1, 0, 0, 0}; }
};

class cPrecisionClock {
public:
    void start(bool) { began_ = std::chrono::steady_clock::now(); }
    double stop() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    }

private:
    std::chrono::steady_clock::time_point began_;
};

struct cHapticDeviceInfo {
    double m_maxLinearForce = 9.0;
    double m_maxLinearStiffness = 600.0;
};

inline void cSleepMs(unsigned ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

class cGenericHapticDevice {
public:
    bool open() { return true; }
    bool close() {
        std::fprintf(stderr, "CHAI3D's hand is given %.3f N, and %.3f N in the end\n", felt_n_, now_n_);
        // 300 N/m over 3 mm and the stand-off.
        if (std::fabs(felt_n_ - 0.906) > 0.01 || now_n_ != 0) std::_Exit(1);
        return true;
    }
    cHapticDeviceInfo getSpecifications() const { return {}; }
    bool getPosition(cVector3d& position) {
        cSleepMs(1);
        const double height_m = std::fmax(0.002, 0.008 - 1e-5 * ++samples_);
        position = cVector3d(0.0, 0.0, height_m);
        return true;
    }
    bool getRotation(cMatrix3d&) { return true; }
    bool setForceAndTorqueAndGripperForce(const cVector3d& force, const cVector3d&, double) {
        now_n_ = force.z();
        if (now_n_ != 0) felt_n_ = now_n_;
        return true;
    }

private:
    int samples_ = 0;
    double felt_n_ = 0, now_n_ = 0;
};
using cGenericHapticDevicePtr = std::shared_ptr<cGenericHapticDevice>;

class cHapticDeviceHandler {
public:
    bool getDevice(cGenericHapticDevicePtr& device, unsigned) {
        device = std::make_shared<cGenericHapticDevice>();
        return true;
    }
};

enum CThreadPriority { CTHREAD_PRIORITY_GRAPHICS, CTHREAD_PRIORITY_HAPTICS };

class cThread {
public:
    // Like CHAI3D's, it ends by itself, and nothing waits for it.
    void start(void (*function)(), CThreadPriority) { std::thread(function).detach(); }
};

}  // namespace chai3d

#endif
