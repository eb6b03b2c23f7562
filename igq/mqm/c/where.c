/* Which socket a connection goes to: MQCD or MQSERVER name a host, otherwise the queue manager is on this machine. */
#include "mqm.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define PORT "1414"
#ifndef GREETING_S
#define GREETING_S 60 /* until the other side has to have answered: a server that starts takes a while */
#endif
#define NAME_LENGTH MQ_CONN_NAME_LENGTH

MQCD *channel_of(const MQCNO *cno) {
    return has_version(cno, MQCNO_VERSION_2) ? pointed((void *)(uintptr_t)cno, cno->ClientConnPtr, cno->ClientConnOffset) : NULL;
}

/* Both sides say which protocol they speak, and the version of it. -1: the other side does not, and the socket is closed. */
static int greeted(int fd) {
    static const char greeting[8] = {'I', 'G', 'Q', 'C', 1, 0, 0, 0}, right[8] = {'I', 'G', 'Q', 'S', 1, 0, 0, 0};
    struct timeval patience = {.tv_sec = GREETING_S}, for_ever = {0};
    char answer[sizeof right];
    ssize_t got = -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (send(fd, greeting, sizeof greeting, MSG_NOSIGNAL) == sizeof greeting)
        while ((got = recv(fd, answer, sizeof answer, MSG_WAITALL)) < 0 && errno == EINTR) {}
    if (got == sizeof answer && memcmp(answer, right, sizeof right) == 0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &for_ever, sizeof for_ever);
        return fd;
    }
    close(fd);
    return -1;
}

/* -- TCP -------------------------------------------------------------------- */

static int connect_address(const struct addrinfo *to) {
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC, to->ai_protocol), yes = 1;
    if (fd < 0) return -1;
    while (connect(fd, to->ai_addr, to->ai_addrlen) != 0) {
        if (errno == EINTR) continue;
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    return greeted(fd);
}

static int connect_host(const char *host, const char *port) {
    struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int fd = -1;
    if (getaddrinfo(host, port, &wanted, &found) != 0) return -1;
    for (struct addrinfo *each = found; each != NULL && fd < 0; each = each->ai_next) fd = connect_address(each);
    freeaddrinfo(found);
    return fd;
}

/* A connection name: "host(port)", or several with commas between, which are tried in their order. */
static int connect_names(const char *names, size_t length, MQLONG *reason) {
    char copy[NAME_LENGTH + 1], *rest = NULL;
    if (length > NAME_LENGTH) length = NAME_LENGTH;
    memcpy(copy, names, length);
    copy[length] = '\0';
    *reason = MQRC_HOST_NOT_AVAILABLE;
    for (char *each = strtok_r(copy, ",", &rest); each != NULL; each = strtok_r(NULL, ",", &rest)) {
        while (isspace((unsigned char)*each)) each++;
        size_t end = strcspn(each, "( \t");
        char *port = strchr(each, '('), *close_at = port != NULL ? strchr(port, ')') : NULL;
        if (close_at != NULL) *close_at = '\0';
        each[end] = '\0';
        if (*each == '\0') continue;
        int fd = connect_host(each, close_at != NULL ? port + 1 : PORT);
        if (fd >= 0) return fd;
    }
    return -1;
}

static size_t length_of(const char *field, size_t size) {
    size_t length = strnlen(field, size);
    while (length && field[length - 1] == ' ') length--;
    return length;
}

static int connect_channel(const MQCD *channel, MQLONG *reason) {
    if (channel->Version >= MQCD_VERSION_7 && length_of(channel->SSLCipherSpec, sizeof channel->SSLCipherSpec)) {
        /* Without TLS nothing is sent where it was asked for. */
        *reason = MQRC_SSL_INITIALIZATION_ERROR;
        return -1;
    }
    if (channel->TransportType != MQXPT_TCP) {
        *reason = MQRC_CD_ERROR;
        return -1;
    }
    return connect_names(channel->ConnectionName, length_of(channel->ConnectionName, sizeof channel->ConnectionName), reason);
}

/* CHANNEL/TCP/host(port) */
static int connect_server(const char *server, MQLONG *reason) {
    const char *kind = strchr(server, '/');
    if (kind == NULL || strncasecmp(kind, "/TCP/", 5) != 0) {
        *reason = MQRC_CLIENT_CONN_ERROR;
        return -1;
    }
    return connect_names(kind + 5, strlen(kind + 5), reason);
}

/* -- unix ------------------------------------------------------------------- */

static int connect_path(const char *path, MQLONG *reason) {
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int folder = -1;
    *reason = MQRC_Q_MGR_NOT_AVAILABLE;
    if (strlen(path) >= sizeof to.sun_path) {
        /* Longer than an address may be: by way of its folder. */
        const char *name = strrchr(path, '/');
        char *start = name != NULL ? strndup(path, (size_t)(name - path)) : NULL;
        folder = start != NULL ? open(start, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        free(start);
        if (folder < 0) return -1;
        if ((size_t)snprintf(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d%s", folder, name) >= sizeof to.sun_path) {
            close(folder);
            return -1;
        }
    } else {
        strcpy(to.sun_path, path);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), status = -1;
    if (fd >= 0) while ((status = connect(fd, (struct sockaddr *)&to, sizeof to)) != 0 && errno == EINTR) {}
    int why = errno;
    if (folder >= 0) close(folder);
    if (status == 0) return greeted(fd);
    if (fd >= 0) close(fd);
    if (why == EACCES || why == EPERM) *reason = MQRC_NOT_AUTHORIZED;
    return -1;
}

/* The folder of the sockets, to be freed. */
static char *socket_folder(void) {
    const char *data = getenv("IGQ_DATA_DIR"), *home = getenv("HOME"), *share = getenv("XDG_DATA_HOME");
    char *folder = NULL;
    int length = -1;
    if (data != NULL && *data) length = asprintf(&folder, "%s/channels", data);
    else if (share != NULL && *share) length = asprintf(&folder, "%s/igq/channels", share);
    else if (home != NULL && *home) length = asprintf(&folder, "%s/.local/share/igq/channels", home);
    return length < 0 ? NULL : folder;
}

static int is_socket_name(const char *name) {
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".sock") == 0;
}

/* Connect to any manager of a folder: a name that is no manager's may be the group's, as each of its managers says. */
static int connect_any(const char *folder, MQLONG *reason) {
    int fd = -1;
    DIR *entries = opendir(folder);
    if (entries == NULL) return -1;
    for (struct dirent *each; fd < 0 && (each = readdir(entries)) != NULL;) {
        char *path = NULL;
        if (is_socket_name(each->d_name) && asprintf(&path, "%s/%s", folder, each->d_name) >= 0) {
            fd = connect_path(path, reason);
            free(path);
        }
    }
    closedir(entries);
    return fd;
}

/* The path of the only socket in a folder, to be freed. */
static char *only_socket(const char *folder) {
    char *found = NULL;
    DIR *entries = opendir(folder);
    if (entries == NULL) return NULL;
    for (struct dirent *each; (each = readdir(entries)) != NULL;) {
        if (!is_socket_name(each->d_name)) continue;
        if (found != NULL) {
            free(found);
            found = NULL;
            break;
        }
        if (asprintf(&found, "%s/%s", folder, each->d_name) < 0) found = NULL;
    }
    closedir(entries);
    return found;
}

static int connect_local(const char *name, MQLONG *reason) {
    const char *named = getenv("IGQ_SOCKET");
    if (named != NULL && *named) return connect_path(named, reason);
    /* A group of queue managers of a client: its name after an asterisk. */
    if (*name == '*') name++;
    char *folder = socket_folder(), *path = NULL;
    int fd = -1;
    *reason = MQRC_Q_MGR_NOT_AVAILABLE;
    if (folder != NULL && *name == '\0') {
        path = only_socket(folder);
    } else if (folder != NULL && strchr(name, '/') == NULL && asprintf(&path, "%s/%s.sock", folder, name) < 0) {
        path = NULL;
    }
    if (path != NULL && access(path, F_OK) == 0) {
        fd = connect_path(path, reason);
    } else if (*name != '\0') {
        *reason = MQRC_Q_MGR_NAME_ERROR;
        if (folder != NULL) fd = connect_any(folder, reason);
    }
    free(path);
    free(folder);
    return fd;
}

int where_connect(const char *name, const MQCNO *cno, MQLONG *reason) {
    const MQCD *channel = channel_of(cno);
    const char *server = getenv("MQSERVER");
    int is_local = cno != NULL && (cno->Options & MQCNO_LOCAL_BINDING) != 0;
    if (!is_local && channel != NULL) return connect_channel(channel, reason);
    if (!is_local && server != NULL && *server) return connect_server(server, reason);
    return connect_local(name, reason);
}
