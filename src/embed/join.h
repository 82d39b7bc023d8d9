/* SPDX-License-Identifier: GPL-2.0-or-later */
/* join.h - a program of the build: puts modules of JavaScript into one file.
 *
 * One file has one request, and its parts share the table of their compression. Each module becomes a
 * function that returns its exports, which later modules see by their names:
 *
 *     export const pageSize = 50;                      const { pageSize, } = (() => {
 *                                                      const pageSize = 50;
 *                                                      return { pageSize, };})();
 *     import {el, write as put} from "./dom.mjs";      const put = write;
 *
 * This is no parser, and it relies on the formatter: imports and exports begin their lines, an import
 * has one line and names exports, and an export declares a constant, a function or a class. A module
 * comes behind those that it imports. No two modules export the same name.
 *
 *     cw_joined joined = {.out = room, .room = sizeof room};
 *     if (!cw_join_module(&joined, text, size)) …
 *
 * Ownership: the caller's. Threads: any. Limits: CW_JOIN_EXPORTS of all modules.
 */
#ifndef CW_EMBED_JOIN_H
#define CW_EMBED_JOIN_H

#include <stdbool.h>
#include <stddef.h>

#define CW_JOIN_EXPORTS 200u

typedef struct cw_joined {
    char *out;
    size_t n, room;
    struct {
        const char *text; /* in `out` */
        size_t n;
    } exports[CW_JOIN_EXPORTS];
    size_t n_exports;
} cw_joined;

/* Append a module. False: it has no room, a line cannot be read, or an exported name is taken. */
bool cw_join_module(cw_joined *to, const char *text, size_t size);

#endif
