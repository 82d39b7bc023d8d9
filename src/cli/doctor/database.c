/* SPDX-License-Identifier: GPL-2.0-or-later */
/* database.c - doctor: the database of accounts. */
#include <sys/stat.h>
#include <unistd.h>

#include "cli/doctor/doctor.h"
#include "server/options/database.h"
#include "store/db.h"

#define BUSY_MS 5000u

static void check_access(cw_doctor *d, const char *path)
{
    struct stat st;
    if (stat(path, &st))
        return;
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        cw_doctor_add(d, CW_DOCTOR_ERROR, path, cw_doctor_text(d, "chmod 600 '%s'", path),
                      "other users can use the database (mode %04o)", (unsigned)st.st_mode & 07777);
    if (geteuid() != 0 && st.st_uid != geteuid())
        cw_doctor_add(d, CW_DOCTOR_ERROR, path,
                      cw_doctor_text(d,
                                     "chown %u '%s' '%s-wal' '%s-shm', or run this as the user "
                                     "of the server",
                                     (unsigned)geteuid(), path, path, path),
                      "the database belongs to another user (uid %u)", (unsigned)st.st_uid);
}

void cw_doctor_check_database(cw_doctor *d)
{
    cw_db_health health = {0};
    cw_err err = {0};
    if (!cw_config_store(d->config).n)
        return;
    const cw_db_opts opts = cw_database_opts(d->config, BUSY_MS);
    const char *path = opts.where;
    cw_code rc = cw_db_check(&opts, &health, &err);
    if (rc == CW_NOTFOUND) {
        d->has_database = true; /* the server creates it */
        return;
    }
    bool is_server = cw_db_is_server(path);
    if (!is_server)
        check_access(d, path);
    if (rc)
        cw_doctor_add(d, CW_DOCTOR_ERROR, path,
                      is_server ? "check that the server runs, and that this user may connect"
                                : "name the database of this version in store.path, or restore it "
                                  "from a backup",
                      "%s", err.msg);
    else if (health.damage[0])
        cw_doctor_add(d, CW_DOCTOR_ERROR, path,
                      "stop the server, keep a copy of the file, and restore a backup",
                      "the database is damaged: %s", health.damage);
    else if (health.version < health.newest)
        cw_doctor_add(d, CW_DOCTOR_NOTE, path,
                      is_server
                          ? "make a backup, then run causeway store migrate"
                          : "make a copy of the file, then start the server, which updates the "
                            "database",
                      "the database has version %lld, this program uses version %lld; rights are "
                      "not checked",
                      (long long)health.version, (long long)health.newest);
    else
        d->has_database = true;
}
