/* channel_calls QMGR QUEUE: does what each line says, "WHAT COUNT", so many times, and answers with a line.
   The library finds the channel by IGQ_SOCKET or MQSERVER. */
#include <cmqc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH 50

static MQHCONN connection;
static MQHOBJ queue;
static unsigned char body[256];

static void check(const char *call, MQLONG cc, MQLONG rc) {
    if (cc != MQCC_FAILED) return;
    fprintf(stderr, "%s: %d\n", call, rc);
    exit(1);
}

static void put(MQLONG options) {
    MQLONG cc, rc;
    MQMD md = {MQMD_DEFAULT};
    MQPMO pmo = {MQPMO_DEFAULT};
    md.Persistence = MQPER_PERSISTENT;
    pmo.Options = options;
    MQPUT(connection, queue, &md, &pmo, sizeof body, body, &cc, &rc);
    check("MQPUT", cc, rc);
}

static void get(MQLONG options) {
    MQLONG cc, rc, length;
    MQMD md = {MQMD_DEFAULT};
    MQGMO gmo = {MQGMO_DEFAULT};
    unsigned char buffer[sizeof body];
    gmo.Options = options;
    MQGET(connection, queue, &md, &gmo, sizeof buffer, buffer, &length, &cc, &rc);
    check("MQGET", cc, rc);
}

static void commit(void) {
    MQLONG cc, rc;
    MQCMIT(connection, &cc, &rc);
    check("MQCMIT", cc, rc);
}

static void batch(MQLONG options, void (*each)(MQLONG)) {
    for (int i = 0; i < BATCH; i++) each(options);
    commit();
}

static void once(const char *what) {
    if (strcmp(what, "put") == 0) {
        put(MQPMO_NO_SYNCPOINT);
    } else if (strcmp(what, "get") == 0) {
        get(MQGMO_NO_SYNCPOINT);
    } else if (strcmp(what, "both") == 0) {
        put(MQPMO_NO_SYNCPOINT);
        get(MQGMO_NO_SYNCPOINT);
    } else if (strcmp(what, "async") == 0) {
        batch(MQPMO_SYNCPOINT | MQPMO_ASYNC_RESPONSE, put);
    } else if (strcmp(what, "sync") == 0) {
        batch(MQPMO_SYNCPOINT, put);
    } else {
        batch(MQGMO_SYNCPOINT, get);
    }
}

int main(int count, char **words) {
    MQLONG cc, rc;
    MQOD od = {MQOD_DEFAULT};
    MQCHAR48 qmgr = "";
    char line[64], what[16];
    int times;
    if (count != 3) return 2;
    strncpy(qmgr, words[1], sizeof qmgr);
    strncpy(od.ObjectName, words[2], sizeof od.ObjectName);
    MQCONN(qmgr, &connection, &cc, &rc);
    check("MQCONN", cc, rc);
    MQOPEN(connection, &od, MQOO_INPUT_SHARED | MQOO_OUTPUT, &queue, &cc, &rc);
    check("MQOPEN", cc, rc);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (sscanf(line, "%15s %d", what, &times) != 2) return 2;
        for (int i = 0; i < times; i++) once(what);
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
        fflush(stdout);
    }
    MQDISC(&connection, &cc, &rc);
    return 0;
}
