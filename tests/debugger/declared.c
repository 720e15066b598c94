/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What test_info.py asks `info types` and `info variables` of, with declared_other.c: names of
 * all kinds, some in both files. */
#include "declared.h"

struct node {
    int value;
    struct inner {
        long deep;
    } in;
    enum { NOTHING, SOMETHING } what;
    struct node *next;
};
typedef struct node node;
typedef struct tag {
    int x;
} tag_type;
typedef struct {
    int y;
} nameless;
typedef int row[3];
typedef int (*action)(int, struct node *);
typedef int plain(void);
typedef nameless *pointer;
enum color { RED, GREEN = 4 };
union both {
    int whole;
    float part;
};
struct nowhere;

struct nowhere *nobody;
static node first;
tag_type tagged;
nameless one;
row rows;
action act;
plain *call;
pointer at;
enum color color;
union both both;
const volatile long constant = 3;
unsigned long long large;
signed char byte;
_Bool flag;
long double real;

int main(void)
{
    struct of_main {
        int l;
    } local = {1};
    typedef short mine;
    mine here = 3;
    shared.count = (short)(here + local.l);
    return other() + first.value - 1;
}
