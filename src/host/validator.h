/* SPDX-License-Identifier: GPL-2.0-or-later */
/* validator.h - arguments and results against their schemas, for --call.
 *
 * The server checks both; a worker has no schema engine and needs none. So the checks are in a
 * module, causeway-plugin-validator.so, that --call alone loads. It lies beside the host program.
 *
 *     v = api->open(description, "a.b", problem, sizeof problem);
 *     params = api->bind(v, "{\"nid\":7}", problem, sizeof problem);
 *     ok = api->check_result(v, "[]", problem, sizeof problem);
 *     api->close(v);
 *
 * Ownership: texts are borrowed; what `bind` returns lives until `close`.
 * Threads:   one thread.
 */
#ifndef CW_HOST_VALIDATOR_H
#define CW_HOST_VALIDATOR_H

#include <stdbool.h>
#include <stddef.h>

#define CW_VALIDATOR_MODULE "causeway-plugin-validator.so"
#define CW_VALIDATOR_SYMBOL "causeway_validator"
#define CW_VALIDATOR_PROBLEM 4096u /* bytes for a problem */

typedef struct cw_validator_api {
    /* `description` is the plugin's OpenRPC document. NULL: it would not be published, as `problem`
     * says, or there is no memory. */
    void *(*open)(const char *description, const char *method, char *problem, size_t n);
    /* The arguments as the method gets them, with defaults; NULL: they are refused. */
    const char *(*bind)(void *v, const char *params, char *problem, size_t n);
    /* False: the server would not pass the result on. */
    bool (*check_result)(void *v, const char *result, char *problem, size_t n);
    void (*close)(void *v); /* NULL is fine */
} cw_validator_api;

/* Load the module. NULL with a reason in `problem`. */
const cw_validator_api *cw_validator_load(char *problem, size_t n);

#endif
