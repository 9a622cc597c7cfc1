#!/usr/bin/env bash
# Runs what this bundle holds. Needs bash and gzip only; the programs find the GPU, or say that they skip what needs one.
set -uo pipefail

usage() {
    local text
    IFS= read -r -d '' text <<'TEXT'
usage: ./run [tests|benches|examples|all] [--filter TEXT]
       ./run peers [ARGUMENTS OF benches/peers/run.py]
       ./run sanitize [memcheck|racecheck|synccheck|initcheck|all] [FILTER]
       ./run profile KERNEL [OPTIONS] [-- PROGRAM ARGUMENTS]
       ./run planted [--list] [NAME...]

  tests      every test binary (the default)
  benches    every benchmark
  examples   every example, as it is
  all        tests, then examples, then benches
  peers      Warpsmith beside PyTorch, in one run (--help tells more); needs python3 with torch
  sanitize   the tests whose names contain FILTER under compute-sanitizer, which must be here; memcheck if no tool is named
  profile    what bounds a kernel, by ncu, which must be here, in the tests or in a program (--help tells more)
  planted    what compute-sanitizer and the simulator find of the tests' planted bugs (--help tells more)
  --filter   only tests or benchmarks whose name contains TEXT; for examples: only such binaries

The last line is "N passed, M failed, K skipped". Exit code: 0 nothing failed, 1 something did, 2 wrong usage.
Where there is a GPU, WARPSMITH_REQUIRE_GPU=1 is set, so that a test which can't use it fails instead of being
skipped; set WARPSMITH_REQUIRE_GPU=0 yourself to allow it.
TEXT
    printf '%s' "$text"
}

wrong_usage() {
    printf 'error: %s\n' "$1" >&2
    usage >&2
    exit 2
}

here=${BASH_SOURCE[0]%/*}
[[ $here == "${BASH_SOURCE[0]}" ]] && here=.

# Programs travel packed, and are unpacked once.
unpack() {
    local packed
    for packed in "$here"/xtask.gz "$here"/{tests,benches,examples}/*.gz; do
        [[ -e $packed && ! -e ${packed%.gz} ]] || continue
        gunzip -k "$packed" || { printf 'error: can not unpack %s\n' "$packed" >&2; exit 1; }
    done
}
case ${1:-} in -h | --help) ;; *) unpack ;; esac

if [[ ${1:-} == peers ]]; then
    shift
    exec python3 "$here/benches/peers/run.py" "$@"
fi

# These two are the commands of the same names, which find their tools and say what installs them.
if [[ ${1:-} == sanitize || ${1:-} == profile ]]; then
    command=$1
    shift
    own=(--binary "$here/tests/devices")
    if [[ $command == sanitize ]]; then
        case ${1:-} in memcheck | racecheck | synccheck | initcheck | all) own+=(--tool "$1"); shift ;; esac
    fi
    # A program of the caller's own takes the tests' place.
    for argument in "$@"; do
        [[ $argument == -- ]] && own=()
    done
    exec "$here/xtask" "$command" ${own[@]+"${own[@]}"} "$@"
fi

if [[ ${1:-} == planted ]]; then
    shift
    exec "$here/planted" "$@"
fi

what=
filter=
while (($#)); do
    case $1 in
        -h | --help) usage; exit 0 ;;
        --filter) (($# > 1)) || wrong_usage '--filter needs a text'; filter=$2; shift ;;
        --filter=*) filter=${1#--filter=} ;;
        tests | benches | examples | all) [[ -z $what ]] || wrong_usage "both $what and $1"; what=$1 ;;
        *) wrong_usage "unknown argument $1" ;;
    esac
    shift
done
what=${what:-tests}

cd -- "$here" || exit 1

passed=0 failed=0 skipped=0 ran=0
failures=()

# Nothing but a device node of the driver, or nvidia-smi's list, makes a machine one with a GPU.
gpu_present() {
    [[ -e /dev/nvidia0 ]] && return 0
    [[ $(nvidia-smi -L 2>/dev/null) == GPU* ]]
}

if gpu_present; then
    export WARPSMITH_REQUIRE_GPU=${WARPSMITH_REQUIRE_GPU:-1}
    printf 'GPU found; WARPSMITH_REQUIRE_GPU=%s\n' "$WARPSMITH_REQUIRE_GPU"
else
    printf 'no GPU here: tests that need one are skipped\n'
fi

# Runs "$@", shows what it prints, and adds the counts of its "test result:" line. A program without such a line counts
# as one: passed if it succeeds and $1 is "plain", failed otherwise.
run_one() {
    local mode=$1 name=$2 line result='' code=1
    shift 2
    printf '\n==> %s\n' "$name"
    ran=$((ran + 1))
    while IFS= read -r line || [[ -n $line ]]; do
        if [[ $line =~ ^exit-code-of-the-program:([0-9]+)$ ]]; then
            code=${BASH_REMATCH[1]}
            continue
        fi
        printf '%s\n' "$line"
        if [[ $line =~ test\ result:\ [a-zA-Z]+\.\ ([0-9]+)\ passed\;\ ([0-9]+)\ failed\;\ ([0-9]+)\ ignored ]]; then
            result=${BASH_REMATCH[2]}
            passed=$((passed + BASH_REMATCH[1]))
            failed=$((failed + BASH_REMATCH[2]))
            skipped=$((skipped + BASH_REMATCH[3]))
        fi
    done < <("$@" </dev/null 2>&1; printf '\nexit-code-of-the-program:%s\n' "$?")
    if [[ $mode == plain && $code == 0 ]]; then
        passed=$((passed + 1))
    elif [[ $code == 0 && -n $result ]]; then
        [[ $result == 0 ]] || failures+=("$name")
    else
        # A crash, or what a sanitizer found, is a failure even if every test said that it passed.
        [[ -n $result && $result != 0 ]] || failed=$((failed + 1))
        [[ -n $result ]] || printf 'no test result from %s\n' "$name"
        failures+=("$name (exit code $code)")
    fi
}

run_tests() {
    local binary
    for binary in tests/*; do
        [[ -x $binary && -f $binary ]] || continue
        run_one tests "$binary" "./$binary" ${filter:+"$filter"}
    done
}

run_benches() {
    local binary
    for binary in benches/*; do
        [[ -x $binary && -f $binary ]] || continue
        run_one plain "$binary" "./$binary" --bench ${filter:+"$filter"}
    done
}

run_examples() {
    local binary
    for binary in examples/*; do
        [[ -x $binary && -f $binary && ${binary#examples/} == *"$filter"* ]] || continue
        run_one plain "$binary" "./$binary"
    done
}

case $what in
    tests) run_tests ;;
    benches) run_benches ;;
    examples) run_examples ;;
    all) run_tests; run_examples; run_benches ;;
esac

printf '\n'
if ((ran == 0)); then
    printf 'error: nothing to run\n' >&2
    failed=1
fi
for name in ${failures[@]+"${failures[@]}"}; do
    printf 'FAILED: %s\n' "$name"
done
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0))
