/* SPDX-License-Identifier: GPL-2.0-or-later */
/* writer_nest.c - lists, items and quotes: what lines begin with. */
#include <stdlib.h>

#include "writer.h"

#define FIRST_LEVELS 16u
#define MAX_LIST_NUMBER 999999

static writer_level *top_of(writer *w)
{
    return w->n_levels ? &w->levels[w->n_levels - 1] : NULL;
}

static bool is_list(const writer_level *level)
{
    return level && (level->kind == WRITER_BULLETS || level->kind == WRITER_NUMBERS);
}

/* Levels are counted however many there are, so that each end finds its begin. */
static writer_level *push(writer *w, writer_nest kind)
{
    if (w->n_levels == w->room_levels) {
        size_t room = w->room_levels ? 2 * w->room_levels : FIRST_LEVELS;
        writer_level *levels = realloc(w->levels, room * sizeof *levels);
        if (!levels) {
            w->failed = true;
            return NULL;
        }
        w->levels = levels;
        w->room_levels = room;
    }
    w->open_levels[kind]++;
    w->levels[w->n_levels] = (writer_level){.kind = kind, .width = w->prefix.n};
    return &w->levels[w->n_levels++];
}

/* `next` has as many bytes: the same level on the next line. */
static void add_prefix(writer *w, const char *every, const char *next)
{
    if (w->n_levels > WRITER_MAX_NESTING)
        return;
    text_add(&w->prefix, every);
    text_add(&w->lead, next);
    if (w->prefix.n == w->lead.n)
        return;
    /* One of them had no memory to grow. */
    w->prefix.n = w->lead.n = w->levels[w->n_levels - 1].width;
    w->failed = true;
}

static void pop(writer *w)
{
    const writer_level *level = &w->levels[--w->n_levels];
    w->open_levels[level->kind]--;
    w->prefix.n = w->lead.n = level->width;
    if (w->shared > w->prefix.n)
        w->shared = w->prefix.n;
}

/* An item that had no text takes its marker along; one around it may have none either. */
static void look_for_marker(writer *w)
{
    w->has_marker = false;
    for (size_t i = 0; i < w->prefix.n && i < w->lead.n; i++)
        w->has_marker = w->has_marker || w->prefix.p[i] != w->lead.p[i];
}

/* The marker of the next item of a list, and spaces of that width. */
static void add_marker(writer *w, writer_level *list)
{
    text marker = {0}, spaces = {0};
    if (list && list->kind == WRITER_NUMBERS && list->number <= MAX_LIST_NUMBER) {
        text_add_format(&marker, "%d. ", list->number++);
    } else {
        text_add(&marker, "- ");
    }
    text_add_times(&spaces, ' ', marker.n);
    if (list)
        list->indent = marker.n;
    if (push(w, WRITER_ITEM) && marker.p && spaces.p && !spaces.failed)
        add_prefix(w, spaces.p, marker.p);
    w->failed = w->failed || marker.failed || spaces.failed;
    text_free(&marker);
    text_free(&spaces);
    look_for_marker(w);
}

/* A list in a list, but in none of its items, is seen as part of the item before. */
static void open_nameless_item(writer *w)
{
    static const char spaces[] = "         ";
    const writer_level *list = top_of(w);
    if (!is_list(list) || list->indent == 0 || list->indent >= sizeof spaces)
        return;
    size_t indent = list->indent;
    if (push(w, WRITER_ITEM))
        add_prefix(w, spaces + sizeof spaces - 1 - indent, spaces + sizeof spaces - 1 - indent);
}

/* A list in an item needs no blank line before it and after it. */
static int list_breaks(writer *w)
{
    const writer_level *top = top_of(w);
    return top && top->kind == WRITER_ITEM ? 1 : 2;
}

void writer_open_nest(writer *w, writer_nest kind, int number)
{
    if (kind == WRITER_QUOTE) {
        writer_break(w, w->has_marker ? 1 : 2);
        if (push(w, kind))
            add_prefix(w, "> ", "> ");
        return;
    }
    open_nameless_item(w);
    writer_break(w, list_breaks(w));
    writer_level *list = push(w, kind);
    if (list)
        list->number = number;
}

void writer_close_nest(writer *w, writer_nest kind)
{
    /* Asked first: looking through all levels for each end that has no begin would take long. */
    if (w->open_levels[kind] > 0) {
        while (w->levels[w->n_levels - 1].kind != kind)
            pop(w);
        pop(w);
        look_for_marker(w);
    }
    if (kind == WRITER_BULLETS || kind == WRITER_NUMBERS)
        writer_break(w, list_breaks(w));
    else
        writer_break(w, kind == WRITER_ITEM ? 1 : 2);
}

void writer_open_item(writer *w)
{
    const writer_level *top = top_of(w);
    if (top && top->kind == WRITER_ITEM) /* the item before was not closed */
        pop(w);
    writer_break(w, 1);
    writer_level *list = top_of(w);
    add_marker(w, is_list(list) ? list : NULL);
}
