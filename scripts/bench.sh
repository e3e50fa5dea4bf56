#!/usr/bin/env bash
# Measures what gently costs around a model, on this machine, in release mode.
#
#   scripts/bench.sh ask [SESSIONS…]   gently ask against a bare call of the same local server, with a history of
#                                      so many closed sessions (10 and 10000 when none is given), and gently --help;
#                                      beside the program llm, where it is on the PATH
#   scripts/bench.sh ledgers [N…]      ledgers of N exchanges (10000 when none is given) through the real recorder: write
#                                      rate, bytes, git fsck, git verify-commit and gently audit verify side by side
#   scripts/bench.sh headers [N…]      keeping N easy headers (900000 when none is given), and checking all of them
#   scripts/bench.sh make N HOME       only makes such a ledger, and keeps it; one that is there is gone on with
#   scripts/bench.sh measure HOME…     only measures what was made (and asks some questions more in it)
#   scripts/bench.sh context [N…]      compiling a context from a record of N facts, notes and decisions (100000 when none
#                                      is given) and 1000 sessions; RUNS (200) questions
#   scripts/bench.sh corrections [N…]  the same from N corrections (100000 when none is given), and choosing among 20
#                                      specialists with N ratings; RUNS (200) of each
#   scripts/bench.sh replay [N…]       N exchanges (10000 when none is given) in threads of a hundred turns, each referring
#                                      to the six events before it: gently audit replay --all
#   scripts/bench.sh trace [N…]        N exchanges (10000 when none is given): gently trace export --all --level generic in
#                                      each form, and gently trace verify, with the home and without; RUNS (3) of each
#   scripts/bench.sh sanitize [FILE…]  redacting 1 MB of each family of hostile text and of each file, in milliseconds
#                                      of processor time; RUNS (5) times
#   scripts/bench.sh reports           gently assertion report, specialist report and stats over a million answers
#   scripts/bench.sh council           councils of three who review each other, at a server that takes 300 ms for each
#                                      answer and review; RUNS (20) of them
#   scripts/bench.sh judge             judging a reply of 1 MB to a prompt of 1 MB, of each family of hostile text, and of
#                                      half as much: the ratio says whether the work grows faster than the text
#   scripts/bench.sh check [SESSIONS…] gently audit check of one opened text, and a receipt, with a history of so many
#                                      sessions (1000 when none is given); RUNS (200) runs
#   scripts/bench.sh search [N…]       N messages of 60 words (1000000 when none is given): words, phrases, beginnings and
#                                      filters, lists, in process; the program; the walk along the log; the migration of
#                                      the whole, killed and begun anew; a chat's first prompt and turns. RUNS (100) of
#                                      each; what it is to take stands behind its name. PROFILE=dev takes the build
#                                      without optimisation, for small N
#
# PAIRS (100) pairs a history; the median counts. Homes are made under BENCH_DIR (target/bench) and removed; a
# history of 10000 sessions is some 200000 small files and takes minutes. Contacts nothing but itself.
# Exit: 0 measured, whatever the figures; 2 usage; another number when something failed.
set -euo pipefail

root="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"
cd -- "$root"

usage() {
  sed -n '2,37s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}
part="${1:-}"
shift || usage
case "$part" in
  ask | ledgers | context | corrections | check | headers | replay | trace | search) for count in "$@"; do [[ "$count" =~ ^[0-9]+$ ]] || usage; done ;;
  make) [[ $# -eq 2 && "$1" =~ ^[0-9]+$ ]] || usage ;;
  sanitize) for file in "$@"; do [[ -r "$file" ]] || usage; done ;;
  measure) (($# > 0)) || usage ;;
  judge | council | reports) (($# == 0)) || usage ;;
  *) usage ;;
esac
if (($# == 0)); then
  case "$part" in
  ask) set -- 10 10000 ;;
  ledgers) set -- 10000 ;;
  context | corrections) set -- 100000 ;;
  headers) set -- 900000 ;;
  check) set -- 1000 ;;
  replay | trace) set -- 10000 ;;
  search) set -- 1000000 ;;
  esac
fi
program=ledgers
case "$part" in ask | check | context | corrections | council | sanitize | judge | headers | replay | trace | search) program=bench ;; esac

profile="${PROFILE:-release}"
if [[ "$part" == reports ]]; then
  exec cargo test --profile "$profile" --locked --quiet --test gently -- --ignored --exact --nocapture reports::a_million_answers_are_counted
fi
cargo build --profile "$profile" --locked --quiet --bin gently --test "$program"
target="${CARGO_TARGET_DIR:-target}/${profile/#dev/debug}"
# The newest of the test programs of that name is the one just built.
bench="$(find "$target/deps" -maxdepth 1 -name "$program-*" -type f -executable -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d' ' -f2-)"
dir="${BENCH_DIR:-target/bench}"
mkdir -p "$dir"
work="$(cd -- "$(mktemp -d "$dir/home.XXXXXX")" && pwd)"
trap 'rm -rf -- "$work"' EXIT

echo "$(date -u +%FT%TZ) · $(nproc) processors: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1) · load $(cut -d' ' -f1-3 /proc/loadavg) · $(df --output=fstype "$work" | tail -n 1)"
if [[ "$part" == sanitize ]]; then
  "$bench" sanitize "${RUNS:-5}" "$@"
  exit 0
elif [[ "$part" == judge ]]; then
  "$bench" judge
  exit 0
elif [[ "$part" == council ]]; then
  echo "                                             median  90th percentile, milliseconds"
  "$bench" council "$target/gently" "$work/home" "${RUNS:-20}"
  exit 0
elif [[ "$part" == make ]]; then
  "$bench" --make "$1" "$(realpath -m -- "$2")"
  exit 0
elif [[ "$part" == measure ]]; then
  for home in "$@"; do
    echo
    "$bench" --measure "$(realpath -- "$home")"
  done
  exit 0
elif [[ "$part" == ledgers ]]; then
  for count in "$@"; do
    echo
    "$bench" --ledgers "$count" "$work/$count"
    rm -rf -- "${work:?}/$count"
  done
  exit 0
fi
if [[ "$part" == replay ]]; then
  for count in "$@"; do
    "$bench" replay "$target/gently" "$work/$count" "$count"
    rm -rf -- "${work:?}/$count"
  done
  exit 0
fi
if [[ "$part" == trace ]]; then
  echo "                                             median  90th percentile, milliseconds"
  for count in "$@"; do
    "$bench" trace "$target/gently" "$work/$count" "$count" "${RUNS:-3}"
    rm -rf -- "${work:?}/$count"
  done
  exit 0
fi
if [[ "$part" == search ]]; then
  echo "                                             median  90th percentile, milliseconds"
  for count in "$@"; do
    "$bench" search "$target/gently" "$work/$count" "$count" "${RUNS:-100}"
    rm -rf -- "${work:?}/$count"
  done
  exit 0
fi
if [[ "$part" == headers ]]; then
  echo "                                             median  90th percentile, milliseconds"
  for count in "$@"; do
    "$bench" headers "$work/$count" "$count" "${RUNS:-5}"
    rm -rf -- "${work:?}/$count"
  done
  exit 0
fi
if [[ "$part" == context ]]; then
  echo "                                             median  90th percentile, milliseconds"
  for count in "$@"; do
    "$bench" context "$work/$count" "$count" "${RUNS:-200}"
    rm -rf -- "${work:?}/$count"
  done
  exit 0
fi
if [[ "$part" == corrections ]]; then
  echo "                                             median  90th percentile, milliseconds"
  for count in "$@"; do
    "$bench" corrections "$target/gently" "$work/$count" "$count" "${RUNS:-200}"
    rm -rf -- "${work:?}/$count"
  done
  exit 0
fi
if [[ "$part" == check ]]; then
  echo "                                             median  90th percentile, milliseconds"
  for count in "$@"; do
    "$bench" history "$work/$count" "$count"
    "$bench" check "$target/gently" "$work/$count" "${RUNS:-200}"
    rm -rf -- "${work:?}/$count"
  done
  exit 0
fi
echo "                                             median  90th percentile, milliseconds"
"$bench" start "$target/gently" "${PAIRS:-100}"
for count in "$@"; do
  echo
  "$bench" history "$work/$count" "$count"
  "$bench" ask "$target/gently" "$work/$count" "${PAIRS:-100}"
  if llm="$(command -v llm)"; then
    "$bench" beside "$llm" "$target/gently" "$work/$count" "${PAIRS:-100}"
  else
    echo "beside llm: skipped, as no llm is on the PATH (pip install llm)"
  fi
  rm -rf -- "${work:?}/$count"
done
