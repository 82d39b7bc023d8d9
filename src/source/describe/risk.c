/* SPDX-License-Identifier: GPL-2.0-or-later */
/* risk.c - the effect that the name of a method suggests.
 *
 *     eth_getBalance     get, Balance           the last segment begins with a word that reads
 *     order.setStatus    set, Status            "status" alone would be a noun; here it is not
 *     mail.fetchAndMark  fetch, And, Mark       a word that writes vetoes, wherever it stands
 *
 * With a wrong "reads", calls are sent twice that should be sent once. A wrong "changes" costs a
 * line of an overlay. So in doubt a method changes something.
 */
#include "base/ascii.h"
#include "source/describe/describe_ctx.h"

/* Any of them, anywhere: most likely something is lost. */
static const char *const destroys[] = {
    "delete",  "del",   "remove", "rm",       "destroy",   "drop", "purge",
    "erase",   "wipe",  "kill",   "shutdown", "quit",      "stop", "reset",
    "format",  "clear", "flush",  "truncate", "abort",     "halt", "reboot",
    "restart", "eject", "revoke", "clean",    "uninstall", NULL};

/* Any of them, anywhere: it does not only read. */
static const char *const writes[] = {
    "set",     "update",  "create", "add",    "send",     "execute", "exec",   "run",
    "mark",    "write",   "store",  "save",   "insert",   "append",  "put",    "push",
    "pop",     "replace", "modify", "change", "edit",     "patch",   "rename", "move",
    "migrate", "dump",    "verify", "apply",  "assign",   "import",  "merge",  "commit",
    "submit",  "publish", "post",   "upload", "transact", "sign",    "pay",    "transfer",
    "invoke",  "trigger", "lock",   "unlock", "claim",    "reserve", "ack",    "acknowledge",
    "consume", "dequeue", "new",    "upsert", "generate", "toggle",  "enable", "disable",
    NULL};

/* The first word of the last segment. */
static const char *const reads[] = {
    "get",   "list",   "query", "show",    "find",   "search",     "describe", "read",   "fetch",
    "count", "lookup", "tell",  "browse",  "exists", "introspect", "is",       "has",    "ping",
    "help",  "status", "stats", "version", "info",   "estimate",   "validate", "decode", NULL};

/* Words of that list that are nouns too. They must be the whole segment: "server.info". */
static const char *const nouns[] = {"status", "stats", "version", "info", "help", NULL};

static bool is_lower(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Cut the next word off: "getURLList" is get, URL, List. Empty: no further word. */
static cw_str next_word(cw_str *rest)
{
    size_t at = 0, n = 0;
    while (at < rest->n && !is_lower(rest->p[at]) && !cw_is_upper(rest->p[at]))
        at++;
    const char *p = rest->p + at;
    size_t left = rest->n - at;
    while (n < left && cw_is_upper(p[n]))
        n++;
    if (n > 1 && n < left && is_lower(p[n]))
        n--; /* the last capital belongs to the next word */
    if (n <= 1) {
        while (n < left && is_lower(p[n]))
            n++;
    }
    *rest = cw_str_make(p + n, left - n);
    return cw_str_make(p, n);
}

static bool is_one_of(cw_str word, const char *const *words)
{
    while (*words && !cw_str_ieq(word, cw_str_from(*words)))
        words++;
    return *words != NULL;
}

static bool has_one_of(cw_str name, const char *const *words)
{
    for (cw_str word = next_word(&name); word.n; word = next_word(&name)) {
        if (is_one_of(word, words))
            return true;
    }
    return false;
}

static bool has_capitals(cw_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (cw_is_upper(text.p[i]))
            return true;
    }
    return false;
}

/* The part behind the last '.', '/' or ':', and of "eth_getBalance" that behind the '_'. In names
 * without capitals '_' only separates words. */
static cw_str last_segment(cw_str name)
{
    size_t at = name.n;
    while (at > 0 && !strchr("./:", name.p[at - 1]))
        at--;
    cw_str segment = cw_str_make(name.p + at, name.n - at);
    const char *gap = segment.n ? memchr(segment.p, '_', segment.n) : NULL;
    if (!gap)
        return segment;
    cw_str front = cw_str_make(segment.p, (size_t)(gap - segment.p));
    cw_str back = cw_str_make(gap + 1, segment.n - front.n - 1);
    bool is_prefix = !has_capitals(front) && has_capitals(back) && back.n && is_lower(back.p[0]) &&
                     !memchr(back.p, '_', back.n);
    return is_prefix ? back : segment;
}

cw_risk cw_describe_risk(cw_str method)
{
    if (has_one_of(method, destroys))
        return CW_RISK_DESTROYS;
    if (has_one_of(method, writes))
        return CW_RISK_CHANGES;
    cw_str rest = last_segment(method);
    cw_str first = next_word(&rest);
    if (!is_one_of(first, reads))
        return CW_RISK_CHANGES;
    bool is_alone = next_word(&rest).n == 0;
    return is_alone || !is_one_of(first, nouns) ? CW_RISK_READS : CW_RISK_CHANGES;
}
