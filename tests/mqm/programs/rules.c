/* Outcomes that the library itself decides: NULL in the place of arguments, other threads, a child of a fork. The server answers
   every request with success. Prints each case whose reason is another than expected. */
#include <cmqc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

static void expect(const char *what, MQLONG reason, MQLONG wanted) {
    if (reason == wanted) return;
    printf("%s: %d, not %d\n", what, reason, wanted);
    failures++;
}

static void *commit(void *handle) {
    static __thread MQLONG cc, rc;
    MQCMIT(*(MQHCONN *)handle, &cc, &rc);
    return (void *)(intptr_t)rc;
}

static MQLONG in_another_thread(MQHCONN h) {
    pthread_t thread;
    void *rc;
    pthread_create(&thread, NULL, commit, &h);
    pthread_join(thread, &rc);
    return (MQLONG)(intptr_t)rc;
}

static MQHCONN connect_with(MQLONG options) {
    MQCNO cno = {MQCNO_DEFAULT};
    MQHCONN h;
    MQLONG cc, rc;
    cno.Options = options;
    MQCONNX((PMQCHAR) "QM1", &cno, &h, &cc, &rc);
    expect("MQCONNX", rc, MQRC_NONE);
    return h;
}

static void threads(void) {
    MQLONG cc, rc;
    MQHCONN h = connect_with(MQCNO_NONE);
    expect("not shared", in_another_thread(h), MQRC_HCONN_ERROR);
    MQCMIT(h, &cc, &rc);
    expect("own thread", rc, MQRC_NONE);
    MQDISC(&h, &cc, &rc);
    h = connect_with(MQCNO_HANDLE_SHARE_BLOCK);
    expect("shared", in_another_thread(h), MQRC_NONE);
    MQDISC(&h, &cc, &rc);
    expect("MQDISC", rc, MQRC_NONE);
    expect("handle", h, MQHC_UNUSABLE_HCONN);
    MQDISC(&h, &cc, &rc);
    expect("MQDISC again", rc, MQRC_HCONN_ERROR);
}

static void forks(void) {
    MQLONG cc, rc;
    MQHCONN h = connect_with(MQCNO_HANDLE_SHARE_BLOCK);
    pid_t child = fork();
    if (child == 0) {
        MQCMIT(h, &cc, &rc);
        /* No exit handlers: this is about the connection. */
        _exit(rc == MQRC_HCONN_ERROR ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    expect("child", status, 0);
    MQCMIT(h, &cc, &rc);
    expect("parent after fork", rc, MQRC_NONE);
    MQDISC(&h, &cc, &rc);
}

static void nulls(void) {
    MQLONG cc, rc, length;
    MQOD od = {MQOD_DEFAULT};
    MQMD md = {MQMD_DEFAULT};
    MQPMO pmo = {MQPMO_DEFAULT};
    MQGMO gmo = {MQGMO_DEFAULT};
    MQHOBJ o = 1;
    char buffer[8];
    MQHCONN h = connect_with(MQCNO_NONE);
#define CASE(call, wanted) call; expect(#call, rc, wanted)
    CASE(MQOPEN(h, NULL, 0, &o, &cc, &rc), MQRC_OD_ERROR);
    CASE(MQOPEN(h, &od, 0, NULL, &cc, &rc), MQRC_HOBJ_ERROR);
    CASE(MQCLOSE(h, NULL, 0, &cc, &rc), MQRC_HOBJ_ERROR);
    CASE(MQPUT(h, 1, NULL, &pmo, 0, NULL, &cc, &rc), MQRC_MD_ERROR);
    CASE(MQPUT(h, 1, &md, NULL, 0, NULL, &cc, &rc), MQRC_PMO_ERROR);
    CASE(MQPUT(h, 1, &md, &pmo, 5, NULL, &cc, &rc), MQRC_BUFFER_ERROR);
    CASE(MQPUT(h, 1, &md, &pmo, -1, buffer, &cc, &rc), MQRC_BUFFER_LENGTH_ERROR);
    CASE(MQPUT1(h, NULL, &md, &pmo, 0, NULL, &cc, &rc), MQRC_OD_ERROR);
    CASE(MQGET(h, 1, NULL, &gmo, 8, buffer, &length, &cc, &rc), MQRC_MD_ERROR);
    CASE(MQGET(h, 1, &md, NULL, 8, buffer, &length, &cc, &rc), MQRC_GMO_ERROR);
    CASE(MQGET(h, 1, &md, &gmo, 8, NULL, &length, &cc, &rc), MQRC_BUFFER_ERROR);
    CASE(MQGET(h, 1, &md, &gmo, -1, buffer, &length, &cc, &rc), MQRC_BUFFER_LENGTH_ERROR);
    CASE(MQGET(h, 1, &md, &gmo, 8, buffer, NULL, &cc, &rc), MQRC_DATA_LENGTH_ERROR);
    CASE(MQINQ(h, 1, -1, NULL, 0, NULL, 0, NULL, &cc, &rc), MQRC_SELECTOR_COUNT_ERROR);
    CASE(MQINQ(h, 1, 1, NULL, 0, NULL, 0, NULL, &cc, &rc), MQRC_SELECTOR_ERROR);
    CASE(MQINQ(h, 1, 1, &length, 1, NULL, 0, NULL, &cc, &rc), MQRC_INT_ATTRS_ARRAY_ERROR);
    CASE(MQINQ(h, 1, 1, &length, 0, NULL, 1, NULL, &cc, &rc), MQRC_CHAR_ATTRS_ERROR);
    CASE(MQSUB(h, NULL, &o, &o, &cc, &rc), MQRC_SD_ERROR);
    CASE(MQSTAT(h, 0, NULL, &cc, &rc), MQRC_STS_ERROR);
    CASE(MQCB(h, MQOP_REGISTER, NULL, 1, &md, &gmo, &cc, &rc), MQRC_CBD_ERROR);
    CASE(MQCRTMH(h, NULL, NULL, &cc, &rc), MQRC_CMHO_ERROR);
    CASE(MQDLTMH(h, NULL, NULL, &cc, &rc), MQRC_HMSG_ERROR);
    CASE(MQSETMP(h, 0, NULL, NULL, NULL, 0, 0, NULL, &cc, &rc), MQRC_SMPO_ERROR);
    CASE(MQINQMP(h, 0, NULL, NULL, NULL, NULL, 0, NULL, NULL, &cc, &rc), MQRC_IMPO_ERROR);
    CASE(MQDLTMP(h, 0, NULL, NULL, &cc, &rc), MQRC_DMPO_ERROR);
    CASE(MQBUFMH(h, 0, NULL, NULL, 0, NULL, NULL, &cc, &rc), MQRC_BMHO_ERROR);
    CASE(MQMHBUF(h, 0, NULL, NULL, NULL, 0, NULL, NULL, &cc, &rc), MQRC_MHBO_ERROR);
    CASE(MQXCNVC(h, 0, 1208, 1, NULL, 500, 0, NULL, &length, &cc, &rc), MQRC_SOURCE_BUFFER_ERROR);
    CASE(MQCONN(NULL, NULL, &cc, &rc), MQRC_HCONN_ERROR);
    CASE(MQDISC(NULL, &cc, &rc), MQRC_HCONN_ERROR);
    CASE(MQCMIT(12345, &cc, &rc), MQRC_HCONN_ERROR);
    /* Nobody learns the outcome; nothing else may come of it. */
    MQCMIT(h, NULL, NULL);
    CASE(MQDISC(&h, &cc, &rc), MQRC_NONE);
}

int main(void) {
    threads();
    forks();
    nulls();
    return failures != 0;
}
