// As much of Unreal as the plugin uses, by the names of its public headers.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include "macros.h"

typedef std::int32_t int32;
typedef std::uint32_t uint32;

struct FVector {
    double X = 0, Y = 0, Z = 0;
    FVector() = default;
    FVector(double x, double y, double z) : X(x), Y(y), Z(z) {}
};

struct FQuat {
    double X = 0, Y = 0, Z = 0, W = 1;
    FQuat() = default;
    FQuat(double x, double y, double z, double w) : X(x), Y(y), Z(z), W(w) {}
};

template <typename T>
class TArray : public std::vector<T> {
public:
    using std::vector<T>::vector;
    int32 Num() const { return static_cast<int32>(this->size()); }
};

struct FPlatformTime {
    static double Seconds() {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
};

struct FPlatformProcess {
    static void SleepNoStats(float seconds) { std::this_thread::sleep_for(std::chrono::duration<float>(seconds)); }
};

class FRunnable {
public:
    virtual ~FRunnable() = default;
    virtual uint32 Run() = 0;
    virtual void Stop() {}
};

enum EThreadPriority { TPri_TimeCritical };

class FRunnableThread {
public:
    static FRunnableThread* Create(FRunnable* what, const wchar_t*, uint32, EThreadPriority) {
        FRunnableThread* made = new FRunnableThread;
        made->what_ = what;
        made->thread_ = std::thread([what] { what->Run(); });
        return made;
    }
    bool Kill(bool) {
        what_->Stop();
        thread_.join();
        return true;
    }

private:
    FRunnable* what_ = nullptr;
    std::thread thread_;
};
