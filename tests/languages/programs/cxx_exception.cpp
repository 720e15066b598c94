/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fee is computed wrongly, travels in an exception through three frames, and is printed where it is
 * caught. */
#include <cstdio>
#include <stdexcept>
#include <string>

namespace bank {

struct Refused : std::runtime_error {
    long fee;
    Refused(const std::string &why, long fee) : std::runtime_error(why), fee(fee)
    {
    }
};

struct Journal {
    int *depth;
    explicit Journal(int *depth) : depth(depth)
    {
        ++*depth;
    }
    ~Journal()
    {
        --*depth;
    }
};

static long fee_of(long amount)
{
#ifdef FIXED
    return amount / 100 + 5;
#else
    return amount / 10 + 5; /* FAULT */
#endif
}

static __attribute__((noinline)) void refuse(const char *why, long amount)
{
    long fee = fee_of(amount);
    throw Refused(why, fee); /* THROW */
}

static __attribute__((noinline)) long withdraw(long balance, long amount, int *depth)
{
    Journal journal(depth);
    if (amount > balance) /* DECIDES */
        refuse("not enough", amount);
    return balance - amount;
}

static __attribute__((noinline)) long transfer(long balance, long amount, int *depth)
{
    long checksum = balance * 31 + amount, left;
    try {
        left = withdraw(balance, amount, depth);
    } catch (const std::logic_error &) {
        left = -1;
    }
    return left + checksum % 2;
}

} // namespace bank

int main(int argc, char **)
{
    long amounts[] = {100, 250, 4000, 80};
    long balance = 1000 * argc, noise = 17;
    int depth = 0;

    for (long amount : amounts) {
        noise = noise * 3 + amount; /* UNRELATED */
        try {
            balance = bank::transfer(balance, amount, &depth);
        } catch (const bank::Refused &refused) {
            std::printf("%s: fee %ld\n", refused.what(), refused.fee); /* PRINTS */
            std::fflush(stdout);
        }
    }
    std::printf("balance %ld\n", balance);
    std::printf("noise %ld, depth %d\n", noise, depth);
    return 0;
}
