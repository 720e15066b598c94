// SPDX-License-Identifier: GPL-3.0-or-later
// What test_info.py asks of: types in namespaces and classes, an inlined function, a signal handler.
#include <signal.h>

namespace ns {
template <class T> struct box {
    T value;
    struct inner {
        int deep;
    } in;
    enum kind { FIRST, SECOND } which;
    typedef int own;
};
enum class mode { X, Y };
namespace {
struct hidden {
    int a;
};
} // namespace
typedef box<int> int_box;
using number = unsigned;
} // namespace ns

class shape {
  public:
    int corners;
    int count(int more);
};

volatile int sink;
ns::int_box boxed;
ns::mode mode;
ns::hidden hidden;
ns::number number;
ns::int_box::own own;

int shape::count(int more)
{
    return corners + more;
}

static inline __attribute__((always_inline)) int twice(int value)
{
    sink++; // INLINED
    return value * 2 + sink;
}

__attribute__((noipa)) int outer(int a, int b)
{
    int result = twice(a);
    sink++;
    return result + b;
}

static void handler(int number)
{
    sink += number; // HANDLER
}

int main(int argc, char **)
{
    signal(SIGUSR1, handler);
    shape square = {4};
    int result = outer(argc, 3) + square.count(argc);
    raise(SIGUSR1);
    return result > 100;
}
