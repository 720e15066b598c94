/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State outside functions: in namespaces, classes and functions; several things of one name. */
#include <cstdio>

int counter = 1000;

namespace plant {

int counter = 10;

namespace {
[[maybe_unused]] int hidden = 3;
long tick(long by)
{
    static long ticks = 0;
    ticks += by;
    return ticks;
}
} // namespace

class Machine
{
  public:
    static int made;
    static constexpr int limit = 4;
    enum State { idle, busy };

    explicit Machine(int power) : power(power), state(idle)
    {
        made += 1;
    }
    int run(int hours)
    {
        state = busy;
#ifdef FIXED
        output += power * hours;
#else
        output += power * (hours + hidden); /* FAULT */
#endif
        counter += 1; /* COUNTS */
        return output;
    }

  private:
    int power, output = 0;
    State state : 2;
};

int Machine::made = 0;

inline namespace v1 {
int describe(int value)
{
    return value % 100;
}
} // namespace v1

int describe(const Machine &machine)
{
    return machine.limit;
}

} // namespace plant

using plant::Machine;

int main(int argc, char **)
{
    Machine press(6 + argc), lathe(5);
    long ticks = 0;
    int output = 0;

    for (int hours = 1; hours < Machine::limit; hours++) {
        output = press.run(hours);
        lathe.run(hours);
        ticks = plant::tick(hours); /* UNRELATED */
    }
    std::printf("output %d\n", output); /* PRINTS */
    std::fflush(stdout);
    std::printf("made %d, counters %d and %d, %d, %d\n", Machine::made, counter, plant::counter,
                plant::describe(output), plant::describe(press));
    std::printf("ticks %ld\n", ticks);
    return 0;
}
