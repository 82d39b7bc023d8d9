#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Instructions per validation (or per read and validation, per compilation), by callgrind: the
# difference of two runs, so that start-up does not count.
# Usage: instructions.sh BENCH_SCHEMA [WHAT...], WHAT: validate, both, compile
set -eu

bench=$1
shift
[ $# -gt 0 ] || set -- validate both compile

count() { # WHAT DOC N: instructions of a run
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" --callgrind "$1" "$2" "$3" 2>&1 >/dev/null |
        sed -n 's/.*Collected : *//p'
}

for what in "$@"; do
    for doc in flat5 nested3 uneval arr1000; do
        # Enough that what differs between two starts does not count.
        n=1000
        [ "$doc" != arr1000 ] || n=50
        few=$(count "$what" "$doc" 2)
        many=$(count "$what" "$doc" $((n + 2)))
        echo "$doc $what $few $many $n" |
            awk '{ printf "%-8s %-8s %10d instructions\n", $1, $2, ($4 - $3) / $5 }'
    done
done
