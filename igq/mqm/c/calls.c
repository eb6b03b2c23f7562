/* The calls with objects and messages. Each puts its arguments into a request and takes the answer back. */
#include "mqm.h"
#include <string.h>

static void put_object(Request *request, MQOD *od) {
    put_structure(request, &OD, od);
    int has_strings = has_version(od, MQOD_VERSION_4);
    if (has_strings) {
        put_string(request, od, &od->ObjectString);
        put_string(request, od, &od->SelectionString);
    } else {
        request_blob(request, NULL, 0);
        request_blob(request, NULL, 0);
    }
}

static size_t records_of(const MQOD *od) {
    return has_version(od, MQOD_VERSION_2) && od->RecsPresent > 0 ? (size_t)od->RecsPresent : 0;
}

static void put_object_records(Request *request, MQOD *od) {
    size_t count = records_of(od);
    request_blob(request, count ? pointed(od, od->ObjectRecPtr, od->ObjectRecOffset) : NULL, count * sizeof(MQOR));
}

static void take_object(Frame *answer, MQOD *od) {
    MQCHARV none = {MQCHARV_DEFAULT};
    size_t count = records_of(od);
    void *responses = count ? pointed(od, od->ResponseRecPtr, od->ResponseRecOffset) : NULL;
    int has_strings = has_version(od, MQOD_VERSION_4);
    take_structure(answer, &OD, od);
    take_string(answer, od, has_strings ? &od->ResObjectString : &none, 0);
    take_bytes(answer, responses, count * sizeof(MQRR));
}

/* The size of a put message record: the fields that are told. */
static size_t record_size(const MQPMO *pmo) {
    MQLONG fields = pmo->PutMsgRecFields;
    return (fields & MQPMRF_MSG_ID ? MQ_MSG_ID_LENGTH : 0) + (fields & MQPMRF_CORREL_ID ? MQ_CORREL_ID_LENGTH : 0)
        + (fields & MQPMRF_GROUP_ID ? MQ_GROUP_ID_LENGTH : 0) + (fields & MQPMRF_FEEDBACK ? sizeof(MQLONG) : 0)
        + (fields & MQPMRF_ACCOUNTING_TOKEN ? MQ_ACCOUNTING_TOKEN_LENGTH : 0);
}

typedef struct {
    void *messages, *responses;
    size_t count, size;
} Records;

static Records put_records(MQPMO *pmo) {
    size_t count = has_version(pmo, MQPMO_VERSION_2) && pmo->RecsPresent > 0 ? (size_t)pmo->RecsPresent : 0;
    if (count == 0) return (Records){NULL, NULL, 0, 0};
    return (Records){
        pointed(pmo, pmo->PutMsgRecPtr, pmo->PutMsgRecOffset),
        pointed(pmo, pmo->ResponseRecPtr, pmo->ResponseRecOffset), count, record_size(pmo)};
}

void MQOPEN(MQHCONN hconn, PMQVOID object, MQLONG options, PMQHOBJ hobj, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    REQUIRE(object != NULL, MQRC_OD_ERROR);
    REQUIRE(hobj != NULL, MQRC_HOBJ_ERROR);
    *hobj = MQHO_UNUSABLE_HOBJ;
    request_number(&call.request, options);
    put_object(&call.request, object);
    put_object_records(&call.request, object);
    if (call_run(&call, OPEN, 1, 2)) {
        if (!is_failed(&call)) *hobj = frame_number(call.answer, 2);
        take_object(call.answer, object);
    }
    call_end(&call);
}

void MQCLOSE(MQHCONN hconn, PMQHOBJ hobj, MQLONG options, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    REQUIRE(hobj != NULL, MQRC_HOBJ_ERROR);
    request_number(&call.request, *hobj);
    request_number(&call.request, options);
    if (call_run(&call, CLOSE, 0, 0) && !is_failed(&call)) *hobj = MQHO_UNUSABLE_HOBJ;
    call_end(&call);
}

void MQPUT(MQHCONN hconn, MQHOBJ hobj, PMQVOID md, PMQVOID options, MQLONG length, PMQVOID data, PMQLONG comp_code,
           PMQLONG reason) {
    CALL(hconn);
    MQPMO *pmo = options;
    REQUIRE(md != NULL, MQRC_MD_ERROR);
    REQUIRE(pmo != NULL, MQRC_PMO_ERROR);
    REQUIRE(length >= 0, MQRC_BUFFER_LENGTH_ERROR);
    REQUIRE(data != NULL || length == 0, MQRC_BUFFER_ERROR);
    Records records = put_records(pmo);
    request_number(&call.request, hobj);
    put_structure(&call.request, &MD, md);
    put_structure(&call.request, &PMO, pmo);
    request_blob(&call.request, records.messages, records.count * records.size);
    request_blob(&call.request, data, (size_t)length);
    if (pmo->Options & MQPMO_ASYNC_RESPONSE) {
        /* Nobody sees it before the commit. */
        call_send(&call, PUT_ASYNC, (pmo->Options & MQPMO_SYNCPOINT) != 0);
    } else if (call_run(&call, PUT, 0, 2)) {
        take_structure(call.answer, &MD, md);
        take_structure(call.answer, &PMO, pmo);
        take_bytes(call.answer, records.messages, records.count * records.size);
        take_bytes(call.answer, records.responses, records.count * sizeof(MQRR));
    }
    call_end(&call);
}

void MQPUT1(MQHCONN hconn, PMQVOID object, PMQVOID md, PMQVOID options, MQLONG length, PMQVOID data, PMQLONG comp_code,
            PMQLONG reason) {
    CALL(hconn);
    MQPMO *pmo = options;
    REQUIRE(object != NULL, MQRC_OD_ERROR);
    REQUIRE(md != NULL, MQRC_MD_ERROR);
    REQUIRE(pmo != NULL, MQRC_PMO_ERROR);
    REQUIRE(length >= 0, MQRC_BUFFER_LENGTH_ERROR);
    REQUIRE(data != NULL || length == 0, MQRC_BUFFER_ERROR);
    Records records = put_records(pmo);
    put_object(&call.request, object);
    put_object_records(&call.request, object);
    put_structure(&call.request, &MD, md);
    put_structure(&call.request, &PMO, pmo);
    request_blob(&call.request, records.messages, records.count * records.size);
    request_blob(&call.request, data, (size_t)length);
    if (call_run(&call, PUT1, 0, 5)) {
        take_object(call.answer, object);
        take_structure(call.answer, &MD, md);
        take_structure(call.answer, &PMO, pmo);
        take_bytes(call.answer, records.messages, records.count * records.size);
    }
    call_end(&call);
}

void MQGET(MQHCONN hconn, MQHOBJ hobj, PMQVOID md, PMQVOID gmo, MQLONG length, PMQVOID buffer, PMQLONG data_length,
           PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    REQUIRE(md != NULL, MQRC_MD_ERROR);
    REQUIRE(gmo != NULL, MQRC_GMO_ERROR);
    REQUIRE(length >= 0, MQRC_BUFFER_LENGTH_ERROR);
    REQUIRE(buffer != NULL || length == 0, MQRC_BUFFER_ERROR);
    REQUIRE(data_length != NULL, MQRC_DATA_LENGTH_ERROR);
    request_number(&call.request, hobj);
    request_number(&call.request, length);
    put_structure(&call.request, &MD, md);
    put_structure(&call.request, &GMO, gmo);
    if (call_run(&call, GET, 1, 3)) {
        *data_length = frame_number(call.answer, 2);
        take_structure(call.answer, &MD, md);
        take_structure(call.answer, &GMO, gmo);
        take_bytes(call.answer, buffer, (size_t)length);
    }
    call_end(&call);
}

#define REQUIRE_ATTRIBUTES \
    REQUIRE(selector_count >= 0 && selector_count <= 256, MQRC_SELECTOR_COUNT_ERROR); \
    REQUIRE(selectors != NULL || selector_count == 0, MQRC_SELECTOR_ERROR); \
    REQUIRE(int_count >= 0 && int_count <= INT32_MAX / (MQLONG)sizeof(MQLONG), MQRC_INT_ATTR_COUNT_ERROR); \
    REQUIRE(ints != NULL || int_count == 0, MQRC_INT_ATTRS_ARRAY_ERROR); \
    REQUIRE(char_length >= 0, MQRC_CHAR_ATTR_LENGTH_ERROR); \
    REQUIRE(chars != NULL || char_length == 0, MQRC_CHAR_ATTRS_ERROR)

void MQINQ(MQHCONN hconn, MQHOBJ hobj, MQLONG selector_count, PMQLONG selectors, MQLONG int_count, PMQLONG ints,
           MQLONG char_length, PMQCHAR chars, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    REQUIRE_ATTRIBUTES;
    request_number(&call.request, hobj);
    request_number(&call.request, int_count);
    request_number(&call.request, char_length);
    request_blob(&call.request, selectors, sizeof(MQLONG) * (size_t)selector_count);
    if (call_run(&call, INQ, 0, 2)) {
        take_bytes(call.answer, ints, sizeof(MQLONG) * (size_t)int_count);
        take_bytes(call.answer, chars, (size_t)char_length);
    }
    call_end(&call);
}

void MQSET(MQHCONN hconn, MQHOBJ hobj, MQLONG selector_count, PMQLONG selectors, MQLONG int_count, PMQLONG ints,
           MQLONG char_length, PMQCHAR chars, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    REQUIRE_ATTRIBUTES;
    request_number(&call.request, hobj);
    request_blob(&call.request, selectors, sizeof(MQLONG) * (size_t)selector_count);
    request_blob(&call.request, ints, sizeof(MQLONG) * (size_t)int_count);
    request_blob(&call.request, chars, (size_t)char_length);
    call_run(&call, SET, 0, 0);
    call_end(&call);
}

void MQBEGIN(MQHCONN hconn, PMQVOID options, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    put_structure(&call.request, &BO, options);
    if (call_run(&call, BEGIN, 0, 1)) take_structure(call.answer, &BO, options);
    call_end(&call);
}

void MQCMIT(MQHCONN hconn, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    call_run(&call, CMIT, 0, 0);
    call_end(&call);
}

void MQBACK(MQHCONN hconn, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    call_run(&call, BACK, 0, 0);
    call_end(&call);
}

void MQSUB(MQHCONN hconn, PMQVOID descriptor, PMQHOBJ hobj, PMQHOBJ hsub, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    MQSD *sd = descriptor;
    REQUIRE(sd != NULL, MQRC_SD_ERROR);
    REQUIRE(hobj != NULL && hsub != NULL, MQRC_HOBJ_ERROR);
    *hsub = MQHO_UNUSABLE_HOBJ;
    request_number(&call.request, *hobj);
    put_structure(&call.request, &SD, sd);
    put_string(&call.request, sd, &sd->ObjectString);
    put_string(&call.request, sd, &sd->SubName);
    put_string(&call.request, sd, &sd->SubUserData);
    put_string(&call.request, sd, &sd->SelectionString);
    if (call_run(&call, SUB, 2, 5)) {
        if (!is_failed(&call)) {
            *hobj = frame_number(call.answer, 2);
            *hsub = frame_number(call.answer, 3);
        }
        take_structure(call.answer, &SD, sd);
        take_string(call.answer, sd, &sd->SubName, 1);
        take_string(call.answer, sd, &sd->SubUserData, 1);
        take_string(call.answer, sd, &sd->SelectionString, 1);
        take_string(call.answer, sd, &sd->ResObjectString, 0);
    }
    call_end(&call);
}

void MQSUBRQ(MQHCONN hconn, MQHOBJ hsub, MQLONG action, PMQVOID options, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    request_number(&call.request, hsub);
    request_number(&call.request, action);
    put_structure(&call.request, &SRO, options);
    if (call_run(&call, SUBRQ, 0, 1)) take_structure(call.answer, &SRO, options);
    call_end(&call);
}

void MQSTAT(MQHCONN hconn, MQLONG type, PMQVOID status, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    MQSTS *sts = status;
    REQUIRE(sts != NULL, MQRC_STS_ERROR);
    int has_strings = has_version(sts, MQSTS_VERSION_2);
    request_number(&call.request, type);
    put_structure(&call.request, &STS, sts);
    if (call_run(&call, STAT, 0, 3)) {
        take_structure(call.answer, &STS, sts);
        if (has_strings) {
            take_string(call.answer, sts, &sts->ObjectString, 0);
            take_string(call.answer, sts, &sts->SubName, 0);
        }
    }
    call_end(&call);
}

void MQXCNVC(MQHCONN hconn, MQLONG options, MQLONG source_ccsid, MQLONG source_length, PMQCHAR source,
             MQLONG target_ccsid, MQLONG target_length, PMQCHAR target, PMQLONG data_length, PMQLONG comp_code,
             PMQLONG reason) {
    CALL(hconn);
    REQUIRE(source_length >= 0, MQRC_SOURCE_LENGTH_ERROR);
    REQUIRE(source != NULL || source_length == 0, MQRC_SOURCE_BUFFER_ERROR);
    REQUIRE(target_length >= 0, MQRC_TARGET_LENGTH_ERROR);
    REQUIRE(target != NULL || target_length == 0, MQRC_TARGET_BUFFER_ERROR);
    REQUIRE(data_length != NULL, MQRC_DATA_LENGTH_ERROR);
    request_number(&call.request, options);
    request_number(&call.request, source_ccsid);
    request_number(&call.request, target_ccsid);
    request_number(&call.request, target_length);
    request_blob(&call.request, source, (size_t)source_length);
    if (call_run(&call, XCNVC, 1, 1)) {
        *data_length = frame_number(call.answer, 2);
        take_bytes(call.answer, target, (size_t)target_length);
    }
    call_end(&call);
}
