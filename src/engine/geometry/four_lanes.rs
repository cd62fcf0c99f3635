//! Four `f64` numbers in lanes. An instruction takes all four if the processor has AVX2, otherwise two or one. Both
//! round alike, so results are identical to the last bit.
//!
//! `crate::geometry::lanes` relies on the compiler to vectorise loops over eight lanes. For a kernel that is not one
//! loop the compiler produced half scalar code, which changed with every edit.

use std::ops::{Add, Div, Mul, Sub};

/// Number of lanes.
pub(crate) const FOUR: usize = 4;

/// Instruction set of the processor, which creates lanes.
pub(crate) trait FourLanes: Copy {
    /// Numbers in lanes.
    type Four: Four;
    /// Loads these numbers.
    fn of(self, numbers: [f64; FOUR]) -> Self::Four;
    /// Copies one number to all lanes.
    fn all(self, number: f64) -> Self::Four;
}

/// Numbers in lanes. Bit n of a comparison is its result in lane n.
pub(crate) trait Four:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// The lesser of two; `other` if they are equal or either is NaN.
    fn lesser(self, other: Self) -> Self;
    /// The greater of two; `other` if they are equal or either is NaN.
    fn greater(self, other: Self) -> Self;
    /// Compares by <.
    fn below(self, other: Self) -> u32;
    /// Compares by <=.
    fn up_to(self, other: Self) -> u32;
    /// Compares by ==.
    fn equal(self, other: Self) -> u32;
    /// Rotates numbers one to three in lanes 0 to 2 so that each is followed by the next: lanes 1, 2, 0 and 1.
    fn next_of_three(self) -> Self;
    /// Returns the numbers as an array.
    fn numbers(self) -> [f64; FOUR];
}

/// Instructions of any processor.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

/// Four numbers in an array.
#[derive(Clone, Copy)]
pub(crate) struct PortableFour([f64; FOUR]);

impl FourLanes for Portable {
    type Four = PortableFour;

    #[inline(always)]
    fn of(self, numbers: [f64; FOUR]) -> PortableFour {
        PortableFour(numbers)
    }

    #[inline(always)]
    fn all(self, number: f64) -> PortableFour {
        PortableFour([number; FOUR])
    }
}

impl PortableFour {
    #[inline(always)]
    fn with(self, other: PortableFour, f: impl Fn(f64, f64) -> f64) -> PortableFour {
        let ([a, b, c, d], [e, g, h, i]) = (self.0, other.0);
        PortableFour([f(a, e), f(b, g), f(c, h), f(d, i)])
    }

    #[inline(always)]
    fn are(self, other: PortableFour, f: impl Fn(f64, f64) -> bool) -> u32 {
        (0..FOUR).fold(0, |bits, lane| bits | u32::from(f(self.0[lane], other.0[lane])) << lane)
    }
}

impl Four for PortableFour {
    #[inline(always)]
    fn lesser(self, other: PortableFour) -> PortableFour {
        self.with(other, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn greater(self, other: PortableFour) -> PortableFour {
        self.with(other, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn below(self, other: PortableFour) -> u32 {
        self.are(other, |a, b| a < b)
    }

    #[inline(always)]
    fn up_to(self, other: PortableFour) -> u32 {
        self.are(other, |a, b| a <= b)
    }

    #[inline(always)]
    fn equal(self, other: PortableFour) -> u32 {
        self.are(other, |a, b| a == b)
    }

    #[inline(always)]
    fn next_of_three(self) -> PortableFour {
        let [a, b, c, _] = self.0;
        PortableFour([b, c, a, b])
    }

    #[inline(always)]
    fn numbers(self) -> [f64; FOUR] {
        self.0
    }
}

/// An operator of [`PortableFour`] and of [`WideFour`].
macro_rules! operator {
    ($trait:ident, $name:ident, $symbol:tt, $instruction:ident) => {
        impl $trait for PortableFour {
            type Output = PortableFour;

            #[inline(always)]
            fn $name(self, other: PortableFour) -> PortableFour {
                self.with(other, |a, b| a $symbol b)
            }
        }

        #[cfg(target_arch = "x86_64")]
        impl $trait for wide::WideFour {
            type Output = wide::WideFour;

            #[inline(always)]
            fn $name(self, other: wide::WideFour) -> wide::WideFour {
                // SAFETY: only a `Wide` makes a `WideFour`, and it exists only if the processor has AVX2.
                wide::WideFour(unsafe { std::arch::x86_64::$instruction(self.0, other.0) })
            }
        }
    };
}

operator!(Add, add, +, _mm256_add_pd);
operator!(Sub, sub, -, _mm256_sub_pd);
operator!(Mul, mul, *, _mm256_mul_pd);
operator!(Div, div, /, _mm256_div_pd);

#[cfg(target_arch = "x86_64")]
pub(crate) use wide::Wide;

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::{
        __m256d, _CMP_EQ_OQ, _CMP_LE_OQ, _CMP_LT_OQ, _mm256_cmp_pd, _mm256_max_pd, _mm256_min_pd,
        _mm256_movemask_pd, _mm256_permute4x64_pd, _mm256_set1_pd, _mm256_setr_pd,
        _mm256_storeu_pd,
    };

    use super::{FOUR, Four, FourLanes};
    use crate::geometry::lanes::are_wide;

    /// A processor that has AVX2. Functions that use it must be compiled for AVX2 (`target_feature`), or each operation
    /// is a call.
    #[derive(Clone, Copy)]
    pub(crate) struct Wide(());

    /// Four numbers in a register.
    #[derive(Clone, Copy)]
    pub(crate) struct WideFour(pub(crate) __m256d);

    impl Wide {
        /// Returns a `Wide` if searches use AVX2.
        #[inline(always)]
        pub(crate) fn here() -> Option<Wide> {
            are_wide().then_some(Wide(()))
        }
    }

    impl FourLanes for Wide {
        type Four = WideFour;

        #[inline(always)]
        fn of(self, [a, b, c, d]: [f64; FOUR]) -> WideFour {
            // SAFETY: the processor has AVX2.
            WideFour(unsafe { _mm256_setr_pd(a, b, c, d) })
        }

        #[inline(always)]
        fn all(self, number: f64) -> WideFour {
            // SAFETY: the processor has AVX2.
            WideFour(unsafe { _mm256_set1_pd(number) })
        }
    }

    impl WideFour {
        #[inline(always)]
        fn compared<const HOW: i32>(self, other: WideFour) -> u32 {
            // SAFETY: the processor has AVX2, or no `Wide` could have made this.
            unsafe { _mm256_movemask_pd(_mm256_cmp_pd::<HOW>(self.0, other.0)) as u32 }
        }
    }

    impl Four for WideFour {
        #[inline(always)]
        fn lesser(self, other: WideFour) -> WideFour {
            // SAFETY: as above.
            WideFour(unsafe { _mm256_min_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn greater(self, other: WideFour) -> WideFour {
            // SAFETY: as above.
            WideFour(unsafe { _mm256_max_pd(self.0, other.0) })
        }

        #[inline(always)]
        fn below(self, other: WideFour) -> u32 {
            self.compared::<_CMP_LT_OQ>(other)
        }

        #[inline(always)]
        fn up_to(self, other: WideFour) -> u32 {
            self.compared::<_CMP_LE_OQ>(other)
        }

        #[inline(always)]
        fn equal(self, other: WideFour) -> u32 {
            self.compared::<_CMP_EQ_OQ>(other)
        }

        #[inline(always)]
        fn next_of_three(self) -> WideFour {
            // Two bits for each lane, the last lane first.
            const LANES: i32 = 0b01_00_10_01;
            // SAFETY: as above.
            WideFour(unsafe { _mm256_permute4x64_pd::<LANES>(self.0) })
        }

        #[inline(always)]
        fn numbers(self) -> [f64; FOUR] {
            let mut numbers = [0.0; FOUR];
            // SAFETY: as above, and the array holds four.
            unsafe { _mm256_storeu_pd(numbers.as_mut_ptr(), self.0) };
            numbers
        }
    }
}
