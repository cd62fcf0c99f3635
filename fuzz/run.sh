#!/usr/bin/env bash
# Each fuzz target from its seeds, or those named: fuzz/run.sh [SECONDS [TARGET...]], 60 s each when left out.
# Needs nightly Rust and cargo-fuzz (cargo install cargo-fuzz --locked). What it finds is in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
targets=("${@:2}")
if [ ${#targets[@]} -eq 0 ]; then
    mapfile -t targets < <(cargo +nightly fuzz list)
fi
for target in "${targets[@]}"; do
    printf '\n== %s\n' "$target"
    mkdir -p "fuzz/corpus/$target"
    cargo +nightly fuzz run "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
        -max_total_time="$seconds" -max_len=8192 -timeout=10 -malloc_limit_mb=256 -print_final_stats=1
done
