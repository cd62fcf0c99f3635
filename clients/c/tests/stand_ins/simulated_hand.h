// A simulated hand that holds a simulated device: along one axis, a mass on a spring that pulls it to where the hand wants
// it. It begins 3 mm inside the tissue, comes out, moves on by 5 mm with the clutch, and presses 4.5 mm deep, where it tries
// the clutch once more. It says where it rests, and fails the program if it was given a force at the start, a jerk, or not
// what two springs say.
#ifndef SIMULATED_HAND_H
#define SIMULATED_HAND_H

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <utility>

class SimulatedHand {
public:
    // `stiffness_n_per_m`: what the program is to render. The tissue begins at 0, and the probe's lowest point is
    // `probe_m` below the device.
    SimulatedHand(double stiffness_n_per_m, double probe_m) : stiffness_(stiffness_n_per_m), probe_m_(probe_m) {}

    // Moves on to now, and returns the device's place along its axis, metres.
    double place_m() {
        const auto now = std::chrono::steady_clock::now();
        if (!has_begun_) last_ = now;
        has_begun_ = true;
        const double dt_s = std::chrono::duration<double>(now - last_).count();
        last_ = now;
        for (double left = dt_s; left > 0; left -= STEP_S) move(std::fmin(left, STEP_S));
        return place_ + probe_m_ + clutched_m();
    }

    // The button that lets the tool stay where it is.
    bool is_pressed() const { return (time_s_ > 1.35 && time_s_ < 1.55) || (time_s_ > 3.0 && time_s_ < 3.2); }

    void give(double force_n) {
        if (!std::isfinite(force_n)) fail("a force that is no number");
        // The program's own time between two samples is within that between three forces; the servo counts 20 ms at most. A
        // program that ends lets go at once.
        const auto now = std::chrono::steady_clock::now();
        const double passed_s = std::chrono::duration<double>(now - given_[0]).count();
        given_[0] = given_[1];
        given_[1] = now;
        const double most_n = RATE_N_PER_S * std::fmin(passed_s, 0.02);
        if (std::fabs(force_n) - std::fabs(force_n_) > most_n) fail("a jerk");
        if (time_s_ < 0.5 && force_n != 0) fail("a force before it was free");
        force_n_ = force_n;
        history_.emplace_back(time_s_, force_n);
        if (history_.size() > 20000) history_.pop_front();
        if (!rests_ && time_s_ > 4.0) rest();
    }

    // At the end of the program.
    void close() const {
        if (!rests_) fail("no rest");
        if (force_n_ != 0) fail("a force at the end");
        double before_n = 0;
        for (const auto& [at_s, force_n] : history_) {
            if (at_s < time_s_ - 0.1) before_n = force_n;
        }
        std::fprintf(stderr, "and in the end %.3f N\n", before_n);
    }

private:
    static constexpr double STEP_S = 1e-4, MASS_KG = 0.1, SPRING_N_PER_M = 150, DAMPING = 6;
    // Limit of a session by default.
    static constexpr double RATE_N_PER_S = 300;
    // Of the proxy from tissue, metres.
    static constexpr double STAND_OFF_M = 2e-5;

    double wanted_m() const {
        const double t = time_s_;
        if (t < 0.5) return -0.003;
        if (t < 1.0) return -0.003 + 0.013 * (t - 0.5) / 0.5;
        // Long enough to come to rest before the clutch is used.
        if (t < 1.7) return 0.010;
        // With the button pressed on tissue the tool is to go along all the same.
        if (is_pressed()) return -0.0025;
        return std::fmax(-0.0045, 0.010 - 0.0145 * (t - 1.7));
    }

    // Way of the device since the start that the tool has not gone.
    double clutched_m() const { return 0.005 * std::fmin(1, std::fmax(0, (time_s_ - 1.4) / 0.1)); }

    void move(double dt_s) {
        time_s_ += dt_s;
        const double pulled_n = SPRING_N_PER_M * (wanted_m() - place_) - DAMPING * speed_ + force_n_;
        speed_ += dt_s * pulled_n / MASS_KG;
        place_ += dt_s * speed_;
    }

    void rest() {
        rests_ = true;
        const double expected_m =
            (stiffness_ * STAND_OFF_M + SPRING_N_PER_M * wanted_m()) / (stiffness_ + SPRING_N_PER_M);
        const double expected_n = stiffness_ * (STAND_OFF_M - expected_m);
        std::fprintf(stderr, "the hand rests %.3f mm deep with %.4f N, two springs say %.3f mm and %.4f N\n", -1e3 * place_,
                     force_n_, -1e3 * expected_m, expected_n);
        if (std::fabs(force_n_ - expected_n) > 0.01 * expected_n) fail("another force");
        if (std::fabs(place_ - expected_m) > 0.01 * std::fabs(expected_m)) fail("another place");
    }

    [[noreturn]] static void fail(const char* what) {
        std::fprintf(stderr, "the hand was given %s\n", what);
        std::_Exit(1);
    }

    double stiffness_, probe_m_;
    bool has_begun_ = false, rests_ = false;
    std::chrono::steady_clock::time_point last_, given_[2];
    double time_s_ = 0, place_ = -0.003, speed_ = 0, force_n_ = 0;
    std::deque<std::pair<double, double>> history_;
};

#endif
