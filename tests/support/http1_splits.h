/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http1_splits.h - parse a head whole, split in two at every byte, and byte by byte, and assert
 * that all of them give the same result.
 *
 * Each prefix lies in memory of exactly its size, so that a sanitizer catches a read beyond it.
 */
#ifndef CW_TESTS_HTTP1_SPLITS_H
#define CW_TESTS_HTTP1_SPLITS_H

#include "net/http/http1.h"
#include "support/test.h"

/* A character array without the NUL at its end. */
#define TEXT(array) ((cw_str){(array), sizeof(array) - 1})

extern const cw_http1_limits http1_usual_limits;

/* Parse the first `n` bytes of `text`. */
cw_code http1_parse_prefix(cw_http1_head *h, cw_str text, size_t n);
/* Parse `text` in every split. On return *h is the head as parsed whole. */
cw_code http1_parse_all_splits(cw_http1_head *h, cw_str text, const cw_http1_limits *limits);
void assert_same_http1_head(const cw_http1_head *a, const cw_http1_head *b);

#endif
