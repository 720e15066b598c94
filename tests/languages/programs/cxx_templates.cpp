/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Word counts in containers of the standard library; a template scales one kind of value wrongly. */
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace stats {

template <typename T> struct Scale {
    static T apply(T value)
    {
        return value * 2;
    }
};

template <> struct Scale<double> {
    static double apply(double value)
    {
#ifdef FIXED
        return value * 2;
#else
        return value * 2 + 1; /* FAULT */
#endif
    }
};

template <typename Key, typename Value> class Table
{
  public:
    void add(const Key &key, Value value)
    {
        cells[key].push_back(Scale<Value>::apply(value));
    }
    Value total(const Key &key) const
    {
        const auto &cell = cells.at(key);
        return std::accumulate(cell.begin(), cell.end(), Value());
    }
    std::vector<Key> keys() const
    {
        std::vector<Key> all;
        for (const auto &[key, cell] : cells)
            all.push_back(key);
        return all;
    }

  private:
    std::map<Key, std::vector<Value>> cells;
};

} // namespace stats

int main()
{
    auto lengths = std::make_unique<stats::Table<std::string, int>>();
    stats::Table<std::string, double> weights;
    const std::vector<std::string> words = {"oak", "elm", "oak", "birch"};
    unsigned vowels = 0;

    for (const std::string &word : words) {
        lengths->add(word, static_cast<int>(word.size()));
        weights.add(word, static_cast<double>(word.size()) / 2);
        vowels += static_cast<unsigned>(std::count(word.begin(), word.end(), 'o')); /* UNRELATED */
    }
    for (const std::string &key : lengths->keys()) {
        double weight = weights.total(key);
        std::printf("%-6s %3d %6.2f\n", key.c_str(), lengths->total(key), weight);
        std::fflush(stdout);
    }
    std::printf("%u vowels\n", vowels);
    return 0;
}
