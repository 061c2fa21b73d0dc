/* What the test programs share: a claim that does not hold ends the program with 1. */

#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hurray.h"

#define CHECK(claim)                                                                        \
    do {                                                                                    \
        if (!(claim)) {                                                                     \
            fprintf(stderr, "%s:%d: not so: %s\n  the last error is: %s\n", __FILE__,       \
                    __LINE__, #claim, hurray_last_error());                                 \
            exit(1);                                                                        \
        }                                                                                   \
    } while (0)

#define OK(call) CHECK((call) == HURRAY_OK)

/* The call answers with that status, and the rule it names is that one. */
#define REFUSED(call, with_status, with_rule)                                               \
    do {                                                                                    \
        CHECK((call) == (with_status));                                                     \
        HurrayVerdict said = {0};                                                           \
        said.struct_size = sizeof said;                                                     \
        OK(hurray_last_verdict(&said));                                                     \
        CHECK(said.status == (with_status));                                                \
        CHECK(said.rule != NULL && strcmp(said.rule, (with_rule)) == 0);                    \
        CHECK(strstr(hurray_last_error(), (with_rule)) != NULL);                            \
    } while (0)

#endif
