#!/usr/bin/env bash
# Each fuzz target from its seeds, or those named: fuzz/run.sh [SECONDS [TARGET...]], 60 s each when left out.
# Needs nightly Rust and cargo-fuzz (cargo install cargo-fuzz --locked). What it finds is in fuzz/artifacts, and
# `cargo +nightly fuzz run TARGET FILE` plays it again to the same step. No recording for `palpate replay` is left: targets
# call the engine past the handlers that recorders listen to, so that it would lack every change, and it would be larger.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
targets=("${@:2}")
if [ ${#targets[@]} -eq 0 ]; then
    mapfile -t targets < <(cargo +nightly fuzz list)
fi
for target in "${targets[@]}"; do
    printf '\n== %s\n' "$target"
    # Some targets have no seeds.
    mkdir -p "fuzz/corpus/$target" "fuzz/seeds/$target"
    cargo +nightly fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
        -max_total_time="$seconds" -max_len=8192 -timeout=10 -malloc_limit_mb=256 -print_final_stats=1
done
