/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json_int.h - what the files of src/json share among themselves. */
#ifndef CW_JSON_JSON_INT_H
#define CW_JSON_JSON_INT_H

#include "json/json.h"

/* Stands in the arena right in front of a decoded string's characters, so that a value of 16 bytes
 * still finds the source it came from. */
typedef struct decoded_head {
    const char *raw; /* the opening quote */
    size_t raw_n;    /* both quotes included */
} decoded_head;

/* The nearest double of 0.d1d2... x 10^top, from `n` ASCII digits with d1 not 0. Any `n`; infinite
 * beyond the range. */
double cw_json_digits_to_double(const char *digits, size_t n, int64_t top);

#define CW_JSON_DOUBLE_MAX 32
/* Print a finite double; returns the length, no NUL. */
size_t cw_json_format_double(double value, char out[CW_JSON_DOUBLE_MAX]);

#endif
