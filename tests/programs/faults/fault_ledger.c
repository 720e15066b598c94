/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wrong argument order: a refund moves the money from the customer to the shop. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_ACCOUNTS = 8,
};

struct account {
    char name[16];
    long cents;
    unsigned entries;
};

static struct account accounts[MAX_ACCOUNTS];
static int account_count;

static struct account *account_named(const char *name)
{
    for (int i = 0; i < account_count; i++)
        if (strcmp(accounts[i].name, name) == 0)
            return &accounts[i];
    if (account_count == MAX_ACCOUNTS)
        exit(2);
    snprintf(accounts[account_count].name, sizeof(accounts[0].name), "%s", name);
    return &accounts[account_count++];
}

static void transfer(struct account *from, struct account *to, long cents)
{
    from->cents -= cents;
    to->cents += cents;
    from->entries++;
    to->entries++;
}

static void charge_fee(struct account *payer, long cents)
{
    struct account *bank = account_named("bank");
    long fee = cents / 100;

    if (fee > 500)
        fee = 500;
    transfer(payer, bank, fee);
}

static void sale(const char *customer, const char *shop, long cents)
{
    struct account *payer = account_named(customer);
    struct account *payee = account_named(shop);

    transfer(payer, payee, cents);
    charge_fee(payee, cents);
}

static void refund(const char *customer, const char *shop, long cents)
{
    struct account *payer = account_named(shop);
    struct account *payee = account_named(customer);

#ifdef FIXED
    transfer(payer, payee, cents);
#else
    transfer(payee, payer, cents); /* FAULT */
#endif
}

static int run_line(const char *line)
{
    char verb[16];
    char first[16], second[16];
    long cents;

    if (sscanf(line, "%15s %15s %15s %ld", verb, first, second, &cents) != 4)
        return -1;
    if (strcmp(verb, "sale") == 0)
        sale(first, second, cents);
    else if (strcmp(verb, "refund") == 0)
        refund(first, second, cents);
    else if (strcmp(verb, "move") == 0) {
        struct account *to = account_named(second); /* before the other with any compiler */
        transfer(account_named(first), to, cents);
    } else
        return -1;
    return 0;
}

int main(void)
{
    char line[128];
    long sum = 0;

    for (int number = 1; fgets(line, sizeof(line), stdin); number++)
        if (run_line(line) != 0)
            printf("line %d ignored\n", number);
    for (int i = 0; i < account_count; i++) {
        printf("%-8s %8ld (%u)\n", accounts[i].name, accounts[i].cents, accounts[i].entries);
        sum += accounts[i].cents;
    }
    printf("sum %ld\n", sum);
    return 0;
}
