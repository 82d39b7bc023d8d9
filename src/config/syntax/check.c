/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.c - reports problems with the place of a value in the file. */
#include "config/syntax/check.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "config/syntax/quote.h"

/* Size of all problems together: 20 lines, each with a path and a few quoted texts. */
#define PROBLEMS_MAX_BYTES (256u * 1024u)
#define PROBLEM_MAX_BYTES (8u * 1024u)
#define PATH_NAME_CHARS 64u

void cw_config_problems_init(cw_config_problems *problems)
{
    problems->n = 0;
    problems->total = 0;
    cw_arena_init(&problems->arena, PROBLEMS_MAX_BYTES);
}

void cw_config_problems_done(cw_config_problems *problems)
{
    problems->n = 0;
    problems->total = 0;
    cw_arena_done(&problems->arena);
}

static bool is_plain_name(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') &&
            (c < 'a' || c > 'z'))
            return false;
    }
    return name.n > 0 && name.n <= PATH_NAME_CHARS;
}

/* Paths are as deep as the table of keys, never as deep as the file. */
static void add_path(cw_buf *line, const cw_place *place)
{
    if (!place->up)
        return;
    add_path(line, place->up);
    if (!place->name.p) {
        cw_buf_printf(line, "[%zu]", place->index);
        return;
    }
    if (place->up->up)
        cw_buf_add_char(line, '.');
    char exposed[CW_EXCERPT_SIZE];
    if (is_plain_name(place->name))
        cw_buf_add(line, place->name);
    else
        cw_buf_add(line, cw_str_from(cw_excerpt(place->name, exposed)));
}

static void add_where(cw_buf *line, const cw_checker *c, cw_yaml_pos pos)
{
    if (!c->file)
        return;
    cw_quote_bare(line, cw_str_from(c->file));
    if (pos.line)
        cw_buf_printf(line, ":%u:%u", pos.line, pos.column);
    cw_buf_add(line, CW_STR(": "));
}

/* Count a problem. True when there are enough already, so that a file with a million mistakes costs
 * no more than one with a few. */
static bool is_enough(cw_checker *c)
{
    c->problems->total++;
    return c->problems->n == CW_CONFIG_MAX_PROBLEMS;
}

static cw_code keep(cw_checker *c, cw_yaml_pos pos, cw_buf *line)
{
    cw_config_problems *p = c->problems;
    cw_code rc = line->code;
    if (!rc) {
        const char *text = cw_arena_dup(&p->arena, line->p, line->n);
        if (text)
            p->items[p->n++] = (cw_config_problem){text, pos.line, pos.column};
        else
            rc = cw_arena_code(&p->arena);
    }
    cw_buf_done(line);
    return rc ? cw_fail(c->err, rc, "%s", cw_code_text(rc)) : CW_OK;
}

static cw_yaml_pos locate(const cw_checker *c, const cw_json *at)
{
    return c->doc && at ? cw_yaml_locate(c->doc, at) : (cw_yaml_pos){0};
}

uint32_t cw_check_line(const cw_checker *c, const cw_json *v)
{
    return locate(c, v).line;
}

static void begin(cw_checker *c, const cw_place *place, cw_yaml_pos pos, cw_buf *line)
{
    cw_buf_init(line, PROBLEM_MAX_BYTES);
    add_where(line, c, pos);
    if (place && place->up) {
        add_path(line, place);
        cw_buf_add(line, CW_STR(": "));
    }
}

/* Below "secret" of an entry of a list, or in its headers and variables. The items of `params` have names of their own. */
static bool is_secret_place(const cw_place *place)
{
    for (; place && place->up; place = place->up) {
        bool is_of_item = !place->up->name.p && place->up->up;
        bool holds_values =
            cw_str_is(place->name, "headers") || cw_str_is(place->name, "environment");
        if (place->name.p && (holds_values || (is_of_item && cw_str_is(place->name, "secret"))))
            return true;
    }
    return false;
}

/* Add a text. Problems get into logs, so a secret in a wrong place is not repeated, nor the user name, the password or the
 * query of a URL. */
static void add_text(cw_buf *line, const cw_place *place, cw_str text)
{
    char exposed[CW_EXCERPT_SIZE];
    const char *scheme = text.p && text.n ? memmem(text.p, text.n, "://", 3) : NULL;
    const char *query = scheme ? memchr(text.p, '?', text.n) : NULL;
    if (text.n && is_secret_place(place))
        cw_buf_add(line, CW_STR("a text that is not shown"));
    else if (scheme && memchr(scheme, '@', (size_t)(text.p + text.n - scheme)))
        cw_buf_add(line, CW_STR("a URL with a user name, which is not shown"));
    else if (query)
        cw_buf_printf(line, "%s and a query",
                      cw_excerpt(cw_str_make(text.p, (size_t)(query - text.p)), exposed));
    else
        cw_buf_add(line, cw_str_from(cw_excerpt(text, exposed)));
}

static void add_value(cw_buf *line, const cw_place *place, const cw_json *v)
{
    switch (cw_json_type_of(v)) {
    case CW_JSON_NULL:
        cw_buf_add(line, CW_STR("nothing"));
        return;
    case CW_JSON_STRING:
        add_text(line, place, cw_json_text(v));
        return;
    case CW_JSON_ARRAY:
        cw_buf_add(line, CW_STR("a list"));
        return;
    case CW_JSON_OBJECT:
        cw_buf_add(line, CW_STR("a mapping"));
        return;
    case CW_JSON_FALSE:
    case CW_JSON_TRUE:
    case CW_JSON_NUMBER:
    case CW_JSON_END:
        break;
    }
    cw_str text = cw_json_text(v);
    bool is_long = text.n > CW_EXCERPT_CHARS;
    cw_buf_add(line, cw_str_make(text.p, is_long ? CW_EXCERPT_CHARS : text.n));
    if (is_long)
        cw_buf_add(line, CW_STR("..."));
}

cw_code cw_check_problem(cw_checker *c, const cw_place *place, const cw_json *at, const char *fmt,
                         ...)
{
    if (is_enough(c))
        return CW_OK;
    cw_yaml_pos pos = locate(c, at);
    cw_buf line;
    begin(c, place, pos, &line);
    va_list args;
    va_start(args, fmt);
    char *message = cw_arena_vprintf(&c->problems->arena, fmt, args);
    va_end(args);
    if (message)
        cw_buf_add(&line, cw_str_from(message));
    else
        line.code = cw_arena_code(&c->problems->arena);
    return keep(c, pos, &line);
}

cw_code cw_check_expected(cw_checker *c, const cw_place *place, const cw_json *got,
                          const char *expected, const char *why)
{
    if (is_enough(c))
        return CW_OK;
    cw_yaml_pos pos = locate(c, got);
    cw_buf line;
    begin(c, place, pos, &line);
    cw_buf_printf(&line, "expected %s, got ", expected);
    add_value(&line, place, got);
    if (why)
        cw_buf_printf(&line, " (%s)", why);
    return keep(c, pos, &line);
}

/* The same at a known position and without a path: a text that is no document at all. */
static cw_code report_syntax(cw_checker *c, cw_yaml_pos pos, const char *message)
{
    if (is_enough(c))
        return CW_OK;
    cw_buf line;
    begin(c, NULL, pos, &line);
    cw_buf_add(&line, cw_str_from(message));
    return keep(c, pos, &line);
}

cw_code cw_check_read(cw_checker *c, cw_str text, cw_arena *arena, cw_yaml *ret)
{
    cw_yaml_pos pos;
    cw_err syntax = {0};
    cw_code rc = cw_yaml_read(text, arena, ret, &pos, &syntax);
    if (rc != CW_PARSE && rc != CW_LIMIT)
        return rc ? cw_fail(c->err, rc, "%s", syntax.msg) : CW_OK;
    rc = report_syntax(c, pos, syntax.msg);
    return rc ? rc : CW_CONFIG;
}

cw_code cw_check_fail(const cw_config_problems *problems, cw_err *err)
{
    if (problems->total == 1)
        return cw_fail(err, CW_CONFIG, "%s", problems->items[0].text);
    return cw_fail(err, CW_CONFIG, "%.160s (and %zu more)", problems->items[0].text,
                   problems->total - 1);
}

cw_code cw_check_copy(cw_checker *c, cw_str text, cw_str *ret)
{
    cw_str copy = cw_arena_dup_str(c->arena, text);
    if (!copy.p)
        return cw_arena_fail(c->arena, c->err);
    *ret = copy;
    return CW_OK;
}

/* The folder part of the file name with its slash: "" when the file has none. */
static cw_str folder_of(const char *file)
{
    const char *slash = file ? strrchr(file, '/') : NULL;
    return slash ? cw_str_make(file, (size_t)(slash - file) + 1) : CW_STR("");
}

cw_code cw_check_resolve(cw_checker *c, cw_str path, cw_str *ret)
{
    if (path.n && path.p[0] == '/')
        return cw_check_copy(c, path, ret);
    cw_str folder = folder_of(c->file);
    char cwd[PATH_MAX] = "";
    if ((!folder.n || folder.p[0] != '/') && !getcwd(cwd, sizeof cwd))
        return cw_fail_errno(c->err, errno, "current folder");
    char *joined = cw_arena_printf(c->arena, "%s%s%.*s%.*s", cwd, cwd[0] && cwd[1] ? "/" : "",
                                   CW_STR_ARG(folder), CW_STR_ARG(path));
    if (!joined)
        return cw_arena_fail(c->arena, c->err);
    *ret = cw_str_from(joined);
    return CW_OK;
}

bool cw_check_is_clean(cw_str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f)
            return false;
    return text.n > 0;
}
