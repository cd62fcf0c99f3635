//! Closed forms of waiting and blocking (Erlang 1917; Kleinrock, Queueing Systems I, 1975, 3.5 and 3.6).

/// Returns the share of arrivals that find all `n` servers busy, at an offered load of `offered` busy servers on
/// average.
pub fn erlang_b(n: u64, offered: f64) -> f64 {
    // B(0) = 1, B(k) = a B(k-1) / (k + a B(k-1)): no factorial overflows.
    (1..=n).fold(1.0, |b, k| offered * b / (k as f64 + offered * b))
}

/// Returns the share of arrivals that wait for one of `n` servers; 1 if the offered load reaches `n` or more.
pub fn erlang_c(n: u64, offered: f64) -> f64 {
    if offered >= n as f64 {
        return 1.0;
    }
    let b = erlang_b(n, offered);
    b / (1.0 - offered / n as f64 * (1.0 - b))
}

/// Waiting times of random arrivals with exponential service times.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Share of the arrivals that wait at all.
    pub share: f64,
    /// Mean wait, including arrivals that do not wait.
    pub mean: f64,
    /// 99th percentile of the wait.
    pub p99: f64,
}

impl Waits {
    /// Computes the waits for `n` servers, of which `offered` are busy on average, each for `service` on average.
    /// Infinite if no capacity is left.
    pub fn of(n: u64, offered: f64, service: f64) -> Waits {
        let share = erlang_c(n, offered);
        let free = n as f64 - offered;
        if free <= 0.0 {
            return Waits { share, mean: f64::INFINITY, p99: f64::INFINITY };
        }
        // P(wait > t) = share exp(-free t / service)
        let p99 = service / free * (share / 0.01).max(1.0).ln();
        Waits { share, mean: share * service / free, p99 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_place_is_the_queue_of_the_textbooks() {
        for offered in [0.1, 0.5, 0.9] {
            assert!((erlang_b(1, offered) - offered / (1.0 + offered)).abs() < 1e-12);
            assert!((erlang_c(1, offered) - offered).abs() < 1e-12);
            // M/M/1: the mean wait is rho / (1 - rho) services.
            let waits = Waits::of(1, offered, 2.0);
            assert!((waits.mean - 2.0 * offered / (1.0 - offered)).abs() < 1e-12);
        }
        assert!(Waits::of(3, 3.0, 1.0).mean.is_infinite());
    }

    /// Compares with the sum of the definition, which is exact for few servers.
    #[test]
    fn few_places_are_as_their_definition_says() {
        for (n, offered) in [(2u64, 1.5f64), (5, 4.0), (10, 12.0)] {
            let mut term = 1.0;
            let mut sum = 1.0;
            for k in 1..=n {
                term *= offered / k as f64;
                sum += term;
            }
            assert!((erlang_b(n, offered) - term / sum).abs() < 1e-12, "{n} {offered}");
        }
    }

    proptest! {
        #[test]
        fn more_places_turn_fewer_away_and_more_work_more(n in 1u64..200, offered in 0.01f64..300.0) {
            prop_assert!(erlang_b(n + 1, offered) <= erlang_b(n, offered));
            prop_assert!(erlang_b(n, offered) <= erlang_b(n, 1.1 * offered));
            prop_assert!(erlang_b(n, offered) <= erlang_c(n, offered) + 1e-12);
            prop_assert!((0.0..=1.0).contains(&erlang_c(n, offered)));
        }
    }
}
