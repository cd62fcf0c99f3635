#pragma once

#include "CoreMinimal.h"
#include "HAL/PlatformProcess.h"
#include "HAL/PlatformTime.h"
#include "HAL/Runnable.h"
#include "HAL/RunnableThread.h"
#include "PalpateAxes.h"

#include <atomic>

/** A haptic device, called on the hand's thread. */
class IPalpateDevice
{
public:
    virtual ~IPalpateDevice() = default;
    /** Returns where the hand is, in Unreal's axes and centimetres. */
    virtual void Read(FVector& At, FQuat& Turned) = 0;
    /** Gives the hand newtons and newton metres. */
    virtual void Give(const FVector& Force, const FVector& Torque) = 0;
};

/**
 * A thread that renders the force on a hand a thousand times a second. The game thread draws `Proxy`, and moves tissue by
 * `palpate::Scene::deform`.
 */
class FPalpateHand final : public FRunnable
{
public:
    FPalpateHand(palpate::Session&& Opened, IPalpateDevice& Device) : Session(std::move(Opened)), Device(Device)
    {
        Thread = FRunnableThread::Create(this, TEXT("Palpate hand"), 0, TPri_TimeCritical);
    }

    virtual ~FPalpateHand() override
    {
        // Waits for the thread.
        Thread->Kill(true);
        delete Thread;
    }

    virtual uint32 Run() override
    {
        double Last = FPlatformTime::Seconds();
        while (bRuns)
        {
            FVector At;
            FQuat Turned;
            Device.Read(At, Turned);
            const double Now = FPlatformTime::Seconds();
            palpate_wrench Felt{};
            // The wrench is what the hand is to feel, whatever the code says.
            (void)Session.servo(PalpateAxes::ToPalpate(At, Turned), Now - Last, Felt);
            Last = Now;
            Device.Give(PalpateAxes::Force(Felt.force_n), PalpateAxes::Torque(Felt.torque_nm));
            FPlatformProcess::SleepNoStats(0.001f);
        }
        Device.Give(FVector(0, 0, 0), FVector(0, 0, 0));
        return 0;
    }

    virtual void Stop() override
    {
        bRuns = false;
    }

    /** Returns where tissue holds the tool; false before the first answer. For the game thread. */
    bool Proxy(FVector& At, FQuat& Turned) const
    {
        const auto Newest = Session.newest();
        if (!Newest.ok())
        {
            return false;
        }
        At = PalpateAxes::ToUnreal(Newest.value().proxy.position_m);
        Turned = PalpateAxes::ToUnreal(Newest.value().proxy.orientation);
        return true;
    }

private:
    palpate::Session Session;
    IPalpateDevice& Device;
    std::atomic<bool> bRuns{true};
    FRunnableThread* Thread = nullptr;
};
