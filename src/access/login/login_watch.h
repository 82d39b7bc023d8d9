/* SPDX-License-Identifier: GPL-2.0-or-later */
/* login_watch.h - streams that end with the credentials that opened them.
 *
 * A request is authenticated once, but a stream may stay open for hours. The owner of a stream
 * therefore watches the credentials of its caller. Four times a second each loop checks whether the
 * database, the roles of the configuration, the sessions or the issuer of a token have changed. After a change
 * the store's thread reads the rights of the callers again, many in one job.
 *
 *     credentials gone        revoked, blocked, removed, another password, logged out: on_ended
 *     rights changed          another set of permissions, scopes or another language: on_ended
 *     nothing changed         on_confirmed; the caller object stays
 *
 * A change of an issuer, or of its keys, concerns only the streams that its tokens opened. A stream
 * stays open while its issuer is configured as before and publishes the key of its token.
 *
 * Ownership: a watch is embedded in its owner, which removes it. It holds a reference to its caller.
 * Threads:   one loop.
 * Limits:    CW_LOGIN_RECHECK callers in one job. While the database cannot be read nothing ends.
 */
#ifndef CW_ACCESS_LOGIN_LOGIN_WATCH_H
#define CW_ACCESS_LOGIN_LOGIN_WATCH_H

#include "access/login/accounts.h"
#include "base/list.h"

#define CW_LOGIN_RECHECK 128u

/* Changes so far: of rights, and sessions that this server has ended. */
typedef struct cw_login_watch_time {
    uint64_t generation, ended;
} cw_login_watch_time;

typedef struct cw_login_watch {
    cw_list node; /* in no list: not added */
    struct cw_accounts_loop *al;
    cw_caller *caller; /* a reference while it is added */
    /* For on_ended: the caller with its new rights, borrowed until it returns; NULL: the credentials
     * are gone. */
    cw_caller *now;
    cw_login_watch_time confirmed; /* the changes that the last successful check covered */
    cw_login_watch_time checking;  /* the changes that the running check covers */
    int64_t until;                 /* when a session ends unless it is used, wall clock */
    size_t place;                  /* index + 1 of the caller in the running check; 0: none */
    bool is_new;                   /* not checked yet */
    /* Set by the owner before add: */
    bool only_session;                              /* watch sessions only, and only their end */
    void (*on_ended)(struct cw_login_watch *w);     /* it is removed before the call */
    void (*on_confirmed)(struct cw_login_watch *w); /* or NULL */
} cw_login_watch;

/* Watch the credentials of a caller that was authenticated on this loop. Does nothing for a caller
 * without credentials. No callback runs before this returns. */
void cw_login_watch_add(cw_accounts *a, cw_loop *loop, cw_caller *caller, cw_login_watch *w);
/* Removing one that was not added is fine. */
void cw_login_watch_remove(cw_login_watch *w);
/* Whether nothing has changed since the last check. If not, a check is started; on_ended or
 * on_confirmed follows later. True for one that was not added. */
bool cw_login_watch_is_current(cw_login_watch *w);

#endif
