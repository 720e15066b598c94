/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Off by one: a tokenizer for a small configuration language drops the last digit of numbers
 * that end the line. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_STRING,
    TOKEN_MARK,
    TOKEN_KINDS,
};

struct token {
    enum kind kind;
    char text[32];
};

static const char *const kind_names[TOKEN_KINDS] = {"name", "number", "string", "mark"};
static unsigned counts[TOKEN_KINDS];

static void take(struct token *token, enum kind kind, const char *from, const char *to)
{
    size_t length = (size_t)(to - from);

    if (length >= sizeof(token->text))
        length = sizeof(token->text) - 1;
    memcpy(token->text, from, length);
    token->text[length] = '\0';
    token->kind = kind;
    counts[kind]++;
}

static const char *scan_name(const char *at)
{
    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    return at;
}

static const char *scan_number(const char *at)
{
    const char *end = at;

    while (isdigit((unsigned char)*end))
        end++;
#ifdef FIXED
    return end;
#else
    return *end == '\0' && end > at + 1 ? end - 1 : end; /* FAULT */
#endif
}

static const char *scan_string(const char *at)
{
    while (*at && *at != '"')
        at++;
    return at;
}

/* Returns the place after the token, or NULL at the end of the line. */
static const char *next_token(const char *at, struct token *token)
{
    const char *start;

    while (*at == ' ' || *at == '\t')
        at++;
    start = at;
    if (*at == '\0' || *at == '#')
        return NULL;
    if (isdigit((unsigned char)*at)) {
        at = scan_number(at);
        take(token, TOKEN_NUMBER, start, at);
        while (isdigit((unsigned char)*at))
            at++;
    } else if (isalpha((unsigned char)*at)) {
        at = scan_name(at);
        take(token, TOKEN_NAME, start, at);
    } else if (*at == '"') {
        at = scan_string(at + 1);
        take(token, TOKEN_STRING, start + 1, at);
        if (*at)
            at++;
    } else {
        take(token, TOKEN_MARK, at, at + 1);
        at++;
    }
    return at;
}

int main(void)
{
    char line[256];
    struct token token;
    long total = 0;
    int number = 0;

    while (fgets(line, sizeof(line), stdin)) {
        const char *at = line;
        line[strcspn(line, "\n")] = '\0';
        printf("%d:", ++number);
        while ((at = next_token(at, &token)) != NULL) {
            printf(" %s(%s)", kind_names[token.kind], token.text);
            if (token.kind == TOKEN_NUMBER)
                total += strtol(token.text, NULL, 10);
        }
        putchar('\n');
    }
    for (int kind = 0; kind < TOKEN_KINDS; kind++)
        printf("%s %u\n", kind_names[kind], counts[kind]);
    printf("total %ld\n", total);
    return 0;
}
