/* SPDX-License-Identifier: GPL-2.0-or-later */
/* journal.c - datagrams to journald. */
#include "base/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

const char *cw_journal_of_stderr(void)
{
    const char *stream = getenv("JOURNAL_STREAM");
    struct stat st;
    char own[64];
    if (!stream || fstat(STDERR_FILENO, &st))
        return NULL;
    snprintf(own, sizeof own, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return strcmp(stream, own) == 0 ? CW_JOURNAL_SOCKET : NULL;
}

int cw_journal_open(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return -1;
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

bool cw_journal_is_socket(int fd)
{
    int type = 0;
    socklen_t n = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_DGRAM;
}

static int fill_file(int file, const char *entry, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = pwrite(file, entry + done, n - done, (off_t)done);
        if (got <= 0)
            return got ? errno : EIO;
        done += (size_t)got;
    }
    return fcntl(file, F_ADD_SEALS, SEALS) ? errno : 0;
}

static int send_file(int fd, int file)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct msghdr message = {.msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof file);
    memcpy(CMSG_DATA(head), &file, sizeof file);
    return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? errno : 0;
}

static int send_as_file(int fd, const char *entry, size_t n)
{
    int file = memfd_create("causeway-log", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0)
        return errno;
    int rc = fill_file(file, entry, n);
    if (!rc)
        rc = send_file(fd, file);
    close(file);
    return rc;
}

int cw_journal_send(int fd, const char *entry, size_t n)
{
    char bytes[CW_LOG_LINE_MAX + 1];
    if (n > sizeof bytes)
        return EMSGSIZE;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(entry[i] == CW_JOURNAL_FIELD_END ? '\n' : entry[i]);
    if (send(fd, bytes, n, MSG_NOSIGNAL) >= 0)
        return 0;
    return errno == EMSGSIZE ? send_as_file(fd, bytes, n) : errno;
}
