/* SPDX-License-Identifier: GPL-2.0-or-later */
/* no_services.c - functions of services that test_registry.c links with: its services have no connection,
 * no lock and no state. */
#include "source/registry/registry_int.h"
#include "source/remote/last_good.h"
#include "support/test.h"

void cw_shared_conn_close(cw_shared_conn *shared, bool loops_ended)
{
    (void)loops_ended;
    assert_null(shared);
}

size_t cw_shared_conn_end_sessions(cw_shared_conn *shared, void (*on_end)(void *ctx), void *ctx)
{
    (void)on_end;
    (void)ctx;
    assert_null(shared);
    return 0;
}

const char *cw_shared_conn_protocol(const cw_shared_conn *shared)
{
    (void)shared;
    return NULL;
}

void cw_shared_conn_retire(cw_shared_conn *shared)
{
    assert_null(shared);
}

void cw_shared_conn_subscribe(cw_shared_conn *shared, const cw_str *uris, size_t n)
{
    (void)uris;
    (void)n;
    assert_null(shared);
}

void cw_shared_conn_unref(cw_shared_conn *shared)
{
    assert_null(shared);
}

bool cw_remote_has_resource(const cw_source *s, cw_str uri)
{
    (void)s;
    (void)uri;
    return false;
}

const char *cw_remote_trouble(const cw_source *s, uint64_t now_ms)
{
    (void)s;
    (void)now_ms;
    return NULL;
}

cw_code cw_state_save_status(cw_str folder, const cw_source_status *status, cw_err *err)
{
    (void)status;
    (void)err;
    assert_int_equal(folder.n, 0);
    return CW_OK;
}

/* Not empty: a service without memory for it is not loaded. */
cw_last_good *cw_last_good_new(void)
{
    return malloc(1);
}

void cw_last_good_free(cw_last_good *g)
{
    free(g);
}

cw_code cw_remote_check_lock(cw_str file, const cw_remote_approvals *given, cw_buf *lost,
                             cw_err *err)
{
    (void)file, (void)given, (void)lost, (void)err;
    return CW_OK;
}

bool cw_remote_has_other_rules(const cw_source *s, const cw_remote_opts *opts)
{
    (void)s, (void)opts;
    return false;
}
