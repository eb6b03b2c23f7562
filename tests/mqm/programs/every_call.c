/* Makes every call of the MQI, again and again on new connections, whatever the server answers. Arguments: how often.
   Prints how many calls ended with 2009, and how many with anything else. */
#include <cmqc.h>
#include <cmqxc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long broken, other;

static void count(MQLONG cc, MQLONG rc) {
    if (cc == MQCC_FAILED && rc == MQRC_CONNECTION_BROKEN) broken++;
    else other++;
}

static void consume(MQHCONN hconn, PMQVOID md, PMQVOID gmo, PMQVOID buffer, PMQCBC context) {
    MQLONG cc, rc;
    volatile unsigned char last = 0;
    (void)hconn;
    if (md != NULL) last ^= ((unsigned char *)md)[MQMD_LENGTH_1 - 1];
    if (gmo != NULL) last ^= ((unsigned char *)gmo)[MQGMO_LENGTH_1 - 1];
    if (buffer != NULL && context->BufferLength > 0) last ^= ((unsigned char *)buffer)[context->BufferLength - 1];
    MQCMIT(hconn, &cc, &rc);
    count(cc, rc);
}

#define TEXT(name, room) char name##_buffer[room]; MQCHARV name = {MQCHARV_DEFAULT}; \
    name.VSPtr = name##_buffer; name.VSBufSize = sizeof name##_buffer; memset(name##_buffer, 'x', sizeof name##_buffer)

static void objects(MQHCONN h) {
    MQLONG cc, rc, length = 0, selectors[] = {MQIA_CURRENT_Q_DEPTH, MQCA_Q_DESC}, ints[1];
    char chars[64], small[16], *heap = malloc(33);
    MQOD od = {MQOD_DEFAULT};
    MQMD md = {MQMD_DEFAULT};
    MQMD1 md1 = {MQMD1_DEFAULT};
    MQPMO pmo = {MQPMO_DEFAULT};
    MQGMO gmo = {MQGMO_DEFAULT};
    MQSTS sts = {MQSTS_DEFAULT};
    MQBO bo = {MQBO_DEFAULT};
    MQHOBJ o = MQHO_UNUSABLE_HOBJ;
    TEXT(resolved, 10);
    MQOR records[2];
    MQRR responses[2];
    memset(records, ' ', sizeof records);
    strncpy(od.ObjectName, "APP.IN", sizeof od.ObjectName);
    MQOPEN(h, &od, MQOO_INPUT_AS_Q_DEF | MQOO_OUTPUT | MQOO_INQUIRE, &o, &cc, &rc);
    count(cc, rc);
    MQOD od4 = {MQOD_DEFAULT};
    MQHOBJ o4;
    od4.Version = MQOD_VERSION_4;
    od4.ResObjectString = resolved;
    od4.RecsPresent = 2;
    od4.ObjectRecPtr = records;
    od4.ResponseRecPtr = responses;
    MQOPEN(h, &od4, MQOO_OUTPUT, &o4, &cc, &rc);
    count(cc, rc);
    MQPUT(h, o, &md, &pmo, 5, "hello", &cc, &rc);
    count(cc, rc);
    MQPUT1(h, &od, &md1, &pmo, 5, "hello", &cc, &rc);
    count(cc, rc);
    MQPMO async = {MQPMO_DEFAULT};
    async.Options = MQPMO_ASYNC_RESPONSE;
    MQPUT(h, o, &md, &async, 5, "hello", &cc, &rc);
    count(cc, rc);
    MQGET(h, o, &md, &gmo, 33, heap, &length, &cc, &rc);
    count(cc, rc);
    MQGET(h, o, &md1, &gmo, sizeof small, small, &length, &cc, &rc);
    count(cc, rc);
    MQINQ(h, o, 2, selectors, 1, ints, sizeof chars, chars, &cc, &rc);
    count(cc, rc);
    MQSET(h, o, 1, selectors, 1, ints, 0, NULL, &cc, &rc);
    count(cc, rc);
    MQSTAT(h, MQSTAT_TYPE_ASYNC_ERROR, &sts, &cc, &rc);
    count(cc, rc);
    sts.Version = MQSTS_VERSION_2;
    sts.ObjectString = resolved;
    MQSTAT(h, MQSTAT_TYPE_ASYNC_ERROR, &sts, &cc, &rc);
    count(cc, rc);
    MQBEGIN(h, &bo, &cc, &rc);
    count(cc, rc);
    MQBEGIN(h, NULL, &cc, &rc);
    count(cc, rc);
    MQCMIT(h, &cc, &rc);
    count(cc, rc);
    MQBACK(h, &cc, &rc);
    count(cc, rc);
    MQCLOSE(h, &o, 0, &cc, &rc);
    count(cc, rc);
    free(heap);
}

static void topics(MQHCONN h) {
    MQLONG cc, rc;
    MQSD sd = {MQSD_DEFAULT};
    MQSRO sro = {MQSRO_DEFAULT};
    MQHOBJ o = MQHO_NONE, sub = MQHO_NONE;
    TEXT(name, 7);
    TEXT(user, 1);
    TEXT(resolved, 3);
    sd.Options = MQSO_CREATE | MQSO_MANAGED | MQSO_NON_DURABLE;
    sd.ObjectString.VSPtr = (MQPTR) "a/b";
    sd.ObjectString.VSLength = MQVS_NULL_TERMINATED;
    sd.SubName = name;
    sd.SubUserData = user;
    sd.ResObjectString = resolved;
    MQSUB(h, &sd, &o, &sub, &cc, &rc);
    count(cc, rc);
    MQSUBRQ(h, sub, MQSR_ACTION_PUBLICATION, &sro, &cc, &rc);
    count(cc, rc);
    MQSUBRQ(h, sub, MQSR_ACTION_PUBLICATION, NULL, &cc, &rc);
    count(cc, rc);
}

static void properties(MQHCONN h) {
    MQLONG cc, rc, type = MQTYPE_AS_SET, length = 0;
    MQHMSG message = MQHM_NONE;
    MQCMHO cmho = {MQCMHO_DEFAULT};
    MQDMHO dmho = {MQDMHO_DEFAULT};
    MQSMPO smpo = {MQSMPO_DEFAULT};
    MQIMPO impo = {MQIMPO_DEFAULT};
    MQDMPO dmpo = {MQDMPO_DEFAULT};
    MQPD pd = {MQPD_DEFAULT};
    MQBMHO bmho = {MQBMHO_DEFAULT};
    MQMHBO mhbo = {MQMHBO_DEFAULT};
    MQMD md = {MQMD_DEFAULT};
    char value[20], buffer[50] = {0};
    TEXT(returned, 5);
    MQCHARV name = {(MQPTR) "color", 0, 0, MQVS_NULL_TERMINATED, MQCCSI_APPL};
    impo.ReturnedName = returned;
    MQCRTMH(h, &cmho, &message, &cc, &rc);
    count(cc, rc);
    MQSETMP(h, message, &smpo, &name, &pd, MQTYPE_STRING, MQVL_NULL_TERMINATED, "blue", &cc, &rc);
    count(cc, rc);
    MQINQMP(h, message, &impo, &name, &pd, &type, sizeof value, value, &length, &cc, &rc);
    count(cc, rc);
    MQDLTMP(h, message, &dmpo, &name, &cc, &rc);
    count(cc, rc);
    MQBUFMH(h, message, &bmho, &md, sizeof buffer, buffer, &length, &cc, &rc);
    count(cc, rc);
    MQMHBUF(h, message, &mhbo, &name, &md, sizeof buffer, buffer, &length, &cc, &rc);
    count(cc, rc);
    MQXCNVC(h, 0, 1208, 4, buffer, 500, sizeof value, value, &length, &cc, &rc);
    count(cc, rc);
    MQDLTMH(h, &message, &dmho, &cc, &rc);
    count(cc, rc);
}

static void callbacks(MQHCONN h) {
    MQLONG cc, rc;
    MQCBD cbd = {MQCBD_DEFAULT}, handler = {MQCBD_DEFAULT};
    MQCTLO ctlo = {MQCTLO_DEFAULT};
    MQMD md = {MQMD_DEFAULT};
    MQGMO gmo = {MQGMO_DEFAULT};
    cbd.CallbackFunction = (MQPTR)consume;
    handler.CallbackFunction = (MQPTR)consume;
    handler.CallbackType = MQCBT_EVENT_HANDLER;
    MQCB(h, MQOP_REGISTER, &handler, MQHO_UNUSABLE_HOBJ, NULL, NULL, &cc, &rc);
    count(cc, rc);
    MQCB(h, MQOP_REGISTER, &cbd, 1, &md, &gmo, &cc, &rc);
    count(cc, rc);
    MQCTL(h, MQOP_START, &ctlo, &cc, &rc);
    count(cc, rc);
    MQCTL(h, MQOP_STOP, &ctlo, &cc, &rc);
    count(cc, rc);
    MQCB(h, MQOP_DEREGISTER, NULL, 1, NULL, NULL, &cc, &rc);
    count(cc, rc);
}

int main(int argc, char **argv) {
    MQCHAR name[MQ_Q_MGR_NAME_LENGTH + 1] = "QM1";
    for (int times = argc > 1 ? atoi(argv[1]) : 1; times > 0; times--) {
        void (*parts[])(MQHCONN) = {objects, topics, properties, callbacks};
        for (int i = 0; i < 4; i++) {
            MQLONG cc, rc;
            MQHCONN h;
            MQCNO cno = {MQCNO_DEFAULT};
            cno.Version = 1 + times % MQCNO_CURRENT_VERSION;
            MQCONNX(name, &cno, &h, &cc, &rc);
            count(cc, rc);
            if (cc == MQCC_FAILED) continue;
            parts[(i + times) % 4](h);
            parts[i](h);
            MQDISC(&h, &cc, &rc);
            count(cc, rc);
        }
    }
    printf("%ld %ld\n", broken, other);
    return 0;
}
