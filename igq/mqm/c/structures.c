/* IBM's structures: as many bytes as their version has, and the strings that they point to. */
#include "mqm.h"
#include <string.h>

#define LENGTHS(...) .lengths = (const MQLONG[]){__VA_ARGS__}, .versions = sizeof((MQLONG[]){__VA_ARGS__}) / sizeof(MQLONG)
#define OWN(type, first, last) {offsetof(type, first), offsetof(type, last) + sizeof(((type *)0)->last) - offsetof(type, first)}

const Shape MD = {LENGTHS(MQMD_LENGTH_1, MQMD_LENGTH_2)};
const Shape GMO = {LENGTHS(MQGMO_LENGTH_1, MQGMO_LENGTH_2, MQGMO_LENGTH_3, MQGMO_LENGTH_4)};
const Shape PMO = {
    LENGTHS(MQPMO_LENGTH_1, MQPMO_LENGTH_2, MQPMO_LENGTH_3),
    .own = {OWN(MQPMO, PutMsgRecOffset, ResponseRecPtr)}};
const Shape OD = {
    LENGTHS(MQOD_LENGTH_1, MQOD_LENGTH_2, MQOD_LENGTH_3, MQOD_LENGTH_4),
    .own = {OWN(MQOD, ObjectRecOffset, ResponseRecPtr), OWN(MQOD, ObjectString, ResObjectString)}};
const Shape CNO = {
    LENGTHS(MQCNO_LENGTH_1, MQCNO_LENGTH_2, MQCNO_LENGTH_3, MQCNO_LENGTH_4, MQCNO_LENGTH_5, MQCNO_LENGTH_6,
            MQCNO_LENGTH_7, MQCNO_LENGTH_8),
    .own = {OWN(MQCNO, ClientConnOffset, ClientConnPtr), OWN(MQCNO, SSLConfigPtr, SSLConfigOffset),
            OWN(MQCNO, SecurityParmsOffset, CCDTUrlLength), OWN(MQCNO, BalanceParmsPtr, BalanceParmsOffset)}};
const Shape SD = {
    LENGTHS(MQSD_LENGTH_1),
    .own = {OWN(MQSD, ObjectString, SubUserData), OWN(MQSD, SelectionString, SelectionString),
            OWN(MQSD, ResObjectString, ResObjectString)}};
const Shape SRO = {LENGTHS(MQSRO_LENGTH_1)};
const Shape STS = {LENGTHS(MQSTS_LENGTH_1, MQSTS_LENGTH_2), .own = {OWN(MQSTS, ObjectString, SubName)}};
const Shape BO = {LENGTHS(MQBO_LENGTH_1)};
const Shape CMHO = {LENGTHS(MQCMHO_LENGTH_1)};
const Shape DMHO = {LENGTHS(MQDMHO_LENGTH_1)};
const Shape SMPO = {LENGTHS(MQSMPO_LENGTH_1)};
const Shape IMPO = {LENGTHS(MQIMPO_LENGTH_1), .own = {OWN(MQIMPO, ReturnedName, ReturnedName)}};
const Shape DMPO = {LENGTHS(MQDMPO_LENGTH_1)};
const Shape PD_ = {LENGTHS(MQPD_LENGTH_1)};
const Shape BMHO = {LENGTHS(MQBMHO_LENGTH_1)};
const Shape MHBO = {LENGTHS(MQMHBO_LENGTH_1)};
const Shape CBD = {LENGTHS(MQCBD_LENGTH_1), .own = {OWN(MQCBD, CallbackArea, CallbackFunction)}};
const Shape CBC = {
    LENGTHS(MQCBC_LENGTH_1, MQCBC_LENGTH_2),
    .own = {OWN(MQCBC, CallbackArea, ConnectionArea)}};
const Shape CTLO = {LENGTHS(MQCTLO_LENGTH_1), .own = {OWN(MQCTLO, ConnectionArea, ConnectionArea)}};

static MQLONG version_of(const void *structure) {
    MQLONG version;
    /* After the four characters of its identifier. */
    memcpy(&version, (const char *)structure + 4, sizeof version);
    return version;
}

size_t shape_length(const Shape *shape, const void *structure) {
    MQLONG version = version_of(structure);
    /* Of a version that nobody knows as much as every version has: the server refuses it. */
    return (size_t)shape->lengths[version >= 1 && version <= shape->versions ? version - 1 : 0];
}

int has_version(const void *structure, MQLONG version) {
    return structure != NULL && version_of(structure) >= version;
}

void put_structure(Request *request, const Shape *shape, const void *structure) {
    request_blob(request, structure, structure == NULL ? 0 : shape_length(shape, structure));
}

void take_structure(Frame *frame, const Shape *shape, void *structure) {
    Blob blob;
    if (!frame_blob(frame, &blob) || structure == NULL) return;
    size_t length = shape_length(shape, structure), at = 0;
    if (blob.length < length) length = blob.length;
    const char *from = blob.at;
    char *to = structure;
    for (size_t i = 0; i < sizeof shape->own / sizeof *shape->own && shape->own[i].length; i++) {
        if (shape->own[i].at >= length) break;
        memcpy(to + at, from + at, shape->own[i].at - at);
        at = shape->own[i].at + shape->own[i].length;
    }
    if (at < length) memcpy(to + at, from + at, length - at);
}

void *pointed(void *base, MQPTR pointer, MQLONG offset) {
    if (pointer != NULL) return pointer;
    return offset == 0 ? NULL : (char *)base + offset;
}

Blob string_of(const void *base, const MQCHARV *string) {
    const char *at = string->VSPtr;
    if (at == NULL && string->VSOffset != 0) at = (const char *)base + string->VSOffset;
    if (at == NULL) return (Blob){NULL, 0};
    if (string->VSLength == MQVS_NULL_TERMINATED) return (Blob){at, strlen(at)};
    return (Blob){at, string->VSLength > 0 ? (size_t)string->VSLength : 0};
}

void put_string(Request *request, const void *base, const MQCHARV *string) {
    Blob text = string_of(base, string);
    request_blob(request, text.at, text.length);
}

void take_string(Frame *frame, void *base, MQCHARV *string, int is_kept) {
    Blob blob;
    if (!frame_blob(frame, &blob)) return;
    char *to = pointed(base, string->VSPtr, string->VSOffset);
    size_t room = to != NULL && string->VSBufSize > 0 ? (size_t)string->VSBufSize : 0;
    if (room == 0 && is_kept) return;
    if (room) memcpy(to, blob.at, blob.length < room ? blob.length : room);
    string->VSLength = (MQLONG)blob.length;
    string->VSCCSID = 1208;
}

void take_bytes(Frame *frame, void *to, size_t room) {
    Blob blob;
    if (!frame_blob(frame, &blob) || to == NULL) return;
    if (blob.length < room) room = blob.length;
    if (room) memcpy(to, blob.at, room);
}
