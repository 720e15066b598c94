/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes behind base class pointers, with virtual and multiple inheritance; one override is wrong. */
#include <cstdio>
#include <memory>
#include <vector>

namespace shapes {

struct Named {
    const char *name;
    explicit Named(const char *name) : name(name)
    {
    }
    virtual ~Named() = default;
};

struct Shape : virtual Named {
    Shape() : Named("shape")
    {
    }
    virtual int area() const = 0;
    int doubled() const
    {
        return area() * 2;
    }
};

struct Coloured : virtual Named {
    enum class Colour : unsigned char { red = 1, blue = 200 };
    Colour colour = Colour::blue;
    Coloured() : Named("coloured")
    {
    }
};

static inline int product(int left, int right)
{
    return left * right;
}

struct Square : Shape {
    int side;
    explicit Square(int side) : Named("square"), side(side)
    {
    }
    int area() const override
    {
        return product(side, side);
    }
};

struct Panel final : Shape, Coloured {
    int width, height;
    Panel(int width, int height) : Named("panel"), width(width), height(height)
    {
    }
    int area() const override
    {
#ifdef FIXED
        return product(width, height);
#else
        return product(width, height + 1); /* FAULT */
#endif
    }
};

} // namespace shapes

int main(int argc, char **)
{
    std::vector<std::unique_ptr<shapes::Shape>> all;
    int sum = 0, names = 0;

    all.push_back(std::make_unique<shapes::Square>(3 + argc));
    all.push_back(std::make_unique<shapes::Panel>(2, 5 * argc));
    all.push_back(std::make_unique<shapes::Square>(1));
    for (const auto &shape : all) {
        sum += shape->doubled();                       /* CALLS */
        names += dynamic_cast<shapes::Panel *>(shape.get()) ? shape->name[0] : 1; /* UNRELATED */
    }
    std::printf("areas %d\n", sum);
    std::fflush(stdout);
    std::printf("names %d\n", names);
    return 0;
}
