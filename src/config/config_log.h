/* SPDX-License-Identifier: GPL-2.0-or-later */
/* config_log.h - the section `log` of a configuration.
 *
 * Ownership and threads: as config.h, which includes this, says.
 */
#ifndef CW_CONFIG_CONFIG_LOG_H
#define CW_CONFIG_CONFIG_LOG_H

#include "base/log.h"
#include "config/config_remote.h"

typedef enum cw_config_log_format {
    CW_CONFIG_LOG_TEXT,
    CW_CONFIG_LOG_JSON,
} cw_config_log_format;

typedef struct cw_config_level {
    cw_str component;
    cw_log_level level;
} cw_config_level;

typedef struct cw_config_levels {
    const cw_config_level *items; /* in the order of the file */
    size_t n;
    cw_str text; /* "net=debug,access=off", as cw_log_opts takes it; empty when there are none */
} cw_config_levels;

/* Calls whose lines are logged at every level. */
typedef struct cw_config_focus {
    cw_config_strings tools; /* names, or ids of methods */
    cw_config_strings sources;
    cw_config_strings callers; /* names; "anonymous": those without a login */
} cw_config_focus;

typedef struct cw_config_log {
    cw_log_level level;
    cw_config_log_format format;
    cw_str file; /* empty: standard error */
    cw_config_levels levels;
    bool calls;   /* a line for each call */
    bool callers; /* such a line has the name of its caller */
    cw_config_focus focus;
} cw_config_log;

#endif
