/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz.h - what every fuzz target needs. */
#ifndef CW_TESTS_FUZZ_H
#define CW_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Not assert(): it must hold in every build. */
#define CHECK(what)                                                                                \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            fprintf(stderr, "does not hold: %s (line %d)\n", #what, __LINE__);                     \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
