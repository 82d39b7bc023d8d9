#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Instructions per byte of a read, by callgrind: the difference of two runs, so that start-up does
# not count. Usage: instructions.sh BENCH_JSON [DOC...]
set -eu

bench=$1
shift
[ $# -gt 0 ] || set -- call response list array

count() { # DOC N: instructions of a run with N reads
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" --callgrind "$1" "$2" 2>&1 >/dev/null |
        sed -n 's/.*Collected : *//p'
}

for doc in "$@"; do
    bytes=$("$bench" --callgrind "$doc" 0)
    few=$(count "$doc" 2)
    many=$(count "$doc" 12)
    echo "$doc $bytes $few $many" |
        awk '{ n = ($4 - $3) / 10; printf "%-9s %8d B  %10d instructions  %5.2f per byte\n", $1, $2, n, n / $2 }'
done
