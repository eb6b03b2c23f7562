/* MQCB and MQCTL. The server pushes each message; a thread of the connection's own calls the program's function. */
#include "mqm.h"
#include <stdlib.h>
#include <string.h>

/* -- the functions of a connection ------------------------------------------ */

static Consumer **place_of(Connection *connection, MQHOBJ hobj) {
    Consumer **at = &connection->consumers;
    while (*at != NULL && (*at)->hobj != hobj) at = &(*at)->next;
    return at;
}

static void forget(Connection *connection, MQHOBJ hobj, int is_handler) {
    if (is_handler) {
        connection->handler.function = NULL;
        return;
    }
    Consumer **at = place_of(connection, hobj), *found = *at;
    if (found == NULL) return;
    *at = found->next;
    free(found);
}

static int remember(Connection *connection, MQHOBJ hobj, int is_handler, PMQCB_FUNCTION function, MQPTR area) {
    Consumer *to = is_handler ? &connection->handler : *place_of(connection, hobj);
    if (to == NULL) {
        to = calloc(1, sizeof *to);
        if (to == NULL) return 0;
        to->hobj = hobj;
        to->next = connection->consumers;
        connection->consumers = to;
    }
    to->function = function;
    to->area = area;
    return 1;
}

/* The function to call for an object; the event handler has none. */
static Consumer consumer_of(Connection *connection, MQHOBJ hobj) {
    Consumer none = {.hobj = hobj}, *found = hobj > 0 ? *place_of(connection, hobj) : &connection->handler;
    return found != NULL ? *found : none;
}

void callbacks_free(Connection *connection) {
    for (Frame *each = connection->events, *next; each != NULL; each = next) {
        next = each->next;
        free(each);
    }
    while (connection->consumers != NULL) forget(connection, connection->consumers->hobj, 0);
}

/* -- calling them ----------------------------------------------------------- */

/* The bytes of a blob at the start of a structure; NULL: it is empty, so there is no structure. */
static void *copy(Frame *frame, void *to, size_t size) {
    Blob blob;
    if (!frame_blob(frame, &blob) || blob.length == 0) return NULL;
    memcpy(to, blob.at, blob.length < size ? blob.length : size);
    return to;
}

/* Calls the function that an event is for. 0: it is no event. The lock is not held. */
static int deliver(Connection *connection, Frame *frame) {
    MQCBC context = {MQCBC_DEFAULT};
    MQMD md = {MQMD_DEFAULT};
    MQGMO gmo = {MQGMO_DEFAULT};
    Blob data;
    MQHOBJ hobj = frame_number(frame, 0);
    int is_event = frame->number_count > 0 && copy(frame, &context, sizeof context) != NULL;
    if (!is_event) return 0;
    void *pmd = copy(frame, &md, sizeof md), *pgmo = copy(frame, &gmo, sizeof gmo);
    frame_blob(frame, &data);
    /* At the beginning of the frame's memory, where a program's structures are aligned. */
    if (data.length) memmove(frame->rest, data.at, data.length);
    if (context.CompCode == MQCC_OK && (context.DataLength < 0 || (size_t)context.DataLength > data.length)) {
        context.DataLength = (MQLONG)data.length;
    }
    context.BufferLength = (MQLONG)data.length;
    pthread_mutex_lock(&connection->lock);
    Consumer consumer = consumer_of(connection, hobj);
    context.ConnectionArea = connection->area;
    pthread_mutex_unlock(&connection->lock);
    context.CallbackArea = consumer.area;
    uint32_t id = frame->id;
    if (consumer.function != NULL) {
        consumer.function(connection->handle, pmd, pgmo, pmd != NULL ? frame->rest : NULL, &context);
    }
    pthread_mutex_lock(&connection->lock);
    int is_over = connection->is_broken;
    pthread_mutex_unlock(&connection->lock);
    if (!is_over) connection_answer(connection, id, EVENT);
    return 1;
}

static void tell(Connection *connection, Consumer consumer, MQLONG reason) {
    MQCBC context = {MQCBC_DEFAULT};
    context.CallType = MQCBCT_EVENT_CALL;
    context.Hobj = consumer.hobj > 0 ? consumer.hobj : MQHO_UNUSABLE_HOBJ;
    context.CompCode = MQCC_FAILED;
    context.Reason = reason;
    context.State = MQCS_STOPPED;
    context.CallbackArea = consumer.area;
    context.ConnectionArea = connection->area;
    consumer.function(connection->handle, NULL, NULL, NULL, &context);
}

/* Tells the event handler, or each consumer if there is none, that the connection is broken. */
static void tell_end(Connection *connection) {
    pthread_mutex_lock(&connection->lock);
    int is_told = !connection->is_closed && connection->is_active;
    MQLONG reason = connection->reason;
    Consumer handler = connection->handler;
    size_t count = 0, at = 0;
    for (Consumer *each = connection->consumers; each != NULL; each = each->next) count++;
    Consumer *all = calloc(count + 1, sizeof *all);
    for (Consumer *each = connection->consumers; each != NULL && all != NULL; each = each->next) all[at++] = *each;
    pthread_mutex_unlock(&connection->lock);
    if (is_told && handler.function != NULL) tell(connection, handler, reason);
    else for (size_t i = 0; i < at && is_told; i++) tell(connection, all[i], reason);
    free(all);
}

static void *serve(void *argument) {
    Connection *connection = argument;
    pthread_mutex_lock(&connection->lock);
    while (connection->events != NULL || !connection->is_broken) {
        Frame *frame = connection->events;
        if (connection->is_closed) break;
        if (frame == NULL) {
            if (connection->is_reading) pthread_cond_wait(&connection->changed, &connection->lock);
            else connection_read(connection, -1);
            continue;
        }
        connection->events = frame->next;
        if (connection->events == NULL) connection->last_event = &connection->events;
        connection->is_calling = 1;
        pthread_mutex_unlock(&connection->lock);
        int is_event = deliver(connection, frame);
        free(frame);
        pthread_mutex_lock(&connection->lock);
        connection->is_calling = 0;
        if (!is_event) connection_break(connection, MQRC_CONNECTION_BROKEN);
        pthread_cond_broadcast(&connection->changed);
    }
    connection->is_calling = 1;
    pthread_mutex_unlock(&connection->lock);
    tell_end(connection);
    pthread_mutex_lock(&connection->lock);
    connection->is_calling = connection->is_active = connection->has_thread = 0;
    pthread_cond_broadcast(&connection->changed);
    pthread_mutex_unlock(&connection->lock);
    connection_release(connection);
    return NULL;
}

/* Sees to it that the connection has its thread. */
static int start(Connection *connection) {
    pthread_mutex_lock(&connection->lock);
    if (!connection->has_thread && !connection->is_broken) {
        /* The call has the connection, so it stays. */
        connection_retain(connection);
        connection->has_thread = start_thread(&connection->thread, serve, connection);
        if (!connection->has_thread) connection_release(connection);
    }
    int has_thread = connection->has_thread || connection->is_broken;
    pthread_mutex_unlock(&connection->lock);
    return has_thread;
}

void callbacks_wait(Connection *connection) {
    while (connection->is_calling || (connection->events != NULL && !connection->is_broken)) {
        pthread_cond_wait(&connection->changed, &connection->lock);
    }
}

/* -- MQCB, MQCTL ------------------------------------------------------------ */

void MQCB(MQHCONN hconn, MQLONG operation, PMQVOID descriptor, MQHOBJ hobj, PMQVOID md, PMQVOID gmo, PMQLONG comp_code,
          PMQLONG reason) {
    CALL(hconn);
    Connection *connection = call.connection;
    const MQCBD *cbd = descriptor;
    int is_handler = cbd != NULL ? cbd->CallbackType == MQCBT_EVENT_HANDLER : hobj <= 0;
    int is_registered = (operation & MQOP_REGISTER) != 0;
    PMQCB_FUNCTION function = NULL;
    REQUIRE(!is_registered || cbd != NULL, MQRC_CBD_ERROR);
    /* A function of a library that is named instead of a pointer is not called. */
    if (is_registered) memcpy(&function, &cbd->CallbackFunction, sizeof function);
    REQUIRE(!is_registered || function != NULL, MQRC_CALLBACK_ROUTINE_ERROR);
    REQUIRE(!is_registered || start(connection), MQRC_RESOURCE_PROBLEM);
    pthread_mutex_lock(&connection->lock);
    Consumer before = consumer_of(connection, is_handler ? 0 : hobj);
    /* Before it is sent: the server may call before it answers. */
    int is_kept = !is_registered || remember(connection, hobj, is_handler, function, cbd->CallbackArea);
    pthread_mutex_unlock(&connection->lock);
    REQUIRE(is_kept, MQRC_STORAGE_NOT_AVAILABLE);
    request_number(&call.request, operation);
    request_number(&call.request, hobj);
    put_structure(&call.request, &CBD, cbd);
    put_structure(&call.request, &MD, md);
    put_structure(&call.request, &GMO, gmo);
    int is_done = call_run(&call, CB, 0, 0) && !is_failed(&call);
    pthread_mutex_lock(&connection->lock);
    if (is_registered && !is_done) {
        if (before.function != NULL) remember(connection, hobj, is_handler, before.function, before.area);
        else forget(connection, hobj, is_handler);
    } else if (is_done && operation & MQOP_DEREGISTER) {
        forget(connection, hobj, is_handler);
    }
    pthread_mutex_unlock(&connection->lock);
    call_end(&call);
}

void MQCTL(MQHCONN hconn, MQLONG operation, PMQVOID options, PMQLONG comp_code, PMQLONG reason) {
    Call call;
    if (!call_begin_anyhow(&call, hconn, comp_code, reason)) return;
    Connection *connection = call.connection;
    const MQCTLO *ctlo = options;
    int is_start = (operation & (MQOP_START | MQOP_START_WAIT)) != 0;
    REQUIRE(!is_start || start(connection), MQRC_RESOURCE_PROBLEM);
    pthread_mutex_lock(&connection->lock);
    MQPTR before = connection->area;
    if (is_start) connection->area = ctlo != NULL ? ctlo->ConnectionArea : NULL;
    pthread_mutex_unlock(&connection->lock);
    request_number(&call.request, operation);
    put_structure(&call.request, &CTLO, ctlo);
    int is_done = call_run(&call, CTL, 0, 0) && !is_failed(&call);
    pthread_mutex_lock(&connection->lock);
    if (is_start && !is_done) connection->area = before;
    if (is_done) {
        connection->is_active = (operation & (MQOP_STOP | MQOP_SUSPEND)) == 0;
        connection->is_suspended = (operation & MQOP_SUSPEND) != 0;
        pthread_cond_broadcast(&connection->changed);
        /* A stop is over when no function of the program runs. */
        if (!connection->is_active && !call.is_callback) callbacks_wait(connection);
    }
    if (is_done && operation & MQOP_START_WAIT && !call.is_callback) {
        /* Other threads, and the functions, may make calls meanwhile: one of these stops it. */
        pthread_mutex_unlock(&connection->lock);
        pthread_mutex_unlock(&connection->call);
        pthread_mutex_lock(&connection->lock);
        while (connection->is_active) pthread_cond_wait(&connection->changed, &connection->lock);
        callbacks_wait(connection);
        if (connection->is_broken && !connection->is_closed) {
            call_fail(&call, connection->reason);
        } else if (connection->is_suspended) {
            *call.comp_code = MQCC_WARNING;
            *call.reason = MQRC_CONNECTION_SUSPENDED;
        }
        pthread_mutex_unlock(&connection->lock);
        pthread_mutex_lock(&connection->call);
        call_end(&call);
        return;
    }
    pthread_mutex_unlock(&connection->lock);
    call_end(&call);
}
