/* SPDX-License-Identifier: GPL-2.0-or-later */
/* certificates.c - doctor: validity of the certificates that this server and its services present. */
#include <stdlib.h>

#include "base/clock.h"
#include "cli/doctor/doctor.h"
#include "cli/lib/loop.h"
#include "net/client/client.h"

#define DAY_MS ((int64_t)86400000)
#define SOON_MS (14 * DAY_MS)

void cw_doctor_add_validity(cw_doctor *d, const char *subject, const cw_tls_validity *validity,
                            const char *remedy)
{
    char from[CW_CLOCK_ISO_LEN + 1], until[CW_CLOCK_ISO_LEN + 1];
    int64_t now = cw_clock_wall_ms();
    cw_clock_format_iso(validity->from, from);
    cw_clock_format_iso(validity->until, until);
    if (now > validity->until)
        cw_doctor_add(d, CW_DOCTOR_ERROR, subject, remedy, "the certificate expired on %s", until);
    else if (now < validity->from)
        cw_doctor_add(d, CW_DOCTOR_ERROR, subject,
                      "check the clock of this machine, or use a certificate that is valid now",
                      "the certificate is not valid before %s", from);
    else if (validity->until - now < SOON_MS)
        cw_doctor_add(d, CW_DOCTOR_WARNING, subject, remedy, "the certificate expires on %s",
                      until);
}

/* A file that cannot be read is a finding of the check of files. */
static void check(cw_doctor *d, cw_str path, const char *remedy)
{
    cw_tls_validity validity;
    if (path.n && cw_tls_file_validity(path.p, &validity, NULL) == CW_OK)
        cw_doctor_add_validity(d, path.p, &validity, remedy);
}

/* ---- services ---- */

/* One service that is asked for its certificate, on a thread of the pool. */
typedef struct inquiry {
    uv_work_t work;
    cw_loop *loop;
    size_t *pending; /* of all inquiries */
    const char *name;
    cw_tls_peer peer;
    cw_tls_validity validity;
    cw_code rc;
} inquiry;

static void ask(uv_work_t *work)
{
    inquiry *q = work->data;
    q->rc = cw_tls_peer_validity(&q->peer, CW_DOCTOR_TIMEOUT_MS, &q->validity, NULL);
}

static void on_asked(uv_work_t *work, int status)
{
    inquiry *q = work->data;
    (void)status; /* nothing is cancelled */
    cw_cli_loop_finish(q->loop, q->pending);
}

/* False: the service has no certificate, or is behind a proxy. */
static bool find_peer(cw_doctor *d, const cw_config_remote *s, cw_tls_peer *ret)
{
    cw_client_url url;
    bool is_websocket = cw_str_starts(s->url, CW_STR("wss://"));
    cw_str text = is_websocket ? cw_str_from(cw_doctor_text(d, "https%s", s->url.p + 3)) : s->url;
    if (s->proxy.n || cw_client_url_parse(text, &url, NULL) || !url.is_tls)
        return false;
    *ret = (cw_tls_peer){.host = cw_doctor_text(d, "%.*s", CW_STR_ARG(url.host)),
                         .port = url.port,
                         .server_name = s->tls.server_name.n ? s->tls.server_name.p : NULL};
    return true;
}

typedef struct inquiries {
    cw_doctor *doctor;
    inquiry *items;
    size_t n;
    size_t pending;
} inquiries;

static cw_code ask_all(cw_loop *loop, void *ctx, cw_err *err)
{
    inquiries *all = ctx;
    (void)err;
    for (size_t i = 0; i < all->n; i++) {
        inquiry *q = &all->items[i];
        q->work.data = q;
        q->loop = loop;
        q->pending = &all->pending;
        all->pending++;
        uv_queue_work(&loop->uv, &q->work, ask, on_asked);
    }
    cw_cli_loop_wait(loop, &all->pending); /* each inquiry has a timeout */
    return CW_OK;
}

/* A service that does not answer is a finding of the check of sources. */
static void add_services(inquiries *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const inquiry *q = &all->items[i];
        if (q->rc == CW_OK)
            cw_doctor_add_validity(
                all->doctor, cw_doctor_text(all->doctor, "source \"%s\"", q->name), &q->validity,
                "renew the certificate on the machine of the service; its tools "
                "fail while it is expired");
    }
}

static void check_services(cw_doctor *d)
{
    const cw_config_remotes *sources = &d->config->sources;
    inquiries all = {.doctor = d, .items = calloc(sources->n + 1, sizeof *all.items)};
    for (size_t i = 0; all.items && i < sources->n; i++) {
        all.items[all.n].name = sources->items[i].name.p;
        all.n += find_peer(d, &sources->items[i], &all.items[all.n].peer);
    }
    if (!all.items || (all.n && cw_cli_loop_run(ask_all, NULL, &all, NULL)))
        d->is_failed = true;
    else
        add_services(&all);
    free(all.items);
}

void cw_doctor_check_certificates(cw_doctor *d)
{
    check(d, d->config->tls.certificate,
          "renew the certificate, then run \"causeway reload\" so that the server reads it");
    for (size_t i = 0; i < d->config->sources.n; i++) {
        const cw_config_remote *s = &d->config->sources.items[i];
        check(d, s->tls.certificate,
              cw_doctor_text(d,
                             "obtain a new client certificate for the source \"%s\", then run "
                             "\"causeway reload\"",
                             s->name.p));
    }
    check_services(d);
}
