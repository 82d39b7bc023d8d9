/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTML to Markdown: what comes out, what cannot go wrong, and how long it takes. */
#include <time.h>

#include "html.h"
#include "markdown.h"
#include "support/oom.h"
#include "support/test.h"

typedef struct pair {
    const char *html, *markdown;
} pair;

static void check(const pair *pairs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *got = markdown_from_html(pairs[i].html);
        assert_non_null(got);
        if (strcmp(got, pairs[i].markdown) != 0)
            print_message("%s\n", pairs[i].html);
        assert_string_equal(got, pairs[i].markdown);
        free(got);
    }
}

#define CHECK(...)                                                                                 \
    do {                                                                                           \
        static const pair pairs[] = {__VA_ARGS__};                                                 \
        check(pairs, sizeof pairs / sizeof *pairs);                                                \
    } while (0)

/* ---- blocks ---- */

TEST(paragraphs_are_set_apart)
{
    CHECK({"", ""}, {"   \n ", ""}, {"No tags.", "No tags."},
          {"<p>First.</p><p>Second.</p>", "First.\n\nSecond."},
          {"<p>One</p>\n<p>Two</p>   <p>Three</p>", "One\n\nTwo\n\nThree"},
          {"<P CLASS='a'>One</P><p style=\"x>y\" id=z>Two", "One\n\nTwo"},
          {"<p>a\n b\t\tc&nbsp; d</p>", "a b c d"},
          {"<div><p>a</p></div><p></p><p>b</p>", "a\n\nb"},
          {"text<section>more</section>rest", "text\n\nmore\n\nrest"},
          {"<dl><dt>a<dd>b</dl>", "a\n\nb"});
}

TEST(headings_have_their_level_and_are_one_line)
{
    CHECK({"<h1>A</h1><h3>B</h3>c", "# A\n\n### B\n\nc"}, {"<h2></h2>x", "x"},
          {"<h2> <br> </h2>x", "x"}, {"<h1>a<br>b</h1>", "# a b"},
          {"<h2><p>inside</p></h2><p>after</p>", "## inside\n\nafter"},
          {"<h2>no end<p>after</p>", "## no end\n\nafter"}, {"<h2><b>bold</b></h2>", "## **bold**"},
          {"<h6>C #</h6>", "###### C \\#"}, {"<h6># C#</h6>", "###### \\# C#"});
}

TEST(line_breaks_and_rules)
{
    CHECK({"a<br>b<br/>c<hr>d", "a\\\nb\\\nc\n\n---\n\nd"}, {"a<br><br>b", "a\n\nb"},
          {"<br>a<br></p><p>b<br>", "a\n\nb"}, {"<b>a<br>b</b>", "**a**\\\n**b**"}, {"<hr>", "---"},
          {"<b><hr></b>x", "---\n\nx"}, {"<ul><li><hr></ul>", "- ***"});
}

TEST(lists_nest)
{
    CHECK({"<ul><li>a</li><li>b</li></ul>", "- a\n- b"}, {"<ol><li>x<li>y</ol>", "1. x\n2. y"},
          {"<ol><li>x<ul><li>y</li></ul></li><li>z</li></ol>end", "1. x\n   - y\n2. z\n\nend"},
          {"<ul><li>a<ul><li>b<ul><li>c</ul></ul><li>d</ul>", "- a\n  - b\n    - c\n- d"},
          {"<ul><li><p>one</p><p>more</p></li></ul>", "- one\n\n  more"},
          {"<ul><li><ul><li>x</li></ul></li></ul>", "- - x"},
          {"<ul><li>a</li><ul><li>b</li></ul><li>c</li></ul>", "- a\n  - b\n- c"},
          {"<ol start=9><li>a<li>b<p>c</p></ol>", "9. a\n10. b\n\n    c"},
          {"<ol start=-3><li>a</ol><ol start=999999999999><li>b</ol>", "1. a\n\n1. b"},
          {"<ul><li></li><li>b</li></ul>", "- b"}, {"<li>alone", "- alone"},
          {"<ul><li><b>a</b> b<li><a href=u>c</a></ul>", "- **a** b\n- [c](u)"},
          {"<ul><li><pre>x\n\ny</pre></ul>", "- ```\n  x\n\n  y\n  ```"},
          {"<ul><li><h2>t</h2>x</ul>", "- ## t\n\n  x"});
}

TEST(quotes_nest)
{
    CHECK({"<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc"},
          {"<blockquote>a<blockquote>b</blockquote></blockquote>", "> a\n>\n> > b"},
          {"<blockquote><ul><li>a<li>b</ul></blockquote>", "> - a\n> - b"},
          {"<ul><li><blockquote>a<p>b</blockquote><li>c</ul>", "- > a\n  >\n  > b\n\n- c"},
          {"<blockquote><pre>x\n\ny</pre></blockquote>", "> ```\n> x\n>\n> y\n> ```"});
}

/* ---- inside a line ---- */

TEST(emphasis_is_written_around_text_only)
{
    CHECK({"<p>With <strong>bold</strong> and <em>italic</em>.</p>", "With **bold** and *italic*."},
          {"<b></b><i> spaced </i>next", "*spaced* next"}, {"a<b> b </b>c", "a **b** c"},
          {"<b><b>x</b></b>y", "**x**y"}, {"<i><b>x</b></i>", "***x***"},
          {"<b>a</b><b>b</b>", "**ab**"}, {"<i>a</i><b>b</b>", "*a***b**"},
          {"<b>a <i>b</b> c</i>", "**a *b*** *c*"}, {"<b>x<p>y</p></b>z", "**x**\n\n**y**\n\nz"},
          {"</b></i>x", "x"}, {"<b>x", "**x**"});
}

TEST(links_and_images_keep_their_address)
{
    CHECK({"<a href=\"/x?a=1&amp;b=2\">link</a> <a>none</a>", "[link](/x?a=1&b=2) none"},
          {"<a href=/x/y>z</a>", "[z](/x/y)"}, {"<a href = '/x' >z</a>", "[z](/x)"},
          {"<a title=\"href='no'\" href=yes>z</a>", "[z](yes)"},
          {"<a href='https://e.org/C_(x)'>C</a>", "[C](https://e.org/C_\\(x\\))"},
          {"<a href='a b&#10;<c>\\'>x</a>", "[x](a%20b%3Cc%3E\\\\)"},
          {"<a href='?x=1&amp;copy;=2'>x</a>", "[x](?x=1\\&copy;=2)"},
          {"<a href=u>a]b</a>", "[a\\]b](u)"}, {"<a href=u></a>x", "x"},
          {"<a href=u>a<a href=v>b</a>", "[a](u)[b](v)"}, {"Look!<a href=u>x</a>", "Look\\![x](u)"},
          {"<b>x <a href=u>y</b> z</a>", "**x [y](u)** [z](u)"},
          {"<a href=u>a<p>b</p></a>", "[a](u)\n\n[b](u)"},
          {"<img src=i.png alt='a b'>", "![a b](i.png)"}, {"<img src=i>", "![](i)"},
          {"<a href=u><img src=i alt=x></a>", "[![x](i)](u)"},
          {"<img src=i alt=']*\n x'>", "![\\]\\* x](i)"}, {"<img alt=only>", "only"});
}

TEST(addresses_that_run_scripts_are_dropped)
{
    CHECK(
        {"<a href='javascript:alert(1)'>x</a>", "x"},
        {"<a href=' JaVa&#10;Script&colon;alert(1)'>x</a>", "[x](JaVaScript\\&colon;alert\\(1\\))"},
        {"<a href='\001 jav&#9;ascript:alert(1)'>x</a>", "x"},
        {"<a href='data:text/html,x'>x</a>", "x"}, {"<a href=vbscript:x>x</a>", "x"},
        {"<img src='javascript:x' alt=y>", "y"}, {"<a href=javascripts>x</a>", "[x](javascripts)"});
}

TEST(code_is_taken_as_it_is)
{
    CHECK({"x <code>a&lt;b *c* _d_</code> <code>`</code>", "x `a<b *c* _d_` `` ` ``"},
          {"<code>a``b`c</code>", "```a``b`c```"}, {"<code></code>x", "x"},
          {"<code>a\nb<br>c</code>", "`a b c`"}, {"<b><code>x</code></b>", "**`x`**"},
          {"<pre><code>if (x)\n\n  y();\n</code></pre>z", "```\nif (x)\n\n  y();\n```\n\nz"},
          {"<pre>```</pre>", "````\n```\n````"}, {"<pre>\n\nx</pre>", "```\n\nx\n```"},
          {"<pre>a\r\nb<br>c<div>d</div>e</pre>", "```\na\nb\ncd\ne\n```"},
          {"<pre><code class='x language-c++ y'>z</code></pre>", "```c++\nz\n```"},
          {"<pre><code class=\"language-a`b\">z</code></pre>", "```a\nz\n```"},
          {"<pre></pre>x", "x"}, {"<b><pre>x</pre>y</b>", "```\nx\n```\n\n**y**"},
          {"<p>Use <code>x</p><p>more</p>", "Use `x`\n\nmore"},
          {"<pre>a<script>alert(1)</script>b</pre>", "```\nab\n```"});
}

TEST(what_markdown_would_misread_is_escaped)
{
    CHECK({"# not *a* heading_1", "\\# not \\*a\\* heading\\_1"}, {"- no list", "\\- no list"},
          {"+ no list", "\\+ no list"}, {"-5 and +5", "-5 and +5"}, {"--", "\\--"},
          {"1. no list", "1\\. no list"}, {"12) no", "12\\) no"}, {"3.14 is 1. x", "3.14 is 1. x"},
          {"1<span>.</span> x", "1\\. x"}, {"<b>1</b>. x", "**1**. x"}, {"> no", "\\> no"},
          {"a<br>===", "a\\\n\\==="}, {"a<br>---", "a\\\n\\---"}, {"~~~ no", "\\~\\~~ no"},
          {"1 < 2 <3", "1 \\< 2 \\<3"}, {"&lt;script&gt;", "\\<script>"},
          {"&amp;lt; AT&T &amp;#65;", "\\&lt; AT&T \\&#65;"},
          {"a [b](c) `d` \\e", "a \\[b\\](c) \\`d\\` \\\\e"});
}

/* ---- what is in HTML ---- */

TEST(entities_are_decoded)
{
    CHECK({"1 &gt; 2 &amp; 3&nbsp;&#x41;&#66;", "1 > 2 & 3 AB"},
          {"&eacute;&Eacute;&euro;&hellip;&thetasym;&apos;&zwnj;", "éÉ€…ϑ'\u200c"},
          {"&#146;&#x80;&#129;", "’€\uFFFD"},
          {"&#0;&#1;&#xD800;&#x110000;", "\uFFFD\uFFFD\uFFFD\uFFFD"},
          {"&unknown; & &; &#; &#x; &#1f; &amp", "\\&unknown; & &; &#; \\&#x; \\&#1f; &amp"},
          {"&#x1F600;", "\U0001F600"});
}

TEST(what_nobody_sees_is_dropped)
{
    CHECK({"<script>if (a<b) alert('</p>')</script><style>p{}</style><!-- no -->x", "x"},
          {"<SCRIPT>\"it's\"</sCript >x", "x"}, {"<script>a</scripts></script>x", "x"},
          {"a<script>never ends <p>b", "a"}, {"a<!-- never ends <p>b", "a"},
          {"a<!-->b<!--->c<!DOCTYPE html>d<?php x ?>e", "abcde"},
          {"<head><title>t</title><meta x></head><body>x", "x"},
          {"<template>a<template>b</template>c</template>x", "x"},
          {"<svg><title>t</title><text>u</text></svg>x<iframe><p>y</iframe>", "x"});
}

TEST(broken_tags_do_no_harm)
{
    CHECK({"a<b", "a"}, {"a < b", "a \\< b"}, {"</p></ul></b></li></blockquote>x", "x"},
          {"<p it's a=\"b>c\">x", "x"}, {"<p a=\"never ends>x", ""}, {"<>x</>", "\\<>x\\</>"},
          {"<verylongelementname>x</verylongelementname>", "x"}, {"<a href>x</a>", "x"},
          {"<a =b href=u>x</a>", "[x](u)"}, {"<a/href=u/>x</a>", "[x](u/)"}, {"<", "\\<"},
          {"<ul><blockquote></li></ul>x", "x"});
}

TEST(deep_nesting_ends_where_it_began)
{
    enum { DEPTH = 1000 };
    text html = {0};
    for (int i = 0; i < DEPTH; i++)
        text_add(&html, i % 2 ? "<blockquote>" : "<ul><li>");
    text_add(&html, "deep");
    for (int i = DEPTH; i-- > 0;)
        text_add(&html, i % 2 ? "</blockquote>" : "</li></ul>");
    text_add(&html, "<p>out</p>");
    char *got = markdown_from_html(html.p);
    assert_non_null(got);
    const char *out = strstr(got, "\n\nout");
    assert_non_null(out);
    assert_string_equal(out, "\n\nout");
    assert_true(strlen(got) < 128);
    free(got);
    text_free(&html);
}

TEST(a_title_is_text)
{
    static const struct {
        const char *title, *body, *markdown;
    } cases[] = {
        {"T", "", "# T\n\n"},
        {"Test Article", "<p>x</p>", "# Test Article\n\nx"},
        {"a <b>*c*</b>\n# d &amp; C #", "x", "# a \\<b>\\*c\\*\\</b> \\# d \\&amp; C \\#\n\nx"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = markdown_from_article(cases[i].title, cases[i].body);
        assert_string_equal(got, cases[i].markdown);
        free(got);
    }
}

/* ---- cost ---- */

/* The strict string checks of AddressSanitizer measure the rest of a text with each strchr. */
#ifdef __SANITIZE_ADDRESS__
#define LONG_BYTES (32u * 1024u)
#else
#define LONG_BYTES (1024u * 1024u)
#endif

/* Pieces that would each be looked at again and again by a careless reader. 1 MB of a piece takes
 * some hundredths of a second; if the time grew with the square, it would be minutes. */
TEST(time_grows_with_the_length_only)
{
    static const char *const pieces[] = {
        "<",
        "<!--x>",
        "<a href=\"",
        "&",
        "&a",
        "<b>",
        "<ul>",
        "<blockquote>",
        "</li>",
        "<li>",
        "</scriptx",
        "<script>",
        "<code>`",
        "<pre>",
        "<p>x",
        "<br>",
        "<ul></blockquote>",
        "*",
        "<a href=x>",
        "<img src=x>",
        "<x y='",
        "<template>",
        "<h1>",
        "<i>x</b>",
        "1.",
        "<code><p>",
        "<b>a<i>b</b>c</i>",
        "<!",
        "</",
        "<ol start=5><li>x",
    };
    enum { SECONDS = 20 };
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        text html = {0};
        text_add(&html, i % 2 ? "<script></script>" : "");
        while (html.n < LONG_BYTES)
            text_add(&html, pieces[i]);
        clock_t begin = clock();
        char *got = markdown_from_html(html.p);
        double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        assert_non_null(got);
        if (seconds > SECONDS)
            fail_msg("%s: %.1f s", pieces[i], seconds);
        free(got);
        text_free(&html);
    }
}

static void convert_once(void *ctx)
{
    (void)ctx;
    static const char html[] =
        "<h1>a</h1><p>b <b>c</b> <a href='u'>d</a><img src=i alt=e></p><ol start=3><li>f<ul><li>g"
        "<blockquote>h<pre><code class=language-c>i</code></pre></blockquote></ul></ol><code>j"
        "</code>"
        "<ul><ul><ul><ul><ul><ul><ul><ul><ul><ul><ul><ul><ul><ul><ul><ul><ul><ul>k"
        "<p>0123456789012345678901234567890123456789012345678901234567890123456789</p>"
        "<p>0123456789012345678901234567890123456789012345678901234567890123456789</p>";
    char *got = markdown_from_article("T", html);
    if (oom_was_hit())
        assert_true(got == NULL || strlen(got) > 0);
    else
        assert_non_null(got);
    free(got);
}

TEST(every_failed_allocation_is_survived)
{
    assert_true(oom_each(convert_once, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paragraphs_are_set_apart),
        cmocka_unit_test(headings_have_their_level_and_are_one_line),
        cmocka_unit_test(line_breaks_and_rules),
        cmocka_unit_test(lists_nest),
        cmocka_unit_test(quotes_nest),
        cmocka_unit_test(emphasis_is_written_around_text_only),
        cmocka_unit_test(links_and_images_keep_their_address),
        cmocka_unit_test(addresses_that_run_scripts_are_dropped),
        cmocka_unit_test(code_is_taken_as_it_is),
        cmocka_unit_test(what_markdown_would_misread_is_escaped),
        cmocka_unit_test(entities_are_decoded),
        cmocka_unit_test(what_nobody_sees_is_dropped),
        cmocka_unit_test(broken_tags_do_no_harm),
        cmocka_unit_test(deep_nesting_ends_where_it_began),
        cmocka_unit_test(a_title_is_text),
        cmocka_unit_test(time_grows_with_the_length_only),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
