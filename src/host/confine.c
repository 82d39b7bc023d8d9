/* SPDX-License-Identifier: GPL-2.0-or-later */
/* confine.c - sets signals, descriptors and limits before a plugin is loaded. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/attr.h"
#include "host/serve.h"

/* Sanitizers reserve terabytes of addresses for their own use. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif
#ifndef HAS_SHADOW_MEMORY
#define HAS_SHADOW_MEMORY 0
#endif

static int fail(const char *what)
{
    fprintf(stderr, "causeway-plugin-host: %s: %s\n", what, strerror(errno));
    return 1;
}

static int limit(int resource, uint64_t n, const char *what)
{
    const struct rlimit both = {.rlim_cur = n, .rlim_max = n};
    return setrlimit(resource, &both) ? fail(what) : 0;
}

/* A plugin starts with the signals of a fresh program, except that a reader that went away is
 * seen by write and not by a death. */
static void reset_signals(void)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (int s = 1; s < NSIG; s++)
        (void)sigaction(s, &plain, NULL); /* some cannot be changed */
    plain.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &plain, NULL);
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The kernel kills this process with its parent. A parent that was gone before that was arranged
 * has closed its end of the socket. (Its process number says nothing: it may rightly be 1.) */
static int follow_parent(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL))
        return fail("prctl");
    struct pollfd p = {.fd = CW_HOST_SOCKET, .events = POLLIN};
    if (poll(&p, 1, 0) < 0)
        return fail("poll");
    if (p.revents & (POLLERR | POLLNVAL)) {
        fprintf(stderr, "causeway-plugin-host: descriptor %d is no socket\n", CW_HOST_SOCKET);
        return 1;
    }
    return p.revents & POLLHUP ? 1 : 0;
}

int cw_host_confine(const cw_host_opts *opts)
{
    reset_signals();
    if (follow_parent())
        return 1;
    if (close_range(CW_HOST_OBJECT + 1, ~0u, 0))
        return fail("close_range");
    int flags = fcntl(CW_HOST_SOCKET, F_GETFL);
    if (flags < 0 || fcntl(CW_HOST_SOCKET, F_SETFL, flags & ~O_NONBLOCK))
        return fail("descriptor 3");
    /* Not inherited by what a plugin may start. */
    (void)fcntl(CW_HOST_SOCKET, F_SETFD, FD_CLOEXEC);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return fail("no_new_privs");
    if (cw_landlock_apply(opts->landlock))
        return fail("landlock");
    if (limit(RLIMIT_CORE, 0, "core limit"))
        return 1;
    if (opts->files && limit(RLIMIT_NOFILE, opts->files, "limit of descriptors"))
        return 1;
    if (opts->memory && !HAS_SHADOW_MEMORY && limit(RLIMIT_AS, opts->memory, "memory limit"))
        return 1;
    return 0;
}
