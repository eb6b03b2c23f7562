/* Works with the queue Q of QM1: each step has the outcome that it must have. Prints each that has not. */
#include <cmqc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static MQHOBJ queue;

static void expect(const char *what, MQLONG reason, MQLONG wanted) {
    if (reason == wanted) return;
    printf("%s: %d, not %d\n", what, reason, wanted);
    failures++;
}
#define CASE(call, wanted) call; expect(#call, rc, wanted)

static MQHCONN connect_with(MQLONG options) {
    MQCNO cno = {MQCNO_DEFAULT};
    MQHCONN h;
    MQLONG cc, rc;
    cno.Options = options;
    CASE(MQCONNX((PMQCHAR) "QM1", &cno, &h, &cc, &rc), MQRC_NONE);
    return h;
}

static MQHOBJ open_queue(MQHCONN h) {
    MQLONG cc, rc;
    MQHOBJ o;
    MQOD od = {MQOD_DEFAULT};
    strncpy(od.ObjectName, "Q", sizeof od.ObjectName);
    CASE(MQOPEN(h, &od, MQOO_INPUT_SHARED | MQOO_OUTPUT | MQOO_INQUIRE | MQOO_BROWSE, &o, &cc, &rc), MQRC_NONE);
    return o;
}

static void put(MQHCONN h, MQHOBJ o, const char *text, MQLONG options) {
    MQLONG cc, rc;
    MQMD md = {MQMD_DEFAULT};
    MQPMO pmo = {MQPMO_DEFAULT};
    pmo.Options = options;
    CASE(MQPUT(h, o, &md, &pmo, (MQLONG)strlen(text), (PMQVOID)text, &cc, &rc), MQRC_NONE);
}

static MQLONG get(MQHCONN h, MQHOBJ o, MQLONG options, const char *wanted) {
    MQLONG cc, rc, length = 0;
    MQMD md = {MQMD_DEFAULT};
    MQGMO gmo = {MQGMO_DEFAULT};
    char buffer[64];
    gmo.Options = options;
    gmo.WaitInterval = 30000;
    MQGET(h, o, &md, &gmo, sizeof buffer, buffer, &length, &cc, &rc);
    if (rc == MQRC_NONE) expect(wanted, (size_t)length == strlen(wanted) && memcmp(buffer, wanted, strlen(wanted)) == 0, 1);
    return rc;
}

static MQLONG depth(MQHCONN h, MQHOBJ o) {
    MQLONG cc, rc, selector = MQIA_CURRENT_Q_DEPTH, value = -1;
    CASE(MQINQ(h, o, 1, &selector, 1, &value, 0, NULL, &cc, &rc), MQRC_NONE);
    return value;
}

static void messages(MQHCONN h, MQHOBJ o) {
    MQLONG cc, rc;
    put(h, o, "first", MQPMO_NO_SYNCPOINT);
    expect("depth", depth(h, o), 1);
    expect("browse", get(h, o, MQGMO_BROWSE_FIRST, "first"), MQRC_NONE);
    expect("get", get(h, o, MQGMO_NO_SYNCPOINT, "first"), MQRC_NONE);
    expect("empty", get(h, o, MQGMO_NO_WAIT, ""), MQRC_NO_MSG_AVAILABLE);
    put(h, o, "unit", MQPMO_SYNCPOINT);
    CASE(MQBACK(h, &cc, &rc), MQRC_NONE);
    expect("backed out", depth(h, o), 0);
    for (int i = 0; i < 50; i++) put(h, o, "many", MQPMO_SYNCPOINT | MQPMO_ASYNC_RESPONSE);
    CASE(MQCMIT(h, &cc, &rc), MQRC_NONE);
    expect("committed", depth(h, o), 50);
    MQSTS sts = {MQSTS_DEFAULT};
    CASE(MQSTAT(h, MQSTAT_TYPE_ASYNC_ERROR, &sts, &cc, &rc), MQRC_NONE);
    expect("successes", sts.PutSuccessCount, 50);
    for (int i = 0; i < 50; i++) expect("one of many", get(h, o, MQGMO_NO_SYNCPOINT, "many"), MQRC_NONE);
}

static void properties(MQHCONN h) {
    MQLONG cc, rc, type = MQTYPE_AS_SET, length = 0;
    MQHMSG message;
    MQCMHO cmho = {MQCMHO_DEFAULT};
    MQDMHO dmho = {MQDMHO_DEFAULT};
    MQSMPO smpo = {MQSMPO_DEFAULT};
    MQIMPO impo = {MQIMPO_DEFAULT};
    MQPD pd = {MQPD_DEFAULT};
    char value[20], returned[5];
    MQCHARV name = {(MQPTR) "color", 0, 0, MQVS_NULL_TERMINATED, MQCCSI_APPL};
    MQCHARV any = {(MQPTR) "%", 0, 0, 1, MQCCSI_APPL};
    impo.ReturnedName.VSPtr = returned;
    impo.ReturnedName.VSBufSize = sizeof returned;
    CASE(MQCRTMH(h, &cmho, &message, &cc, &rc), MQRC_NONE);
    CASE(MQSETMP(h, message, &smpo, &name, &pd, MQTYPE_STRING, MQVL_NULL_TERMINATED, "blue", &cc, &rc), MQRC_NONE);
    CASE(MQINQMP(h, message, &impo, &any, &pd, &type, sizeof value, value, &length, &cc, &rc), MQRC_NONE);
    expect("type", type, MQTYPE_STRING);
    expect("value", length == 4 && memcmp(value, "blue", 4) == 0, 1);
    expect("name", impo.ReturnedName.VSLength == 5 && memcmp(returned, "color", 5) == 0, 1);
    CASE(MQDLTMH(h, &message, &dmho, &cc, &rc), MQRC_NONE);
}

static void *wait_for_message(void *handle) {
    MQLONG rc;
    /* The other thread's calls may be in progress as well. */
    do rc = get(*(MQHCONN *)handle, queue, MQGMO_WAIT | MQGMO_NO_SYNCPOINT, "wake"); while (rc == MQRC_CALL_IN_PROGRESS);
    expect("wait", rc, MQRC_NONE);
    return NULL;
}

/* While one thread waits in MQGET, another is told that a call is in progress. */
static void without_blocking(void) {
    MQLONG cc, rc;
    pthread_t thread;
    MQHCONN h = connect_with(MQCNO_HANDLE_SHARE_NO_BLOCK), other = connect_with(MQCNO_NONE);
    MQHOBJ o = open_queue(other);
    queue = open_queue(h);
    pthread_create(&thread, NULL, wait_for_message, &h);
    do MQCMIT(h, &cc, &rc); while (rc == MQRC_NONE);
    expect("in progress", rc, MQRC_CALL_IN_PROGRESS);
    put(other, o, "wake", MQPMO_NO_SYNCPOINT);
    pthread_join(thread, NULL);
    CASE(MQDISC(&h, &cc, &rc), MQRC_NONE);
    CASE(MQDISC(&other, &cc, &rc), MQRC_NONE);
}

int main(void) {
    MQLONG cc, rc;
    MQHCONN h = connect_with(MQCNO_NONE);
    MQHOBJ o = open_queue(h);
    messages(h, o);
    properties(h);
    CASE(MQCLOSE(h, &o, MQCO_NONE, &cc, &rc), MQRC_NONE);
    expect("closed", o, MQHO_UNUSABLE_HOBJ);
    CASE(MQDISC(&h, &cc, &rc), MQRC_NONE);
    without_blocking();
    return failures != 0;
}
