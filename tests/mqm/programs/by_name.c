/* Connects to each name that it is given, and prints the reason. */
#include <cmqc.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **names) {
    for (int i = 1; i < count; i++) {
        MQHCONN h;
        MQLONG cc, rc, ignored;
        MQCHAR48 name = "";
        strncpy(name, names[i], sizeof name);
        MQCONN(name, &h, &cc, &rc);
        printf("%d\n", rc);
        if (cc != MQCC_FAILED) MQDISC(&h, &ignored, &ignored);
    }
    return 0;
}
