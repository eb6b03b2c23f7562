/* The calls with message handles and the properties of messages. */
#include "mqm.h"
#include <string.h>

static void put_handle(Request *request, const MQHMSG *handle) { request_blob(request, handle, sizeof *handle); }

/* The CCSID of a property's name is the last number of a request. */
static void put_ccsid(Request *request, const MQCHARV *name) { request_number(request, name->VSCCSID); }

void MQCRTMH(MQHCONN hconn, PMQVOID options, PMQHMSG handle, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    REQUIRE(options != NULL, MQRC_CMHO_ERROR);
    REQUIRE(handle != NULL, MQRC_HMSG_ERROR);
    *handle = MQHM_UNUSABLE_HMSG;
    put_structure(&call.request, &CMHO, options);
    if (call_run(&call, CRTMH, 0, 1) && !is_failed(&call)) take_bytes(call.answer, handle, sizeof *handle);
    call_end(&call);
}

void MQDLTMH(MQHCONN hconn, PMQHMSG handle, PMQVOID options, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    REQUIRE(handle != NULL, MQRC_HMSG_ERROR);
    REQUIRE(options != NULL, MQRC_DMHO_ERROR);
    put_handle(&call.request, handle);
    put_structure(&call.request, &DMHO, options);
    if (call_run(&call, DLTMH, 0, 0) && !is_failed(&call)) *handle = MQHM_UNUSABLE_HMSG;
    call_end(&call);
}

void MQSETMP(MQHCONN hconn, MQHMSG handle, PMQVOID options, PMQVOID name, PMQVOID descriptor, MQLONG type,
             MQLONG length, PMQVOID value, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    REQUIRE(options != NULL, MQRC_SMPO_ERROR);
    REQUIRE(name != NULL, MQRC_PROPERTY_NAME_ERROR);
    REQUIRE(descriptor != NULL, MQRC_PD_ERROR);
    REQUIRE(value != NULL || length <= 0, MQRC_BUFFER_ERROR);
    REQUIRE(length >= MQVS_NULL_TERMINATED, MQRC_BUFFER_LENGTH_ERROR);
    /* A value may be a text that ends with a null. */
    size_t size = length == MQVS_NULL_TERMINATED ? (value != NULL ? strlen(value) : 0) : (size_t)length;
    request_number(&call.request, type);
    put_ccsid(&call.request, name);
    put_handle(&call.request, &handle);
    put_structure(&call.request, &SMPO, options);
    put_string(&call.request, name, name);
    put_structure(&call.request, &PD_, descriptor);
    request_blob(&call.request, value, size);
    if (call_run(&call, SETMP, 0, 1)) take_structure(call.answer, &PD_, descriptor);
    call_end(&call);
}

void MQINQMP(MQHCONN hconn, MQHMSG handle, PMQVOID options, PMQVOID name, PMQVOID descriptor, PMQLONG type,
             MQLONG length, PMQVOID value, PMQLONG data_length, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    MQIMPO *impo = options;
    REQUIRE(impo != NULL, MQRC_IMPO_ERROR);
    REQUIRE(name != NULL, MQRC_PROPERTY_NAME_ERROR);
    REQUIRE(descriptor != NULL, MQRC_PD_ERROR);
    REQUIRE(type != NULL, MQRC_PROPERTY_TYPE_ERROR);
    REQUIRE(length >= 0, MQRC_BUFFER_LENGTH_ERROR);
    REQUIRE(value != NULL || length == 0, MQRC_BUFFER_ERROR);
    REQUIRE(data_length != NULL, MQRC_DATA_LENGTH_ERROR);
    request_number(&call.request, *type);
    request_number(&call.request, length);
    put_ccsid(&call.request, name);
    put_handle(&call.request, &handle);
    put_structure(&call.request, &IMPO, impo);
    put_string(&call.request, name, name);
    put_structure(&call.request, &PD_, descriptor);
    if (call_run(&call, INQMP, 2, 4)) {
        if (call.answer->number_count >= 4) {
            *type = frame_number(call.answer, 2);
            *data_length = frame_number(call.answer, 3);
        }
        take_structure(call.answer, &IMPO, impo);
        take_string(call.answer, impo, &impo->ReturnedName, 0);
        take_structure(call.answer, &PD_, descriptor);
        take_bytes(call.answer, value, (size_t)length);
    }
    call_end(&call);
}

void MQDLTMP(MQHCONN hconn, MQHMSG handle, PMQVOID options, PMQVOID name, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    REQUIRE(options != NULL, MQRC_DMPO_ERROR);
    REQUIRE(name != NULL, MQRC_PROPERTY_NAME_ERROR);
    put_ccsid(&call.request, name);
    put_handle(&call.request, &handle);
    put_structure(&call.request, &DMPO, options);
    put_string(&call.request, name, name);
    call_run(&call, DLTMP, 0, 0);
    call_end(&call);
}

void MQBUFMH(MQHCONN hconn, MQHMSG handle, PMQVOID options, PMQVOID md, MQLONG length, PMQVOID buffer,
             PMQLONG data_length, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    REQUIRE(options != NULL, MQRC_BMHO_ERROR);
    REQUIRE(md != NULL, MQRC_MD_ERROR);
    REQUIRE(length >= 0, MQRC_BUFFER_LENGTH_ERROR);
    REQUIRE(buffer != NULL || length == 0, MQRC_BUFFER_ERROR);
    REQUIRE(data_length != NULL, MQRC_DATA_LENGTH_ERROR);
    put_handle(&call.request, &handle);
    put_structure(&call.request, &BMHO, options);
    put_structure(&call.request, &MD, md);
    request_blob(&call.request, buffer, (size_t)length);
    if (call_run(&call, BUFMH, 1, 2)) {
        if (!is_failed(&call)) *data_length = frame_number(call.answer, 2);
        take_structure(call.answer, &MD, md);
        take_bytes(call.answer, buffer, (size_t)length);
    }
    call_end(&call);
}

void MQMHBUF(MQHCONN hconn, MQHMSG handle, PMQVOID options, PMQVOID name, PMQVOID md, MQLONG length, PMQVOID buffer,
             PMQLONG data_length, PMQLONG comp_code, PMQLONG reason) {
    CALL(hconn);
    REQUIRE(options != NULL, MQRC_MHBO_ERROR);
    REQUIRE(name != NULL, MQRC_PROPERTY_NAME_ERROR);
    REQUIRE(md != NULL, MQRC_MD_ERROR);
    REQUIRE(length >= 0, MQRC_BUFFER_LENGTH_ERROR);
    REQUIRE(buffer != NULL || length == 0, MQRC_BUFFER_ERROR);
    REQUIRE(data_length != NULL, MQRC_DATA_LENGTH_ERROR);
    request_number(&call.request, length);
    put_ccsid(&call.request, name);
    put_handle(&call.request, &handle);
    put_structure(&call.request, &MHBO, options);
    put_string(&call.request, name, name);
    put_structure(&call.request, &MD, md);
    if (call_run(&call, MHBUF, 1, 2)) {
        if (call.answer->number_count >= 3) *data_length = frame_number(call.answer, 2);
        take_structure(call.answer, &MD, md);
        take_bytes(call.answer, buffer, (size_t)length);
    }
    call_end(&call);
}
