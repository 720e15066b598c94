/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names and inodes. What the run changed is in the kernel's tables; for everything else the base
 * is asked: the file system as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "common/bisect.h"
#include "predicate_switch/kernel/vk_priv.h"

#define LINKS_MAX 40

static void inode_keep(void *row)
{
    struct vk_inode *inode = row;
    struct vk_table mine;
    vk_share(&mine, &inode->content);
    vk_text_keep(inode->link);
}

static void inode_drop(void *row)
{
    struct vk_inode *inode = row;
    vk_clear(&inode->content);
    vk_text_drop(inode->link);
}

const struct vk_row_kind vk_inode_row = {sizeof(struct vk_inode), inode_keep, inode_drop};

static void name_keep(void *row)
{
    vk_text_keep(((struct vk_name *)row)->name);
}

static void name_drop(void *row)
{
    vk_text_drop(((struct vk_name *)row)->name);
}

const struct vk_row_kind vk_name_row = {sizeof(struct vk_name), name_keep, name_drop};

const struct vk_inode *vk_inode(const struct vk_kernel *k, uint32_t inode)
{
    return vk_row(&k->inodes, inode);
}

struct vk_inode *vk_inode_edit(struct vk_kernel *k, uint32_t inode)
{
    return vk_edit(&k->inodes, inode);
}

uint32_t vk_inode_new(struct vk_kernel *k, uint32_t mode)
{
    struct vk_inode inode = {.base = VK_NONE,
                             .mode = mode,
                             .uid = k->s.euid,
                             .gid = k->s.egid,
                             .nlink = S_ISDIR(mode) ? 2 : 1,
                             .number = k->s.inode_next++,
                             .has_mode = true,
                             .has_size = true,
                             .has_owner = k->s.knows_ids,
                             .has_nlink = true,
                             .is_new = true,
                             .is_written = true,
                             .has_times = true,
                             .content = {.kind = &vk_block_row}};
    if (vk_append(&k->inodes, &inode))
        return VK_NONE;
    vk_times_touch(k, vk_inode_edit(k, vk_count(&k->inodes) - 1), true);
    return vk_count(&k->inodes) - 1;
}

void vk_inode_changed(struct vk_kernel *k, struct vk_inode *inode)
{
    inode->is_written = true;
    if (!k->history->is_finished && inode->base != VK_NONE)
        vk_base_at(k->history, inode->base)->is_changed = true;
}

bool vk_is_own(const struct vk_kernel *k, const struct vk_inode *inode)
{
    return !inode->is_live &&
           (inode->is_written ||
            (inode->base != VK_NONE && vk_base_at(k->history, inode->base)->is_changed));
}

void vk_times_touch(struct vk_kernel *k, struct vk_inode *inode, bool modified)
{
    uint64_t now = vk_ns(k);
    const struct vk_clock *clock = &k->s.clock[CLOCK_REALTIME];
    uint64_t wall = clock->ns + (now > clock->at ? now - clock->at : 0);
    struct timespec time = {.tv_sec = (time_t)(wall / 1000000000),
                            .tv_nsec = (long)(wall % 1000000000)};
    if (!inode)
        return;
    vk_inode_changed(k, inode);
    inode->is_untouched = false;
    inode->ctime = time;
    if (modified)
        inode->mtime = time;
    else
        inode->is_relabelled = true;
    if (inode->is_new && !inode->atime.tv_sec)
        inode->atime = time;
}

/* ---- what the base says of an inode ---- */

static void take_stat(struct vk_inode *inode, const struct vk_base *base)
{
    const struct stat *st = &base->st;
    if (!inode->has_mode)
        inode->mode = st->st_mode, inode->has_mode = true;
    if (!inode->has_owner)
        inode->uid = st->st_uid, inode->gid = st->st_gid, inode->has_owner = true;
    if (!inode->has_nlink)
        inode->nlink = (uint32_t)st->st_nlink, inode->has_nlink = true;
    if (!inode->has_times && base->has_stat) {
        inode->atime = st->st_atim, inode->mtime = st->st_mtim, inode->ctime = st->st_ctim;
        inode->has_times = true;
    }
    inode->number = st->st_ino;
    inode->rdev = st->st_rdev;
}

static bool has_news(const struct vk_inode *inode, const struct vk_base *base)
{
    return (base->has_stat &&
            !(inode->has_mode && inode->has_owner && inode->has_nlink && inode->has_times)) ||
           (base->has_identity && !(inode->has_mode && inode->has_owner && inode->has_nlink)) ||
           (!inode->has_mode && !inode->mode && base->format) ||
           (base->has_size && !inode->has_size) || (base->link && !inode->link);
}

void vk_inode_learn(struct vk_kernel *k, uint32_t index)
{
    const struct vk_inode *known = vk_inode(k, index);
    if (known->base == VK_NONE)
        return;
    vk_base_ask(k->history, known->base);
    const struct vk_base *base = vk_base_at(k->history, known->base);
    if (!has_news(known, base))
        return;
    struct vk_inode *inode = vk_inode_edit(k, index);
    if (!inode)
        return;
    if (base->has_stat || base->has_identity)
        take_stat(inode, base);
    if (!inode->has_mode && !inode->mode)
        inode->mode = base->format;
    if (base->has_size && !inode->has_size) {
        inode->size = inode->base_size = (uint64_t)base->st.st_size;
        inode->has_size = true;
    }
    if (base->link && !inode->link)
        inode->link = vk_text_new(base->link, strlen(base->link));
}

uint32_t vk_inode_of_base(struct vk_kernel *k, uint32_t base)
{
    if (vk_extend(&k->inode_of_base, base + 1))
        return VK_NONE;
    uint32_t made = *(const uint32_t *)vk_row(&k->inode_of_base, base);
    if (!made) {
        char path[PATH_MAX];
        struct vk_inode inode = {.base = base,
                                 .base_size = UINT64_MAX,
                                 .parent = VK_NONE,
                                 .content = {.kind = &vk_block_row}};
        inode.is_live =
            !vk_base_path(k->history, base, path, sizeof(path)) && vk_path_is_live(path);
        uint32_t *place = vk_edit(&k->inode_of_base, base);
        if (!place || vk_append(&k->inodes, &inode))
            return VK_NONE;
        made = *place = vk_count(&k->inodes);
    }
    vk_inode_learn(k, made - 1);
    return made - 1;
}

/* ---- names ---- */

static int name_order(const struct vk_name *row, uint32_t directory, const char *name, size_t bytes)
{
    if (row->directory != directory)
        return row->directory < directory ? -1 : 1;
    size_t both = row->name->bytes < bytes ? row->name->bytes : bytes;
    int order = memcmp(row->name->text, name, both);
    if (order)
        return order;
    return row->name->bytes == bytes ? 0 : row->name->bytes < bytes ? -1 : 1;
}

static uint32_t name_place(const struct vk_kernel *k, uint32_t directory, const char *name,
                           size_t bytes)
{
    return (uint32_t)wd_bisect(0, vk_count(&k->names), i,
                               name_order(vk_row(&k->names, (uint32_t)i), directory, name, bytes) <
                                   0);
}

static const struct vk_name *name_find(const struct vk_kernel *k, uint32_t directory,
                                       const char *name, size_t bytes)
{
    uint32_t at = name_place(k, directory, name, bytes);
    const struct vk_name *row = at < vk_count(&k->names) ? vk_row(&k->names, at) : NULL;
    return row && !name_order(row, directory, name, bytes) ? row : NULL;
}

int vk_name_set(struct vk_kernel *k, uint32_t directory, const char *name, uint32_t inode)
{
    size_t bytes = strlen(name);
    uint32_t at = name_place(k, directory, name, bytes);
    if (name_find(k, directory, name, bytes)) {
        struct vk_name *row = vk_edit(&k->names, at);
        if (!row)
            return -ENOMEM;
        row->inode = inode;
        return 0;
    }
    struct vk_name row = {.directory = directory,
                          .inode = inode,
                          .name = vk_text_new(name, bytes),
                          .is_changed = true};
    int err = row.name ? vk_insert(&k->names, at, &row) : -ENOMEM;
    if (err)
        vk_text_drop(row.name);
    return err;
}

/* What a walk takes for granted of the directories on its way. */
enum granted {
    GRANTED_NOTHING,
    GRANTED_UNKNOWN, /* that there is one where that is not known */
    GRANTED_ALL,     /* and where the disk says no: the recording came by there */
};

/* The recording says that there is something, behind a name or of it. What it was told itself
 * before stands. */
static void presence_learn(struct vk_base *base, enum granted granted)
{
    bool is_unknown = base->presence == VK_PRESENCE_UNKNOWN;
    base->is_way =
        base->presence == VK_PRESENCE_ABSENT && granted == GRANTED_ALL && !base->is_absence_told;
    if (!is_unknown && !base->is_way)
        return;
    base->presence = VK_PRESENCE_THERE;
    base->format = S_IFDIR;
}

/* What the run knows of a name: an inode, or VK_NONE. VK_UNKNOWN with a reason. `granted` is about
 * a directory, of one that is the last part of a path nothing is. */
static int64_t name_lookup(struct vk_run *run, uint32_t directory, const char *name, size_t bytes,
                           enum granted granted, bool is_last, uint32_t *inode)
{
    struct vk_kernel *k = run->k;
    const struct vk_name *row = name_find(k, directory, name, bytes);
    const struct vk_inode *dir = vk_inode(k, directory);
    *inode = VK_NONE;
    if (row) {
        *inode = row->inode;
        return 0;
    }
    if (dir->base == VK_NONE)
        return 0;
    uint32_t child = vk_base_child(k->history, dir->base, name, bytes);
    if (child == VK_NONE)
        return VK_NOMEM;
    struct vk_base *base = vk_base_at(k->history, child);
    vk_base_ask(k->history, child);
    if (granted && run->learns && !is_last && !base->is_way)
        presence_learn(base, granted);
    if (base->presence == VK_PRESENCE_ABSENT || (base->is_way && is_last))
        return 0;
    if (base->presence == VK_PRESENCE_UNKNOWN && (!granted || is_last))
        return vk_unknown(run, "whether there was a file \"%.*s\" is not known%s", (int)bytes, name,
                          base->is_other_now
                              ? ": it or its directory has changed since the recording began"
                              : "");
    *inode = vk_inode_of_base(k, child);
    return *inode == VK_NONE ? VK_NOMEM : 0;
}

bool vk_may(const struct vk_kernel *k, const struct vk_inode *inode, unsigned rwx)
{
    if (!k->s.knows_ids || !inode->has_mode || !inode->has_owner)
        return true;
    if (!k->s.euid)
        return !(rwx & 1) || S_ISDIR(inode->mode) || inode->mode & 0111;
    unsigned shift = inode->uid == k->s.euid ? 6 : inode->gid == k->s.egid ? 3 : 0;
    return (inode->mode >> shift & rwx) == rwx;
}

static uint32_t parent_of(struct vk_kernel *k, uint32_t directory)
{
    const struct vk_inode *inode = vk_inode(k, directory);
    for (uint32_t i = 0; i < vk_count(&k->names); i++) {
        const struct vk_name *row = vk_row(&k->names, i);
        if (row->inode == directory)
            return row->directory;
    }
    if (inode->base == VK_NONE)
        return directory;
    return vk_inode_of_base(k, vk_base_at(k->history, inode->base)->parent);
}

/* ---- paths ---- */

struct walk {
    struct vk_run *run;
    struct vk_where *where;
    unsigned how;
    enum granted granted;
    uint32_t at;
    int links;
    char *rest; /* in where->text */
};

static bool is_directory(const struct vk_kernel *k, uint32_t inode)
{
    uint32_t mode = vk_inode(k, inode)->mode;
    return !(mode & S_IFMT) || S_ISDIR(mode);
}

/* Puts a link's text before what is left of the path. */
static int64_t walk_link(struct walk *walk, const char *link, const char *rest)
{
    struct vk_where *where = walk->where;
    char text[sizeof(where->text)];
    if (++walk->links > LINKS_MAX)
        return -ELOOP;
    int bytes = snprintf(text, sizeof(text), "%s%s%s", link, *rest ? "/" : "", rest);
    if (bytes < 0 || (size_t)bytes >= sizeof(text))
        return -ENAMETOOLONG;
    memcpy(where->text, text, (size_t)bytes + 1);
    where->is_slashed = where->is_slashed || (bytes && text[bytes - 1] == '/');
    walk->rest = where->text;
    if (*link == '/')
        walk->at = walk->run->k->s.root;
    return 0;
}

static int64_t walk_into(struct walk *walk, uint32_t inode, bool is_last, const char *rest)
{
    struct vk_kernel *k = walk->run->k;
    const struct vk_inode *row = vk_inode(k, inode);
    bool follows = !is_last || walk->how & VK_WALK_FOLLOW || walk->where->is_slashed;
    if (S_ISLNK(row->mode) && follows) {
        if (!row->link)
            return vk_unknown(walk->run, "where a symbolic link leads is not known");
        return walk_link(walk, row->link->text, rest);
    }
    walk->at = inode;
    walk->rest = (char *)rest;
    return 0;
}

/* One part of the path. 1: it was the last. */
static int64_t walk_part(struct walk *walk)
{
    struct vk_kernel *k = walk->run->k;
    struct vk_where *where = walk->where;
    char *name = walk->rest + strspn(walk->rest, "/");
    size_t bytes = strcspn(name, "/");
    char *rest = name + bytes + strspn(name + bytes, "/");
    if (!bytes) {
        where->inode = walk->at;
        return 1;
    }
    if (bytes > NAME_MAX)
        return -ENAMETOOLONG;
    if (!is_directory(k, walk->at))
        return -ENOTDIR;
    if (!vk_may(k, vk_inode(k, walk->at), 1))
        return -EACCES;
    bool is_last = !*rest, is_dot = bytes == 1 && *name == '.';
    if (is_dot || (bytes == 2 && name[0] == '.' && name[1] == '.')) {
        if (!is_dot && walk->at != k->s.root)
            walk->at = parent_of(k, walk->at);
        walk->rest = rest;
        where->name = is_last ? (is_dot ? "." : "..") : "";
        return walk->at == VK_NONE ? VK_NOMEM : 0;
    }
    uint32_t inode;
    if (is_last && walk->how & VK_WALK_CREATE && where->is_slashed)
        return -EISDIR;
    int64_t err = name_lookup(walk->run, walk->at, name, bytes, walk->granted, is_last, &inode);
    if (is_last) {
        where->directory = walk->at;
        where->inode = inode;
        name[bytes] = 0;
        where->name = name;
    }
    if (err)
        return err;
    if (inode == VK_NONE)
        return is_last ? 1 : -ENOENT;
    if (is_last && walk->how & VK_WALK_PARENT)
        return 1;
    return walk_into(walk, inode, is_last, rest);
}

static int64_t walk_from(struct walk *walk)
{
    struct vk_where *where = walk->where;
    int64_t err = 0;
    where->directory = walk->at;
    where->inode = walk->at;
    where->name = "";
    while (!err)
        err = walk_part(walk);
    if (err < 0)
        return err;
    if (where->inode != VK_NONE && where->is_slashed && !(walk->how & VK_WALK_PARENT) &&
        !is_directory(walk->run->k, where->inode))
        return -ENOTDIR;
    return 0;
}

static int64_t walk_start(struct vk_run *run, int at, const char *path, uint32_t *start)
{
    uint32_t open;
    if (*path == '/')
        *start = run->k->s.root;
    else if (at == AT_FDCWD)
        *start = run->k->s.cwd;
    else {
        const struct vk_open *row = vk_open_of(run->k, (uint32_t)at, &open);
        if (!row)
            return -EBADF;
        if (row->kind != VK_OPEN_FILE)
            return row->kind == VK_OPEN_OUTSIDE
                       ? vk_unknown(run, "what directory a descriptor is, is not known")
                       : -ENOTDIR;
        *start = row->inode;
    }
    return 0;
}

static int64_t walk_path(struct vk_run *run, int at, const char *path, unsigned how,
                         enum granted granted, struct vk_where *where)
{
    struct walk walk = {run, where, how, granted, 0, 0, where->text};
    size_t bytes = strlen(path);
    where->directory = where->inode = VK_NONE;
    where->name = "";
    if (!bytes)
        return -ENOENT;
    if (bytes >= sizeof(where->text))
        return -ENAMETOOLONG;
    int64_t err = walk_start(run, at, path, &walk.at);
    if (err)
        return err;
    memmove(where->text, path, bytes + 1);
    where->is_slashed = path[bytes - 1] == '/';
    return walk_from(&walk);
}

/* Whether a file is perhaps there only because the recorded run made it, later. */
static bool is_perhaps_made(const struct vk_run *run, uint32_t inode)
{
    const struct vk_inode *row = vk_inode(run->k, inode);
    return !run->told && vk_is_live(run->k) && row->base != VK_NONE && !row->is_opened &&
           vk_base_at(run->h, row->base)->may_be_made;
}

int64_t vk_walk_text(struct vk_run *run, int at, const char *path, unsigned how,
                     struct vk_where *where)
{
    int64_t err = walk_path(run, at, path, how, GRANTED_NOTHING, where);
    bool is_found = !err && where->inode != VK_NONE && !(how & VK_WALK_CREATE);
    return is_found && is_perhaps_made(run, where->inode)
               ? vk_unknown_own(run, "whether there was such a file before is not known")
               : err;
}

int64_t vk_walk(struct vk_run *run, int at, uint64_t path, unsigned how, struct vk_where *where)
{
    char text[PATH_MAX];
    int err = vk_get_string(run, path, text, sizeof(text));
    return err < 0 ? err : vk_walk_text(run, at, text, how, where);
}

/* What a recorded answer says of a path: something is there, or not. Of a name that the run changed
 * it says what the run did. */
void vk_learn_path(struct vk_run *run, int at, uint64_t path, bool follows, bool is_there)
{
    char text[PATH_MAX];
    struct vk_where where;
    if (vk_get_string(run, path, text, sizeof(text)) < 0)
        return;
    walk_path(run, at, text, follows ? VK_WALK_FOLLOW : 0, is_there ? GRANTED_ALL : GRANTED_UNKNOWN,
              &where);
    const struct vk_kernel *k = run->k;
    if (where.directory >= vk_count(&k->inodes) || !*where.name || where.inode != VK_NONE ||
        strchr(where.name, '/'))
        return;
    const struct vk_inode *dir = vk_inode(k, where.directory);
    if (dir->base == VK_NONE || name_find(k, where.directory, where.name, strlen(where.name)))
        return;
    uint32_t child = vk_base_child(k->history, dir->base, where.name, strlen(where.name));
    if (child == VK_NONE || !run->learns)
        return;
    struct vk_base *base = vk_base_at(k->history, child);
    bool is_disks = base->presence == VK_PRESENCE_ABSENT && !base->is_absence_told;
    if (is_there && (base->presence == VK_PRESENCE_UNKNOWN || is_disks)) {
        base->presence = VK_PRESENCE_THERE;
    } else if (!is_there && base->presence != VK_PRESENCE_THERE) {
        base->presence = VK_PRESENCE_ABSENT;
        base->is_absence_told = true;
    }
}

static bool name_of(const struct vk_kernel *k, uint32_t inode, uint32_t *directory,
                    const char **name)
{
    const struct vk_inode *row = vk_inode(k, inode);
    for (uint32_t i = 0; i < vk_count(&k->names); i++) {
        const struct vk_name *entry = vk_row(&k->names, i);
        if (entry->inode == inode) {
            *directory = entry->directory;
            *name = entry->name->text;
            return true;
        }
    }
    if (row->base == VK_NONE || !row->base)
        return false;
    const struct vk_base *base = vk_base_at(k->history, row->base);
    *name = base->name;
    *directory = VK_NONE;
    if (base->parent < vk_count(&k->inode_of_base))
        *directory = *(const uint32_t *)vk_row(&k->inode_of_base, base->parent) - 1;
    return *directory == VK_NONE || !name_find(k, *directory, base->name, strlen(base->name));
}

bool vk_inode_path(const struct vk_kernel *k, uint32_t inode, char *out, size_t room)
{
    char path[PATH_MAX];
    size_t at = sizeof(path) - 1;
    path[at] = 0;
    for (int depth = 0; inode != k->s.root; depth++) {
        uint32_t directory;
        const char *name;
        if (depth > PATH_MAX / 2 || !name_of(k, inode, &directory, &name))
            return false;
        size_t bytes = strlen(name);
        if (bytes + 1 > at)
            return false;
        at -= bytes;
        memcpy(path + at, name, bytes);
        path[--at] = '/';
        if (directory == VK_NONE) { /* nothing above was ever changed */
            char base[PATH_MAX];
            if (vk_base_path(k->history, vk_inode(k, inode)->base, base, sizeof(base)))
                return false;
            return (size_t)snprintf(out, room, "%s%s", base, path + at + bytes + 1) < room;
        }
        inode = directory;
    }
    if (!path[at])
        path[--at] = '/';
    if (sizeof(path) - at > room)
        return false;
    memcpy(out, path + at, sizeof(path) - at);
    return true;
}

bool vk_where_path(const struct vk_kernel *k, const struct vk_where *where, char *out, size_t room)
{
    char path[PATH_MAX];
    if (where->inode != VK_NONE)
        return vk_inode_path(k, where->inode, out, room);
    if (!vk_inode_path(k, where->directory, path, sizeof(path)))
        return false;
    return (size_t)snprintf(out, room, "%s/%s", path[1] ? path : "", where->name) < room;
}
