/* SPDX-License-Identifier: GPL-2.0-or-later */
/* schema_fixture.h - compile schemas and validate values with both evaluators.
 *
 *     assert_int_equal(schema_check_text("{\"type\":\"null\"}", "1", NULL), CW_PARAMS);
 */
#ifndef CW_TESTS_SCHEMA_FIXTURE_H
#define CW_TESTS_SCHEMA_FIXTURE_H

#include "json/json.h"
#include "schema/schema.h"
#include "support/test.h"

/* All of a file, in the arena. */
cw_str load_file(cw_arena *a, const char *path);
/* Read a document of any depth, without a copy; an error fails the test. */
const cw_json *read_deep_json(cw_arena *a, cw_str text);
/* Compile; an error fails the test. The caller has one reference. */
cw_schema *must_compile_schema(const char *text, const cw_schema_opts *opts);
/* Validate with the fast and the exhaustive evaluator, which must agree. `scratch` may be NULL. */
cw_code schema_verdict(const cw_schema *s, const cw_json *v, cw_schema_scratch *scratch);
/* The verdict on a schema and an instance in text. */
cw_code schema_check_text(const char *schema, const char *instance, const cw_schema_opts *opts);
/* The result of compiling, with its message in *err. */
cw_code schema_compile_error(const char *schema, const cw_schema_opts *opts, cw_err *err);

#endif
