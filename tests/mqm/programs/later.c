/* Puts without an answer: says after each step which that was, and goes on after a line. */
#include <cmqc.h>
#include <stdio.h>
#include <string.h>

static char data[100000];
static MQHCONN hconn;
static MQHOBJ hobj;
static MQLONG comp_code, reason;

static void put(MQLONG length, MQLONG options) {
    MQMD md = {MQMD_DEFAULT};
    MQPMO pmo = {MQPMO_DEFAULT};
    pmo.Options = options | MQPMO_ASYNC_RESPONSE;
    MQPUT(hconn, hobj, &md, &pmo, length, data, &comp_code, &reason);
    if (comp_code != MQCC_OK) printf("MQPUT: %d\n", reason);
}

static void step(const char *name) {
    printf("%s\n", name);
    fflush(stdout);
    while (getchar() != '\n') {}
}

int main(void) {
    MQOD od = {MQOD_DEFAULT};
    MQCHAR48 name = "QM1";
    MQCONN(name, &hconn, &comp_code, &reason);
    MQOPEN(hconn, &od, MQOO_OUTPUT, &hobj, &comp_code, &reason);
    for (int i = 0; i < 10; i++) put(100, MQPMO_SYNCPOINT);
    step("unit");
    MQCMIT(hconn, &comp_code, &reason);
    step("commit");
    put(1, MQPMO_SYNCPOINT);
    put(sizeof data, MQPMO_SYNCPOINT);
    put(1, MQPMO_SYNCPOINT);
    step("long");
    put(1, MQPMO_NO_SYNCPOINT);
    step("outside");
    for (int i = 0; i < 1000; i++) put(100, MQPMO_SYNCPOINT);
    MQDISC(&hconn, &comp_code, &reason);
    step("end");
    return 0;
}
