/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.c - prints lists as tables or as JSON. */
#include "cli/lib/table.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/lib/cli.h"
#include "config/syntax/quote.h"

#define NUMBER_SIZE 24u

/* ---- parts ---- */

void cw_cli_add_text(cw_buf *out, cw_str text)
{
    size_t at = out->n;
    cw_quote(out, text);
    /* Nothing had to be escaped: omit the quotes. */
    if (!out->code && out->n - at == text.n + 2) {
        out->n = at;
        cw_buf_add(out, text);
    }
}

static bool is_plain_in_shell(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("_-./:,=+@%", c));
}

void cw_cli_add_word(cw_buf *out, cw_str word)
{
    size_t n = 0;
    while (n < word.n && is_plain_in_shell(word.p[n]))
        n++;
    if (word.n && n == word.n) {
        cw_buf_add(out, word);
        return;
    }
    cw_buf_add_char(out, '\'');
    for (size_t i = 0; i < word.n; i++) {
        if (word.p[i] == '\'')
            cw_buf_add(out, CW_STR("'\\''"));
        else
            cw_buf_add_char(out, word.p[i]);
    }
    cw_buf_add_char(out, '\'');
}

static void pad(cw_buf *out, size_t from, size_t width)
{
    while (!out->code && out->n - from < width)
        cw_buf_add_char(out, ' ');
}

void cw_cli_add_column(cw_buf *out, cw_str text, size_t width)
{
    size_t at = out->n;
    cw_cli_add_text(out, text);
    pad(out, at, width);
    cw_buf_add(out, CW_STR("  "));
}

void cw_cli_add_date_member(cw_json_writer *w, cw_str name, int64_t wall_ms)
{
    char date[CW_CLOCK_ISO_LEN + 1];
    cw_json_add_key(w, name);
    cw_clock_format_iso(wall_ms, date);
    if (wall_ms)
        cw_json_add_string(w, cw_str_from(date));
    else
        cw_json_add_null(w);
}

void cw_cli_end_json(cw_json_writer *w)
{
    (void)!cw_json_writer_end(w, NULL); /* sticky in the buffer */
    cw_buf_add_char(w->out, '\n');
}

int cw_cli_print_value(const cw_json *value)
{
    cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, CW_CLI_OUTPUT_MAX);
    cw_json_writer_init(&w, &out, CW_JSON_INDENT);
    cw_json_add_value(&w, value);
    cw_cli_end_json(&w);
    return cw_cli_print_buf(&out);
}

/* ---- tables ---- */

static void trim(cw_buf *out)
{
    while (out->n && out->p[out->n - 1] == ' ')
        out->n--;
}

/* The cell was appended from `from` on. */
static void end_cell(cw_cli_table *t, size_t from)
{
    pad(t->out, from, t->columns[t->at].width);
    t->at = (t->at + 1) % t->n_columns;
    if (t->at) {
        cw_buf_add(t->out, CW_STR("  "));
        return;
    }
    trim(t->out);
    cw_buf_add_char(t->out, '\n');
}

static void begin_cell(const cw_cli_table *t, size_t n)
{
    const cw_cli_column *column = &t->columns[t->at];
    for (size_t i = n; column->is_right && i < column->width; i++)
        cw_buf_add_char(t->out, ' ');
}

void cw_cli_table_end_row(cw_cli_table *t)
{
    while (t->at)
        cw_cli_table_add_raw(t, CW_STR(""));
}

void cw_cli_table_add_raw(cw_cli_table *t, cw_str text)
{
    size_t from = t->out->n;
    begin_cell(t, text.n);
    cw_buf_add(t->out, text);
    end_cell(t, from);
}

void cw_cli_table_add(cw_cli_table *t, cw_str text)
{
    size_t from = t->out->n;
    if (text.n)
        cw_cli_add_text(t->out, text);
    else
        cw_buf_add_char(t->out, '-');
    end_cell(t, from);
}

void cw_cli_table_add_number(cw_cli_table *t, int64_t number)
{
    char text[NUMBER_SIZE];
    snprintf(text, sizeof text, "%lld", (long long)number);
    cw_cli_table_add_raw(t, cw_str_from(text));
}

void cw_cli_table_add_date(cw_cli_table *t, int64_t wall_ms, const char *none)
{
    char date[CW_CLOCK_ISO_LEN + 1];
    cw_clock_format_iso(wall_ms, date);
    cw_cli_table_add_raw(t, cw_str_from(wall_ms ? date : none));
}

void cw_cli_table_open(cw_cli_table *t, cw_buf *out, bool json, const cw_cli_column *columns,
                       size_t n_columns)
{
    *t = (cw_cli_table){.out = out, .columns = columns, .n_columns = n_columns, .is_json = json};
    if (json) {
        cw_json_writer_init(&t->json, out, CW_JSON_INDENT);
        cw_json_open_array(&t->json);
        return;
    }
    cw_buf_add(out, cw_str_from(cw_cli_escape(STDOUT_FILENO, CW_CLI_BOLD)));
    for (size_t i = 0; i < n_columns; i++) {
        /* The sequence that ends the bold text stands before the line break. */
        if (i + 1 < n_columns) {
            cw_cli_table_add_raw(t, cw_str_from(columns[i].heading));
            continue;
        }
        cw_buf_printf(out, "%s%s\n", columns[i].heading,
                      cw_cli_escape(STDOUT_FILENO, CW_CLI_PLAIN));
    }
    t->at = 0;
}

void cw_cli_table_close(cw_cli_table *t)
{
    if (!t->is_json)
        return;
    cw_json_close(&t->json);
    cw_cli_end_json(&t->json);
}
