/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c - collects and sorts the problems of a configuration. */
#include "config/report.h"

#include <stdio.h>

#include "base/file.h"
#include "config/syntax/quote.h"

#define MESSAGE_MAX_BYTES 1024u

/* A list of one may stand in the file without brackets: an index then changes nothing. */
static const cw_json *find(const cw_json *root, const cw_place *place)
{
    if (!place->up)
        return root;
    const cw_json *up = find(root, place->up);
    const cw_json *v = NULL;
    if (place->name.p && cw_json_is(up, CW_JSON_OBJECT))
        v = cw_json_get(up, place->name);
    else if (!place->name.p && cw_json_is(up, CW_JSON_ARRAY) && place->index < cw_json_count(up))
        v = cw_json_at(up, place->index);
    return v ? v : up;
}

/* False: the file is gone or is no longer what it was; a report then has no position. */
static bool read_again(const char *file, cw_arena *arena, cw_yaml *ret)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_yaml_pos pos;
    cw_buf_init(&text, CW_CONFIG_MAX_BYTES);
    return file && !cw_file_read(file, CW_FILE_PLAIN, &text, NULL) &&
           !cw_yaml_read(cw_buf_str(&text), arena, ret, &pos, NULL);
}

static cw_code report(cw_config_problems *problems, const char *file, const cw_place *place,
                      cw_str message)
{
    cw_yaml doc;
    cw_arena arena;
    cw_arena_init(&arena, CW_CHECK_DOCUMENT_BYTES);
    cw_checker c = {.file = file, .problems = problems};
    if (read_again(file, &arena, &doc))
        c.doc = &doc;
    cw_code rc = cw_check_problem(&c, place, c.doc ? find(doc.root, place) : NULL, "%.*s",
                                  CW_STR_ARG(message));
    cw_arena_done(&arena);
    return rc;
}

cw_code cw_config_report(cw_config_problems *problems, const char *file, const cw_place *place,
                         const char *fmt, ...)
{
    char message[MESSAGE_MAX_BYTES];
    CW_CLEANUP(cw_buf_done) cw_buf exposed;
    cw_buf_init(&exposed, 8 * MESSAGE_MAX_BYTES);
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    cw_quote_shown(&exposed, cw_str_from(message));
    return exposed.code ? exposed.code : report(problems, file, place, cw_buf_str(&exposed));
}
