/* SPDX-License-Identifier: GPL-2.0-or-later */
/* json_fixture.h - an arena for each test, and JSON documents from text.
 *
 *     TEST_WITH(a_number_is_read, cw_arena *a)
 *     {
 *         assert_str(span_of(must_read(a, "1.0")), "1.0");
 *     }
 *     ... arena_test(a_number_is_read) ...
 *
 * Ownership: documents lie in the arena of the caller.
 */
#ifndef CW_TESTS_JSON_FIXTURE_H
#define CW_TESTS_JSON_FIXTURE_H

#include "base/arena.h"
#include "json/write.h"
#include "support/assert_str.h"
#include "support/patience.h"

#define TEST_ARENA_MAX ((size_t)512 << 20)

/* A setup and teardown that give every test an arena in *state. */
int arena_setup(void **state);
int arena_teardown(void **state);
#define arena_test(f) cmocka_unit_test_setup_teardown(f, arena_setup, arena_teardown)

/* The bytes in memory of exactly their size, so that a sanitizer catches a read beyond them. */
cw_str exact_copy(cw_arena *a, cw_str text);
/* Read an exact copy. Fails as cw_json_read does. */
cw_code try_read(cw_arena *a, cw_str text, const cw_json_opts *opts, const cw_json **ret);
/* Read an exact copy; an error fails the test. */
__attribute__((returns_nonnull)) const cw_json *must_read_opts(cw_arena *a, cw_str text,
                                                               const cw_json_opts *opts);
__attribute__((returns_nonnull)) const cw_json *must_read(cw_arena *a, const char *text);
/* Read without a copy: the text must live as long as the document. An error fails the test. */
__attribute__((returns_nonnull)) const cw_json *json_of(cw_arena *a, const char *text);

/* The text of a string, the bytes of a value; "(nothing)" for NULL. */
cw_str text_of(const cw_json *v);
cw_str span_of(const cw_json *v);

#endif
