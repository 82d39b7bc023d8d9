/* SPDX-License-Identifier: GPL-2.0-or-later */
/* edit.h - the entry of a server in the configuration file of an MCP client, edited as text.
 *
 * The files belong to other programs, so only the bytes of one entry are added, replaced or removed.
 * Comments, order and indentation of the rest stay. An entry is a named member of a section, which
 * is a member of the root:
 *
 *     {"mcpServers": {"causeway": {"command": …, "args": […]}}, …}      JSON
 *     [mcp_servers.causeway]                                            TOML
 *     extensions:                                                       YAML
 *       causeway:
 *     mcpServers:                                                       YAML, a list
 *       - name: "causeway"
 *
 * After every edit the new text is read again. It must hold the same values as before, apart from
 * the entry; otherwise the edit fails, and the caller leaves the file unchanged.
 *
 *     cw_install_place at = {.section = "mcpServers", .name = "causeway"};
 *     rc = cw_install_put(&cw_install_json, text, &at, value, &arena, &out, err);
 *
 * Ownership: results point into the text or the arena.
 * Threads:   main thread only.
 * Limits:    CW_INSTALL_MAX_BYTES of JSON or TOML, CW_CONFIG_MAX_BYTES of YAML; 64 containers inside
 *            one another (YAML: CW_CONFIG_MAX_DEPTH).
 */
#ifndef CW_CLI_INSTALL_EDIT_H
#define CW_CLI_INSTALL_EDIT_H

#include "base/buf.h"
#include "json/json.h"

#define CW_INSTALL_MAX_BYTES ((size_t)16 << 20)

typedef struct cw_install_place {
    const char *section;
    const char *name; /* letters, digits, '-' and '_' */
    bool is_list;     /* the section is a list; the member "name" of an item is its name */
} cw_install_place;

typedef struct cw_install_found {
    cw_str entry; /* its bytes in the text; .p is NULL when it has none */
    bool has_section;
} cw_install_found;

/* A member of an entry: its path below the entry, and its value. Numbers and dates of TOML are
 * strings. */
typedef void (*cw_install_member_fn)(void *ctx, cw_str entry, const cw_str *path, size_t n,
                                     const cw_json *value);

/* A syntax. All functions fail with CW_PARSE (not this syntax), CW_PARAMS (a section of another type,
 * or a spelling that they do not edit), CW_LIMIT or CW_NOMEM. */
typedef struct cw_install_format {
    /* Find the entry. `others`, unless NULL, gets the values of all other members in a form that
     * depends on no white space or comment between them. */
    cw_code (*find)(cw_str text, const cw_install_place *at, cw_arena *arena, cw_buf *others,
                    cw_install_found *ret, cw_err *err);
    /* Append the text with this entry, an object, to `out`. */
    cw_code (*put)(cw_str text, const cw_install_place *at, const cw_json *value, cw_arena *arena,
                   cw_buf *out, cw_err *err);
    /* Append the text without the entry, which it has. `drops_section`: also without the section if
     * it has no other entry. */
    cw_code (*remove)(cw_str text, const cw_install_place *at, bool drops_section, cw_arena *arena,
                      cw_buf *out, cw_err *err);
    /* Call `fn` for the members of all entries of a section. NULL: this syntax is not read. */
    cw_code (*each)(cw_str text, const char *section, cw_arena *arena, cw_install_member_fn fn,
                    void *ctx, cw_err *err);
} cw_install_format;

extern const cw_install_format cw_install_json; /* with comments and trailing commas */
extern const cw_install_format cw_install_toml;
extern const cw_install_format cw_install_yaml;

/* The functions of a format, and a check that no other value changes. CW_PARAMS: one would. */
CW_MUST_USE cw_code cw_install_put(const cw_install_format *format, cw_str text,
                                   const cw_install_place *at, const cw_json *value,
                                   cw_arena *arena, cw_buf *out, cw_err *err);
CW_MUST_USE cw_code cw_install_remove(const cw_install_format *format, cw_str text,
                                      const cw_install_place *at, bool drops_section,
                                      cw_arena *arena, cw_buf *out, cw_err *err);
/* The same for bytes that an earlier version of the text had as its entry. */
CW_MUST_USE cw_code cw_install_restore(const cw_install_format *format, cw_str text,
                                       const cw_install_place *at, cw_str entry, cw_arena *arena,
                                       cw_buf *out, cw_err *err);
/* Whether `text` is what cw_install_put makes of `base`, whatever the entry is. */
bool cw_install_is_from(const cw_install_format *format, cw_str text, cw_str base,
                        const cw_install_place *at, cw_arena *arena);

/* ---- for the formats ---- */

/* A text that is copied with changes. */
typedef struct cw_install_edit {
    cw_str text;
    cw_buf *out;
    size_t done; /* bytes of the text that are in `out` or left out */
} cw_install_edit;

/* Copy up to this offset; nothing if it has passed. */
void cw_install_copy_to(cw_install_edit *e, size_t at);
/* Copy the rest. Returns the error of the buffer. */
CW_MUST_USE cw_code cw_install_copy_rest(cw_install_edit *e, cw_err *err);
/* The line break of a text: that of its first line, or a line feed. */
cw_str cw_install_newline(cw_str text);
/* The offset of the beginning of a line, and of the next line. */
size_t cw_install_line_begin(cw_str text, size_t at);
size_t cw_install_line_end(cw_str text, size_t at);
bool cw_install_is_blank(cw_str text);
/* Append a value on one line: JSON, which is also YAML and, without objects, TOML. */
void cw_install_add_flow(cw_buf *out, const cw_json *value);

#endif
