/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.h - a doubly linked ring whose nodes are embedded in their owners.
 *
 *     typedef struct job { cw_list node; ... } job;
 *     cw_list jobs;
 *     cw_list_init(&jobs);
 *     cw_list_add(&jobs, &job->node);
 *     CW_LIST_EACH (node, &jobs)
 *         run(CW_CONTAINER(node, job, node));
 *     cw_list_remove(&job->node);
 *
 * Ownership: a node belongs to its owner, which must remove it before it is freed. A node that is
 *            all zero, or was removed, is in no list.
 * Threads:   those of the owner; nothing is locked here.
 */
#ifndef CW_BASE_LIST_H
#define CW_BASE_LIST_H

#include <stdbool.h>

#include "base/attr.h"

/* A list, or a node of one. */
typedef struct cw_list {
    struct cw_list *prev, *next; /* NULL: a node in no list */
} cw_list;

/* NOLINTBEGIN(bugprone-macro-parentheses): a declaration takes none. */
/* Each node, first to last; the loop body must not remove `node`. */
#define CW_LIST_EACH(node, list)                                                                   \
    for (cw_list *node = (list)->next; node != (list); node = node->next)
/* The same where the body may remove `node`, and no other one. */
#define CW_LIST_EACH_SAFE(node, list)                                                              \
    for (cw_list *node = (list)->next, *node##_next = node->next; node != (list);                  \
         node = node##_next, node##_next = node->next)
/* NOLINTEND(bugprone-macro-parentheses) */

CW_INLINE void cw_list_init(cw_list *list)
{
    list->prev = list->next = list;
}

CW_INLINE bool cw_list_is_empty(const cw_list *list)
{
    return list->next == list;
}

/* Whether a node is in a list. */
CW_INLINE bool cw_list_is_in(const cw_list *node)
{
    return node->next != NULL;
}

/* Insert a node, which is in no list, before `at`: another node, or the list for its end. */
CW_INLINE void cw_list_add(cw_list *at, cw_list *node)
{
    node->next = at;
    node->prev = at->prev;
    node->prev->next = node;
    at->prev = node;
}

CW_INLINE void cw_list_add_first(cw_list *list, cw_list *node)
{
    cw_list_add(list->next, node);
}

/* Nothing happens to a node that is in no list. */
CW_INLINE void cw_list_remove(cw_list *node)
{
    if (!node->next)
        return;
    node->prev->next = node->next;
    node->next->prev = node->prev;
    node->prev = node->next = NULL;
}

/* Remove the first node and return it; NULL: the list is empty. */
CW_INLINE cw_list *cw_list_take_first(cw_list *list)
{
    cw_list *node = list->next;
    if (node == list)
        return NULL;
    cw_list_remove(node); /* NOLINT: a node that was freed is in no list */
    return node;
}

/* Move the nodes before `end` to the empty list `to`, in order; `end` is a node of `from`, or
 * `from` itself for all of them. */
CW_INLINE void cw_list_move(cw_list *from, cw_list *end, cw_list *to)
{
    if (from->next == end)
        return;
    to->next = from->next;
    to->prev = end->prev;
    to->next->prev = to;
    to->prev->next = to;
    from->next = end;
    end->prev = from;
}

#endif
