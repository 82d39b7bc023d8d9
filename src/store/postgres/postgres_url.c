/* SPDX-License-Identifier: GPL-2.0-or-later */
/* postgres_url.c - the parameters of a connection to PostgreSQL. */
#include "store/postgres/postgres_url.h"

#include <string.h>

#include "base/digits.h"
#include "base/file.h"

#define AUTHORITIES "/etc/ssl/certs/ca-certificates.crt"

static void add(cw_postgres_params *p, const char *keyword, const char *value)
{
    if (p->n == CW_POSTGRES_PARAMS)
        return;
    p->keywords[p->n] = keyword;
    p->values[p->n++] = value;
}

/* The value that the URL gives; NULL: none. */
static const char *given(const cw_postgres_params *p, const char *keyword)
{
    for (const PQconninfoOption *o = p->options; o->keyword; o++) {
        if (strcmp(o->keyword, keyword) == 0)
            return o->val && o->val[0] ? o->val : NULL;
    }
    return NULL;
}

/* ---- safety ---- */

/* Empty: the socket of this machine. */
static bool is_local(cw_str host)
{
    return host.n == 0 || host.p[0] == '/' || host.p[0] == '@' || cw_str_is(host, "localhost") ||
           cw_str_is(host, "::1") || cw_str_starts(host, CW_STR("127."));
}

static bool all_are_local(const char *hosts)
{
    cw_str rest = cw_str_from(hosts);
    bool is_near = true;
    while (rest.p && is_near)
        is_near = is_local(cw_str_cut(rest, ',', &rest));
    return is_near;
}

static bool is_near(const cw_postgres_params *p)
{
    const char *host = given(p, "host"), *address = given(p, "hostaddr");
    return (!host || all_are_local(host)) && (!address || all_are_local(address));
}

static cw_code check_safety(const cw_postgres_params *p, const cw_db_opts *opts, cw_err *err)
{
    const char *mode = given(p, "sslmode");
    if (given(p, "password"))
        return cw_fail(err, CW_CONFIG,
                       "store.url holds a password: move it to the file of store.password_file");
    if (is_near(p) || opts->allow_insecure || !mode || strcmp(mode, "verify-full") == 0)
        return CW_OK;
    return cw_fail(err, CW_CONFIG,
                   "store.url: sslmode=%.20s does not check who answers; use verify-full, or set "
                   "store.allow_insecure",
                   mode);
}

/* ---- parameters ---- */

/* The first line of the file. */
static cw_code read_password(cw_postgres_params *p, const char *path, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, sizeof p->password - 1);
    cw_code rc = cw_file_read(path, CW_FILE_PLAIN, &text, err);
    if (rc)
        return cw_wrap(err, rc, "store.password_file");
    size_t n = 0;
    while (n < text.n && text.p[n] != '\n' && text.p[n] != '\r' && text.p[n] != '\0')
        n++;
    if (n)
        memcpy(p->password, text.p, n);
    if (text.p)
        explicit_bzero(text.p, text.n);
    return n ? CW_OK : cw_fail(err, CW_CONFIG, "store.password_file: '%s' is empty", path);
}

/* What the URL may replace. */
static void add_defaults(cw_postgres_params *p, const cw_db_opts *opts)
{
    if (!is_near(p) && !opts->allow_insecure) {
        add(p, "sslmode", "verify-full");
        add(p, "sslrootcert", AUTHORITIES);
    }
    add(p, "host", ""); /* else the environment would choose one that was not checked */
    add(p, "application_name", "causeway");
    add(p, "keepalives_idle", "5");
    add(p, "keepalives_interval", "2");
    add(p, "keepalives_count", "2");
    add(p, "tcp_user_timeout", "2000");
    add(p, "gssencmode", "disable");
}

static void add_forced(cw_postgres_params *p, uint32_t timeout_ms)
{
    char digits[CW_DIGITS_SIZE];
    /* libpq takes at least 2 s. */
    uint64_t seconds = timeout_ms <= 2000 ? 2 : (timeout_ms + 999) / 1000;
    cw_str text = cw_digits_u64(seconds, digits);
    memcpy(p->timeout, text.p, text.n);
    p->timeout[text.n] = '\0';
    add(p, "connect_timeout", p->timeout);
    add(p, "target_session_attrs", "read-write");
    add(p, "client_encoding", "UTF8");
    if (p->password[0])
        add(p, "password", p->password);
}

static void append(cw_postgres_params *p, const char *text)
{
    size_t at = strlen(p->name), room = CW_POSTGRES_NAME - 1 - at, n = strnlen(text, room);
    memcpy(p->name + at, text, n);
    p->name[at + n] = '\0';
}

static void set_name(cw_postgres_params *p)
{
    const char *host = given(p, "host"), *database = given(p, "dbname");
    if (!host)
        host = given(p, "hostaddr");
    append(p, host ? host : "local");
    append(p, "/");
    append(p, database ? database : "");
}

cw_code cw_postgres_params_init(cw_postgres_params *p, const cw_libpq *pq, const cw_db_opts *opts,
                                cw_err *err)
{
    *p = (cw_postgres_params){.pq = pq};
    char *why = NULL;
    p->options = pq->conninfo_parse(opts->where, &why);
    if (!p->options) {
        /* The reason may quote the URL. */
        pq->freemem(why);
        return cw_fail(err, CW_CONFIG, "store.url is not a URL of PostgreSQL");
    }
    cw_code rc = check_safety(p, opts, err);
    if (!rc && opts->password_file && opts->password_file[0])
        rc = read_password(p, opts->password_file, err);
    if (rc)
        return rc;
    set_name(p);
    add_defaults(p, opts);
    for (const PQconninfoOption *o = p->options; o->keyword; o++) {
        if (o->val && o->val[0])
            add(p, o->keyword, o->val);
    }
    add_forced(p, opts->timeout_ms);
    return CW_OK;
}

void cw_postgres_params_done(cw_postgres_params *p)
{
    explicit_bzero(p->password, sizeof p->password);
    if (p->options)
        p->pq->conninfo_free(p->options);
    p->options = NULL;
}
