/* SPDX-License-Identifier: GPL-2.0-or-later */
/* issuers.c - doctor: metadata and keys of issuers, and their clocks. */
#include "server/options/issuers.h"
#include "base/log.h"
#include "cli/doctor/doctor.h"
#include "cli/lib/loop.h"

typedef struct query {
    cw_doctor *doctor;
    cw_issuer_list list;
    cw_issuers *issuers;
} query;

void cw_doctor_add_clock(cw_doctor *d, const char *subject, int64_t difference_ms)
{
    int64_t s = difference_ms / 1000;
    if (difference_ms < CW_DOCTOR_CLOCK_MS && difference_ms > -CW_DOCTOR_CLOCK_MS)
        return;
    cw_doctor_add(d, CW_DOCTOR_WARNING, subject,
                  "synchronise the clocks of both machines, for example with systemd-timesyncd or "
                  "chrony",
                  "its clock is %lld seconds %s the clock of this machine",
                  (long long)(s < 0 ? -s : s), s < 0 ? "behind" : "ahead of");
}

static bool is_busy(const query *q)
{
    cw_issuer_report report;
    for (size_t i = 0; i < q->list.n; i++) {
        if (cw_issuers_report(q->issuers, q->list.items[i].rules.issuer, &report) && report.is_busy)
            return true;
    }
    return false;
}

static void check_issuer(cw_doctor *d, const char *name, const cw_issuer_report *r)
{
    if (r->problem)
        cw_doctor_add(d, CW_DOCTOR_ERROR, name,
                      "check the URL in access.issuers, the network, and ca_file; the server "
                      "rejects tokens of this issuer without its keys",
                      "%s: %s", r->url, r->problem);
    else if (!r->n_keys)
        cw_doctor_add(d, CW_DOCTOR_ERROR, name,
                      "list the algorithms of the issuer's keys in access.issuers[].algorithms",
                      "%s: the issuer publishes no key that can be used", r->url);
    cw_doctor_add_clock(d, name, r->clock_ms);
}

static cw_code run_on_loop(cw_loop *loop, void *ctx, cw_err *err)
{
    query *q = ctx;
    cw_issuer_set *set = NULL;
    cw_issuer_report report;
    cw_code rc = cw_issuers_new(loop, &q->issuers, err);
    if (!rc)
        rc = cw_issuers_prepare(q->issuers, q->list.items, q->list.n, &set, err);
    if (!rc) {
        cw_issuers_use(q->issuers, set);
        /* Every fetch has a timeout, so this ends. */
        while (is_busy(q))
            uv_run(&loop->uv, UV_RUN_ONCE);
    }
    for (size_t i = 0; i < q->list.n && !rc; i++) {
        cw_str name = q->list.items[i].rules.issuer;
        if (cw_issuers_report(q->issuers, name, &report))
            check_issuer(q->doctor, name.p, &report);
    }
    cw_issuers_close(q->issuers);
    return rc;
}

static void free_issuers(void *ctx)
{
    cw_issuers_free(((query *)ctx)->issuers);
}

void cw_doctor_check_issuers(cw_doctor *d)
{
    query q = {.doctor = d};
    cw_err err = {0};
    if (!d->config->access.issuers.n)
        return;
    (void)!cw_log_configure(&(cw_log_opts){.level = CW_LOG_OFF}, NULL);
    cw_code rc = cw_issuer_list_init(&q.list, d->config, &err);
    if (!rc)
        rc = cw_cli_loop_run(run_on_loop, free_issuers, &q, &err);
    if (rc == CW_NOMEM)
        d->is_failed = true;
    else if (rc)
        cw_doctor_add(d, CW_DOCTOR_ERROR, "access.issuers",
                      "correct the entry, and the files that it names", "%s", err.msg);
    cw_issuer_list_done(&q.list);
}
