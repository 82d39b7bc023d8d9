/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inspect.c - the methods that a plugin would publish: its host reports them, and the catalogue
 * checks them. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "catalogue/lint.h"
#include "cli/plugin/plugin.h"
#include "config/syntax/quote.h"
#include "net/process/child.h"
#include "server/files/plugin_host_path.h"
#include "server/options/permissions.h"
#include "source/openrpc/openrpc.h"
#include "source/plugin/plugin.h"
#include "source/registry/registry.h"

#define CHECK_MS 10000u
#define REPORT_MAX_BYTES (256u * 1024u * 1024u)
#define OUTPUT_MAX_BYTES (64u * 1024u * 1024u)
#define READ_BYTES 65536u
#define POLL_MS 20u /* how often to check whether the child has exited */

/* ---- the host as a child ---- */

/* The output of a child, and its exit status. */
typedef struct child_output {
    cw_buf out, err;
    int status; /* as waitpid */
    bool is_late;
} child_output;

typedef struct pipes {
    int out[2], err[2];
} pipes;

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void close_pipes(pipes *p)
{
    for (int i = 0; i < 2; i++) {
        close_fd(&p->out[i]);
        close_fd(&p->err[i]);
    }
}

/* In a process group of its own: what it starts ends with it. */
static int spawn_group(const char *const *argv, const posix_spawn_file_actions_t *actions,
                       char *const *env, pid_t *ret_pid)
{
    posix_spawnattr_t attr;
    int errnum = posix_spawnattr_init(&attr);
    if (errnum)
        return errnum;
    errnum = posix_spawnattr_setpgroup(&attr, 0);
    if (!errnum)
        errnum = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP);
    if (!errnum)
        errnum = posix_spawn(ret_pid, argv[0], actions, &attr, (char *const *)(uintptr_t)argv, env);
    posix_spawnattr_destroy(&attr);
    return errnum;
}

static cw_code spawn(const char *const *argv, pipes *p, pid_t *ret_pid, cw_err *err)
{
    /* Code that is not ours gets no secrets: neither our environment nor our descriptors. */
    static char path[] = "PATH=/usr/bin:/bin", locale[] = "LANG=C.UTF-8";
    char *env[] = {path, locale, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return cw_fail_nomem(err);
    int errnum = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!errnum)
        errnum = posix_spawn_file_actions_adddup2(&actions, p->out[1], STDOUT_FILENO);
    if (!errnum)
        errnum = posix_spawn_file_actions_adddup2(&actions, p->err[1], STDERR_FILENO);
    if (!errnum)
        errnum = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    if (!errnum)
        errnum = spawn_group(argv, &actions, env, ret_pid);
    posix_spawn_file_actions_destroy(&actions);
    return errnum ? cw_fail_errno(err, errnum, "start '%s'", argv[0]) : CW_OK;
}

/* Read once; closes the descriptor at the end of the output, or when there is too much of it. */
static void read_some(int *fd, cw_buf *to)
{
    char *room = cw_buf_reserve(to, READ_BYTES);
    ssize_t n = room ? read(*fd, room, READ_BYTES) : 0;
    if (n < 0 && errno == EINTR)
        return;
    if (n <= 0)
        close_fd(fd);
    else
        cw_buf_commit(to, (size_t)n);
}

/* It is not reaped: its number stays that of its group. */
static bool has_exited(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid;
}

/* Until both pipes have ended. A child of the child may hold them for longer than it lives: when it
 * has exited, so does its group. */
static void read_until(pipes *p, pid_t pid, child_output *child, uint64_t end)
{
    while (p->out[0] >= 0 || p->err[0] >= 0) {
        uint64_t now = cw_clock_ms();
        child->is_late = now >= end;
        if (child->is_late)
            return;
        if (has_exited(pid))
            kill(-pid, SIGKILL);
        struct pollfd fds[] = {{p->out[0], POLLIN, 0}, {p->err[0], POLLIN, 0}};
        if (poll(fds, 2, (int)(end - now < POLL_MS ? end - now : POLL_MS)) < 0)
            continue;
        if (fds[0].revents)
            read_some(&p->out[0], &child->out);
        if (fds[1].revents)
            read_some(&p->err[0], &child->err);
    }
}

/* A child may close its output and live on. */
static void reap(pid_t pid, child_output *child, uint64_t end)
{
    while (!child->is_late && !has_exited(pid)) {
        if (cw_clock_ms() >= end)
            child->is_late = true;
        else
            usleep(1000);
    }
    kill(-pid, SIGKILL);
    while (waitpid(pid, &child->status, 0) < 0 && errno == EINTR)
        continue;
}

/* Run a program with a bare environment and without input. It is killed after `ms`. Release with
 * child_output_done, also after a failure. */
static cw_code run_host(const char *const *argv, unsigned ms, child_output *ret, cw_err *err)
{
    *ret = (child_output){0};
    cw_buf_init(&ret->out, OUTPUT_MAX_BYTES);
    cw_buf_init(&ret->err, OUTPUT_MAX_BYTES);
    pipes p = {{-1, -1}, {-1, -1}};
    if (pipe2(p.out, O_CLOEXEC) || pipe2(p.err, O_CLOEXEC)) {
        cw_code rc = cw_fail_errno(err, errno, "pipe");
        close_pipes(&p);
        return rc;
    }
    uint64_t end = cw_clock_ms() + ms;
    pid_t pid;
    cw_code rc = spawn(argv, &p, &pid, err);
    close_fd(&p.out[1]);
    close_fd(&p.err[1]);
    if (!rc) {
        read_until(&p, pid, ret, end);
        close_pipes(&p);
        reap(pid, ret, end);
        if (ret->out.code == CW_NOMEM || ret->err.code == CW_NOMEM)
            rc = cw_fail_nomem(err);
    }
    close_pipes(&p);
    return rc;
}

static void child_output_done(child_output *child)
{
    cw_buf_done(&child->out);
    cw_buf_done(&child->err);
}

/* ---- the report ---- */

static void keep(cw_source *source)
{
    (void)source;
}

static void set_problem(cw_plugin_report *r, cw_str text)
{
    while (cw_str_ends(text, CW_STR("\n")) || cw_str_ends(text, CW_STR(" ")))
        text.n--;
    r->problems = cw_arena_dup_str(&r->arena, text);
}

/* "articles: it took too long to load" */
static void set_own_problem(cw_plugin_report *r, cw_str name, const char *text)
{
    const char *line = cw_arena_printf(&r->arena, "%.*s: %s", CW_STR_ARG(name), text);
    r->problems = line ? cw_str_from(line) : (cw_str){0};
}

static const cw_offer_ops ops = {.ref = keep, .unref = keep};

/* Why the catalogue refuses methods, a line each. It refuses a plugin at its first mistake, so each
 * method is offered as if it were alone in a plugin. */
static cw_code add_refusals(cw_str name, const cw_method *methods, size_t n,
                            const cw_schema_policy *policy, cw_buf *out, cw_err *err)
{
    cw_offer *offers = calloc(n + 1, sizeof *offers);
    cw_snapshot *snapshot = NULL;
    const cw_snapshot_opts opts = {.policy = *policy};
    size_t n_problems = 0;
    if (!offers)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < n; i++)
        offers[i] = (cw_offer){.name = name, .methods = &methods[i], .n_methods = 1};
    cw_code rc = cw_snapshot_build(offers, n, &ops, &opts, &snapshot, err);
    const cw_snapshot_problem *problems = rc ? NULL : cw_snapshot_problems(snapshot, &n_problems);
    for (size_t i = 0; i < n_problems; i++)
        cw_buf_printf(out, "%.*s: %.*s\n", CW_STR_ARG(name), CW_STR_ARG(problems[i].text));
    cw_snapshot_unref(snapshot);
    free(offers);
    return rc;
}

/* The catalogue may refuse what the host takes: reserved names, two methods with one tool name. */
static cw_code build(cw_plugin_report *r, cw_str name, cw_err *err)
{
    cw_offer offer = {.name = name, .methods = r->methods, .n_methods = r->n_methods};
    cw_snapshot_opts opts = {.policy = r->policy};
    size_t n;
    cw_code rc = cw_snapshot_build(&offer, 1, &ops, &opts, &r->snapshot, err);
    if (rc)
        return rc;
    (void)cw_snapshot_problems(r->snapshot, &n);
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, REPORT_MAX_BYTES);
    if (n)
        rc = add_refusals(name, r->methods, r->n_methods, &r->policy, &text, err);
    set_problem(r, cw_buf_str(&text));
    return rc;
}

/* ---- mistakes ---- */

/* The names of the tools that could be read: everything else of them was checked already. */
static cw_code add_name_mistakes(const cw_plugin_report *r, cw_str name, const cw_json *doc,
                                 cw_buf *lines, cw_err *err)
{
    static const cw_mark plain = {.title = CW_STR_INIT(""), .annotations = CW_STR_INIT("")};
    cw_method *methods = NULL;
    size_t n = 0, n_tools = 0;
    cw_err mistake;
    CW_CLEANUP(cw_buf_done) cw_buf reported;
    CW_CLEANUP(cw_arena_done) cw_arena arena;
    cw_buf_init(&reported, REPORT_MAX_BYTES);
    cw_arena_init(&arena, REPORT_MAX_BYTES);
    const cw_openrpc_opts opts = {.trust_marks = true, .problems = &reported};
    if (cw_openrpc_read(doc, &opts, &arena, &methods, &n, &mistake) == CW_NOMEM)
        return cw_fail_nomem(err);
    for (size_t i = 0; i < n; i++) {
        if (methods[i].mark && methods[i].id.n)
            methods[n_tools++] = (cw_method){.id = methods[i].id, .mark = &plain};
    }
    return add_refusals(name, methods, n_tools, &r->policy, lines, err);
}

/* All mistakes that the host found, and those of the description that only we find. */
static cw_code set_mistakes(cw_plugin_report *r, cw_str name, cw_str found, const cw_json *doc,
                            cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf lines;
    cw_buf_init(&lines, REPORT_MAX_BYTES);
    cw_buf_add(&lines, found);
    cw_code rc = doc ? cw_plugin_declaration_errors(name, doc, &r->policy, &lines) : CW_OK;
    if (!rc && doc && lines.n)
        rc = add_name_mistakes(r, name, doc, &lines, err);
    if (rc || lines.code)
        return cw_fail_nomem(err);
    set_problem(r, cw_buf_str(&lines));
    return CW_OK;
}

static cw_code read_json(cw_plugin_report *r, cw_str text, const cw_json **ret, cw_err *err)
{
    cw_str copy = cw_arena_dup_str(&r->arena, text);
    return copy.p ? cw_json_read(copy, NULL, &r->arena, ret, NULL, err)
                  : cw_arena_fail(&r->arena, err);
}

static cw_code read_description(cw_plugin_report *r, cw_str name, cw_str text, cw_err *err)
{
    cw_err mistake = {0};
    const cw_json *doc = NULL;
    cw_code rc = read_json(r, text, &doc, &mistake);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc) {
        set_own_problem(r, name, mistake.msg);
        return CW_OK;
    }
    rc = set_mistakes(r, name, CW_STR(""), doc, err);
    if (rc || r->problems.n)
        return rc;
    cw_method *methods = NULL;
    const cw_openrpc_opts opts = {.trust_marks = true, .callable = true};
    rc = cw_openrpc_read(doc, &opts, &r->arena, &methods, &r->n_methods, err);
    if (rc)
        return rc;
    r->methods = methods;
    const cw_json *version = cw_json_pointer(doc, CW_STR("/info/version"));
    r->version = cw_json_is(version, CW_JSON_STRING) ? cw_json_text(version) : CW_STR("");
    return build(r, name, err);
}

/* The host has exited and has mistakes to tell. */
static cw_code read_mistakes(cw_plugin_report *r, cw_str name, const child_output *child,
                             cw_err *err)
{
    const cw_json *doc = NULL;
    if (child->out.n && read_json(r, cw_buf_str(&child->out), &doc, NULL) != CW_OK)
        doc = NULL;
    return set_mistakes(r, name, cw_buf_str(&child->err), doc, err);
}

/* It crashed or exited: how, and the last lines it wrote. */
static cw_code set_crash(cw_plugin_report *r, cw_str name, const child_output *child, cw_err *err)
{
    char how[64];
    CW_CLEANUP(cw_buf_done) cw_buf text;
    cw_buf_init(&text, REPORT_MAX_BYTES);
    cw_buf_printf(&text, "%.*s: %s while it was loaded: %s\n", CW_STR_ARG(name),
                  WIFSIGNALED(child->status) ? "crashed" : "ended",
                  cw_child_status_text(child->status, how, sizeof how));
    for (cw_str rest = cw_buf_str(&child->err); rest.p && rest.n;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        cw_buf_printf(&text, "%.*s: it wrote: %.*s\n", CW_STR_ARG(name), CW_STR_ARG(line));
    }
    if (text.code)
        return cw_fail_nomem(err);
    set_problem(r, cw_buf_str(&text));
    return CW_OK;
}

/* "/a/b/articles.so" and "articles.so.disabled" are "articles". */
static cw_str name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    cw_str name = cw_str_from(slash ? slash + 1 : path);
    static const cw_str suffixes[] = {CW_STR_INIT(CW_PLUGIN_OFF_SUFFIX),
                                      CW_STR_INIT(CW_PLUGIN_SUFFIX)};
    for (size_t i = 0; i < CW_COUNT(suffixes); i++) {
        if (cw_str_ends(name, suffixes[i]) && name.n > suffixes[i].n)
            return cw_str_make(name.p, name.n - suffixes[i].n);
    }
    return name;
}

static cw_code judge(cw_plugin_report *r, cw_str name, const child_output *child, cw_err *err)
{
    int exit_status = WIFEXITED(child->status) ? WEXITSTATUS(child->status) : -1;
    if (child->is_late)
        set_own_problem(r, name, "it took too long to load");
    else if (child->out.code || child->err.code)
        set_own_problem(r, name, "it writes without end while it is loaded");
    else if (exit_status == 0 && child->out.n)
        return read_description(r, name, cw_buf_str(&child->out), err);
    else if (exit_status == 1 && child->err.n)
        return read_mistakes(r, name, child, err);
    else
        return set_crash(r, name, child, err);
    return CW_OK;
}

static bool on_finding(const cw_lint_finding *finding, void *ctx)
{
    cw_buf *text = ctx;
    cw_lint_write(finding, text);
    cw_buf_add_char(text, '\n');
    return !text->code;
}

static cw_code add_warnings(cw_plugin_report *r, const cw_config *config, cw_err *err)
{
    cw_lint_opts opts = cw_sources_lint_opts(config);
    opts.portable = true;
    cw_name_list roles = {0};
    bool has_roles = false;
    opts.annotations = true;
    cw_arena_init(&roles.arena, REPORT_MAX_BYTES);
    if (cw_role_permissions_of_roles(config, &roles, &has_roles) == CW_OK && has_roles) {
        opts.permissions = roles.items;
        opts.n_permissions = roles.n;
    }
    cw_buf text;
    cw_buf_init(&text, REPORT_MAX_BYTES);
    cw_code rc = cw_lint(r->methods, r->n_methods, &opts, on_finding, &text);
    r->warnings = cw_arena_dup_str(&r->arena, cw_buf_str(&text));
    if (text.code || !r->warnings.p)
        rc = CW_NOMEM;
    cw_buf_done(&text);
    cw_arena_done(&roles.arena);
    return rc ? cw_fail_nomem(err) : CW_OK;
}

cw_code cw_plugin_inspect(const cw_config *config, const char *host, const char *path,
                          cw_plugin_report *ret, cw_err *err)
{
    *ret = (cw_plugin_report){
        .problems = CW_STR_INIT(""), .warnings = CW_STR_INIT(""), .version = CW_STR_INIT("")};
    ret->policy = cw_sources_policy(config);
    cw_arena_init(&ret->arena, REPORT_MAX_BYTES);
    cw_str name = name_of(path);
    ret->name = name;
    ret->stem = cw_str_make(path, (size_t)(name.p + name.n - path));
    const char *option = cw_arena_printf(&ret->arena, "--name=%.*s", CW_STR_ARG(name));
    if (!option)
        return cw_arena_fail(&ret->arena, err);
    /* "--": a file's name may begin with a dash. */
    const char *const argv[] = {host, "--check", "--partial", option, "--", path, NULL};
    child_output child;
    cw_code rc = run_host(argv, CHECK_MS, &child, err);
    if (!rc)
        rc = judge(ret, name, &child, err);
    if (!rc)
        rc = add_warnings(ret, config, err);
    child_output_done(&child);
    if (!rc && !ret->problems.p)
        rc = cw_fail_nomem(err);
    return rc;
}

void cw_plugin_report_done(cw_plugin_report *report)
{
    cw_snapshot_unref(report->snapshot);
    cw_skills_unref(report->skills);
    report->snapshot = NULL;
    report->skills = NULL;
    cw_arena_done(&report->arena);
}

void cw_plugin_print_problems(cw_str problems)
{
    cw_buf text;
    cw_buf_init(&text, REPORT_MAX_BYTES);
    for (cw_str rest = problems; rest.p && rest.n;) {
        cw_quote_shown(&text, cw_str_cut(rest, '\n', &rest));
        cw_buf_add_char(&text, '\n');
    }
    cw_str all = cw_buf_str(&text);
    fwrite(all.p, 1, all.n, stderr);
    cw_buf_done(&text);
}

void cw_plugin_write_problems(cw_json_writer *w, cw_str name, cw_str problems)
{
    cw_json_add_key(w, name);
    cw_json_open_array(w);
    for (cw_str rest = problems; rest.p && rest.n;) {
        cw_str line = cw_str_cut(rest, '\n', &rest);
        if (line.n)
            cw_json_add_string(w, line);
    }
    cw_json_close(w);
}

void cw_plugin_report_count(const cw_plugin_report *report, size_t *ret_methods, size_t *ret_tools)
{
    *ret_methods = *ret_tools = 0;
    if (!report->snapshot)
        return;
    cw_snapshot_entries(report->snapshot, ret_methods);
    cw_snapshot_tools(report->snapshot, ret_tools);
}

const char *cw_plugin_any_caller(bool requires_login)
{
    return requires_login ? "none: any caller that its auth admits" : "none: any caller";
}
