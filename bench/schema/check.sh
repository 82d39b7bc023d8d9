#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The regression gate: instruction counts against instructions.txt, 5 % tolerance.
# Usage: check.sh BENCH_SCHEMA
set -eu

here=$(dirname "$0")
"$here/instructions.sh" "$1" | awk -v expected="$here/instructions.txt" '
    BEGIN {
        while ((getline line < expected) > 0) {
            if (line !~ /^#/ && split(line, field, " ") == 3)
                most[field[1] " " field[2]] = field[3] * 1.05
        }
    }
    {
        name = $1 " " $2
        over = !(name in most) || $3 > most[name]
        failed += over
        printf "%-8s %-8s %10d of at most %d%s\n", $1, $2, $3, most[name], over ? "  TOO MANY" : ""
    }
    END { exit failed > 0 }
'
