/* Connections: their table, MQCONN to MQDISC, a call's way to the server and back, fork and heartbeats.

   A thread that waits for a frame reads the socket: that of a call, or the one that calls the program's functions.
   One reads at a time, and gives each frame to whom it concerns. */
#include "mqm.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROOM 65536u /* of the buffer of what was received */
#define FIRST_LIMIT (1u << 20) /* of a frame before the server told its limit */
#define MORE (1u << 20) /* than the longest message may have its frame */
#define SLOT_BITS 12
#define SLOTS (1 << SLOT_BITS)
#define GENERATIONS (1 << 18)

static Connection *slots[SLOTS];
static MQLONG generation;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static int has_keeper;

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* -- the table -------------------------------------------------------------- */

/* The child of a fork has no connection: it closes its copies of the sockets, which leaves the parent's alone. A copy
   that stays open would hide the parent's death from the server. The memory may be in any state, so it is left. */
static void forget_all(void) {
    for (int i = 0; i < SLOTS; i++) {
        if (slots[i] != NULL && slots[i]->fd >= 0) close(slots[i]->fd);
        slots[i] = NULL;
    }
    has_keeper = 0;
    table = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static void lock_table(void) { pthread_mutex_lock(&table); }
static void unlock_table(void) { pthread_mutex_unlock(&table); }
static void prepare(void) { pthread_atfork(lock_table, unlock_table, forget_all); }

static int add_connection(Connection *connection) {
    int found = 0;
    pthread_mutex_lock(&table);
    for (int i = 0; i < SLOTS && !found; i++) {
        if (slots[i] != NULL) continue;
        /* A handle that was used before is not given again soon. The first is 1: 0 is MQHC_DEF_HCONN. */
        connection->handle = (generation << SLOT_BITS | i) + 1;
        generation = (generation + 1) % GENERATIONS;
        slots[i] = connection;
        found = 1;
    }
    pthread_mutex_unlock(&table);
    return found;
}

static Connection **slot_of(MQHCONN hconn) {
    Connection **slot = hconn > 0 ? &slots[(hconn - 1) & (SLOTS - 1)] : NULL;
    return slot != NULL && *slot != NULL && (*slot)->handle == hconn ? slot : NULL;
}

Connection *connection_of(MQHCONN hconn) {
    Connection *found = NULL;
    pthread_mutex_lock(&table);
    Connection **slot = slot_of(hconn);
    if (slot != NULL) {
        found = *slot;
        found->uses++;
    }
    pthread_mutex_unlock(&table);
    return found;
}

static void remove_connection(Connection *connection) {
    pthread_mutex_lock(&table);
    Connection **slot = slot_of(connection->handle);
    if (slot != NULL) {
        *slot = NULL;
        connection->uses--;
    }
    pthread_mutex_unlock(&table);
}

static void destroy(Connection *connection) {
    callbacks_free(connection);
    if (connection->fd >= 0) close(connection->fd);
    pthread_mutex_destroy(&connection->call);
    pthread_mutex_destroy(&connection->sending);
    pthread_mutex_destroy(&connection->lock);
    pthread_cond_destroy(&connection->changed);
    free(connection->in);
    free(connection->out);
    free(connection);
}

void connection_retain(Connection *connection) {
    pthread_mutex_lock(&table);
    connection->uses++;
    pthread_mutex_unlock(&table);
}

void connection_release(Connection *connection) {
    pthread_mutex_lock(&table);
    int is_last = --connection->uses == 0;
    pthread_mutex_unlock(&table);
    if (is_last) destroy(connection);
}

static Connection *make(int fd, MQLONG share) {
    Connection *connection = calloc(1, sizeof *connection);
    unsigned char *in = malloc(ROOM);
    if (connection == NULL || in == NULL) {
        free(connection);
        free(in);
        return NULL;
    }
    connection->fd = fd;
    connection->uses = 1; /* the table's */
    connection->share = share;
    connection->owner = pthread_self();
    connection->in = in;
    connection->limit = FIRST_LIMIT;
    connection->last_event = &connection->events;
    connection->heard = now();
    pthread_mutex_init(&connection->call, NULL);
    pthread_mutex_init(&connection->sending, NULL);
    pthread_mutex_init(&connection->lock, NULL);
    pthread_cond_init(&connection->changed, NULL);
    return connection;
}

/* -- sending ---------------------------------------------------------------- */

static int write_all(int fd, struct iovec *parts, int count) {
    while (count) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
        ssize_t written = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return 0;
        size_t left = (size_t)written;
        while (count && left >= parts->iov_len) {
            left -= parts->iov_len;
            parts++;
            count--;
        }
        if (count) {
            parts->iov_base = (char *)parts->iov_base + left;
            parts->iov_len -= left;
        }
    }
    return 1;
}

static int hold_back(Connection *connection, struct iovec *parts, int count) {
    size_t length = 0;
    for (int i = 0; i < count; i++) length += parts[i].iov_len;
    if (length > ROOM - connection->out_end) return 0;
    if (connection->out == NULL && (connection->out = malloc(ROOM)) == NULL) return 0;
    for (int i = 0; i < count; i++) {
        memcpy(connection->out + connection->out_end, parts[i].iov_base, parts[i].iov_len);
        connection->out_end += parts[i].iov_len;
    }
    return 1;
}

/* Sends a frame after those that were kept, all at once if they are short. may_wait: it may be kept, too. */
static int send_parts(Connection *connection, struct iovec *parts, int count, int may_wait) {
    int is_kept = (may_wait || connection->out_end) && hold_back(connection, parts, count);
    if (is_kept && may_wait) return 1;
    struct iovec out = {connection->out, connection->out_end};
    connection->out_end = 0;
    return (out.iov_len == 0 || write_all(connection->fd, &out, 1))
        && (is_kept || write_all(connection->fd, parts, count));
}

/* Sends a frame that answers one of the server's. */
int connection_answer(Connection *connection, uint32_t id, int verb) {
    Request request;
    request_begin(&request);
    request_finish(&request, id, verb);
    pthread_mutex_lock(&connection->sending);
    int is_sent = send_parts(connection, request.parts, request.part_count, 0);
    pthread_mutex_unlock(&connection->sending);
    return is_sent;
}

/* Sends a request; its waiter, if it has one, is registered before. Ids go out in rising order. */
static int send_request(Connection *connection, Request *request, int verb, Waiter *waiter, int may_wait) {
    pthread_mutex_lock(&connection->sending);
    uint32_t id = connection->last_id = connection->last_id % (EVENT_ID - 1) + 1;
    if (waiter != NULL) {
        waiter->id = id;
        waiter->verb = verb;
        pthread_mutex_lock(&connection->lock);
        waiter->next = connection->waiters;
        connection->waiters = waiter;
        pthread_mutex_unlock(&connection->lock);
    }
    int is_sent = request_finish(request, id, verb)
        && send_parts(connection, request->parts, request->part_count, may_wait);
    pthread_mutex_unlock(&connection->sending);
    return is_sent;
}

static void ask_for_life(Connection *connection) {
    Request request;
    request_begin(&request);
    send_request(connection, &request, HEARTBEAT, NULL, 0);
}

/* -- receiving -------------------------------------------------------------- */

void connection_break(Connection *connection, MQLONG reason) {
    if (!connection->is_broken) {
        connection->is_broken = 1;
        connection->reason = reason;
        /* Wakes a thread that sends or receives. */
        shutdown(connection->fd, SHUT_RDWR);
    }
    pthread_cond_broadcast(&connection->changed);
}

/* Waits until there is something to receive. 0: nothing came. */
static int is_readable(Connection *connection, int patience) {
    struct pollfd each = {.fd = connection->fd, .events = POLLIN};
    int status;
    do status = poll(&each, 1, patience); while (status < 0 && errno == EINTR);
    return status != 0;
}

/* Receives into the buffer, which is empty or has room after what it holds. 0: the stream ended. */
static int receive(Connection *connection) {
    if (connection->in_at == connection->in_end) connection->in_at = connection->in_end = 0;
    if (connection->in_end == ROOM) {
        memmove(connection->in, connection->in + connection->in_at, connection->in_end - connection->in_at);
        connection->in_end -= connection->in_at;
        connection->in_at = 0;
    }
    ssize_t got;
    do got = recv(connection->fd, connection->in + connection->in_end, ROOM - connection->in_end, 0);
    while (got < 0 && errno == EINTR);
    if (got <= 0) return 0;
    connection->in_end += (size_t)got;
    return 1;
}

/* Receives until the buffer holds *size* bytes, which are few. */
static int have(Connection *connection, size_t size) {
    while (connection->in_end - connection->in_at < size) if (!receive(connection)) return 0;
    return 1;
}

static int receive_into(Connection *connection, unsigned char *to, size_t length) {
    size_t ready = connection->in_end - connection->in_at;
    if (ready > length) ready = length;
    memcpy(to, connection->in + connection->in_at, ready);
    connection->in_at += ready;
    while (ready < length) {
        ssize_t got = recv(connection->fd, to + ready, length - ready, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return 0;
        ready += (size_t)got;
    }
    return 1;
}

/* A frame, to be freed; NULL: the stream ended or is no stream of frames. */
static Frame *read_frame(Connection *connection) {
    uint32_t length;
    if (!have(connection, sizeof length)) return NULL;
    memcpy(&length, connection->in + connection->in_at, sizeof length);
    connection->in_at += sizeof length;
    if (length < 8 || length > connection->limit) return NULL;
    Frame *frame = malloc(sizeof *frame + length);
    if (frame == NULL) return NULL;
    frame->next = NULL;
    frame->length = length;
    if (receive_into(connection, frame->rest, length) && frame_check(frame)) return frame;
    free(frame);
    return NULL;
}

static void give_answer(Connection *connection, Frame *frame) {
    for (Waiter *each = connection->waiters; each != NULL; each = each->next) {
        if (each->id != frame->id || each->answer != NULL) continue;
        if (each->verb != frame->verb) break;
        each->answer = frame;
        pthread_cond_broadcast(&connection->changed);
        return;
    }
    free(frame);
    connection_break(connection, MQRC_CONNECTION_BROKEN);
}

static void give(Connection *connection, Frame *frame) {
    MQLONG reason = MQRC_CONNECTION_BROKEN;
    switch (frame->verb) {
    case EVENT:
        if (!(frame->id & EVENT_ID) || !connection->has_thread) break;
        *connection->last_event = frame;
        connection->last_event = &frame->next;
        pthread_cond_broadcast(&connection->changed);
        return;
    case HEARTBEAT:
        /* It said that the server lives. */
        free(frame);
        return;
    case ENDED:
        if (frame->number_count > 0 && frame_number(frame, 0) >= 2000) reason = frame_number(frame, 0);
        break;
    default:
        give_answer(connection, frame);
        return;
    }
    free(frame);
    connection_break(connection, reason);
}

/* How long to wait for the server before it is asked whether it lives, and after how long it does not. */
static int silence(Connection *connection, int patience) {
    int heartbeat = connection->heartbeat * 1000;
    return heartbeat > 0 && (patience < 0 || heartbeat < patience) ? heartbeat : patience;
}

int connection_read(Connection *connection, int patience) {
    connection->is_reading = 1;
    int has_some = connection->in_end != connection->in_at, limit = silence(connection, patience), is_there = 1;
    pthread_mutex_unlock(&connection->lock);
    /* Without a limit recv waits. */
    if (!has_some && limit >= 0) is_there = is_readable(connection, limit);
    Frame *frame = is_there ? read_frame(connection) : NULL;
    /* The server's own ids have the top bit; another id is the answer to one of ours. */
    if (frame != NULL && frame->verb == HEARTBEAT && frame->id & EVENT_ID) {
        connection_answer(connection, frame->id, HEARTBEAT);
    }
    if (!is_there && limit > 0 && limit != patience) ask_for_life(connection);
    pthread_mutex_lock(&connection->lock);
    connection->is_reading = 0;
    pthread_cond_broadcast(&connection->changed);
    int64_t at = now();
    if (frame != NULL) {
        connection->heard = at;
        give(connection, frame);
    } else if (is_there || (connection->heartbeat && at - connection->heard > 2000 * (int64_t)connection->heartbeat)) {
        connection_break(connection, MQRC_CONNECTION_BROKEN);
    }
    return !connection->is_broken;
}

/* Waits for the answer to a request. The lock is held. */
static Frame *wait_answer(Connection *connection, Waiter *waiter) {
    while (waiter->answer == NULL && !connection->is_broken) {
        if (connection->is_reading) pthread_cond_wait(&connection->changed, &connection->lock);
        else connection_read(connection, -1);
    }
    Waiter **at = &connection->waiters;
    while (*at != waiter) at = &(*at)->next;
    *at = waiter->next;
    /* Another thread may wait for what this one would have read. */
    pthread_cond_broadcast(&connection->changed);
    return waiter->answer;
}

/* -- heartbeats ------------------------------------------------------------- */

/* Reads what an idle connection was sent, and asks a server that was silent for half its interval. */
static void keep(Connection *connection) {
    pthread_mutex_lock(&connection->lock);
    while (!connection->is_broken && !connection->is_closed && !connection->is_reading && connection->waiters == NULL
           && (connection->in_end != connection->in_at || is_readable(connection, 0))) {
        connection_read(connection, 0);
    }
    int64_t silent = now() - connection->heard;
    int is_idle = !connection->is_broken && !connection->is_reading && connection->waiters == NULL;
    if (is_idle && silent > 2000 * (int64_t)connection->heartbeat) connection_break(connection, MQRC_CONNECTION_BROKEN);
    int is_asked = is_idle && silent > 500 * (int64_t)connection->heartbeat;
    pthread_mutex_unlock(&connection->lock);
    if (is_asked) ask_for_life(connection);
}

/* The thread of the process that answers heartbeats while no call does. */
static void *keep_all(void *unused) {
    for (;;) {
        struct timespec pause = {.tv_sec = 0, .tv_nsec = 500000000};
        nanosleep(&pause, NULL);
        for (int i = 0; i < SLOTS; i++) {
            pthread_mutex_lock(&table);
            Connection *connection = slots[i];
            if (connection != NULL && connection->heartbeat > 0) connection->uses++;
            else connection = NULL;
            pthread_mutex_unlock(&table);
            if (connection == NULL) continue;
            keep(connection);
            connection_release(connection);
        }
    }
    return unused;
}

int start_thread(pthread_t *thread, void *(*function)(void *), void *argument) {
    sigset_t all, before;
    pthread_attr_t attributes;
    /* Signals are for the program's own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int status = pthread_create(thread, &attributes, function, argument);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status == 0;
}

static void start_keeper(void) {
    pthread_t thread;
    pthread_mutex_lock(&table);
    if (!has_keeper) has_keeper = start_thread(&thread, keep_all, NULL);
    pthread_mutex_unlock(&table);
}

/* -- a call ----------------------------------------------------------------- */

void call_fail(Call *call, MQLONG reason) {
    *call->comp_code = MQCC_FAILED;
    *call->reason = reason;
}

int is_failed(const Call *call) { return *call->comp_code == MQCC_FAILED; }

static void call_start(Call *call, PMQLONG comp_code, PMQLONG reason) {
    call->connection = NULL;
    call->answer = NULL;
    call->is_callback = 0;
    call->comp_code = comp_code != NULL ? comp_code : &call->no_comp_code;
    call->reason = reason != NULL ? reason : &call->no_reason;
    request_begin(&call->request);
}

int in_callback_of(const Connection *connection) {
    return connection->has_thread && pthread_equal(connection->thread, pthread_self());
}

/* The turn of a call on its connection. 0: it has none. */
static int take_turn(Call *call, int is_always_right) {
    Connection *connection = call->connection;
    pthread_mutex_lock(&connection->lock);
    call->is_callback = in_callback_of(connection);
    int is_active = connection->is_active;
    pthread_mutex_unlock(&connection->lock);
    if (call->is_callback) return 1;
    if (connection->share == MQCNO_HANDLE_SHARE_NONE && !pthread_equal(connection->owner, pthread_self())) {
        call_fail(call, MQRC_HCONN_ERROR);
        return 0;
    }
    if (is_active && !is_always_right) {
        call_fail(call, MQRC_HCONN_ASYNC_ACTIVE);
        return 0;
    }
    if (connection->share != MQCNO_HANDLE_SHARE_NO_BLOCK) {
        pthread_mutex_lock(&connection->call);
    } else if (pthread_mutex_trylock(&connection->call) != 0) {
        call_fail(call, MQRC_CALL_IN_PROGRESS);
        return 0;
    }
    return 1;
}

static int begin(Call *call, MQHCONN hconn, PMQLONG comp_code, PMQLONG reason, int is_always_right) {
    call_start(call, comp_code, reason);
    call->connection = connection_of(hconn);
    if (call->connection == NULL) {
        call_fail(call, MQRC_HCONN_ERROR);
        return 0;
    }
    if (take_turn(call, is_always_right)) {
        if (!call->connection->is_closed) return 1;
        /* It was disconnected while this thread waited for its turn. */
        call_fail(call, MQRC_HCONN_ERROR);
        call_end(call);
        return 0;
    }
    connection_release(call->connection);
    return 0;
}

int call_begin(Call *call, MQHCONN hconn, PMQLONG comp_code, PMQLONG reason) {
    return begin(call, hconn, comp_code, reason, 0);
}

int call_begin_anyhow(Call *call, MQHCONN hconn, PMQLONG comp_code, PMQLONG reason) {
    return begin(call, hconn, comp_code, reason, 1);
}

void call_end(Call *call) {
    free(call->answer);
    if (!call->is_callback) pthread_mutex_unlock(&call->connection->call);
    connection_release(call->connection);
}

static int is_complete(Frame *frame, int numbers, int blobs) {
    MQLONG comp_code = frame_number(frame, 0);
    if (frame->number_count < 2 || comp_code < MQCC_OK || comp_code > MQCC_FAILED) return 0;
    size_t at = frame->at;
    Blob blob;
    while (blobs > 0 && frame_blob(frame, &blob)) blobs--;
    frame->at = at;
    /* A call that failed may leave out what it does not return. */
    return comp_code == MQCC_FAILED || (frame->number_count >= 2 + numbers && blobs == 0);
}

int call_run(Call *call, int verb, int numbers, int blobs) {
    Connection *connection = call->connection;
    if (call->request.is_too_long) {
        call_fail(call, MQRC_DATA_LENGTH_ERROR);
        return 0;
    }
    Waiter waiter = {.answer = NULL};
    /* Whether it was sent does not matter: a server that ends a connection says why before it closes. */
    send_request(connection, &call->request, verb, &waiter, 0);
    pthread_mutex_lock(&connection->lock);
    MQLONG reason = connection->is_broken ? MQRC_CONNECTION_BROKEN : 0;
    call->answer = wait_answer(connection, &waiter);
    if (call->answer != NULL && !is_complete(call->answer, numbers, blobs)) {
        free(call->answer);
        call->answer = NULL;
        connection_break(connection, MQRC_CONNECTION_BROKEN);
    }
    if (reason == 0) reason = connection->reason;
    pthread_mutex_unlock(&connection->lock);
    if (call->answer == NULL) {
        call_fail(call, reason);
        return 0;
    }
    *call->comp_code = frame_number(call->answer, 0);
    *call->reason = frame_number(call->answer, 1);
    return 1;
}

int call_send(Call *call, int verb, int may_wait) {
    Connection *connection = call->connection;
    int is_sent = send_request(connection, &call->request, verb, NULL, may_wait);
    pthread_mutex_lock(&connection->lock);
    if (!is_sent) connection_break(connection, MQRC_CONNECTION_BROKEN);
    int is_broken = connection->is_broken;
    pthread_mutex_unlock(&connection->lock);
    if (is_broken) {
        call_fail(call, MQRC_CONNECTION_BROKEN);
        return 0;
    }
    *call->comp_code = MQCC_OK;
    *call->reason = MQRC_NONE;
    return 1;
}

/* -- MQCONN, MQCONNX, MQDISC ------------------------------------------------ */

static void pad(char *to, const char *from, size_t length) {
    size_t given = from != NULL ? strnlen(from, length) : 0;
    memcpy(to, given ? from : "", given);
    memset(to + given, ' ', length - given);
}

static void put_user(Request *request, const MQCNO *cno) {
    MQCSP *csp = has_version(cno, MQCNO_VERSION_5)
        ? pointed((void *)(uintptr_t)cno, cno->SecurityParmsPtr, cno->SecurityParmsOffset) : NULL;
    if (csp == NULL || csp->AuthenticationType != MQCSP_AUTH_USER_ID_AND_PWD) {
        request_blob(request, NULL, 0);
        request_blob(request, NULL, 0);
        return;
    }
    const void *user = pointed(csp, csp->CSPUserIdPtr, csp->CSPUserIdOffset);
    const void *password = pointed(csp, csp->CSPPasswordPtr, csp->CSPPasswordOffset);
    request_blob(request, user, csp->CSPUserIdLength > 0 ? (size_t)csp->CSPUserIdLength : 0);
    request_blob(request, password, csp->CSPPasswordLength > 0 ? (size_t)csp->CSPPasswordLength : 0);
}

static void introduce(Call *call, const char *name, MQCNO *cno) {
    char program[sizeof cno->ApplName], channel[MQ_CHANNEL_NAME_LENGTH];
    const MQCD *definition = channel_of(cno);
    const char *server = getenv("MQSERVER");
    int is_named = has_version(cno, MQCNO_VERSION_7) && cno->ApplName[0] != '\0' && cno->ApplName[0] != ' ';
    pad(program, is_named ? cno->ApplName : program_invocation_short_name, sizeof program);
    if (definition != NULL) {
        pad(channel, definition->ChannelName, sizeof channel);
    } else if (server != NULL) {
        char copy[sizeof channel + 1] = {0};
        size_t length = strcspn(server, "/");
        memcpy(copy, server, length < sizeof channel ? length : sizeof channel);
        pad(channel, copy, sizeof channel);
    }
    request_number(&call->request, getpid());
    request_blob(&call->request, name, MQ_Q_MGR_NAME_LENGTH);
    put_structure(&call->request, &CNO, cno);
    request_blob(&call->request, program, sizeof program);
    request_blob(&call->request, channel, definition != NULL || server != NULL ? sizeof channel : 0);
    put_user(&call->request, cno);
    if (!call_run(call, CONNX, 2, 2)) return;
    Connection *connection = call->connection;
    take_structure(call->answer, &CNO, cno);
    if (is_failed(call)) return;
    MQLONG heartbeat = frame_number(call->answer, 2), max_length = frame_number(call->answer, 3);
    pthread_mutex_lock(&connection->lock);
    connection->heartbeat = heartbeat > 0 && heartbeat < 1000000 ? heartbeat : 0;
    connection->limit = (size_t)(max_length > 0 ? max_length : 0) + MORE;
    pthread_mutex_unlock(&connection->lock);
}

static MQLONG share_of(const MQCNO *cno) {
    MQLONG options = cno != NULL ? cno->Options : 0;
    return options & MQCNO_HANDLE_SHARE_BLOCK ? MQCNO_HANDLE_SHARE_BLOCK
        : options & MQCNO_HANDLE_SHARE_NO_BLOCK ? MQCNO_HANDLE_SHARE_NO_BLOCK : MQCNO_HANDLE_SHARE_NONE;
}

void MQCONNX(PMQCHAR name, PMQCNO cno, PMQHCONN hconn, PMQLONG comp_code, PMQLONG reason) {
    Call call;
    MQLONG why = MQRC_Q_MGR_NOT_AVAILABLE;
    char padded[MQ_Q_MGR_NAME_LENGTH], trimmed[MQ_Q_MGR_NAME_LENGTH + 1] = {0};
    call_start(&call, comp_code, reason);
    if (hconn == NULL) {
        call_fail(&call, MQRC_HCONN_ERROR);
        return;
    }
    *hconn = MQHC_UNUSABLE_HCONN;
    pthread_once(&prepared, prepare);
    pad(padded, name, sizeof padded);
    size_t length = sizeof padded;
    while (length && padded[length - 1] == ' ') length--;
    memcpy(trimmed, padded, length);
    int fd = where_connect(trimmed, cno, &why);
    if (fd < 0) {
        call_fail(&call, why);
        return;
    }
    Connection *connection = make(fd, share_of(cno));
    if (connection == NULL) {
        close(fd);
        call_fail(&call, MQRC_STORAGE_NOT_AVAILABLE);
        return;
    }
    if (!add_connection(connection)) {
        destroy(connection);
        call_fail(&call, MQRC_MAX_CONNS_LIMIT_REACHED);
        return;
    }
    call.connection = connection;
    pthread_mutex_lock(&connection->call);
    connection_retain(connection);
    introduce(&call, padded, cno);
    if (is_failed(&call)) {
        connection->is_closed = 1;
        remove_connection(connection);
    } else {
        *hconn = connection->handle;
        if (connection->heartbeat) start_keeper();
    }
    call_end(&call);
}

void MQCONN(PMQCHAR name, PMQHCONN hconn, PMQLONG comp_code, PMQLONG reason) {
    MQCNO cno = {MQCNO_DEFAULT};
    MQCONNX(name, &cno, hconn, comp_code, reason);
}

void MQDISC(PMQHCONN hconn, PMQLONG comp_code, PMQLONG reason) {
    Call call;
    if (!call_begin_anyhow(&call, hconn != NULL ? *hconn : MQHC_UNUSABLE_HCONN, comp_code, reason)) return;
    Connection *connection = call.connection;
    call_run(&call, DISC, 0, 0);
    /* It is gone also if the server could not be told: the program cannot do more about it. */
    pthread_mutex_lock(&connection->lock);
    connection->is_closed = 1;
    connection_break(connection, MQRC_HCONN_ERROR);
    if (!call.is_callback) callbacks_wait(connection);
    pthread_mutex_unlock(&connection->lock);
    remove_connection(connection);
    *hconn = MQHC_UNUSABLE_HCONN;
    call_end(&call);
}
