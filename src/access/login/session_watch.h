/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session_watch.h - what ends with the session of a browser that opened it: streams.
 *
 * A request asks once who shows its cookie; a stream would go on for as long as it
 * likes. So whatever outlives that moment watches the session. Four times a second each
 * loop looks whether anything was changed (a logout, or what others did to the
 * database) or somebody's time is over, and only then has the store's thread look
 * whether the sessions in question are still there.
 *
 * Ownership: a watch is embedded in its owner, which removes it.
 * Threads:   one loop.
 * Limits:    none of its own. While the database cannot be read nothing ends.
 */
#ifndef CW_ACCESS_LOGIN_SESSION_WATCH_H
#define CW_ACCESS_LOGIN_SESSION_WATCH_H

#include "access/login/accounts.h"

typedef struct cw_session_watch {
    struct cw_session_watch *prev, *next; /* NULL: not there */
    unsigned char hash[CW_DB_HASH];
    uint64_t seen; /* what had changed when it was last found; 0: not looked for yet */
    int64_t until; /* when it ends unless it is used, wall clock */
    size_t place;  /* behind its place among those that are looked for; 0: none */
    void (*on_ended)(struct cw_session_watch *w); /* it is removed before the call */
} cw_session_watch;

/* Watch the session of a caller that was identified on this loop; `on_ended` is set. Nothing
 * happens for one who has none. */
void cw_session_watch_add(cw_accounts *a, cw_loop *loop, const cw_caller *caller,
                          cw_session_watch *w);
/* Removing one that was not added is fine. */
void cw_session_watch_remove(cw_session_watch *w);

#endif
