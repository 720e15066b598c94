/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code that is written while the program runs. `generated CASE [ARG]` prints what its functions
 * return; each case is one way to get code into memory or to change it there.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define PAGE 4096u

typedef long (*function_fn)(long);

static unsigned char *map(size_t bytes, int prot)
{
    void *at = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(9);
    return at;
}

static long call(const void *code, long argument)
{
    function_fn function;
    memcpy(&function, &code, sizeof(function));
    return function(argument);
}

/* lea rax, [rdi + n]; ret */
static size_t emit_add(unsigned char *to, int32_t n)
{
    memcpy(to, "\x48\x8d\x87", 3);
    memcpy(to + 3, &n, 4);
    to[7] = 0xc3;
    return 8;
}

/* ---- cases ---- */

/* A function that is written, run, written anew and run again, many times. */
static long rewritten(const char *argument)
{
    unsigned char *page = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    long sum = 0;
    for (int i = 0; i < atoi(argument); i++) {
        emit_add(page + i % 7, i);
        sum = sum * 3 + call(page + i % 7, i);
    }
    return sum;
}

/* A loop that changes the immediate of an instruction of its own, a few bytes ahead:
 *      mov ecx, edi; xor eax, eax
 *   1: inc dword [rip + imm]; add eax, imm; dec ecx; jnz 1b; ret */
static long loop_changes_itself(const char *argument)
{
    static const unsigned char code[] = {0x89, 0xf9, 0x31, 0xc0, 0xff, 0x05, 0x01,
                                         0,    0,    0,    0x05, 7,    0,    0,
                                         0,    0xff, 0xc9, 0x75, 0xf1, 0xc3};
    unsigned char *page = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    memcpy(page + 100, code, sizeof(code));
    return call(page + 100, atoi(argument));
}

/* The next instruction is changed by a push, by a string store and by a vector store.
 *   mov rdx, rsp; lea rsp, [rip + x + 8]; push rdi; x: (8 bytes, first nops, then what rdi says);
 *   mov rsp, rdx; ret */
static long stores_of_other_kinds(const char *argument)
{
    static const unsigned char pushes[] = {0x48, 0x89, 0xe2, 0x48, 0x8d, 0x25, 0x09, 0,
                                           0,    0,    0x57, 0x90, 0x90, 0x90, 0x90, 0x90,
                                           0x90, 0x90, 0x90, 0x48, 0x89, 0xd4, 0xc3};
    /* mov rax, rdi; mov ecx, 3; lea rdi, [rip + x]; rep stosb; x: ret ret ret, which become nops;
     * mov eax, 5; inc eax; ret */
    static const unsigned char strings[] = {0x48, 0x89, 0xf8, 0xb9, 3, 0,    0,    0,    0x48, 0x8d,
                                            0x3d, 0x02, 0,    0,    0, 0xf3, 0xaa, 0xc3, 0xc3, 0xc3,
                                            0xb8, 5,    0,    0,    0, 0xff, 0xc0, 0xc3};
    /* movq xmm0, rdi; movdqu [rip + x], xmm0; x: 16 nops; ret */
    static const unsigned char vectors[] = {0x66, 0x48, 0x0f, 0x6e, 0xc7, 0xf3, 0x0f,
                                            0x7f, 0x05, 0,    0,    0,    0};
    unsigned char *page = map(2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    long sum = 0;
    for (long i = 0; i < atoi(argument); i++) {
        memcpy(page, pushes, sizeof(pushes));
        /* mov eax, i; nop; nop; nop */
        sum = sum * 3 + call(page, (long)(0x90909000000000b8ul | (unsigned long)i << 8));
        memcpy(page + 512, strings, sizeof(strings));
        sum = sum * 3 + call(page + 512, 0x90);
        /* over the border of two pages */
        unsigned char *at = page + PAGE - 20;
        memcpy(at, vectors, sizeof(vectors));
        memset(at + 13, 0x90, 16);
        at[29] = 0xc3;
        sum = sum * 3 + call(at, (long)(0xc3909000000000b8ul | (unsigned long)i << 8));
    }
    return sum;
}

/* Write, protect, run: what careful compilers do. Only some rounds change the code. */
static long either_or(const char *argument)
{
    unsigned char *page = map(4 * PAGE, PROT_READ | PROT_WRITE);
    long sum = 0;
    for (int i = 0; i < atoi(argument); i++) {
        for (int k = 0; k < 4; k++)
            emit_add(page + (size_t)k * PAGE + 16 * (size_t)(i / 3 % 5), i / 5 + k);
        mprotect(page, 4 * PAGE, PROT_READ | PROT_EXEC);
        for (int k = 0; k < 4; k++)
            sum = sum * 3 + call(page + (size_t)k * PAGE + 16 * (size_t)(i / 3 % 5), i);
        mprotect(page, 4 * PAGE, PROT_READ | PROT_WRITE);
    }
    return sum;
}

/* read(2) brings the code. */
static long read_from_file(const char *argument)
{
    char path[] = "/tmp/generated-XXXXXX";
    int fd = mkstemp(path);
    unsigned char *page = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    long sum = 0;
    unlink(path);
    for (int i = 0; i < atoi(argument); i++) {
        unsigned char code[8];
        size_t bytes = emit_add(code, i * 3);
        if (pwrite(fd, code, bytes, 0) != (ssize_t)bytes)
            exit(9);
        if (pread(fd, page + 200, bytes, 0) != (ssize_t)bytes)
            exit(9);
        sum = sum * 3 + call(page + 200, i);
        sum += call(page + 200, 1);
    }
    close(fd);
    return sum;
}

/* Another mapping at the same address. */
static long mapped_anew(const char *argument)
{
    unsigned char *page = NULL;
    long sum = 0;
    for (int i = 0; i < atoi(argument); i++) {
        int flags = MAP_PRIVATE | MAP_ANONYMOUS | (page ? MAP_FIXED : 0);
        page = mmap(page, PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
        emit_add(page, i + (i & 1));
        mprotect(page, PAGE, PROT_READ | PROT_EXEC);
        sum = sum * 3 + call(page, i);
        munmap(page, PAGE);
    }
    return sum;
}

/* mremap takes the code elsewhere; half of the pages have been run from. */
static long moved(const char *argument)
{
    unsigned char *at = map(8 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    long sum = 0;
    for (int i = 0; i < atoi(argument); i++) {
        for (size_t k = 0; k < 8; k += 2) {
            emit_add(at + k * PAGE, i + (int)k);
            sum = sum * 3 + call(at + k * PAGE, i);
        }
        unsigned char *to = map(8 * PAGE, PROT_NONE);
        to = mremap(at, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
        if (to == MAP_FAILED)
            exit(9);
        for (size_t k = 0; k < 8; k += 2)
            sum = sum * 3 + call(to + k * PAGE, i);
        /* the old place is used for something else */
        at = mmap(at, 8 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        munmap(to, 8 * PAGE);
    }
    return sum;
}

/* Two libraries by turns: usually they come to lie at the same address. */
static long libraries(const char *argument)
{
    char *names = strdup(argument), *second = strchr(names, ',');
    long sum = 0;
    *second++ = 0;
    for (int i = 0; i < 6; i++) {
        void *handle = dlopen(i & 1 ? second : names, RTLD_NOW);
        if (!handle)
            exit(9);
        void *symbol = dlsym(handle, "turn");
        sum = sum * 3 + call(symbol, i);
        dlclose(handle);
    }
    free(names);
    return sum;
}

/* Code that shares its page with what it computes. */
static long data_beside_code(const char *argument)
{
    /* mov rax, [rip + 4096 - 100]; add rax, rdi; mov [rip + 4096 - 110], rax; ret ... */
    unsigned char *page = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC), *p = page;
    int32_t cell = 2048;
    for (int i = 0; i < 3; i++) {
        int32_t off = cell - (int32_t)(p - page) - 7;
        memcpy(p, "\x48\x8b\x05", 3);
        memcpy(p + 3, &off, 4);
        memcpy(p + 7, "\x48\x01\xf8\x48\x89\x05", 6);
        off = cell - (int32_t)(p - page) - 17;
        memcpy(p + 13, &off, 4);
        p += 17;
    }
    *p = 0xc3;
    long sum = 0;
    for (int i = 0; i < atoi(argument); i++)
        sum = sum * 3 + call(page, i);
    return sum;
}

static volatile sig_atomic_t strikes;

static void strike(int number)
{
    (void)number;
    strikes++;
}

/* Signals strike generated code, some of it while it is being written. */
static long interrupted(const char *argument)
{
    struct sigaction action = {.sa_handler = strike, .sa_flags = SA_RESTART};
    struct itimerval interval = {{0, 3000}, {0, 3000}};
    long sum = 0;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &interval, NULL);
    while (strikes < atoi(argument)) {
        sum = sum * 3 + rewritten("50");
        sum = sum * 3 + loop_changes_itself("50");
        sum = sum * 3 + data_beside_code("50");
        sum = sum * 3 + either_or("3");
    }
    return sum;
}

/* One object, mapped writable here and executable there. */
static long two_mappings(const char *argument)
{
    int fd = memfd_create("code", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, PAGE))
        exit(9);
    unsigned char *writable = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned char *code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    long sum = 0;
    for (int i = 0; i < atoi(argument); i++) {
        emit_add(writable + 64, i * 5);
        sum = sum * 3 + call(code + 64, i);
    }
    close(fd);
    return sum;
}

static const struct {
    const char *name;
    long (*run)(const char *argument);
    const char *argument;
} cases[] = {
    {"rewritten", rewritten, "600"},
    {"itself", loop_changes_itself, "400"},
    {"stores", stores_of_other_kinds, "100"},
    {"either_or", either_or, "40"},
    {"read", read_from_file, "20"},
    {"mapped", mapped_anew, "20"},
    {"moved", moved, "20"},
    {"libraries", libraries, NULL},
    {"beside", data_beside_code, "400"},
    {"interrupted", interrupted, "10"},
    {"two", two_mappings, "10"},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (!strcmp(argv[1], cases[i].name)) {
            long sum = cases[i].run(argc > 2 ? argv[2] : cases[i].argument);
            syscall(SYS_getppid, sum); /* replay compares registers there */
            printf("%s %#lx\n", argv[1], sum);
            return 0;
        }
    }
    return 2;
}
