/* SPDX-License-Identifier: GPL-2.0-or-later */
/* news.h - what a source tells of its own accord, to whoever listens.
 *
 * Threads: a port may be used by any loop.
 */
#ifndef CW_BASE_NEWS_H
#define CW_BASE_NEWS_H

#include "base/str.h"

/* Lists that clients should ask for again. */
enum {
    CW_NEWS_TOOLS = 1,
    CW_NEWS_PROMPTS = 2,
    CW_NEWS_RESOURCES = 4,
};

typedef struct cw_news {
    unsigned lists; /* CW_NEWS_… */
    cw_str uri;     /* of a resource whose contents have changed; empty: none */
    /* Whose lists they are: a listener learns nothing of a source that it does not see. Compared,
     * never looked into. NULL: of no source, told to all. */
    const void *source;
} cw_news;

/* Embedded in whoever wants to know. `news` lives for the call only. */
typedef struct cw_news_port {
    void (*tell)(struct cw_news_port *port, const cw_news *news);
} cw_news_port;

#endif
