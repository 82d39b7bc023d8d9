/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replica_row.c - what the row of this server shows. */
#include "server/replica_row.h"

#include <openssl/sha.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_HOST 64u

_Static_assert(CW_SNAPSHOT_DIGEST == CW_REPLICAS_DIGEST, "digests have one size");

static void digest_config(const cw_config *config, unsigned char out[CW_REPLICAS_DIGEST])
{
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, CW_BUF_MAX);
    cw_config_write_shared(config, &text);
    cw_str all = text.code ? CW_STR("") : cw_buf_str(&text);
    SHA256((const unsigned char *)all.p, all.n, out);
}

void cw_replica_row_show(cw_replicas *replicas, const cw_admin_server *server,
                         const cw_config *config, const cw_snapshot *snapshot)
{
    char host[MAX_HOST + 1] = "", name[MAX_HOST + CW_ADDRESS_TEXT + 2];
    cw_replicas_shown shown = {0};
    if (config->store.name.n) {
        shown.name = config->store.name;
    } else {
        if (gethostname(host, MAX_HOST))
            host[0] = '\0';
        snprintf(name, sizeof name, "%s%s%s", host[0] ? host : "unnamed",
                 server->n_addresses ? " " : "", server->n_addresses ? server->addresses[0] : "");
        shown.name = cw_str_from(name);
    }
    digest_config(config, shown.config);
    if (snapshot)
        cw_snapshot_digest(snapshot, shown.catalogue);
    cw_replicas_show(replicas, &shown);
}
