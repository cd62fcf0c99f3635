// The plugin for Unreal, with as much of Unreal as it uses: what its conversions mirror, and a hand that presses.

#include <PalpateHand.h>

#include <cmath>
#include <cstdio>
#include <random>

namespace {

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "unreal: %s\n", what);
    std::exit(1);
}

void expect(bool is_so, const char* what) {
    if (!is_so) fail(what);
}

FVector cross(const FVector& a, const FVector& b) {
    return FVector(a.Y * b.Z - a.Z * b.Y, a.Z * b.X - a.X * b.Z, a.X * b.Y - a.Y * b.X);
}

// As Unreal's FQuat::RotateVector.
FVector rotated(const FQuat& q, const FVector& v) {
    const FVector axis(q.X, q.Y, q.Z), once = cross(axis, v), twice = cross(axis, once);
    return FVector(v.X + 2 * (q.W * once.X + twice.X), v.Y + 2 * (q.W * once.Y + twice.Y),
                   v.Z + 2 * (q.W * once.Z + twice.Z));
}

FVector plain(const palpate_vec3& v) { return FVector(v.x, v.y, v.z); }
palpate_vec3 as_palpate(const FVector& v) { return palpate_vec3{v.X, v.Y, v.Z}; }

double apart(const FVector& a, const FVector& b) {
    return std::fabs(a.X - b.X) + std::fabs(a.Y - b.Y) + std::fabs(a.Z - b.Z);
}

// A point turned in Unreal is the point that Palpate turns, and a torque is that of the force.
void check_axes() {
    std::mt19937 random(7);
    std::normal_distribution<double> some;
    const auto vector = [&] { return FVector(some(random), some(random), some(random)); };
    for (int round = 0; round < 1000; ++round) {
        FQuat q(some(random), some(random), some(random), some(random));
        const double norm = std::sqrt(q.X * q.X + q.Y * q.Y + q.Z * q.Z + q.W * q.W);
        q = FQuat(q.X / norm, q.Y / norm, q.Z / norm, q.W / norm);
        const FVector at = vector(), force = vector();
        const palpate_pose pose = PalpateAxes::ToPalpate(at, q);
        const FQuat of_palpate(pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w);
        const FVector there = rotated(of_palpate, plain(pose.position_m));
        expect(apart(there, plain(PalpateAxes::ToPalpate(rotated(q, at)))) < 1e-12, "a rotation is mirrored wrongly");
        expect(apart(at, PalpateAxes::ToUnreal(pose.position_m)) < 1e-12, "a place does not come back");
        const FQuat back = PalpateAxes::ToUnreal(pose.orientation);
        expect(apart(FVector(back.X, back.Y, back.Z), FVector(q.X, q.Y, q.Z)) < 1e-12, "a rotation does not come back");
        const FVector torque = cross(plain(pose.position_m), force);
        const FVector of_unreal = cross(PalpateAxes::ToUnreal(pose.position_m), PalpateAxes::Force(as_palpate(force)));
        const FVector told = PalpateAxes::Torque(as_palpate(torque));
        expect(apart(FVector(100 * told.X, 100 * told.Y, 100 * told.Z), of_unreal) < 1e-9, "a torque is mirrored wrongly");
    }
}

// A device whose hand goes down to 3 mm deep.
class Pressing : public IPalpateDevice {
public:
    explicit Pressing(double y_cm) : y_cm_(y_cm) {}
    void Read(FVector& at, FQuat& turned) override {
        height_cm_ = std::fmax(0.2, height_cm_ - 0.001);
        at = FVector(0, y_cm_, height_cm_);
        turned = FQuat();
    }
    void Give(const FVector& force, const FVector&) override {
        force_n = force.Z;
        ++samples;
    }
    std::atomic<double> force_n{0};
    std::atomic<int> samples{0};

private:
    double y_cm_, height_cm_ = 0.8;
};

// A slab at negative y of Unreal whose top is at 0, and a tip of 5 mm. Wound as Unreal's meshes: the cross
// product of two sides of a triangle points inwards.
void check_hand(palpate::Server& server) {
    palpate::Scene scene = server.create_scene("unreal").value();
    TArray<FVector> slab, tip;
    for (double z : {0.0, -5.0}) {
        for (double y : {-10.0, 0.0}) {
            for (double x : {-5.0, 5.0}) slab.push_back(FVector(x, y, z));
        }
    }
    const TArray<int32> sides = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                 2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
    for (int axis = 0; axis < 3; ++axis) {
        for (double r : {0.5, -0.5}) tip.push_back(FVector(axis == 0 ? r : 0, axis == 1 ? r : 0, axis == 2 ? r : 0));
    }
    const TArray<int32> faces = {0, 4, 2, 2, 4, 1, 1, 4, 3, 3, 4, 0, 2, 5, 0, 1, 5, 2,
                                 3, 5, 1, 0, 5, 3};
    const std::vector<float> of_slab = PalpateAxes::Positions(slab), of_tip = PalpateAxes::Positions(tip);
    const std::vector<uint32> slab_sides = PalpateAxes::Triangles(sides), tip_sides = PalpateAxes::Triangles(faces);
    scene.add_tissue("slab", palpate::mesh(of_slab, slab_sides)).value();
    expect(palpate::last_warning().empty(), "the slab is inside out");
    const palpate_link link[] = {palpate::link("tip", palpate::mesh(of_tip, tip_sides))};
    const std::uint32_t tool = scene.add_tool("probe", link).value();
    expect(palpate::last_warning().empty(), "the tip is inside out");
    palpate_session_options options = palpate::session_options(tool);
    options.stiffness_n_per_m = 300;
    for (double y_cm : {-5.0, 5.0}) {
        Pressing device(y_cm);
        FVector at;
        FQuat turned;
        double felt_n;
        {
            FPalpateHand hand(scene.open_session(options).value(), device);
            // It is down after 600 samples; the rest is for it to come to rest.
            while (device.samples < 1500) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            felt_n = device.force_n;
            expect(hand.Proxy(at, turned), "there is no proxy");
        }
        std::printf("unreal: %.3f N at y = %.0f cm, the proxy is %.4f cm high\n", felt_n, y_cm, at.Z);
        const double expected_n = y_cm < 0 ? 0.906 : 0, expected_cm = y_cm < 0 ? 0.502 : 0.2;
        expect(std::fabs(felt_n - expected_n) < 0.01, "the hand is given another force");
        expect(std::fabs(at.Z - expected_cm) < 0.001 && std::fabs(at.Y - y_cm) < 0.01, "the proxy is elsewhere");
        expect(device.force_n == 0, "the hand keeps its force");
    }
    (void)scene.remove();
}

}  // namespace

int main() {
    check_axes();
    palpate::Result<palpate::Server> server = palpate::Server::open_local();
    expect(server.ok(), server.message().c_str());
    check_hand(server.value());
}
