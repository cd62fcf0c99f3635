//! Arithmetic in `f32` without branches and without care for NaN, so that eight lanes go side by side.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use glam::Vec3;

/// Four lanes to an instruction, though the processor could take eight.
static NARROW: AtomicBool = AtomicBool::new(false);

/// Numbers side by side; one wide pass over them costs little more than over one.
pub const LANES: usize = 8;

/// Whether searches use AVX2, eight lanes to an instruction: the processor has it, and [`use_narrow`] was not called.
/// Two relaxed loads.
#[inline(always)]
pub fn are_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has_avx2 = is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    let has_avx2 = false;
    // Relaxed: both ways find the same, so it does not matter when a thread sees the switch.
    has_avx2 && !NARROW.load(Relaxed)
}

/// From now on this process uses the instructions that every processor has. Searches take longer and find the same.
pub fn use_narrow() {
    NARROW.store(true, Relaxed);
}

/// The lane of the least.
#[inline(always)]
pub fn least_lane(lanes: &[f32; LANES]) -> usize {
    (1..LANES).fold(0, |least, lane| if lanes[lane] < lanes[least] { lane } else { least })
}

/// One instruction, unlike `f32::min`, which looks for NaN. The second when either is NaN.
#[inline(always)]
pub fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The greater of two; the second when either is NaN.
#[inline(always)]
pub fn greater(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// `a - b`.
#[inline(always)]
pub fn minus(a: Vec3, b: Vec3) -> Vec3 {
    Vec3::new(a.x - b.x, a.y - b.y, a.z - b.z)
}

/// The dot product.
#[inline(always)]
pub fn dot(a: Vec3, b: Vec3) -> f32 {
    // No fused multiply-add: narrow and wide code would then differ in the last bit.
    a.x * b.x + a.y * b.y + a.z * b.z
}

/// The cross product.
#[inline(always)]
pub fn cross(a: Vec3, b: Vec3) -> Vec3 {
    Vec3::new(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x)
}

/// Asks memory for all of a value, so that waits overlap.
#[inline(always)]
pub fn prefetch<T>(at: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start = std::ptr::from_ref(at).cast::<i8>();
        for line in 0..size_of::<T>().div_ceil(CACHE_LINE) {
            // SAFETY: any address may be prefetched.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(CACHE_LINE * line)) };
        }
    }
}

/// Bytes.
const CACHE_LINE: usize = 64;
