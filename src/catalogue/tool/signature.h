/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signature.h - the arguments of a tool as one line, for lists that cost few tokens.
 *
 *     {"type":"object","properties":{"node":{"type":"string"},"size":{"type":"integer"},
 *      "mode":{"enum":["on","off"]}},"required":["node"]}
 *
 *     (node:str,size?:int,mode?:on|off)
 *
 * Names, types, choices and what is required stay. Descriptions, ranges and the inside of objects are
 * left out: arguments are validated against the whole schema, and an error names what is wrong.
 *
 * Threads: no state.
 * Limits:  lists, choices and references are followed 4 deep.
 */
#ifndef CW_CATALOGUE_TOOL_SIGNATURE_H
#define CW_CATALOGUE_TOOL_SIGNATURE_H

#include "base/buf.h"
#include "json/json.h"

/* Append the signature of an input schema. Errors are sticky in `out`. */
void cw_signature_add(cw_buf *out, const cw_json *schema);

#endif
