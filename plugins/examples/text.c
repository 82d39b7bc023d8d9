/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 256u

static bool make_room(text *t, size_t n)
{
    if (t->failed || n < t->room - t->n)
        return !t->failed;
    size_t room = t->room ? t->room : FIRST_ROOM;
    while (room <= t->n + n)
        room *= 2;
    char *p = realloc(t->p, room);
    t->failed = !p;
    if (!p)
        return false;
    t->p = p;
    t->room = room;
    return true;
}

void text_add_bytes(text *t, const char *p, size_t n)
{
    if (!make_room(t, n))
        return;
    memcpy(t->p + t->n, p, n);
    t->n += n;
    t->p[t->n] = '\0';
}

void text_add(text *t, const char *s)
{
    text_add_bytes(t, s, strlen(s));
}

void text_add_char(text *t, char c)
{
    text_add_bytes(t, &c, 1);
}

void text_add_times(text *t, char c, size_t times)
{
    while (times--)
        text_add_char(t, c);
}

void text_add_format(text *t, const char *format, ...)
{
    char made[64];
    va_list args;
    va_start(args, format);
    vsnprintf(made, sizeof made, format, args);
    va_end(args);
    text_add(t, made);
}

void text_add_code(text *t, unsigned long code)
{
    if (code == 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        code = 0xFFFD;
    if (code < 0x80) {
        text_add_char(t, (char)code);
        return;
    }
    int more = code < 0x800 ? 1 : (code < 0x10000 ? 2 : 3);
    static const unsigned char first[] = {0, 0xC0, 0xE0, 0xF0};
    text_add_char(t, (char)(first[more] | code >> (6 * more)));
    while (more--)
        text_add_char(t, (char)(0x80 | ((code >> (6 * more)) & 0x3F)));
}

void text_free(text *t)
{
    free(t->p);
    *t = (text){0};
}
