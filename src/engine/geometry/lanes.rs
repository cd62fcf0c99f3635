//! Arithmetic in `f32` without branches and without NaN handling, so that eight lanes vectorise.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use glam::Vec3;

/// Disables AVX2: four lanes to an instruction, even if the processor could take eight.
static NARROW: AtomicBool = AtomicBool::new(false);

/// Number of lanes; one wide pass over them costs little more than a pass over one.
pub const LANES: usize = 8;

/// Returns true if searches use AVX2, eight lanes to an instruction: the processor has it, and [`use_narrow`] was not
/// called. Two relaxed loads.
#[inline(always)]
pub fn are_wide() -> bool {
    #[cfg(target_arch = "x86_64")]
    let has_avx2 = is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    let has_avx2 = false;
    // Relaxed: both code paths give identical results, so the time at which a thread sees the switch does not matter.
    has_avx2 && !NARROW.load(Relaxed)
}

/// Restricts this process to the instructions that every processor has. Searches take longer, with identical results.
pub fn use_narrow() {
    NARROW.store(true, Relaxed);
}

/// Lane of the least number.
#[inline(always)]
pub fn least_lane(lanes: &[f32; LANES]) -> usize {
    (1..LANES).fold(0, |least, lane| if lanes[lane] < lanes[least] { lane } else { least })
}

/// The lesser of two; the second if either is NaN. One instruction, unlike `f32::min`, which handles NaN.
#[inline(always)]
pub fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The greater of two; the second if either is NaN.
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

/// Prefetches the memory of a whole value, so that waits overlap.
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

/// Size of a cache line in bytes.
const CACHE_LINE: usize = 64;
