/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps are time: whatever a schema and an instance do together, the steps of a request are over
 * after about as much CPU as limits.h says, and an explanation needs little memory.
 *
 * Texts are written short: `n` times `piece` between `open` and `close`, in which # is the number
 * of the piece, and $ is `fill` as often as `fill_n` says.
 */
#include <time.h>

#include "base/limits.h"
#include "support/schema_fixture.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 20.0
#else
#define SLOWER 1.0
#endif

#define STEPS CW_CALL_MAX_STEPS
#define SHOWN 3u
/* On a machine that is several times slower than the one that the steps were measured on. */
#define MOST_MS (5.0 * STEPS / CW_SCHEMA_STEPS_PER_MS * SLOWER)

typedef struct text {
    const char *open, *piece;
    size_t n;
    const char *close;
    const char *fill;
    size_t fill_n;
} text;

typedef struct sample {
    const char *name;
    text schema, instance;
} sample;

#define ONCE(json)                                                                                 \
    {                                                                                              \
        json, "", 0, "", "", 0                                                                     \
    }
#define CATASTROPHE "^(?!x)(\\\\w+\\\\s?)*$"
#define A_WORDS                                                                                    \
    {                                                                                              \
        "[\"!\"", ",\"$!xbcdefghi\"", 19, "]", "a", 60000                                          \
    } /* 1.1 MB */
#define EIGHT(x) x x x x x x x x

static const sample samples[] = {
    {"words", ONCE("{\"items\":{\"not\":{\"pattern\":\"" CATASTROPHE "\"}}}"), A_WORDS},
    {"names",
     ONCE("{\"patternProperties\":{\"" CATASTROPHE "\":false}}"),
     {"{\"!\":1", ",\"#$!\":1", 19, "}", "a", 60000}},
    {"short words",
     ONCE("{\"items\":{\"not\":{\"pattern\":\"" CATASTROPHE "\"}}}"),
     {"[\"!\"", ",\"$!\"", 30000, "]", "a", 14}},
    {"a run from each start",
     ONCE("{\"items\":{\"not\":{\"pattern\":\"(?=a)a+b\"}}}"),
     {"[\"!\"", ",\"$cb\"", 19, "]", "a", 60000}},
    {"runs behind each other", ONCE("{\"items\":{\"not\":{\"pattern\":\"(?=a)a*a*a*a*b\"}}}"),
     A_WORDS},
    {"a run in each alternative",
     ONCE("{\"items\":{\"not\":{\"pattern\":\"(?=a)(?:a*b|a*c|a*d|a*e|a*f|a*g|a*h|a*i)\"}}}"),
     A_WORDS},
    {"alternatives without a run",
     ONCE("{\"items\":{\"not\":{\"pattern\":\"(?=a)" EIGHT("(a|a)") EIGHT("(a|a)")
              EIGHT("(a|a)") "x\"}}}"),
     A_WORDS},
    {"what may be there or not",
     ONCE("{\"items\":{\"not\":{\"pattern\":\"(?=a)" EIGHT("a?") EIGHT("a?") EIGHT("a?") EIGHT("a")
              EIGHT("a") EIGHT("a") "\"}}}"),
     {"[\"\"", ",\"$\"", 30000, "]", "a", 20}},
    {"references back", ONCE("{\"items\":{\"not\":{\"pattern\":\"(a*)\\\\1+!x\"}}}"), A_WORDS},
    {"at least so many", ONCE("{\"items\":{\"not\":{\"pattern\":\"(?=a)a{5000,}b\"}}}"), A_WORDS},
    {"properties of characters",
     ONCE("{\"items\":{\"not\":{\"pattern\":\"(?=.)[\\\\p{L}\\\\p{Lu}]+b\"}}}"),
     {"[\"!\"", ",\"$!b\"", 19, "]", "\xce\xb1", 30000}},
    {"lazy runs", ONCE("{\"items\":{\"not\":{\"pattern\":\"(?=a)(a+?)+?b\"}}}"), A_WORDS},
    {"looking behind", ONCE("{\"items\":{\"not\":{\"pattern\":\"(?<=a)(?=a*)(?<!b)a*b\"}}}"),
     A_WORDS},
    {"tables of states",
     {"{\"allOf\":[true", ",{\"pattern\":\"^[a-z]+#?$\"}", 2000, "]}", "", 0},
     {"\"", "$", 1, "\"", "a", 1000000}},
    {"names of hosts",
     ONCE("{\"items\":{\"format\":\"hostname\"}}"),
     {"[\"a\"", ",\"$a\"", 4000, "]", "xn--bcher-kva.", 17}},
    {"international names",
     ONCE("{\"items\":{\"format\":\"idn-hostname\"}}"),
     {"[\"a\"", ",\"$a\"", 4000, "]",
      "b\xc3\xbc"
      "cher.",
      30}},
    {"one long name",
     ONCE("{\"format\":\"idn-hostname\"}"),
     {"\"a", "$", 1, "\"", ".xn--bcher-kva", 80000}},
    {"mail",
     ONCE("{\"items\":{\"format\":\"idn-email\"}}"),
     {"[\"a@b\"", ",\"a@$a\"", 4000, "]", "xn--bcher-kva.", 17}},
    {"expressions",
     ONCE("{\"items\":{\"format\":\"regex\"}}"),
     {"[\"a\"", ",\"$a\"", 270, "]", "(a|[b-d]+)", 400}},
    {"expressions with classes",
     ONCE("{\"items\":{\"format\":\"regex\"}}"),
     {"[\"a\"", ",\"$a\"", 270, "]", "\\\\p{Lu}", 600}},
    {"addresses",
     {"{\"allOf\":[true", ",{\"format\":\"uri\"}", 2000, "]}", "", 0},
     {"\"http://a/", "$", 1, "\"", "b%20", 200000}},
    {"different items",
     {"{\"allOf\":[true", ",{\"uniqueItems\":true}", 2000, "]}", "", 0},
     {"[\"a\"", ",[#,{\"a\":#}]", 50000, "]", "", 0}},
    {"strings that look alike",
     {"{\"items\":{\"not\":{\"enum\":[-1", ",\"12345678 # 12345678\"", 2000, "]}}}", "", 0},
     {"[0", ",\"12345678 ____ 12345678\"", 40000, "]", "", 0}},
    {"members that look alike",
     {"{\"items\":{\"additionalProperties\":true,\"properties\":{\"a\":{}",
      ",\"12345678 # 12345678\":{}", 2000, "}}}", "", 0},
     {"[{}", ",{\"12345678 ____ 12345678\":1}", 40000, "]", "", 0}},
    {"alternatives",
     {"{\"items\":{\"not\":{\"anyOf\":[{\"const\":-2}", ",{\"const\":\"#\"}", 4000, "]}}}", "", 0},
     {"[-1", ",\"a\"", 100000, "]", "", 0}},
    {"exactly one",
     {"{\"items\":{\"not\":{\"oneOf\":[{\"const\":-1}", ",{\"minimum\":#}", 4000, "]}}}", "", 0},
     {"[-1", ",-2", 100000, "]", "", 0}},
    {"all of them",
     {"{\"items\":{\"allOf\":[true", ",{\"minLength\":1,\"maxLength\":1#0}", 4000, "]}}", "", 0},
     {"[\"aa\"", ",\"\xc3\xbc\xc3\xbc\"", 100000, "]", "", 0}},
    {"lengths of long texts",
     {"{\"allOf\":[true", ",{\"maxLength\":1000000}", 4000, "]}", "", 0},
     {"\"", "$", 1, "\"", "\xc3\xbc", 500000}},
    {"many digits",
     {"{\"allOf\":[true", ",{\"minimum\":1$#}", 30, "]}", "0", 20000},
     {"1", "$", 1, "", "0", 1000000}},
    {"long bounds",
     {"{\"items\":{\"minimum\":1", "$", 1, "}}", "0", 900000},
     {"[1e1000001", ",1e1000000", 10000, "]", "", 0}},
    {"divisors",
     {"{\"items\":{\"multipleOf\":1", "$", 1, "}}", "7", 390},
     {"[0", ",1e400", 100000, "]", "", 0}},
    {"large constants",
     {"{\"$defs\":{\"a\":{\"const\":[0", ",#", 20000,
      "]}},\"items\":{\"anyOf\":[{\"$ref\":\"#/$defs/a\"},"
      "{\"$ref\":\"#/$defs/a\"},{\"$ref\":\"#/$defs/a\"}]}}",
      "", 0},
     {"[0", ",[$0]", 40, "]", "0,", 20000}},
    {"marks",
     {"{\"unevaluatedProperties\":false,\"anyOf\":[true", ",{\"properties\":{\"a#\":{}}}", 2000,
      "]}", "", 0},
     {"{\"a\":1", ",\"a#\":1", 9000, "}", "", 0}},
    {"what others need",
     {"{\"dependentRequired\":{\"b\":[]", ",\"a#\":[\"a1\",\"a8999\"]", 4000, "}}", "", 0},
     {"{\"a\":1", ",\"a#\":1", 9000, "}", "", 0}},
    {"names and names",
     {"{\"required\":[\"a\"", ",\"a#\"", 9000, "],\"additionalProperties\":false}", "", 0},
     {"{\"a\":1", ",\"b#\":1", 9000, "}", "", 0}},
    {"names that are near",
     {"{\"additionalProperties\":false,\"properties\":{\"a\":{}", ",\"abcdefghijkl#\":{}", 9000,
      "}}", "", 0},
     {"{\"a\":1", ",\"abcdefghijklm#\":1", 9000, "}", "", 0}},
    {"items of the wrong type",
     ONCE("{\"items\":{\"type\":\"string\"}}"),
     {"[0", ",1", 2000000, "]", "", 0}},
    {"items that are too small",
     ONCE("{\"items\":{\"minimum\":5,\"enum\":[1,2,3]}}"),
     {"[0", ",1", 2000000, "]", "", 0}},
    {"wrong in each alternative",
     ONCE("{\"anyOf\":[{\"items\":{\"minimum\":5}},{\"items\":{\"enum\":[\"a\",\"b\"]}},{\"not\":{"
          "\"contains\":{\"const\":1}}}]}"),
     {"[0", ",1", 1000000, "]", "", 0}},
    {"wrong at the end",
     ONCE("{\"items\":{\"type\":\"integer\",\"minimum\":0}}"),
     {"[0", ",1", 2000000, ",-1]", "", 0}},
    {"bombs",
     ONCE("{\"items\":{\"$ref\":\"#\"},\"anyOf\":[{\"items\":{\"$ref\":\"#\"}},{\"items\":{\"$"
          "ref\":\"#\"}}],\"type\":\"array\"}"),
     ONCE("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]")},
};

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void add_piece(cw_buf *out, const text *t, size_t index)
{
    for (const char *c = t->piece; *c; c++) {
        if (*c == '#')
            cw_buf_add_u64(out, index);
        else if (*c == '$' && t->fill_n)
            for (size_t i = 0; i < t->fill_n; i++)
                cw_buf_add(out, cw_str_from(t->fill));
        else
            cw_buf_add_char(out, *c);
    }
}

static char *written(const text *t)
{
    cw_buf b;
    cw_buf_init(&b, 64u << 20);
    cw_buf_add(&b, cw_str_from(t->open));
    for (size_t i = 0; i < t->n; i++)
        add_piece(&b, t, i);
    cw_buf_add(&b, cw_str_from(t->close));
    char *whole = cw_buf_take(&b, NULL);
    assert_non_null(whole);
    return whole;
}

/* Both evaluators, as a call runs them. */
static void judge(const sample *s, const cw_schema *schema, const cw_json *v, size_t bytes)
{
    cw_schema_scratch scratch;
    cw_schema_scratch_init(&scratch);
    int64_t steps = STEPS;
    double start = cpu_ms();
    cw_code rc = cw_schema_validate_within(schema, v, &scratch, &steps);
    double fast = cpu_ms() - start;
    int64_t used = STEPS - steps;
    cw_schema_scratch_done(&scratch);
    assert_true(rc == CW_OK || rc == CW_PARAMS || rc == CW_LIMIT);
    assert_true(steps >= 0 || rc == CW_LIMIT);

    cw_arena arena;
    cw_arena_init(&arena, 256u << 20);
    cw_schema_report report = {0};
    steps = STEPS;
    const cw_schema_explain_opts opts = {.max_problems = SHOWN, .steps = &steps};
    start = cpu_ms();
    cw_code why = cw_schema_explain(schema, v, &opts, &arena, &report, NULL);
    double slow = cpu_ms() - start;
    size_t memory = arena.used;
    cw_arena_done(&arena);
    print_message(
        "[          ] %-28s %-8s %8lld steps %6.1f ms, %-8s %8lld steps %6.1f ms %7zu bytes\n",
        s->name, cw_code_text(rc), (long long)used, fast, cw_code_text(why),
        (long long)(STEPS - steps), slow, memory);
    assert_true(why == rc || why == CW_LIMIT || rc == CW_LIMIT);
    if (fast > MOST_MS || slow > MOST_MS)
        fail_msg("%s: %.0f and %.0f ms of CPU", s->name, fast, slow);
    assert_true(memory <= 10 * bytes + (SHOWN + 1) * CW_SCHEMA_PROBLEM_BYTES);
    if (rc == CW_PARAMS && why == CW_PARAMS)
        assert_true(report.n > 0 && report.n <= SHOWN && report.total <= SHOWN + 1);
}

TEST(threat_B6_steps_are_time)
{
    for (size_t i = 0; i < CW_COUNT(samples); i++) {
        const sample *s = &samples[i];
        char *schema_text = written(&s->schema);
        char *instance_text = written(&s->instance);
        const cw_schema_opts opts = {.max_steps = UINT64_MAX, .draft = CW_SCHEMA_2020_12};
        double start = cpu_ms();
        cw_schema *schema = must_compile_schema(schema_text, &opts);
        double compiled = cpu_ms() - start;
        if (compiled > MOST_MS)
            fail_msg("%s: compiled in %.0f ms of CPU", s->name, compiled);
        cw_arena arena;
        cw_arena_init(&arena, 1u << 30);
        const cw_json *v = read_deep_json(&arena, cw_str_from(instance_text));
        judge(s, schema, v, strlen(instance_text));
        cw_arena_done(&arena);
        cw_schema_unref(schema);
        free(instance_text);
        free(schema_text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threat_B6_steps_are_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
