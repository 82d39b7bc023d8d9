/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.h - lists that a command prints: a table with headings, or a JSON array.
 *
 *     static const cw_cli_column columns[] = {{"NAME", 20, false}, {"ID", 5, true}};
 *     cw_cli_table t;
 *     cw_cli_table_open(&t, out, json, columns, CW_COUNT(columns));
 *     for each row
 *         if (t.is_json)
 *             ... add an object to t.json ...
 *         else
 *             ... one cw_cli_table_add* for each column ...
 *     cw_cli_table_close(&t);
 *
 * Ownership: the buffer and the columns are borrowed. A buffer that is full or without memory
 *            stays failed, and cw_cli_print_buf reports it.
 * Threads:   main thread only.
 */
#ifndef CW_CLI_LIB_TABLE_H
#define CW_CLI_LIB_TABLE_H

#include "base/buf.h"
#include "json/write.h"

typedef struct cw_cli_column {
    const char *heading;
    size_t width;  /* in bytes; 0: as wide as its text */
    bool is_right; /* aligned to the right: numbers */
} cw_cli_column;

typedef struct cw_cli_table {
    cw_buf *out;
    const cw_cli_column *columns;
    size_t n_columns;
    size_t at; /* the next column */
    bool is_json;
    cw_json_writer json;
} cw_cli_table;

/* Print the headings, bold on a terminal, or open the array. */
void cw_cli_table_open(cw_cli_table *t, cw_buf *out, bool json, const cw_cli_column *columns,
                       size_t n_columns);
/* Add the next cell of a row; the last one ends the line, without spaces at its end. */
void cw_cli_table_add(cw_cli_table *t, cw_str text); /* quoted if needed; "-" if empty */
void cw_cli_table_add_raw(cw_cli_table *t, cw_str text);
void cw_cli_table_add_number(cw_cli_table *t, int64_t number);
/* `none` stands for 0. */
void cw_cli_table_add_date(cw_cli_table *t, int64_t wall_ms, const char *none);
/* Leave the other cells of a row empty. */
void cw_cli_table_end_row(cw_cli_table *t);
/* Close the array. */
void cw_cli_table_close(cw_cli_table *t);

/* ---- parts for other output ---- */

/* Append a text: unchanged if it is safe for a terminal, otherwise quoted. */
void cw_cli_add_text(cw_buf *out, cw_str text);
/* Append one word of a command line to copy into a shell, in single quotes if it needs them. */
void cw_cli_add_word(cw_buf *out, cw_str word);
/* A text, padded to `width`, with two spaces after it. */
void cw_cli_add_column(cw_buf *out, cw_str text, size_t width);
/* A member with a date, or null for 0. */
void cw_cli_add_date_member(cw_json_writer *w, cw_str name, int64_t wall_ms);
/* Finish a JSON document that is printed: all containers are closed, a line break follows. */
void cw_cli_end_json(cw_json_writer *w);
/* Print one value as an indented document. Returns the exit code. */
int cw_cli_print_value(const cw_json *value);

/* Maximum size of the output of a command. */
#define CW_CLI_OUTPUT_MAX ((size_t)64 << 20)

#endif
