/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folder.c - walks through a directory of skills, and reads it.
 *
 * Every directory is opened by its name in the one above, without following links: an entry that is
 * replaced by a link meanwhile cannot lead out of the directory.
 */
#include "source/skills/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/hex.h"
#include "base/map.h"
#include "base/percent.h"
#include "base/utf8.h"
#include "json/write.h"

#define DIRECTORY_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC)
#define ENTRY_MAX (2u * 1024u * 1024u) /* bytes of JSON about one skill */
/* Half of it is for the nodes, names and JSON beside the files themselves. */
#define ARENA_MAX (2u * CW_SKILLS_MAX_BYTES)
/* Maximum of entries in a stamp: more than can be served, since some entries are ignored. */
#define STAMP_MAX 65536u

/* ---- entries of a directory ---- */

typedef struct entry {
    int directory; /* where it is */
    const char *name;
    cw_str path; /* from the directory of the skill, or of the skills */
    struct stat st;
    unsigned depth;
} entry;

/* Something other than CW_OK ends the walk. */
typedef cw_code (*entry_fn)(const entry *e, void *ctx, cw_err *err);

static cw_code walk_open(int fd, cw_str path, unsigned depth, entry_fn fn, void *ctx, cw_err *err);

/* The entries below a directory. */
static cw_code walk_into(const entry *e, entry_fn fn, void *ctx, cw_err *err)
{
    int fd = openat(e->directory, e->name, DIRECTORY_FLAGS | O_NOFOLLOW);
    if (fd < 0)
        return cw_fail_errno(err, errno, "'%.*s'", CW_STR_ARG(e->path));
    return walk_open(fd, e->path, e->depth + 1, fn, ctx, err);
}

static cw_code visit(DIR *dir, const char *name, cw_str path, unsigned depth, entry_fn fn,
                     void *ctx, cw_err *err)
{
    char text[CW_SKILL_MAX_PATH + 1];
    size_t n = strlen(name), base = path.n ? path.n + 1 : 0;
    if (base + n > CW_SKILL_MAX_PATH)
        return cw_fail(err, CW_LIMIT, "a path is longer than %u bytes", CW_SKILL_MAX_PATH);
    if (path.n)
        memcpy(text, path.p, path.n);
    if (path.n)
        text[path.n] = '/';
    memcpy(text + base, name, n + 1);
    entry e = {.directory = dirfd(dir), .name = name, .depth = depth};
    e.path = cw_str_make(text, base + n);
    if (fstatat(e.directory, name, &e.st, AT_SYMLINK_NOFOLLOW) == 0)
        return fn(&e, ctx, err);
    /* The entry was removed meanwhile. The next stamp differs, so the directory is read again. */
    return errno == ENOENT ? CW_OK : cw_fail_errno(err, errno, "'%.*s'", CW_STR_ARG(e.path));
}

/* Call fn for each entry of an open directory, which is closed. */
static cw_code walk_open(int fd, cw_str path, unsigned depth, entry_fn fn, void *ctx, cw_err *err)
{
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return cw_fail_nomem(err);
    }
    cw_code rc = CW_OK;
    errno = 0;
    for (const struct dirent *d = readdir(dir); d && !rc; d = readdir(dir)) {
        if (d->d_name[0] != '.')
            rc = visit(dir, d->d_name, path, depth, fn, ctx, err);
        errno = 0;
    }
    if (!rc && errno)
        rc = cw_fail_errno(err, errno, "'%.*s'", CW_STR_ARG(path));
    closedir(dir);
    return rc;
}

/* ---- stamps ---- */

typedef struct stamp {
    uint64_t sum; /* does not depend on the order of the entries */
    unsigned n;
} stamp;

static cw_code add_to_stamp(const entry *e, void *ctx, cw_err *err)
{
    stamp *s = ctx;
    uint64_t facts[] = {cw_hash(e->path),
                        (uint64_t)e->st.st_ino,
                        (uint64_t)e->st.st_mode,
                        (uint64_t)e->st.st_size,
                        (uint64_t)e->st.st_mtim.tv_sec,
                        (uint64_t)e->st.st_mtim.tv_nsec,
                        (uint64_t)e->st.st_ctim.tv_sec,
                        (uint64_t)e->st.st_ctim.tv_nsec};
    s->sum += cw_hash(cw_str_make((const char *)facts, sizeof facts));
    if (++s->n > STAMP_MAX)
        return CW_LIMIT;
    if (!S_ISDIR(e->st.st_mode) || e->depth > CW_SKILL_MAX_DEPTH)
        return CW_OK;
    /* A directory that cannot be read does not change what is served. */
    cw_code rc = walk_into(e, add_to_stamp, ctx, err);
    return rc == CW_LIMIT ? rc : CW_OK;
}

uint64_t cw_skill_folder_stamp(const char *path)
{
    stamp s = {.sum = 1};
    cw_err err;
    int fd = open(path, DIRECTORY_FLAGS);
    if (fd < 0)
        return 0;
    (void)!walk_open(fd, CW_STR(""), 0, add_to_stamp, &s, &err);
    return s.sum ? s.sum : 1;
}

/* ---- one skill ---- */

typedef struct skill_reader {
    cw_arena *arena;
    cw_skill *skill;
    cw_skill_node *nodes;
    size_t cap, n_files, n_directories;
    size_t bytes;
    size_t left; /* of the bytes of all skills */
} skill_reader;

/* Types by the end of a name. A text with another end is text/plain. */
static const struct {
    const char *end, *type;
} types[] = {
    {".md", "text/markdown"},    {".txt", "text/plain"},        {".json", "application/json"},
    {".csv", "text/csv"},        {".yaml", "application/yaml"}, {".yml", "application/yaml"},
    {".html", "text/html"},      {".css", "text/css"},          {".js", "text/javascript"},
    {".mjs", "text/javascript"}, {".py", "text/x-python"},      {".sh", "text/x-shellscript"},
    {".xml", "application/xml"}, {".svg", "image/svg+xml"},     {".png", "image/png"},
    {".jpg", "image/jpeg"},      {".jpeg", "image/jpeg"},       {".gif", "image/gif"},
    {".webp", "image/webp"},     {".pdf", "application/pdf"},   {".zip", "application/zip"},
};

static cw_str type_of(cw_str name, bool is_text)
{
    for (size_t i = 0; i < CW_COUNT(types); i++) {
        if (cw_str_ends(name, cw_str_from(types[i].end)))
            return cw_str_from(types[i].type);
    }
    return is_text ? CW_STR("text/plain") : CW_STR("application/octet-stream");
}

static cw_code make_uri(cw_str root, cw_str path, cw_arena *arena, cw_str *ret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf uri;
    cw_buf_init(&uri, 4u * CW_SKILL_MAX_PATH + root.n + 16);
    cw_buf_add(&uri, root);
    while (path.p) {
        cw_buf_add_char(&uri, '/');
        cw_percent_encode(&uri, cw_str_cut(path, '/', &path));
    }
    if (uri.code)
        return cw_fail_nomem(err);
    *ret = cw_arena_dup_str(arena, cw_buf_str(&uri));
    return ret->p ? CW_OK : cw_arena_fail(arena, err);
}

/* A new node with its names; NULL without memory. */
static cw_skill_node *add_node(skill_reader *r, const entry *e, cw_err *err)
{
    size_t n = r->skill->n_nodes;
    if (n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 16;
        cw_skill_node *grown =
            cw_arena_resize(r->arena, r->nodes, n * sizeof *grown, cap * sizeof *grown);
        if (!grown)
            return NULL;
        r->nodes = grown;
        r->cap = cap;
    }
    cw_skill_node *node = &r->nodes[n];
    *node = (cw_skill_node){.name = cw_arena_dup_str(r->arena, cw_str_from(e->name))};
    if (!node->name.p || make_uri(r->skill->root, e->path, r->arena, &node->uri, err))
        return NULL;
    r->skill->n_nodes++;
    return node;
}

static cw_code add_directory(skill_reader *r, const entry *e, entry_fn fn, cw_err *err)
{
    if (e->depth + 1 > CW_SKILL_MAX_DEPTH)
        return cw_fail(err, CW_LIMIT, "more than %u directories inside each other",
                       CW_SKILL_MAX_DEPTH);
    if (++r->n_directories > CW_SKILL_MAX_DIRECTORIES)
        return cw_fail(err, CW_LIMIT, "more than %u directories", CW_SKILL_MAX_DIRECTORIES);
    cw_skill_node *node = add_node(r, e, err);
    if (!node)
        return cw_fail_nomem(err);
    node->is_directory = true;
    node->mime_type = CW_STR(CW_SKILL_DIRECTORY_TYPE);
    return walk_into(e, fn, r, err);
}

static cw_code fail_size(const skill_reader *r, cw_err *err)
{
    return r->left < CW_SKILL_MAX_BYTES - r->bytes
               ? cw_fail(err, CW_LIMIT, "the skills of the source are larger than %u MB",
                         CW_SKILLS_MAX_BYTES >> 20)
               : cw_fail(err, CW_LIMIT, "larger than %u MB", CW_SKILL_MAX_BYTES >> 20);
}

/* The bytes of a file. Its type is checked again, because the file may have been replaced. */
static cw_code read_bytes(skill_reader *r, const entry *e, cw_str *ret, cw_err *err)
{
    size_t most = CW_SKILL_MAX_BYTES - r->bytes < r->left ? CW_SKILL_MAX_BYTES - r->bytes : r->left;
    CW_CLEANUP(cw_buf_done) cw_buf bytes;
    cw_buf_init(&bytes, most + 1);
    struct stat st;
    int fd = openat(e->directory, e->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return cw_fail_errno(err, errno, "'%.*s'", CW_STR_ARG(e->path));
    cw_code rc = fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
                     ? cw_file_read_fd(fd, e->name, &bytes, err)
                     : cw_fail(err, CW_IO, "'%.*s' is not a file", CW_STR_ARG(e->path));
    close(fd);
    if (rc == CW_LIMIT || (!rc && bytes.n > most))
        return fail_size(r, err);
    if (rc)
        return rc;
    *ret = cw_arena_dup_str(r->arena, cw_buf_str(&bytes));
    return ret->p ? CW_OK : cw_arena_fail(r->arena, err);
}

static cw_code add_file(skill_reader *r, const entry *e, cw_err *err)
{
    cw_str bytes;
    if (++r->n_files > CW_SKILL_MAX_FILES)
        return cw_fail(err, CW_LIMIT, "more than %u files", CW_SKILL_MAX_FILES);
    cw_code rc = read_bytes(r, e, &bytes, err);
    if (rc)
        return rc;
    cw_skill_node *node = add_node(r, e, err);
    if (!node)
        return cw_fail_nomem(err);
    node->bytes = bytes;
    node->is_text = cw_utf8_is_valid(bytes);
    node->mime_type = type_of(node->name, node->is_text);
    r->bytes += bytes.n;
    r->left -= bytes.n;
    return CW_OK;
}

static cw_code add_entry(const entry *e, void *ctx, cw_err *err)
{
    if (!cw_utf8_is_valid(cw_str_from(e->name)))
        return cw_fail(err, CW_PARAMS, "a name is not UTF-8");
    if (S_ISDIR(e->st.st_mode))
        return add_directory(ctx, e, add_entry, err);
    if (S_ISREG(e->st.st_mode))
        return add_file(ctx, e, err);
    return cw_fail(err, CW_PARAMS, "'%.*s' is %s", CW_STR_ARG(e->path),
                   S_ISLNK(e->st.st_mode) ? "a symbolic link" : "neither a file nor a directory");
}

static int compare_nodes(const void *a, const void *b)
{
    return cw_str_cmp(((const cw_skill_node *)a)->uri, ((const cw_skill_node *)b)->uri);
}

static const cw_skill_node *find_front(const cw_skill *skill)
{
    for (size_t i = 0; i < skill->n_nodes; i++) {
        if (!skill->nodes[i].is_directory && cw_str_eq(skill->nodes[i].uri, skill->uri))
            return &skill->nodes[i];
    }
    return NULL;
}

/* ---- the JSON of a skill ---- */

static void write_file(cw_json_writer *w, const cw_skill_node *node)
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    char digest[sizeof "sha256:" + 2 * sizeof hash] = "sha256:";
    SHA256((const unsigned char *)node->bytes.p, node->bytes.n, hash);
    cw_hex_write(digest + sizeof "sha256:" - 1, hash, sizeof hash);
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("uri"), node->uri);
    cw_json_add_string_member(w, CW_STR("digest"), cw_str_from(digest));
    cw_json_add_i64_member(w, CW_STR("size"), (int64_t)node->bytes.n);
    cw_json_close(w);
}

/* {"uri":…,"frontmatter":{…},"resources":[{"uri":…,"digest":…,"size":…},…]} */
static void write_entry(cw_json_writer *w, const cw_skill *skill, cw_str front)
{
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("uri"), skill->uri);
    cw_json_add_key(w, CW_STR("frontmatter"));
    cw_json_add_span(w, front);
    cw_json_add_key(w, CW_STR("resources"));
    cw_json_open_array(w);
    for (size_t i = 0; i < skill->n_nodes; i++) {
        if (!skill->nodes[i].is_directory)
            write_file(w, &skill->nodes[i]);
    }
    cw_json_close(w);
    cw_json_close(w);
}

static void write_resource(cw_json_writer *w, const cw_skill *skill, cw_str front)
{
    (void)front;
    cw_json_open_object(w);
    cw_json_add_string_member(w, CW_STR("uri"), skill->uri);
    cw_json_add_string_member(w, CW_STR("name"), skill->name);
    cw_json_add_string_member(w, CW_STR("description"), skill->description);
    cw_json_add_string_member(w, CW_STR("mimeType"), find_front(skill)->mime_type);
    cw_json_close(w);
}

static cw_code make_json(const cw_skill *skill, cw_str front,
                         void (*write)(cw_json_writer *w, const cw_skill *skill, cw_str front),
                         cw_arena *arena, cw_str *ret, cw_err *err)
{
    CW_CLEANUP(cw_buf_done) cw_buf out;
    cw_json_writer w;
    cw_buf_init(&out, ENTRY_MAX);
    cw_json_writer_init(&w, &out, CW_JSON_COMPACT);
    write(&w, skill, front);
    cw_code rc = cw_json_writer_end(&w, err);
    if (rc)
        return rc;
    *ret = cw_arena_dup_str(arena, cw_buf_str(&out));
    return ret->p ? CW_OK : cw_arena_fail(arena, err);
}

/* Make the texts of a skill from its files, which are read already. */
static cw_code finish_skill(cw_skill *skill, cw_str directory, cw_arena *arena, cw_err *err)
{
    cw_skill_front front = {0};
    const cw_skill_node *file = find_front(skill);
    if (!file)
        return cw_fail(err, CW_PARAMS, "it has no file " CW_SKILL_FILE);
    cw_code rc = cw_skill_front_read(file->bytes, arena, &front, err);
    if (rc)
        return rc;
    if (!cw_str_eq(front.name, directory))
        return cw_fail(err, CW_PARAMS, "its name in " CW_SKILL_FILE " is '%.*s'",
                       CW_STR_ARG(front.name));
    skill->name = front.name;
    skill->description = front.description;
    rc = make_json(skill, front.json, write_entry, arena, &skill->entry, err);
    return rc ? rc : make_json(skill, front.json, write_resource, arena, &skill->resource, err);
}

/* ---- all of them ---- */

typedef struct folder_reader {
    cw_skills *set;
    cw_skill *items;
    cw_str prefix; /* "skill://SOURCE" */
    size_t left;   /* bytes */
    cw_skill_problem_fn report;
    void *ctx;
} folder_reader;

static cw_code read_skill(folder_reader *f, const entry *e, cw_err *err)
{
    cw_arena *arena = &f->set->arena;
    cw_skill *skill = &f->items[f->set->n];
    cw_str name = cw_str_from(e->name);
    skill_reader r = {.arena = arena, .skill = skill, .left = f->left};
    *skill = (cw_skill){0};
    cw_code rc = make_uri(f->prefix, name, arena, &skill->root, err);
    if (!rc)
        rc = make_uri(skill->root, CW_STR(CW_SKILL_FILE), arena, &skill->uri, err);
    /* Paths begin below the directory of the skill. */
    entry top = *e;
    top.path = CW_STR("");
    if (!rc)
        rc = walk_into(&top, add_entry, &r, err);
    f->left = r.left; /* also if the skill is left out: its bytes are in the arena */
    if (rc)
        return rc;
    if (skill->n_nodes)
        qsort(r.nodes, skill->n_nodes, sizeof *r.nodes, compare_nodes);
    skill->nodes = r.nodes;
    return finish_skill(skill, name, arena, err);
}

static cw_code add_skill(const entry *e, void *ctx, cw_err *err)
{
    folder_reader *f = ctx;
    if (!S_ISDIR(e->st.st_mode) && !S_ISLNK(e->st.st_mode))
        return CW_OK;
    if (f->set->n == CW_SKILLS_MAX)
        return cw_fail(err, CW_LIMIT, "more than %u skills", CW_SKILLS_MAX);
    cw_err why = {0};
    cw_code rc = S_ISLNK(e->st.st_mode)
                     ? cw_fail(&why, CW_PARAMS, "its directory is a symbolic link")
                     : read_skill(f, e, &why);
    if (rc == CW_NOMEM)
        return cw_fail_nomem(err);
    if (rc)
        f->report(cw_str_from(e->name), why.msg, f->ctx);
    else
        f->set->n++;
    return CW_OK;
}

static int compare_roots(const void *a, const void *b)
{
    return cw_str_cmp(((const cw_skill *)a)->root, ((const cw_skill *)b)->root);
}

static cw_code read_all(folder_reader *f, const char *path, cw_str source, cw_err *err)
{
    f->items = cw_arena_calloc(&f->set->arena, CW_SKILLS_MAX, sizeof *f->items);
    if (!f->items)
        return cw_arena_fail(&f->set->arena, err);
    f->set->items = f->items;
    CW_CLEANUP(cw_buf_done) cw_buf prefix;
    cw_buf_init(&prefix, 4096);
    cw_buf_add(&prefix, CW_STR(CW_SKILL_SCHEME));
    cw_percent_encode(&prefix, source);
    if (prefix.code)
        return cw_fail_nomem(err);
    f->prefix = cw_buf_str(&prefix);
    int fd = open(path, DIRECTORY_FLAGS);
    if (fd < 0 && errno == ENOENT)
        return CW_OK;
    if (fd < 0)
        return cw_fail_errno(err, errno, "'%s'", path);
    cw_code rc = walk_open(fd, CW_STR(""), 0, add_skill, f, err);
    if (!rc && f->set->n)
        qsort(f->items, f->set->n, sizeof *f->items, compare_roots);
    return rc;
}

cw_code cw_skill_folder_read(const char *path, cw_str source, cw_skill_problem_fn fn, void *ctx,
                             cw_skills **ret, cw_err *err)
{
    cw_skills *set = calloc(1, sizeof *set);
    if (!set)
        return cw_fail_nomem(err);
    atomic_init(&set->refs, 1);
    cw_arena_init(&set->arena, ARENA_MAX);
    folder_reader f = {.set = set, .left = CW_SKILLS_MAX_BYTES, .report = fn, .ctx = ctx};
    cw_code rc = read_all(&f, path, source, err);
    if (rc)
        cw_skills_unref(set);
    else
        *ret = set;
    return rc;
}
