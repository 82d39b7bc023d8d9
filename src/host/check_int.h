/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check_int.h - what the checks of methods (check.c) and of marks (check_marks.c) share.
 *
 * Out of memory is remembered by the buffer of problems.
 */
#ifndef CW_HOST_CHECK_INT_H
#define CW_HOST_CHECK_INT_H

#include "host/hosted.h"

/* The place of a problem: "articles: method 'a.b': ". */
typedef struct cw_check_place {
    cw_hosted *h;
    const char *plugin;
    const char *subject; /* "method 'a.b'", "" for the plugin itself */
    const char *part;    /* "param 'x': " or "" */
} cw_check_place;

void cw_check_problem(const cw_check_place *at, const char *member, const char *text);
/* A name as a problem shows it: control characters and bytes that are not UTF-8 as '?', cut. */
const char *cw_check_shown(cw_hosted *h, const char *text);
/* "method 'a.b'" with something behind it. */
const char *cw_check_subject(cw_hosted *h, const char *kind, const char *name, const char *end);

void cw_check_text(const cw_check_place *at, const char *member, const char *text);
/* A name that must be there. */
void cw_check_name(const cw_check_place *at, const char *member, const char *text);
/* Lists of at most CW_PLUGIN_MAX_NAMES names. */
void cw_check_scopes(const cw_check_place *at, const char *const *scopes);
void cw_check_permissions(const cw_check_place *at, const char *const *permissions);
void cw_check_scope(const cw_check_place *at, cw_str scope);
void cw_check_level(const cw_check_place *at, const char *member, cw_str level);
/* Only a method that `requires_login` can be hidden. */
void cw_check_visibility(const cw_check_place *at, const char *visibility, bool requires_login);
/* Whether a level (.p NULL: none) and scopes require a login. A level that is wrong may be meant
 * so. */
bool cw_check_requires_login(cw_str level, bool has_scopes);
/* JSON of a declaration; NULL when there is none, or it is wrong and the problem is noted. */
const cw_json *cw_check_json(const cw_check_place *at, const char *member, const char *text);
const cw_json *cw_check_object(const cw_check_place *at, const char *member, const char *text);

/* check_marks.c: resources, prompts and completions of methods that have been checked. */
void cw_check_marks(cw_check_place at, const cw_plugin_entry *entry);

#endif
