/* SPDX-License-Identifier: GPL-2.0-or-later */
/* text.h - a growing text. After a failed allocation it stays as it is, and `failed` says so. */
#ifndef EXAMPLES_TEXT_H
#define EXAMPLES_TEXT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct text {
    char *p; /* NULL, or ends with a NUL byte */
    size_t n, room;
    bool failed;
} text;

void text_add_bytes(text *t, const char *p, size_t n);
void text_add(text *t, const char *s);
void text_add_char(text *t, char c);
void text_add_times(text *t, char c, size_t times);
/* At most 63 bytes. */
__attribute__((format(printf, 2, 3))) void text_add_format(text *t, const char *format, ...);
/* One code point as UTF-8; U+FFFD for what is none. */
void text_add_code(text *t, unsigned long code);
void text_free(text *t);

#endif
