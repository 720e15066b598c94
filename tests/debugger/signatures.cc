// SPDX-License-Identifier: GPL-3.0-or-later
// Functions that have no name of the linker's in debug information, or none at all: test_info.py tells them apart by
// their parameters.
volatile int sink;

static inline __attribute__((always_inline)) int inlined(int value)
{
    sink += value; // INT
    return 2;
}

static inline __attribute__((always_inline)) int inlined(const char *value)
{
    sink += value[0]; // TEXT
    return 7;
}

static inline __attribute__((always_inline)) int inlined(unsigned long value, const char **texts)
{
    sink += (int)value + **texts; // LONG
    return 9;
}

static inline __attribute__((always_inline)) int none()
{
    sink += 4; // NONE
    return 4;
}

static __attribute__((noipa)) int called(int value)
{
    sink += value; // CALLED
    return value * 3;
}

static __attribute__((noipa)) int called(const char *value)
{
    sink += value[1]; // TEXT CALLED
    return 5;
}

namespace {
struct box {
    int value;
    int get(int more) const
    {
        sink += more; // GET INT
        return value;
    }
    int get(long more)
    {
        sink += (int)more; // GET LONG
        return value;
    }
};
} // namespace

int main(int argc, char **argv)
{
    box one = {argc};
    const box *constant = &one;
    const char *text = argv[0];
    int result = inlined(argc) + inlined(argv[0]) + inlined(3UL, &text) + none();
    result += called(argc) + called(argv[0]);
    result += constant->get(3) + one.get(4L);
    return result > 100000;
}
