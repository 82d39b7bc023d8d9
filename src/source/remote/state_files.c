/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state_files.c - files of the state's folder. */
#include "source/remote/state_files.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/file_replace.h"
#include "json/write.h"
#include "source/describe/describe.h"
#include "source/remote/required_access.h"

#define PATH_SIZE 4096u
#define DESCRIPTION_MAX (CW_DESCRIBE_DOCUMENT_MAX + CW_REQUIRED_ACCESS_MAX + 65536u)
#define STATUS_MAX 65536u
#define MEMBERS_MAX ((1u << 24) - 1) /* the maximum of json.h */

static cw_str text_of(const cw_json *root, const char *key)
{
    const cw_json *v = cw_json_get(root, cw_str_from(key));
    return cw_json_is(v, CW_JSON_STRING) ? cw_json_text(v) : CW_STR("");
}

static int64_t number_of(const cw_json *root, const char *key)
{
    const cw_json *v = cw_json_get(root, cw_str_from(key));
    int64_t n = 0;
    if (v)
        cw_json_to_i64(v, &n);
    return n;
}

static cw_code path_of(cw_str folder, cw_str name, const char *kind, char out[PATH_SIZE],
                       cw_err *err)
{
    if (folder.n == 0)
        return cw_fail(err, CW_GONE, "state.directory is not set");
    int n =
        snprintf(out, PATH_SIZE, "%.*s/%.*s.%s.json", CW_STR_ARG(folder), CW_STR_ARG(name), kind);
    return n > 0 && (size_t)n < PATH_SIZE ? CW_OK : cw_fail(err, CW_LIMIT, "the path is too long");
}

/* A command that root runs must not make a file inaccessible to a server of another user. */
static cw_code give_to_owner(cw_str folder, const char *path, cw_err *err)
{
    struct stat st;
    if (geteuid() != 0)
        return CW_OK;
    if (stat(folder.p, &st) || lchown(path, st.st_uid, st.st_gid))
        return cw_fail_errno(err, errno, "set the owner of '%s'", path);
    return CW_OK;
}

/* Write a file. The folder is made when it is first needed. */
static cw_code save(cw_str folder, cw_str name, const char *kind, cw_str bytes,
                    cw_file_replace_sync sync, cw_err *err)
{
    char path[PATH_SIZE];
    cw_code rc = path_of(folder, name, kind, path, err);
    if (rc)
        return rc;
    if (mkdir(folder.p, 0700) && errno != EEXIST)
        return cw_fail_errno(err, errno, "make '%s'", folder.p);
    rc = cw_file_replace(path, bytes, 0600, sync, err);
    return rc ? rc : give_to_owner(folder, path, err);
}

/* ---- the description ---- */

cw_code cw_state_save_description(cw_str folder, cw_str name, const cw_state_description *d,
                                  cw_err *err)
{
    if (folder.n == 0)
        return CW_OK;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, DESCRIPTION_MAX);
    cw_json_writer w;
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    cw_json_open_object(&w);
    cw_json_add_i64_member(&w, CW_STR("version"), 1);
    cw_json_add_string_member(&w, CW_STR("at"), d->at);
    cw_json_add_string_member(&w, CW_STR("describe"), d->describe);
    cw_json_add_string_member(&w, CW_STR("kind"), d->kind);
    cw_json_add_bool_member(&w, CW_STR("partial"), d->is_partial);
    cw_json_add_i64_member(&w, CW_STR("accepted_ms"), d->accepted_ms);
    cw_json_add_key(&w, CW_STR("requires"));
    cw_json_add_span(&w, d->requires);
    cw_json_add_key(&w, CW_STR("openrpc"));
    cw_json_add_span(&w, d->openrpc);
    cw_json_close(&w);
    cw_code rc = cw_json_writer_end(&w, err);
    return rc ? rc : save(folder, name, "description", cw_buf_str(&out), CW_FILE_REPLACE_SYNC, err);
}

static cw_code read_description(const cw_json *root, cw_state_description *ret, cw_err *err)
{
    const cw_json *version = cw_json_get(root, CW_STR("version"));
    const cw_json *partial = cw_json_get(root, CW_STR("partial"));
    const cw_json *requires = cw_json_get(root, CW_STR("requires"));
    const cw_json *openrpc = cw_json_get(root, CW_STR("openrpc"));
    uint64_t number = 0;
    bool is_known = version && cw_json_to_u64(version, &number) && number == 1;
    bool is_partial = cw_json_is(partial, CW_JSON_TRUE);
    *ret = (cw_state_description){
        .at = text_of(root, "at"),
        .describe = text_of(root, "describe"),
        .kind = text_of(root, "kind"),
        .is_partial = is_partial,
        .accepted_ms = number_of(root, "accepted_ms"),
    };
    if (!is_known || ret->kind.n == 0 || !(is_partial || cw_json_is(partial, CW_JSON_FALSE)) ||
        !cw_json_is(requires, CW_JSON_OBJECT) || !cw_json_is(openrpc, CW_JSON_OBJECT))
        return cw_fail(err, CW_PARSE, "not a kept description of version 1");
    ret->requires = cw_json_span(requires);
    ret->openrpc = cw_json_span(openrpc);
    return CW_OK;
}

cw_code cw_state_load_description(cw_str folder, cw_str name, cw_arena *arena,
                                  cw_state_description *ret, cw_err *err)
{
    char path[PATH_SIZE];
    struct stat st;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, DESCRIPTION_MAX);
    cw_code rc = path_of(folder, name, "description", path, err);
    if (rc)
        return rc;
    if (stat(path, &st) && errno == ENOENT)
        return cw_fail(err, CW_GONE, "'%s' does not exist", path);
    rc = cw_file_read(path, CW_FILE_PLAIN, &text, err);
    if (rc)
        return rc;
    const cw_json *root = NULL;
    /* The document is deeper here than by itself. */
    const cw_json_opts opts = {.max_bytes = DESCRIPTION_MAX,
                               .max_depth = CW_JSON_DEPTH_CEILING,
                               .max_members = MEMBERS_MAX};
    cw_str copy = cw_arena_dup_str(arena, cw_buf_str(&text));
    rc = copy.p ? cw_json_read(copy, &opts, arena, &root, NULL, err) : cw_arena_fail(arena, err);
    if (!rc)
        rc = read_description(root, ret, err);
    return rc ? cw_wrap(err, rc, "'%s'", path) : CW_OK;
}

/* ---- the status ---- */

static void add_time(cw_json_writer *w, const char *key, int64_t ms)
{
    char text[CW_CLOCK_ISO_LEN + 1];
    cw_json_add_key(w, cw_str_from(key));
    if (ms) {
        cw_clock_format_iso(ms, text);
        cw_json_add_string(w, cw_str_from(text));
    } else {
        cw_json_add_null(w);
    }
}

static void add_number(cw_json_writer *w, const char *key, int64_t value)
{
    cw_json_add_key(w, cw_str_from(key));
    cw_json_add_i64(w, value);
}

cw_code cw_state_save_status(cw_str folder, const cw_source_status *s, cw_err *err)
{
    if (folder.n == 0)
        return CW_OK;
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_buf_init(&out, STATUS_MAX);
    cw_json_writer w;
    cw_json_writer_init(&w, &out, CW_JSON_INDENT);
    cw_json_open_object(&w);
    cw_json_add_string_member(&w, CW_STR("name"), s->name);
    cw_json_add_string_member(&w, CW_STR("state"), s->state);
    add_number(&w, "pid", s->pid);
    add_number(&w, "at_ms", s->at_ms);
    add_number(&w, "since_ms", s->since_ms);
    add_number(&w, "refreshed_ms", s->refreshed_ms);
    add_time(&w, "at", s->at_ms);
    add_time(&w, "since", s->since_ms);
    add_time(&w, "refreshed", s->refreshed_ms);
    add_number(&w, "tools", s->tools);
    add_number(&w, "methods", s->methods);
    add_number(&w, "withheld", s->withheld);
    cw_str problem = s->problem;
    if (problem.n > STATUS_MAX / 16)
        problem.n = STATUS_MAX / 16;
    cw_json_add_string_member(&w, CW_STR("problem"), problem);
    cw_json_close(&w);
    cw_buf_add_char(&out, '\n');
    cw_code rc = cw_json_writer_end(&w, err);
    return rc ? rc : save(folder, s->name, "status", cw_buf_str(&out), CW_FILE_REPLACE_FAST, err);
}

cw_code cw_state_load_status(cw_str folder, cw_str name, cw_arena *arena, cw_source_status *ret,
                             cw_err *err)
{
    char path[PATH_SIZE];
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, STATUS_MAX);
    const cw_json *root = NULL;
    cw_code rc = path_of(folder, name, "status", path, err);
    if (!rc)
        rc = cw_file_read(path, CW_FILE_PLAIN, &text, err);
    if (rc)
        return rc;
    cw_str copy = cw_arena_dup_str(arena, cw_buf_str(&text));
    rc = copy.p ? cw_json_read(copy, NULL, arena, &root, NULL, err) : cw_arena_fail(arena, err);
    if (rc)
        return cw_wrap(err, rc, "'%s'", path);
    *ret = (cw_source_status){
        .name = text_of(root, "name"),
        .state = text_of(root, "state"),
        .pid = number_of(root, "pid"),
        .at_ms = number_of(root, "at_ms"),
        .since_ms = number_of(root, "since_ms"),
        .refreshed_ms = number_of(root, "refreshed_ms"),
        .tools = (uint32_t)number_of(root, "tools"),
        .methods = (uint32_t)number_of(root, "methods"),
        .withheld = (uint32_t)number_of(root, "withheld"),
        .problem = text_of(root, "problem"),
    };
    return CW_OK;
}
