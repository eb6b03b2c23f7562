/* Declarations that the parts of the library share.

   frames.c       a request is put together, a frame is read and checked
   connection.c   the table of connections, a call's way to the server and back, fork, heartbeats
   where.c        which socket a connection goes to
   structures.c   lengths of IBM's structures by version, and their strings
   calls.c        the calls with messages and objects
   properties.c   the calls with message handles
   callbacks.c    MQCB, MQCTL, and the thread that calls the program's functions */
#ifndef MQM_H
#define MQM_H
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "cmqc.h"
#include "cmqxc.h"

enum verb {
    CONNX = 1, DISC, OPEN, CLOSE, PUT, PUT1, GET, INQ, SET, BEGIN, CMIT, BACK, SUB, SUBRQ, STAT, CRTMH, DLTMH, SETMP,
    INQMP, DLTMP, BUFMH, MHBUF, XCNVC, CB, CTL, CANCEL = 32, HEARTBEAT, EVENT, ENDED, PUT_ASYNC
};

#define EVENT_ID 0x80000000u
#define MAX_BLOBS 12
#define MAX_NUMBERS 8

/* -- frames ----------------------------------------------------------------- */

/* A request. Data are not copied: blobs must live until the request was sent. */
typedef struct {
    unsigned char head[12];
    int32_t numbers[MAX_NUMBERS];
    int number_count;
    uint32_t lengths[MAX_BLOBS];
    int blob_count;
    struct iovec parts[2 + 2 * MAX_BLOBS];
    int part_count;
    int is_too_long;
} Request;

/* A frame that was received and checked: numbers and blobs lie within it. */
typedef struct Frame {
    struct Frame *next;
    uint32_t id;
    int verb, number_count;
    size_t length, at; /* of the rest after its length; of the next blob in it */
    _Alignas(16) unsigned char rest[];
} Frame;

typedef struct {
    const void *at;
    size_t length;
} Blob;

void request_begin(Request *request);
void request_number(Request *request, MQLONG number);
void request_blob(Request *request, const void *data, size_t length);
int request_finish(Request *request, uint32_t id, int verb);
int frame_check(Frame *frame);
int32_t frame_number(const Frame *frame, int which);
/* The next blob of a frame; 0: there is none. */
int frame_blob(Frame *frame, Blob *blob);

/* -- structures ------------------------------------------------------------- */

/* A structure of IBM's: its lengths by version, and those bytes that the client keeps to itself (pointers, offsets). */
typedef struct {
    const MQLONG *lengths;
    int versions;
    struct { size_t at, length; } own[6];
} Shape;

extern const Shape MD, GMO, PMO, OD, CNO, SD, SRO, STS, BO, CMHO, DMHO, SMPO, IMPO, DMPO, PD_, BMHO, MHBO, CBD, CBC, CTLO;

size_t shape_length(const Shape *shape, const void *structure);
int has_version(const void *structure, MQLONG version);
void put_structure(Request *request, const Shape *shape, const void *structure);
void take_structure(Frame *frame, const Shape *shape, void *structure);
/* A string that a structure (base) points to, or NULL with length 0. */
Blob string_of(const void *base, const MQCHARV *string);
void put_string(Request *request, const void *base, const MQCHARV *string);
/* An output string; is_kept: one without a buffer is left as it is, because it was input. */
void take_string(Frame *frame, void *base, MQCHARV *string, int is_kept);
void take_bytes(Frame *frame, void *to, size_t room);
void *pointed(void *base, MQPTR pointer, MQLONG offset);

/* -- connections ------------------------------------------------------------ */

typedef struct Consumer {
    struct Consumer *next;
    MQHOBJ hobj;
    PMQCB_FUNCTION function;
    MQPTR area;
} Consumer;

typedef struct Waiter {
    struct Waiter *next;
    uint32_t id;
    int verb;
    Frame *answer;
} Waiter;

typedef struct Connection {
    MQHCONN handle;
    int fd, uses;
    MQLONG share;
    pthread_t owner;
    /* One call at a time, but for those from callbacks. */
    pthread_mutex_t call;
    /* One writes at a time. Taken before `lock`, never after it. */
    pthread_mutex_t sending;
    uint32_t last_id;
    unsigned char *out; /* requests that go out with the next one that cannot wait */
    size_t out_end;
    /* Guards everything below; `changed` tells of replies, events, ends. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_reading, is_broken, is_closed;
    MQLONG reason; /* what ended it */
    Waiter *waiters;
    int heartbeat; /* seconds; 0: none */
    size_t limit; /* bytes of a frame */
    int64_t heard; /* when the server was heard last, milliseconds */
    unsigned char *in; /* bytes received and not looked at */
    size_t in_at, in_end;
    /* callbacks.c */
    Frame *events, **last_event;
    Consumer *consumers;
    Consumer handler;
    MQPTR area;
    int has_thread, is_active, is_suspended, is_calling;
    pthread_t thread;
} Connection;

typedef struct {
    Connection *connection;
    PMQLONG comp_code, reason;
    MQLONG no_comp_code, no_reason; /* where the program gave NULL */
    int is_callback;
    Request request;
    Frame *answer;
} Call;

/* A call begins: finds the connection and its turn. 0: it ended with a reason. */
int call_begin(Call *call, MQHCONN hconn, PMQLONG comp_code, PMQLONG reason);
/* The same for calls that may be made while functions of the program are called. */
int call_begin_anyhow(Call *call, MQHCONN hconn, PMQLONG comp_code, PMQLONG reason);
/* Ends a call with a reason of the client's own. */
void call_fail(Call *call, MQLONG reason);
/* Sends the request and waits for its answer, which has these numbers and blobs unless the call failed. Records may be
   left out at its end.
   0: the connection is broken. CompCode and Reason are set. */
int call_run(Call *call, int verb, int numbers, int blobs);
/* Sends a request that has no answer. may_wait: it may go out with the next request that has one. */
int call_send(Call *call, int verb, int may_wait);
void call_end(Call *call);
int is_failed(const Call *call);

/* How each call begins, and how it ends where an argument is NULL or cannot be sent. */
#define REQUIRE(condition, why) \
    if (!(condition)) { \
        call_fail(&call, why); \
        call_end(&call); \
        return; \
    }
#define CALL(hconn) \
    Call call; \
    if (!call_begin(&call, hconn, comp_code, reason)) return

Connection *connection_of(MQHCONN hconn);
void connection_retain(Connection *connection);
void connection_release(Connection *connection);
int connection_answer(Connection *connection, uint32_t id, int verb);
/* Reads one frame and gives it to whom it concerns. The lock is held, and is let go while reading. 0: broken.
   patience: milliseconds; 0: only what is there; negative: for ever. */
int connection_read(Connection *connection, int patience);
void connection_break(Connection *connection, MQLONG reason);
int in_callback_of(const Connection *connection);
int start_thread(pthread_t *thread, void *(*function)(void *), void *argument);

/* -- where.c ---------------------------------------------------------------- */

/* A connected socket, or -1 with a reason. */
int where_connect(const char *name, const MQCNO *cno, MQLONG *reason);
MQCD *channel_of(const MQCNO *cno);

/* -- callbacks.c ------------------------------------------------------------ */

/* Waits until no function of the program runs. The lock is held. */
void callbacks_wait(Connection *connection);
void callbacks_free(Connection *connection);

#endif
