/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sends a message of two pieces, then two messages in one call. Lines marked USED n made something of what
 * call n sends; lines marked UNUSED what lies beside it.
 */
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static volatile char given = 3, first[4], second[4], third[4], name[4];

static void fill(void)
{
    first[0] = given + 1;  /* UNUSED */
    first[1] = given + 2;  /* USED 1 */
    first[2] = given + 3;  /* UNUSED */
    second[0] = given + 4; /* USED 1 */
    second[3] = given + 5; /* USED 1 */
    third[0] = given + 6;  /* USED 2 */
    third[1] = given + 7;  /* UNUSED */
    third[2] = given + 8;  /* USED 2 */
    name[1] = given + 9;   /* USED 2 */
}

static long call(long number, long fd, void *message, long a, long b)
{
    register long r10 __asm__("r10") = b;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(fd), "S"(message), "d"(a), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

int main(void)
{
    int pair[2];

    fill();
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair))
        return 1;
    struct iovec pieces[2] = {{(void *)(first + 1), 1}, {(void *)second, 4}};
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    if (call(SYS_sendmsg, pair[0], &message, 0, 0) != 5)
        return 2;
    struct iovec others[2] = {{(void *)third, 1}, {(void *)(third + 2), 1}};
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = others, .msg_iovlen = 1}},
                                  {.msg_hdr = {.msg_iov = others + 1, .msg_iovlen = 1}}};
    messages[1].msg_hdr.msg_name = (void *)(name + 1);
    messages[1].msg_hdr.msg_namelen = 1;
    /* The second one's name is none: one message is sent. */
    return call(SYS_sendmmsg, pair[0], messages, 2, 0) == 1 ? 0 : 3;
}
