/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conformance.h - what the files of this plugin share: a picture, a sound, two texts. */
#ifndef TESTS_CONFORMANCE_H
#define TESTS_CONFORMANCE_H

#include <causeway/plugin.h>

/* One red dot. */
extern const unsigned char png[];
extern const size_t png_size;

/* Add a text about an answer of the client: `before` and the answer as JSON. */
void say_answer(cw_call *call, const char *before, const cw_value *answer);
/* The text that a model wrote. */
const char *sampled_text(cw_call *call, const cw_value *answer);

/* A form with one text field, as JSON Schema. */
#define FORM_OF(field)                                                                             \
    "{\"type\":\"object\",\"properties\":{\"" field "\":{\"type\":\"string\"}},"                   \
    "\"required\":[\"" field "\"]}"

#endif
