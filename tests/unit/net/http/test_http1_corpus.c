/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_corpus.c - the hostile corpus (tests/functional/http-corpus) against the parsers.
 *
 * A toy server without sockets puts head, target, host list and body together in
 * the order of the real one. Every case is fed to it whole, cut in two at every
 * byte, and byte by byte; the answers must be the same.
 */
#include "support/http1_splits.h"

#include <dirent.h>

#include "base/buf.h"
#include "net/http/hostcheck.h"
#include "net/http/target.h"

#define ANSWERS_MAX 8u
#define CUTS_MAX 3000u /* longer requests are cut at every CUT_STEP-th byte only */
#define CUT_STEP 101u

/* ---- the toy server ---- */

typedef struct toy {
    cw_http1_head head;
    cw_http1_body reader;
    cw_hostlist *hosts;
    cw_buf in, body;
    cw_buf seen; /* a line for each accepted request: method, path, body */
    cw_str path;
    cw_arena arena;
    unsigned answers[ANSWERS_MAX];
    size_t n_answers;
    bool in_body, closed;
} toy;

static void answer(toy *t, unsigned status, bool close)
{
    assert_true(t->n_answers < ANSWERS_MAX);
    t->answers[t->n_answers++] = status;
    t->closed = t->closed || close || !t->head.keep_alive;
}

static cw_str field(const toy *t, uint16_t index)
{
    return cw_http1_value(&t->head, t->in.p, index);
}

/* The checks before routing: 0, or a status. */
static unsigned check_host(toy *t, const cw_target *target, bool *ret_close)
{
    bool has_host = t->head.host != CW_HTTP1_NONE;
    cw_str host = has_host ? field(t, t->head.host) : target->authority;
    *ret_close = t->head.chunked || t->head.content_length > 0;
    if (has_host && target->authority.p && !cw_host_eq(host, target->authority)) {
        *ret_close = true;
        return 400;
    }
    if (host.p && !cw_hostlist_allows_host(t->hosts, host))
        return 421;
    if (t->head.origin != CW_HTTP1_NONE &&
        !cw_hostlist_allows_origin(t->hosts, field(t, t->head.origin), false, host))
        return 403;
    return 0;
}

static unsigned route(const toy *t, cw_str path)
{
    switch (t->head.method) {
    case CW_HTTP_UNKNOWN:
        return 501;
    case CW_HTTP_OPTIONS:
        return cw_str_is(path, "*") || cw_str_is(path, "/echo") ? 204 : 404;
    case CW_HTTP_DELETE:
    case CW_HTTP_PATCH:
    case CW_HTTP_CONNECT:
    case CW_HTTP_TRACE:
        return cw_str_is(path, "/echo") ? 405 : 404;
    case CW_HTTP_GET:
    case CW_HTTP_HEAD:
    case CW_HTTP_POST:
    case CW_HTTP_PUT:
        break;
    }
    return cw_str_is(path, "/echo") ? 0 : 404;
}

static void begin(toy *t)
{
    cw_str raw = {t->in.p + t->head.target_at, t->head.target_len};
    cw_target target;
    const char *reason = NULL;
    bool close = true;
    unsigned status = cw_target_parse(raw, &t->arena, &target, &reason) ? 400 : 0;
    if (!status)
        status = check_host(t, &target, &close);
    if (!status)
        status = route(t, target.path);
    if (!status && cw_http1_body_init(&t->reader, &t->head, CW_HTTP_MAX_BODY)) {
        status = t->reader.status;
        close = true;
    }
    if (status) {
        answer(t, status, close);
    } else {
        t->in_body = true;
        t->path = cw_arena_dup_str(&t->arena, target.path);
    }
    cw_buf_consume(&t->in, t->head.size);
    if (status)
        cw_http1_head_init(&t->head, &http1_usual_limits);
}

static void read_body(toy *t)
{
    cw_str in = cw_buf_str(&t->in), piece;
    cw_code rc;
    while ((rc = cw_http1_read_body(&t->reader, &in, &piece)) == CW_AGAIN && piece.n)
        cw_buf_add(&t->body, piece);
    cw_buf_consume(&t->in, t->in.n - in.n);
    if (rc == CW_AGAIN)
        return;
    t->in_body = false;
    if (rc != CW_DONE) {
        answer(t, t->reader.status, true);
        return;
    }
    cw_buf_printf(&t->seen, "%s %.*s%s", cw_http_method_name(t->head.method), CW_STR_ARG(t->path),
                  t->body.n ? " " : "");
    cw_buf_add(&t->seen, cw_buf_str(&t->body));
    cw_buf_add_char(&t->seen, '\n');
    cw_buf_clear(&t->body);
    answer(t, 200, false);
    cw_http1_head_init(&t->head, &http1_usual_limits);
}

static void take_head(toy *t)
{
    cw_code rc = cw_http1_parse_head(&t->head, t->in.p, t->in.n);
    if (rc == CW_OK)
        begin(t);
    else if (rc == CW_INVALID)
        answer(t, t->head.status, true);
}

static void feed(toy *t, cw_str bytes)
{
    cw_buf_add(&t->in, bytes);
    for (size_t before = SIZE_MAX; !t->closed && t->in.n && t->in.n != before;) {
        before = t->in.n;
        if (!t->in_body)
            take_head(t);
        if (t->in_body)
            read_body(t);
    }
    assert_int_equal(t->in.code, CW_OK);
    assert_int_equal(t->body.code, CW_OK);
}

static void toy_init(toy *t)
{
    *t = (toy){0};
    cw_http1_head_init(&t->head, &http1_usual_limits);
    cw_arena_init(&t->arena, 1u << 20);
    cw_buf_init(&t->in, 1u << 20);
    cw_buf_init(&t->body, 1u << 20);
    cw_buf_init(&t->seen, 1u << 20);
    assert_int_equal(cw_hostlist_new(NULL, 0, NULL, 0, &t->hosts, NULL), CW_OK);
}

static void toy_done(toy *t)
{
    cw_hostlist_free(t->hosts);
    cw_arena_done(&t->arena);
    cw_buf_done(&t->in);
    cw_buf_done(&t->body);
    cw_buf_done(&t->seen);
}

/* ---- cases ---- */

typedef struct corpus_case {
    char file[64];
    char name[160];
    cw_buf bytes;
    char answers[64]; /* "200 200 keep" */
    cw_buf seen;
} corpus_case;

static size_t n_cases, n_refused, n_wrong;

/* Undo the escapes of `text`. */
static void add_unescaped(cw_buf *b, const char *text)
{
    for (const char *c = text; *c; c++) {
        unsigned byte;
        if (*c != '\\') {
            cw_buf_add_char(b, *c);
            continue;
        }
        c++;
        if (*c == 'x' && sscanf(c + 1, "%2x", &byte) == 1) {
            cw_buf_add_char(b, (char)byte);
            c += 2;
            continue;
        }
        const char *at = *c ? strchr("r\rn\nt\t\\\\", *c) : NULL;
        if (!at)
            fail_msg("unknown escape in: %s", text);
        else
            cw_buf_add_char(b, at[1]);
    }
}

/* What the toy did, as the corpus writes it. */
static void describe(const toy *t, cw_buf *out)
{
    for (size_t i = 0; i < t->n_answers; i++)
        cw_buf_printf(out, "%u ", t->answers[i]);
    bool idle = !t->in_body && t->in.n == 0;
    cw_buf_add(out, t->closed ? CW_STR("close") : idle ? CW_STR("keep") : CW_STR("wait"));
}

static void judge(const corpus_case *c, const toy *t, size_t cut)
{
    const char *want = c->answers;
    cw_buf got;
    /* The toy never sends 100. */
    if (strncmp(want, "100? ", 5) == 0)
        want += 5;
    cw_buf_init(&got, 4096);
    describe(t, &got);
    bool same =
        cw_str_is(cw_buf_str(&got), want) && cw_str_eq(cw_buf_str(&t->seen), cw_buf_str(&c->seen));
    if (!same) {
        n_wrong++;
        print_error("%s: %s (cut at %zu of %zu): expected %s, got %.*s %s\nseen: %.*s\n", c->file,
                    c->name, cut, c->bytes.n, want, CW_STR_ARG(cw_buf_str(&got)),
                    t->head.reason ? t->head.reason : "", CW_STR_ARG(cw_buf_str(&t->seen)));
    }
    cw_buf_done(&got);
}

/* Feed the case in two parts, or byte by byte when `cut` is 0. */
static void run_cut(const corpus_case *c, size_t cut)
{
    toy t;
    toy_init(&t);
    size_t step = cut ? cut : 1;
    for (size_t at = 0; at < c->bytes.n; at += step, step = cut ? c->bytes.n : 1) {
        size_t n = c->bytes.n - at < step ? c->bytes.n - at : step;
        feed(&t, cw_str_make(c->bytes.p + at, n));
    }
    judge(c, &t, cut);
    toy_done(&t);
}

static void run_case(corpus_case *c)
{
    assert_int_equal(c->bytes.code, CW_OK);
    assert_true(c->bytes.n > 0 && c->answers[0]);
    size_t wrong = n_wrong;
    run_cut(c, c->bytes.n);
    for (size_t cut = 0; cut < c->bytes.n && n_wrong == wrong;
         cut += c->bytes.n > CUTS_MAX ? CUT_STEP : 1)
        run_cut(c, cut);
    n_cases++;
    if (c->answers[0] == '4' || c->answers[0] == '5')
        n_refused++;
    cw_buf_clear(&c->bytes);
    cw_buf_clear(&c->seen);
    c->answers[0] = '\0';
}

static void take_line(corpus_case *c, const char *line)
{
    const char *text = line[0] && line[1] ? line + 2 : "";
    char *repeated;
    switch (line[0]) {
    case '\0':
    case ';':
    case '!': /* a matter of the application */
        return;
    case '#':
        if (c->bytes.n)
            run_case(c);
        (void)snprintf(c->name, sizeof c->name, "%.150s", text);
        return;
    case '>':
        add_unescaped(&c->bytes, text);
        return;
    case '*':
        for (unsigned long n = strtoul(text, &repeated, 10); n > 0; n--)
            add_unescaped(&c->bytes, repeated + 1);
        return;
    case '=':
        (void)snprintf(c->answers, sizeof c->answers, "%.60s", text);
        return;
    case '~':
        add_unescaped(&c->seen, text);
        cw_buf_add_char(&c->seen, '\n');
        return;
    default:
        fail_msg("%s: what is this? %s", c->file, line);
    }
}

static void run_file(const char *folder, const char *name)
{
    char path[4096], line[4096];
    corpus_case c = {0};
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)snprintf(c.file, sizeof c.file, "%.60s", name);
    cw_buf_init(&c.bytes, 1u << 20);
    cw_buf_init(&c.seen, 1u << 20);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        take_line(&c, line);
    }
    (void)fclose(f);
    if (c.bytes.n)
        run_case(&c);
    cw_buf_done(&c.bytes);
    cw_buf_done(&c.seen);
}

static const char *folder;

TEST(every_request_gets_its_answer_however_it_is_cut)
{
    const struct dirent *entry;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        if (cw_str_ends(cw_str_from(entry->d_name), CW_STR(".txt")))
            run_file(folder, entry->d_name);
    }
    (void)closedir(dir);
    print_message("%zu requests, %zu of them refused\n", n_cases, n_refused);
    assert_int_equal(n_wrong, 0);
}

TEST(the_corpus_was_found)
{
    assert_true(n_refused >= 450);
    assert_true(n_cases - n_refused >= 50);
}

/* The corpus's folder is the first argument. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_request_gets_its_answer_however_it_is_cut),
        cmocka_unit_test(the_corpus_was_found),
    };
    if (argc < 2)
        return 2;
    folder = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
