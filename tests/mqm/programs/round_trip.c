/* Puts, browses, gets, inquires and publishes at a real channel server. Prints each reason that is not 0. */
#include <cmqc.h>
#include <stdio.h>
#include <string.h>

static void told(const char *call, MQLONG cc, MQLONG rc) {
    if (cc != MQCC_OK) printf("%s %d %d\n", call, (int)cc, (int)rc);
}

static void properties(MQHCONN h, MQHOBJ o) {
    MQLONG cc, rc, length = 0, type = MQTYPE_AS_SET;
    MQCMHO cmho = {MQCMHO_DEFAULT};
    MQDMHO dmho = {MQDMHO_DEFAULT};
    MQSMPO smpo = {MQSMPO_DEFAULT};
    MQIMPO impo = {MQIMPO_DEFAULT};
    MQPD pd = {MQPD_DEFAULT};
    MQMD md = {MQMD_DEFAULT};
    MQPMO pmo = {MQPMO_DEFAULT};
    MQGMO gmo = {MQGMO_DEFAULT};
    MQHMSG m = MQHM_NONE, got = MQHM_NONE;
    MQCHARV name = {MQCHARV_DEFAULT};
    char body[16], text[16], returned[32];
    MQCRTMH(h, &cmho, &m, &cc, &rc);
    told("MQCRTMH", cc, rc);
    name.VSPtr = "colour";
    name.VSLength = MQVS_NULL_TERMINATED;
    MQSETMP(h, m, &smpo, &name, &pd, MQTYPE_STRING, MQVL_NULL_TERMINATED, "blue", &cc, &rc);
    told("MQSETMP", cc, rc);
    pmo.Version = MQPMO_VERSION_3;
    pmo.NewMsgHandle = m;
    MQPUT(h, o, &md, &pmo, 4, "body", &cc, &rc);
    told("MQPUT with a handle", cc, rc);
    MQCRTMH(h, &cmho, &got, &cc, &rc);
    gmo.Version = MQGMO_VERSION_4;
    gmo.MsgHandle = got;
    gmo.Options = MQGMO_PROPERTIES_IN_HANDLE;
    MQGET(h, o, &md, &gmo, sizeof body, body, &length, &cc, &rc);
    told("MQGET with a handle", cc, rc);
    impo.ReturnedName.VSPtr = returned;
    impo.ReturnedName.VSBufSize = sizeof returned;
    impo.Options = MQIMPO_INQ_FIRST;
    name.VSPtr = "%";
    MQINQMP(h, got, &impo, &name, &pd, &type, sizeof text, text, &length, &cc, &rc);
    told("MQINQMP", cc, rc);
    printf("%.*s=%.*s\n", (int)impo.ReturnedName.VSLength, returned, (int)length, text);
    MQDLTMH(h, &m, &dmho, &cc, &rc);
    told("MQDLTMH", cc, rc);
}

static void topics(MQHCONN h) {
    MQLONG cc, rc, length = 0;
    MQSD sd = {MQSD_DEFAULT};
    MQOD od = {MQOD_DEFAULT};
    MQMD md = {MQMD_DEFAULT};
    MQPMO pmo = {MQPMO_DEFAULT};
    MQGMO gmo = {MQGMO_DEFAULT};
    MQHOBJ o = MQHO_NONE, t;
    MQHOBJ s = MQHO_UNUSABLE_HOBJ;
    char body[16], resolved[32];
    sd.Options = MQSO_CREATE | MQSO_MANAGED | MQSO_NON_DURABLE;
    sd.ObjectString.VSPtr = "news/today";
    sd.ObjectString.VSLength = MQVS_NULL_TERMINATED;
    sd.ResObjectString.VSPtr = resolved;
    sd.ResObjectString.VSBufSize = sizeof resolved;
    MQSUB(h, &sd, &o, &s, &cc, &rc);
    told("MQSUB", cc, rc);
    od.Version = MQOD_VERSION_4;
    od.ObjectType = MQOT_TOPIC;
    od.ObjectString = sd.ObjectString;
    MQOPEN(h, &od, MQOO_OUTPUT, &t, &cc, &rc);
    told("MQOPEN of a topic", cc, rc);
    MQPUT(h, t, &md, &pmo, 4, "news", &cc, &rc);
    told("MQPUT to a topic", cc, rc);
    gmo.Options = MQGMO_WAIT | MQGMO_NO_PROPERTIES;
    gmo.WaitInterval = 30000;
    MQMD any = {MQMD_DEFAULT};
    MQGET(h, o, &any, &gmo, sizeof body, body, &length, &cc, &rc);
    told("MQGET of a publication", cc, rc);
    printf("%.*s: %.*s\n", (int)sd.ResObjectString.VSLength, resolved, (int)length, body);
    MQCLOSE(h, &s, MQCO_NONE, &cc, &rc);
    told("MQCLOSE of a subscription", cc, rc);
}

int main(void) {
    MQHCONN h;
    MQHOBJ o;
    MQLONG cc, rc, length = 0, selectors[] = {MQIA_CURRENT_Q_DEPTH, MQCA_Q_NAME}, depth = -1;
    MQOD od = {MQOD_DEFAULT};
    MQMD md = {MQMD_DEFAULT};
    MQPMO pmo = {MQPMO_DEFAULT};
    MQGMO gmo = {MQGMO_DEFAULT};
    char body[16], name[48];
    MQCONN("QM1", &h, &cc, &rc);
    told("MQCONN", cc, rc);
    strncpy(od.ObjectName, "Q", sizeof od.ObjectName);
    MQOPEN(h, &od, MQOO_INPUT_SHARED | MQOO_OUTPUT | MQOO_BROWSE | MQOO_INQUIRE, &o, &cc, &rc);
    told("MQOPEN", cc, rc);
    pmo.Options = MQPMO_SYNCPOINT;
    MQPUT(h, o, &md, &pmo, 5, "first", &cc, &rc);
    told("MQPUT", cc, rc);
    MQPUT1(h, &od, &md, &pmo, 6, "second", &cc, &rc);
    told("MQPUT1", cc, rc);
    MQCMIT(h, &cc, &rc);
    told("MQCMIT", cc, rc);
    MQINQ(h, o, 2, selectors, 1, &depth, sizeof name, name, &cc, &rc);
    told("MQINQ", cc, rc);
    printf("%d on %.1s\n", (int)depth, name);
    for (int i = 0; i < 3; i++) {
        MQMD any = {MQMD_DEFAULT};
        MQGET(h, o, &any, &gmo, sizeof body, body, &length, &cc, &rc);
        if (cc == MQCC_OK) printf("%.*s by %.12s\n", (int)length, body, any.UserIdentifier);
        else told("MQGET", cc, rc);
    }
    properties(h, o);
    topics(h);
    MQCLOSE(h, &o, MQCO_NONE, &cc, &rc);
    told("MQCLOSE", cc, rc);
    MQDISC(&h, &cc, &rc);
    told("MQDISC", cc, rc);
    return 0;
}
