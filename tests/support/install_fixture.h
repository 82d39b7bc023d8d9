/* SPDX-License-Identifier: GPL-2.0-or-later */
/* install_fixture.h - edits of one text, and the properties that every edit has.
 *
 *     static const edit_fixture codex = {&cw_install_toml, {.section = "mcp_servers", .name = "ours"},
 *                                        "{\"command\": \"x\"}"};
 *
 *     assert_put(&codex, "", "[mcp_servers.ours]\ncommand = \"x\"\n");
 *     assert_round_trip(&codex, "model = \"m\"\n");
 *
 * Programs that use it compile the editors (install_edit).
 */
#ifndef CW_TESTS_INSTALL_FIXTURE_H
#define CW_TESTS_INSTALL_FIXTURE_H

#include "cli/install/edit.h"
#include "support/test.h"

typedef struct edit_fixture {
    const cw_install_format *format;
    cw_install_place at;
    const char *value; /* of the entry, as JSON */
} edit_fixture;

/* The entry is added or replaced, and the result is `expected`. A second time changes nothing. */
void assert_put(const edit_fixture *f, const char *text, const char *expected);
/* The entry is removed, the section with it if `drops_section`. */
void assert_removed(const edit_fixture *f, const char *text, bool drops_section,
                    const char *expected);
/* Adding fails with this code, nothing is appended, and the message has this part. */
void assert_refused(const edit_fixture *f, cw_str text, cw_code code, const char *part);
/* Adding and removing the entry gives the same bytes. */
void assert_round_trip(const edit_fixture *f, const char *text);
/* Adding to every beginning of the text, and to the text without each of its bytes, fails or only
 * inserts bytes; then the text is recognised as the origin, and removing leaves no entry. */
void assert_all_cuts(const edit_fixture *f, const char *text);
/* The properties of assert_all_cuts for one text. Returns whether the entry was added. */
bool check_edits(const edit_fixture *f, cw_str text);

#endif
