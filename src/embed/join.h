/* SPDX-License-Identifier: GPL-2.0-or-later */
/* join.h - a program of the build: puts modules of JavaScript into one file.
 *
 * One file has one request, and its parts share the table of their compression. Each module becomes a
 * function that returns its exports, so that names of two modules do not meet:
 *
 *     import { el, write as put } from "./dom.mjs";    const{el,write:put}=dom_mjs;
 *     export const pageSize = 50;                      const pageSize = 50;
 *
 * This is no parser, and it relies on the formatter: imports and exports begin their lines, an import
 * has one line and names exports, and an export declares a constant, a function or a class. A module
 * comes behind those that it imports.
 *
 * Ownership: the caller's. Threads: any. Limits: CW_JOIN_EXPORTS of a module.
 */
#ifndef CW_EMBED_JOIN_H
#define CW_EMBED_JOIN_H

#include <stddef.h>

#define CW_JOIN_EXPORTS 100u

/* Append the module `name`, such as "dom.mjs", with this text, to the `n` bytes of `out`. Returns the new
 * size; 0: it has no room, or a line cannot be read. */
size_t cw_join_module(const char *name, const char *text, size_t size, char *out, size_t n,
                      size_t room);

#endif
