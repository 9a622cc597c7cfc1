#!/usr/bin/env bash
# What compute-sanitizer finds of the tests' planted bugs, beside what the simulator finds. Needs bash, coreutils and the sanitizer.
set -uo pipefail

usage() {
    cat <<'TEXT'
usage: ./run planted [--list] [NAME...]

Launches each planted bug, and each right twin, in a process of its own: alone, and under memcheck, racecheck, synccheck and initcheck.
Prints a table; the sanitizer's reports are left in the folder planted-logs, one file for each process.

  --list     only what the simulator finds; needs no GPU
  NAME       only those whose names begin with one of these

  found      the tool reported something          nothing    it reported nothing
  hang       the process was ended after 60 seconds (WARPSMITH_PLANTED_SECONDS)
  ok, error  alone: what the driver said          failed     the process could not do its work

As many processes run at once as there are processors (WARPSMITH_PLANTED_JOBS). Exit code 1 if a tool finds something in a right twin.
TEXT
}

here=${BASH_SOURCE[0]%/*}
[[ $here == "${BASH_SOURCE[0]}" ]] && here=.
cd -- "$here" || exit 1
tests=./tests/devices
tools=(alone memcheck racecheck synccheck initcheck)
seconds=${WARPSMITH_PLANTED_SECONDS:-60}
jobs=${WARPSMITH_PLANTED_JOBS:-$(nproc)}
logs=planted-logs

only_list=
prefixes=()
for argument in "$@"; do
    case $argument in
        -h | --help) usage; exit 0 ;;
        --list) only_list=1 ;;
        -*) printf 'error: unknown option %s\n' "$argument" >&2; usage >&2; exit 2 ;;
        *) prefixes+=("$argument") ;;
    esac
done

sanitizer=
for candidate in "${WARPSMITH_COMPUTE_SANITIZER:-}" "$(type -P compute-sanitizer)" /usr/local/cuda*/bin/compute-sanitizer; do
    [[ -n $candidate && -x $candidate ]] && { sanitizer=$candidate; break; }
done
if [[ -z $sanitizer && -z $only_list ]]; then
    printf 'error: no compute-sanitizer on PATH or in /usr/local/cuda*; it is part of the CUDA toolkit; %s\n' \
        'name one in WARPSMITH_COMPUTE_SANITIZER' >&2
    exit 1
fi

# The list: name, "bug" or "right", what the simulator finds, what it is.
# The simulator's half, with all that it can look for.
list=$(WARPSMITH_CHECKED=1 WARPSMITH_PLANTED=list "$tests") || exit 1
if ((${#prefixes[@]})); then
    list=$(while IFS= read -r line; do
        for prefix in "${prefixes[@]}"; do
            [[ $line == "$prefix"* ]] && { printf '%s\n' "$line"; break; }
        done
    done <<<"$list")
fi
[[ -n $list ]] || { printf 'error: no planted bug has such a name; --list shows all\n' >&2; exit 2; }

# One process: leaves its output and its exit code in files.
one() {
    local name=$1 tool=$2 command=("$tests")
    if [[ $tool != alone ]]; then
        command=("$sanitizer" --tool "$tool" --error-exitcode 86 --report-api-errors no --require-cuda-init no)
        # Allocations lie side by side: without a gap, one past the end of one is inside the next.
        [[ $tool == memcheck ]] && command+=(--padding 64)
        command+=("$tests")
    fi
    WARPSMITH_PLANTED=$name timeout -k 5 "$seconds" "${command[@]}" >"$logs/$name.$tool" 2>&1 </dev/null
    printf '%s\n' "$?" >"$logs/$name.$tool.code"
}

# What came of it, in a word.
verdict() {
    local name=$1 tool=$2 log="$logs/$1.$2" code line reported=
    read -r code <"$log.code"
    while IFS= read -r line; do
        case $line in
            *"ERROR SUMMARY: 0 error"* | *"RACECHECK SUMMARY: 0 hazard"*) ;;
            *"SUMMARY: "*) reported=1 ;;
        esac
        # Without a summary, where the process was ended: the reports themselves.
        [[ $line =~ ^=========\ +(Error|ERROR|Warning|Invalid|Misaligned|Barrier\ error|Uninitialized|Race\ reported|Potential) ]] &&
            [[ $line != *"SUMMARY: 0 "* ]] && reported=1
    done <"$log"
    if ((code == 124 || code == 137)); then
        printf '%shang' "${reported:+found, }"
    elif [[ $tool == alone ]]; then
        if ((code != 0)); then printf failed; elif grep -q ': no error$' "$log"; then printf ok; else printf error; fi
    elif [[ -n $reported || $code == 86 ]]; then
        printf found
    elif ((code != 0)); then
        printf failed
    else
        printf nothing
    fi
}

row() { printf '%-20s %-6s %-18s %-7s %-12s %-12s %-12s %-12s %s\n' "$@"; }

if [[ -z $only_list ]]; then
    rm -rf -- "$logs"
    mkdir -p -- "$logs" || exit 1
    while IFS=$'\t' read -r name _; do
        for tool in "${tools[@]}"; do
            while (($(jobs -rp | wc -l) >= jobs)); do wait -n; done
            one "$name" "$tool" &
        done
    done <<<"$list"
    wait
fi

row name kind simulator "${tools[@]}" 'what it is'
bugs=0 rights=0 false_reports=0 by_simulator=0 by_any=0
declare -A found=([memcheck]=0 [racecheck]=0 [synccheck]=0 [initcheck]=0)
only_simulator=() only_sanitizer=() neither=()
while IFS=$'\t' read -r name kind simulator what; do
    cells=() any=
    for tool in "${tools[@]}"; do
        cell=-
        [[ -z $only_list ]] && cell=$(verdict "$name" "$tool")
        cells+=("$cell")
        if [[ $cell == found* ]]; then
            any=1
            if [[ $kind == bug ]]; then
                found[$tool]=$((found[$tool] + 1))
            else
                false_reports=$((false_reports + 1))
            fi
        fi
    done
    row "$name" "$kind" "$simulator" "${cells[@]}" "$what"
    if [[ $kind == right ]]; then
        rights=$((rights + 1))
        continue
    fi
    bugs=$((bugs + 1))
    ours=1
    [[ $simulator == nothing || $simulator == 'not run' ]] && ours=
    by_simulator=$((by_simulator + ${ours:-0}))
    by_any=$((by_any + ${any:-0}))
    case ${ours:-0}${any:-0} in
        10) only_simulator+=("$name") ;;
        01) only_sanitizer+=("$name") ;;
        00) neither+=("$name") ;;
    esac
done <<<"$list"

printf '\n%d bugs, %d right twins; the simulator finds %d of the bugs\n' "$bugs" "$rights" "$by_simulator"
[[ -n $only_list ]] && exit 0
printf 'compute-sanitizer finds %d: memcheck %d, racecheck %d, synccheck %d, initcheck %d\n' \
    "$by_any" "${found[memcheck]}" "${found[racecheck]}" "${found[synccheck]}" "${found[initcheck]}"
printf 'only the simulator: %s\n' "${only_simulator[*]:-none}"
printf 'only the sanitizer: %s\n' "${only_sanitizer[*]:-none}"
printf 'neither: %s\n' "${neither[*]:-none}"
printf 'reports about right twins: %d\n' "$false_reports"
((false_reports == 0))
