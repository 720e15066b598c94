/* SPDX-License-Identifier: GPL-3.0-or-later */
/* C++ for the model's tests: names, templates, inheritance, inlined and split functions. */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" int plain_c(int value)
{
    return value + 1;
}

namespace ns {

int counter = 3; /* VARIABLE */

enum class Colour : unsigned char { red, green = 7 };

struct Base {
    int id;
    static int made;
    explicit Base(int id) : id(id)
    {
        made++;
    }
    virtual ~Base() = default;
    virtual int area() const
    {
        return id;
    }
    bool operator<(const Base &other) const
    {
        return id < other.id;
    }
};
int Base::made = 0;

template <typename T> struct Box : Base {
    T content;
    Colour colour = Colour::green;
    explicit Box(T content) : Base(5), content(content)
    {
    }
    T get() const
    {
        return content;
    }
    int area() const override;
};

template <typename T> int Box<T>::area() const
{
    return static_cast<int>(content) * 2; /* AREA */
}

int overloaded(int value)
{
    return value;
}
int overloaded(const char *text)
{
    return text[0];
}

namespace {
int hidden(int value)
{
    return value * 3;
}
} // namespace

inline namespace v2 {
int versioned()
{
    return 4;
}
} // namespace v2

std::string joined(const std::vector<std::string> &words) /* JOINED */
{
    std::string all;
    for (const auto &word : words)
        all += word;
    return all;
}

} // namespace ns

static void __attribute__((cold, noinline)) complain(int value)
{
    std::fprintf(stderr, "%d is too large\n", value);
}

static int __attribute__((noinline)) check(int value)
{
    if (value > 1000) {
        complain(value); /* COLD */
        throw std::runtime_error("too large");
    }
    return value;
}

static int handled = 0;

void __attribute__((noinline)) handle(int value)
{
    try {
        check(value);
    } catch (...) {
        handled += value; /* HANDLES */
    }
    handled += 2; /* AFTER */
}

template <typename F> static int twice(F f)
{
    return f(2) + f(3);
}

int main(int argc, char **argv)
{
    ns::Box<long> box(argc);
    const ns::Base &base = box;
    ns::Box<char> *letter = new ns::Box<char>('x');
    std::vector<std::string> words{argv[0], "b"};
    int &&moved = argc + 1;
    bool is_small = argc < 4;
    char16_t wide = u'A';
    int sum = plain_c(argc) + base.area() + static_cast<int>(box.get()) + letter->get();
    sum += ns::overloaded(argc) + ns::overloaded(argv[0]) + ns::hidden(argc) + ns::versioned();
    sum += twice([&](int value) { return value * argc; });
    sum += static_cast<int>(ns::joined(words).size()) + check(argc) + (base < *letter) + moved;
    sum += is_small + wide; /* HERE */
    handle(argc * 1001);
    delete letter;
    return sum == ns::counter;
}
