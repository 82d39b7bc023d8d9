/* SPDX-License-Identifier: GPL-2.0-or-later */
/* openrpc_fixture.h - OpenRPC documents read from text.
 *
 *     openrpc_result r = openrpc_read_text(&openrpc_plugin_opts, "{...}");
 *     assert_int_equal(r.rc, CW_OK);
 *     openrpc_result_done(&r);
 */
#ifndef CW_TESTS_OPENRPC_FIXTURE_H
#define CW_TESTS_OPENRPC_FIXTURE_H

#include "base/buf.h"
#include "source/openrpc/openrpc.h"
#include "support/assert_str.h"
#include "support/oom.h"

/* The methods of a document, or `rc` and `err`. */
typedef struct openrpc_result {
    cw_arena arena;
    cw_method *methods;
    size_t n;
    cw_code rc;
    cw_err err;
} openrpc_result;

/* How the documents of plugins and of remote services are read. */
extern const cw_openrpc_opts openrpc_plugin_opts, openrpc_remote_opts;

/* Read a document. JSON that cannot be parsed fails the test. */
openrpc_result openrpc_read_text(const cw_openrpc_opts *opts, const char *text);
void openrpc_result_done(openrpc_result *r);

/* `front`, then `n` times `item`, with its "%" replaced by 0, 1, ... and commas in between, then
 * `back`. The caller frees it. */
char *repeat_item(const char *front, const char *item, size_t n, const char *back);

/* The components that the documents of these tests refer to. */
#define OPENRPC_COMPONENTS                                                                         \
    "\"components\":{\"contentDescriptors\":{\"Id\":{\"name\":\"id\",\"schema\":{\"$ref\":\"#/"    \
    "components/schemas/Id\"}},\"Again\":{\"$ref\":\"#/components/contentDescriptors/Id\"}},"      \
    "\"schemas\":{\"Id\":{\"type\":\"integer\",\"default\":7},\"Tree\":{\"type\":\"object\","      \
    "\"properties\":{\"kids\":{\"items\":{\"$ref\":\"#/components/schemas/Tree\"}},\"id\":{"       \
    "\"$ref\":\"#/components/schemas/Id\"}}},\"Loop\":{\"$ref\":\"#/components/schemas/Loop\"},"   \
    "\"Own\":{\"$defs\":{\"x\":{\"type\":\"null\"}},\"anyOf\":[{\"$ref\":\"#/$defs/x\"},{"         \
    "\"$ref\":\"#\"}]}},\"other\":{\"Id\":{\"type\":\"string\"},\"a/b\":false}},"

#endif
