/* SPDX-License-Identifier: GPL-2.0-or-later */
/* views.c - reads the views of tools, and puts them into their marks. */
#include "source/remote/views.h"

#include "base/file.h"
#include "base/percent.h"
#include "catalogue/ui.h"

/* "ui://SOURCE/METHOD.html" */
static cw_code make_uri(cw_remote *r, const cw_method *m, cw_str *ret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf uri;
    cw_buf_init(&uri, CW_RESOURCE_MAX_URI);
    cw_buf_add(&uri, CW_STR(CW_UI_SCHEME));
    cw_percent_encode(&uri, r->base.name);
    cw_buf_add_char(&uri, '/');
    cw_percent_encode(&uri, m->id);
    cw_buf_add(&uri, CW_STR(".html"));
    if (uri.code)
        return cw_fail_nomem(err);
    *ret = cw_arena_dup_str(&r->arena, cw_buf_str(&uri));
    return ret->p ? CW_OK : cw_arena_fail(&r->arena, err);
}

static cw_code read_html(cw_remote_views *views, cw_remote *r, cw_str file, cw_str *ret,
                         cw_err *err)
{
    if (views->file.n && cw_str_eq(file, views->file)) {
        *ret = views->html;
        return CW_OK;
    }
    CW_CLEANUP(cw_buf_done) cw_buf html;
    cw_buf_init(&html, CW_UI_MAX_BYTES);
    cw_code rc = cw_file_read(file.p, CW_FILE_PLAIN, &html, err);
    if (rc == CW_LIMIT)
        return cw_fail(err, CW_PARAMS, "ui_file '%s' is larger than %u KB", file.p,
                       CW_UI_MAX_BYTES >> 10);
    if (!rc)
        rc = cw_ui_check_html(cw_buf_str(&html), err);
    if (rc)
        return rc == CW_NOMEM ? rc : cw_wrap(err, CW_PARAMS, "ui_file '%s'", file.p);
    *ret = cw_arena_dup_str(&r->arena, cw_buf_str(&html));
    views->file = file;
    views->html = *ret;
    return ret->p ? CW_OK : cw_arena_fail(&r->arena, err);
}

/* Warn of a view that may reach other servers, or parts of the machine. */
static void warn(const cw_remote_views *views, const cw_method *m, const cw_ui *ui)
{
    static const char *const words[] = {"connectDomains", "permissions"};
    for (size_t i = 0; i < CW_COUNT(words) && ui->meta.n; i++) {
        if (memmem(ui->meta.p, ui->meta.n, words[i], strlen(words[i])))
            cw_buf_add_line(views->warnings, "method '%.*s': its view asks for %s",
                            CW_STR_ARG(m->id), words[i]);
    }
}

/* The object that the operator has written, or NULL, and the address of the view. */
static cw_code find_view(cw_remote *r, const cw_config_overlay *o, const cw_method *m,
                         cw_arena *scratch, const cw_json **ret, cw_str *ret_uri, cw_err *err)
{
    const cw_json *more = NULL;
    const cw_json_opts deep = {.max_bytes = m->mark->more.n + 1,
                               .max_depth = CW_JSON_DEPTH_CEILING};
    cw_code rc = o->ui.n ? cw_json_read(o->ui, NULL, scratch, ret, NULL, err) : CW_OK;
    if (rc || o->ui_file.n)
        return rc ? rc : make_uri(r, m, ret_uri, err);
    if (o->ui.n || !m->mark->more.n)
        return CW_OK;
    rc = cw_json_read(m->mark->more, &deep, scratch, &more, NULL, err);
    cw_str uri = rc ? CW_STR("") : cw_ui_uri_of(more);
    if (uri.n)
        *ret_uri = uri;
    return rc;
}

static cw_code add_view(cw_remote_views *views, cw_remote *r, const cw_config_overlay *o,
                        cw_method *m, cw_arena *scratch, cw_err *err)
{
    const cw_json *given = NULL;
    cw_str uri = CW_STR("");
    bool is_ours = o->ui.n || o->ui_file.n;
    cw_code rc = find_view(r, o, m, scratch, &given, &uri, err);
    if (rc || (!given && !uri.n))
        return rc;
    cw_ui *ui = cw_arena_calloc(&r->arena, 1, sizeof *ui);
    cw_mark *mark = cw_arena_alloc(&r->arena, sizeof *mark);
    if (!ui || !mark)
        return cw_arena_fail(&r->arena, err);
    rc = cw_ui_read(given, uri, &r->arena, ui, err);
    /* After a mistake of the server, the tool is shown without the view. */
    if (rc == CW_PARAMS && !is_ours)
        ui->uri = CW_STR("");
    else if (rc)
        return rc == CW_PARAMS ? cw_wrap(err, rc, "ui") : rc;
    if (o->ui_file.n) {
        rc = read_html(views, r, o->ui_file, &ui->html, err);
        if (rc)
            return rc == CW_PARAMS ? cw_wrap(err, rc, "ui") : rc;
    }
    warn(views, m, ui);
    *mark = *m->mark;
    mark->ui = ui;
    m->mark = mark;
    return is_ours ? cw_ui_write_more(ui, mark->more, &r->arena, &mark->more, err) : CW_OK;
}

cw_code cw_remote_add_view(cw_remote_views *views, cw_remote *r, const cw_config_overlay *o,
                           cw_method *m, cw_err *err)
{
    if (!o->ui.n && !o->ui_file.n && !m->mark->more.n)
        return CW_OK;
    CW_CLEANUP(cw_arena_done) cw_arena scratch;
    cw_arena_init(&scratch, CW_ARENA_MAX);
    return add_view(views, r, o, m, &scratch, err);
}
