/* SPDX-License-Identifier: GPL-2.0-or-later */
/* log_line.h - one event as one line: text, JSON, or an entry of the journal.
 *
 * No form has a newline but at the end. An entry has CW_JOURNAL_FIELD_END between its fields
 * (journal.h).
 *
 * Threads: no state but the ids of the calling thread (ids.h).
 * Limits:  CW_LOG_LINE_MAX.
 */
#ifndef CW_BASE_LOG_LINE_H
#define CW_BASE_LOG_LINE_H

#include "base/log.h"

#define CW_LOG_LEVELS 4u
extern const char *const cw_log_level_names[CW_LOG_LEVELS];

typedef enum cw_log_form {
    CW_LOG_FORM_TEXT,
    CW_LOG_FORM_JSON,
    CW_LOG_FORM_JOURNAL,
} cw_log_form;

/* One line with its newline into `to`; returns its length. It always fits. */
size_t cw_log_line_format(char to[CW_LOG_LINE_MAX], cw_log_form form, cw_log_level level,
                          const char *component, const char *message, const cw_log_field *fields);

#endif
