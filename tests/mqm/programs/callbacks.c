/* Callbacks of the queue Q of QM1, with MQCTL in each state of them. Prints each outcome that is not as it must be. */
#include <cmqc.h>
#include <stdio.h>
#include <string.h>

static int failures, heard;

static void expect(const char *what, MQLONG reason, MQLONG wanted) {
    if (reason == wanted) return;
    printf("%s: %d, not %d\n", what, reason, wanted);
    failures++;
}
#define CASE(call, wanted) call; expect(#call, rc, wanted)

/* Suspends after the second message, and stops after the fourth. */
static void MQENTRY hear(MQHCONN h, PMQVOID md, PMQVOID gmo, PMQVOID data, PMQVOID context) {
    const MQCBC *cbc = context;
    MQCTLO ctlo = {MQCTLO_DEFAULT};
    MQLONG cc, rc;
    (void)md;
    (void)gmo;
    expect("call type", cbc->CallType, MQCBCT_MSG_REMOVED);
    expect("data", cbc->DataLength == 1 && *(const char *)data == '0' + heard, 1);
    expect("areas", cbc->CallbackArea == &heard && cbc->ConnectionArea == &failures, 1);
    heard++;
    CASE(MQCMIT(h, &cc, &rc), MQRC_NONE);
    if (heard == 2) { CASE(MQCTL(h, MQOP_SUSPEND, &ctlo, &cc, &rc), MQRC_NONE); }
    if (heard == 4) { CASE(MQCTL(h, MQOP_STOP, &ctlo, &cc, &rc), MQRC_NONE); }
}

static void put(MQHCONN h, MQHOBJ o, char digit) {
    MQMD md = {MQMD_DEFAULT};
    MQPMO pmo = {MQPMO_DEFAULT};
    MQLONG cc, rc;
    pmo.Options = MQPMO_NO_SYNCPOINT;
    CASE(MQPUT(h, o, &md, &pmo, 1, &digit, &cc, &rc), MQRC_NONE);
}

int main(void) {
    MQCNO cno = {MQCNO_DEFAULT};
    MQOD od = {MQOD_DEFAULT};
    MQMD md = {MQMD_DEFAULT};
    MQGMO gmo = {MQGMO_DEFAULT};
    MQCBD cbd = {MQCBD_DEFAULT};
    MQCTLO ctlo = {MQCTLO_DEFAULT};
    MQHCONN h;
    MQHOBJ o;
    MQLONG cc, rc;
    cno.Options = MQCNO_HANDLE_SHARE_BLOCK;
    CASE(MQCONNX((PMQCHAR) "QM1", &cno, &h, &cc, &rc), MQRC_NONE);
    strncpy(od.ObjectName, "Q", sizeof od.ObjectName);
    CASE(MQOPEN(h, &od, MQOO_INPUT_SHARED | MQOO_OUTPUT, &o, &cc, &rc), MQRC_NONE);
    for (char digit = '0'; digit < '3'; digit++) put(h, o, digit);
    CASE(MQCTL(h, MQOP_SUSPEND, &ctlo, &cc, &rc), MQRC_OPERATION_NOT_ALLOWED);
    cbd.CallbackFunction = (MQPTR)hear;
    cbd.CallbackArea = &heard;
    ctlo.ConnectionArea = &failures;
    gmo.Options = MQGMO_SYNCPOINT;
    CASE(MQCB(h, MQOP_REGISTER, &cbd, o, &md, &gmo, &cc, &rc), MQRC_NONE);
    CASE(MQCTL(h, MQOP_RESUME, &ctlo, &cc, &rc), MQRC_OPERATION_NOT_ALLOWED);
    CASE(MQCTL(h, MQOP_START_WAIT, &ctlo, &cc, &rc), MQRC_CONNECTION_SUSPENDED);
    expect("it is a warning", cc, MQCC_WARNING);
    expect("heard", heard, 2);
    put(h, o, '3');
    CASE(MQCTL(h, MQOP_START, &ctlo, &cc, &rc), MQRC_OPERATION_NOT_ALLOWED);
    CASE(MQCTL(h, MQOP_STOP, &ctlo, &cc, &rc), MQRC_NONE);
    CASE(MQCTL(h, MQOP_START_WAIT, &ctlo, &cc, &rc), MQRC_NONE);
    expect("heard", heard, 4);
    CASE(MQCB(h, MQOP_DEREGISTER, NULL, o, NULL, NULL, &cc, &rc), MQRC_NONE);
    CASE(MQDISC(&h, &cc, &rc), MQRC_NONE);
    return failures != 0;
}
