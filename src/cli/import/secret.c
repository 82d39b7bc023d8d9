/* SPDX-License-Identifier: GPL-2.0-or-later */
/* secret.c - selects how a secret is sent to a service of unknown kind. The service may store every
 * secret it receives, so the secret is sent in one way only: as requested, or one guess. */
#include <stdlib.h>

#include "base/file.h"
#include "cli/import/import.h"
#include "config/syntax/quote.h"

#define SECRET_MAX 65536u
#define HOW "bearer, basic, header:NAME, first_param or param:NAME"

bool cw_import_has_secret(const cw_import *im)
{
    return im->secret_env || im->secret_file;
}

/* NAME:PASSWORD is for Basic. The later, full read reports an unreadable file. Without memory no
 * guess is made, because it could be wrong. */
static cw_code has_colon(const cw_import *im, bool *ret)
{
    cw_code rc = CW_OK;
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, SECRET_MAX);
    const char *value = im->secret_env ? getenv(im->secret_env) : NULL;
    if (value)
        cw_buf_add(&text, cw_str_from(value));
    else if (im->secret_file)
        rc = cw_file_read(im->secret_file, CW_FILE_PLAIN, &text, NULL);
    if (rc == CW_NOMEM || text.code == CW_NOMEM)
        return CW_NOMEM;
    *ret = !rc && !text.code && text.n && memchr(text.p, ':', text.n);
    return CW_OK;
}

static int read_how(cw_import *im)
{
    char exposed[CW_EXCERPT_SIZE];
    cw_str name, how = cw_str_cut(cw_str_from(im->secret_as), ':', &name);
    bool is_named = cw_str_is(how, "header") || cw_str_is(how, "param");
    bool is_plain =
        cw_str_is(how, "bearer") || cw_str_is(how, "basic") || cw_str_is(how, "first_param");
    if (!is_named && (!is_plain || name.p))
        return cw_cli_usage("--secret-as takes " HOW ", not %s",
                            cw_excerpt(cw_str_from(im->secret_as), exposed));
    if (is_named && name.n == 0)
        return cw_cli_usage("--secret-as %.*s needs a name: %.*s:NAME", CW_STR_ARG(how),
                            CW_STR_ARG(how));
    how = cw_arena_dup_str(&im->arena, how);
    if (!how.p)
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    im->config.secret.as = how;
    im->config.secret.name = is_named ? name : CW_STR("");
    if (cw_str_is(how, "first_param") && !im->preset)
        im->config.params = CW_STR("positional");
    return -1;
}

int cw_import_place_secret(cw_import *im, bool is_http)
{
    bool is_basic = false;
    if (im->secret_as && !cw_import_has_secret(im))
        return cw_cli_usage("--secret-as needs --secret-env or --secret-file");
    if (im->secret_as)
        return read_how(im);
    /* The kind of service says how. */
    if (im->preset || !cw_import_has_secret(im))
        return -1;
    if (!is_http)
        return cw_cli_usage(
            "say how it is shown the secret: --secret-as first_param or param:NAME, or "
            "--preset with its kind");
    if (has_colon(im, &is_basic))
        return cw_cli_failure("%s", cw_code_text(CW_NOMEM));
    im->config.secret.as = is_basic ? CW_STR("basic") : CW_STR("bearer");
    return -1;
}

cw_str cw_import_secret_word(const cw_import *im)
{
    const cw_config_remote *preset = cw_preset_find(im->config.preset);
    cw_str usual = preset && preset->secret.as.n ? preset->secret.as : CW_STR("bearer");
    cw_str as = im->config.secret.as;
    /* A service that takes the secret as a param describes itself without it, so an accepted guess
     * proves nothing. */
    bool is_unproven = !im->secret_as && cw_str_is(usual, "first_param");
    return is_unproven || cw_str_eq(as, usual) ? CW_STR("") : as;
}

int cw_import_report_login(const cw_import *im)
{
    if (!cw_import_has_secret(im))
        return cw_cli_failure(
            "the service requires credentials: name the secret with --secret-env or "
            "--secret-file");
    const cw_config_remote *preset = cw_preset_find(im->config.preset);
    cw_str as = im->config.secret.as;
    if (!as.n && preset)
        as = preset->secret.as;
    return cw_cli_failure("it refuses our credentials, shown as %s; --secret-as says how: " HOW,
                          as.n ? as.p : "bearer");
}
