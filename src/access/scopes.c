/* SPDX-License-Identifier: GPL-2.0-or-later */
/* scopes.c - the table of known scopes. */
#include "access/scopes.h"

#define NAME_MAX_BYTES 128u

#define SCOPE(name, label, description)                                                            \
    {                                                                                              \
        CW_STR_INIT(name), CW_STR_INIT(label), CW_STR_INIT(description)                            \
    }

static const cw_scope scopes[] = {
    SCOPE("profile", "User Profile", "See who you are: name, language and roles"),
    SCOPE("content:read", "Read Content", "Read access to published content"),
    SCOPE("content:write", "Write Content", "Create content and change it"),
    SCOPE("content:delete", "Delete Content", "Delete content"),
    SCOPE("content_type:read", "Read Content Types",
          "Read access to content types and their fields"),
    SCOPE("user:read", "Read Users", "Read access to user accounts"),
    SCOPE("user:write", "Write Users", "Create user accounts and change them"),
    SCOPE("admin:access", "Administrative Access", "Full administrative access"),
};

const cw_scope *cw_scopes(size_t *ret_n)
{
    *ret_n = CW_COUNT(scopes);
    return scopes;
}

const cw_scope *cw_scope_find(cw_str name)
{
    for (size_t i = 0; i < CW_COUNT(scopes); i++) {
        if (cw_str_eq(scopes[i].name, name))
            return &scopes[i];
    }
    return NULL;
}

bool cw_scope_is_token(cw_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (c < 0x21 || c > 0x7E || c == '"' || c == '\\')
            return false;
    }
    return name.n > 0;
}

bool cw_scope_is_valid(cw_str name)
{
    return name.n <= NAME_MAX_BYTES && cw_scope_is_token(name);
}
