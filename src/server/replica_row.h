/* SPDX-License-Identifier: GPL-2.0-or-later */
/* replica_row.h - what the row of this server shows in the database that it shares.
 *
 * Threads: the main one.
 */
#ifndef CW_SERVER_REPLICA_ROW_H
#define CW_SERVER_REPLICA_ROW_H

#include "admin/server.h"
#include "replica/replicas.h"

/* Name and digests of a server with this configuration and catalogue, which may be NULL. Keys that may
 * differ between servers are not in the digest. */
void cw_replica_row_show(cw_replicas *replicas, const cw_admin_server *server,
                         const cw_config *config, const cw_snapshot *snapshot);

#endif
