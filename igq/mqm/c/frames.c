/* Requests are put together, and frames are checked. All numbers are little-endian, as are the machines it runs on. */
#include "mqm.h"
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "The structures go as they lie in memory, low byte first."
#endif

#define HEAD 8 /* id, verb and the count of numbers */

void request_begin(Request *request) {
    request->number_count = request->blob_count = request->is_too_long = 0;
    request->part_count = 2;
}

void request_number(Request *request, MQLONG number) {
    request->numbers[request->number_count++] = number;
}

void request_blob(Request *request, const void *data, size_t length) {
    if (data == NULL) length = 0;
    if (length > INT32_MAX) {
        request->is_too_long = 1;
        length = 0;
    }
    uint32_t *words = &request->lengths[request->blob_count++];
    *words = (uint32_t)length;
    request->parts[request->part_count++] = (struct iovec){words, sizeof *words};
    /* sendmsg reads only, though its type does not say so. */
    if (length) request->parts[request->part_count++] = (struct iovec){(void *)(uintptr_t)data, length};
}

int request_finish(Request *request, uint32_t id, int verb) {
    size_t rest = HEAD;
    uint16_t number_count = (uint16_t)request->number_count, verb_number = (uint16_t)verb;
    request->parts[1] = (struct iovec){request->numbers, sizeof(int32_t) * number_count};
    for (int i = 1; i < request->part_count; i++) rest += request->parts[i].iov_len;
    if (request->is_too_long || rest > UINT32_MAX) return 0;
    uint32_t length = (uint32_t)rest;
    memcpy(request->head, &length, 4);
    memcpy(request->head + 4, &id, 4);
    memcpy(request->head + 8, &verb_number, 2);
    memcpy(request->head + 10, &number_count, 2);
    request->parts[0] = (struct iovec){request->head, sizeof request->head};
    return 1;
}

int frame_check(Frame *frame) {
    uint16_t verb, count;
    memcpy(&frame->id, frame->rest, 4);
    memcpy(&verb, frame->rest + 4, 2);
    memcpy(&count, frame->rest + 6, 2);
    size_t at = HEAD + sizeof(int32_t) * count;
    if (at > frame->length) return 0;
    frame->verb = verb;
    frame->number_count = count;
    frame->at = at;
    while (at < frame->length) {
        uint32_t length;
        if (frame->length - at < sizeof length) return 0;
        memcpy(&length, frame->rest + at, sizeof length);
        at += sizeof length;
        if (length > frame->length - at) return 0;
        at += length;
    }
    return 1;
}

int32_t frame_number(const Frame *frame, int which) {
    int32_t number = 0;
    if (which < frame->number_count) memcpy(&number, frame->rest + HEAD + sizeof number * (size_t)which, sizeof number);
    return number;
}

int frame_blob(Frame *frame, Blob *blob) {
    *blob = (Blob){NULL, 0};
    if (frame->at >= frame->length) return 0;
    uint32_t length;
    memcpy(&length, frame->rest + frame->at, sizeof length);
    *blob = (Blob){frame->rest + frame->at + sizeof length, length};
    frame->at += sizeof length + length;
    return 1;
}
