/* SPDX-License-Identifier: GPL-2.0-or-later */
/* system.c - doctor: the clock, and limits of the system. */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/doctor/doctor.h"
#include "net/server/server.h"
#include "server/files/own_files.h"

#define OWN_FILES 512u
#define SYNCHRONISE                                                                                \
    "set the clock, and keep it synchronised, for example with systemd-timesyncd or chrony"

/* The program's file is as old as its build or its installation. */
static void check_past(cw_doctor *d)
{
    struct stat st;
    char now[CW_CLOCK_ISO_LEN + 1], built[CW_CLOCK_ISO_LEN + 1];
    int64_t wall_ms = cw_clock_wall_ms();
    if (stat("/proc/self/exe", &st) || wall_ms / 1000 >= st.st_mtime)
        return;
    cw_clock_format_iso(wall_ms, now);
    cw_clock_format_iso((int64_t)st.st_mtime * 1000, built);
    cw_doctor_add(d, CW_DOCTOR_ERROR, "clock", SYNCHRONISE,
                  "it shows %s, but this program is from %s", now, built);
}

/* Containers and virtual machines often report this although the host keeps the time. So it is a
 * note, and only for a server that compares the times in tokens of other machines. */
static void check_synchronised(cw_doctor *d)
{
    struct timex state = {0};
    if (!d->config || !d->config->access.issuers.n)
        return;
    if (ntp_adjtime(&state) == TIME_ERROR)
        cw_doctor_add(d, CW_DOCTOR_NOTE, "clock", SYNCHRONISE,
                      "the kernel does not report it as synchronised; tokens of issuers have "
                      "times");
}

void cw_doctor_check_clock(cw_doctor *d)
{
    check_past(d);
    check_synchronised(d);
}

/* Connections of clients and to services, and the server's own files: loops, logs, workers. */
static uint64_t needed_files(const cw_config *c)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t loops = c->loops ? c->loops : (uint64_t)(cores > 0 ? cores : 1);
    uint64_t own = OWN_FILES;
    for (size_t i = 0; i < c->sources.n; i++)
        own += loops * c->sources.items[i].connections;
    return c->limits.connections + (own < CW_SERVER_SPARE_FDS ? own : CW_SERVER_SPARE_FDS);
}

/* Programs and plugins run as the server's user, so file modes cannot stop them. */
static void check_hiding(cw_doctor *d)
{
    bool has_foreign = d->config->plugins.directory.n > 0;
    for (size_t i = 0; i < d->config->sources.n; i++)
        has_foreign = has_foreign || d->config->sources.items[i].command.n > 0;
    if (has_foreign && !cw_own_files_can_hide())
        cw_doctor_add(
            d, CW_DOCTOR_WARNING, "Landlock",
            "use a kernel with Landlock (Linux 5.19, lsm=landlock), or run these programs "
            "as services of another user, with a url in place of a command",
            "the kernel cannot hide files: plugins and programs of sources can read the "
            "database, keys and configuration of this server");
}

void cw_doctor_check_system(cw_doctor *d)
{
    check_hiding(d);
    struct rlimit limit;
    uint64_t needed = needed_files(d->config);
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_max >= needed)
        return;
    cw_doctor_add(d, CW_DOCTOR_WARNING, "open files",
                  cw_doctor_text(d,
                                 "raise the hard limit to %llu (LimitNOFILE= of systemd, or ulimit "
                                 "-Hn), or lower limits.connections",
                                 (unsigned long long)needed),
                  "the hard limit is %llu, but %u connections and the server's own files need %llu",
                  (unsigned long long)limit.rlim_max, d->config->limits.connections,
                  (unsigned long long)needed);
}
