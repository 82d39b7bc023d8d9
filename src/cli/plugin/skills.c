/* SPDX-License-Identifier: GPL-2.0-or-later */
/* skills.c - the skills beside a plugin, as a server would read them. */
#include <stdio.h>

#include "cli/plugin/plugin.h"
#include "source/skills/folder.h"

#define PATH_MAX_BYTES 4096u
#define WARNINGS_MAX_BYTES ((size_t)1 << 20)

static void add_warning(cw_str skill, const char *problem, void *ctx)
{
    cw_buf *lines = ctx;
    size_t from = lines->n;
    cw_buf_printf(lines, "skill '%.*s' would be left out: %s", CW_STR_ARG(skill), problem);
    cw_buf_escape_controls(lines, from);
    cw_buf_add_char(lines, '\n');
}

cw_code cw_plugin_report_skills(cw_plugin_report *report, cw_err *err)
{
    char path[PATH_MAX_BYTES];
    cw_err why = {0};
    CW_CLEANUP(cw_buf_done) cw_buf lines;
    cw_buf_init(&lines, report->warnings.n + WARNINGS_MAX_BYTES);
    cw_buf_add(&lines, report->warnings);
    int n = snprintf(path, sizeof path, "%.*s.skills", CW_STR_ARG(report->stem));
    cw_code rc = n < (int)sizeof path ? cw_skill_folder_read(path, report->name, add_warning,
                                                             &lines, &report->skills, &why)
                                      : cw_fail(&why, CW_LIMIT, "the path is too long");
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc)
        cw_buf_printf(&lines, "skills cannot be read: %s\n", why.msg);
    report->warnings = cw_arena_dup_str(&report->arena, cw_buf_str(&lines));
    return lines.code || !report->warnings.p ? cw_fail_nomem(err) : CW_OK;
}
