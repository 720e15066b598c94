/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One value at least of each class of the library that holds others. */
#include <any>
#include <array>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>

struct point {
    int x;
    double y;
};

static void stop()
{
    puts("here");
}

int main()
{
    std::map<int, std::string> numbers{{1, "one"}, {2, "two"}, {7, "seven"}};
    std::map<std::string, point> places{{"here", {1, 2.5}}, {"there", {3, 4.5}}};
    std::map<int, int> no_map;
    std::multimap<char, long> letters{{'a', 1}, {'a', 2}, {'b', 3}};
    std::set<int> primes{2, 3, 5, 7};
    std::multiset<std::string> words{"a", "b", "a"};
    std::unordered_map<std::string, int> ages{{"ann", 31}};
    std::unordered_map<int, int> squares{{1, 1}, {2, 4}, {3, 9}};
    std::unordered_set<int> odd{1, 3, 5};
    std::unordered_multimap<int, char> many{{1, 'x'}, {1, 'y'}};
    std::unordered_set<std::string> names{"bob", "eve"};
    std::deque<int> line;
    for (int i = 0; i < 300; i++)
        line.push_back(i % 7 ? i : 0);
    line.pop_front();
    std::deque<point> no_line;
    std::list<int> chain{4, 5, 6};
    std::list<std::string> no_chain;
    std::forward_list<char> single{'p', 'q'};
    std::forward_list<int> no_single;
    std::array<int, 3> three{1, 2, 3};
    std::optional<int> maybe{42}, nothing;
    std::optional<std::string> text{"inside"};
    std::variant<int, std::string, point> either{std::string("or")}, number{5};
    std::any thing{17}, no_thing;
    std::pair<int, std::string> couple{1, "x"};
    std::tuple<int, std::string, double> row{1, "two", 3.0};
    std::tuple<> no_row;
    std::string_view view{"looked at"}, no_view;
    int plain[4]{1, 2, 3, 4};
    std::span<int> part{plain + 1, 2};
    std::span<int, 4> whole{plain};
    std::unique_ptr<int> own{new int(9)}, no_own;
    std::unique_ptr<point[]> owns{new point[2]{{1, 1}, {2, 2}}};
    std::shared_ptr<std::string> shared{std::make_shared<std::string>("both")}, again = shared, no_shared;
    std::weak_ptr<std::string> weak{shared};
    std::vector<bool> bits{true, false, true, true};
    std::vector<int> ints{1, 2, 3};
    ints.reserve(8);
    std::vector<std::vector<int>> nested{{1}, {2, 3}, {}};
    std::vector<std::string> no_strings;
    std::chrono::seconds some{5};
    std::chrono::milliseconds few{250};
    std::chrono::hours day{24};
    std::filesystem::path path{"/usr/lib"};
    std::stack<int> stack;
    stack.push(1);
    std::queue<int> queue;
    queue.push(2);
    std::priority_queue<int> heap;
    heap.push(3);
    std::map<int, std::vector<std::string>> deep{{1, {"a", "b"}}, {2, {}}};
    std::wstring wide{L"wide \u00e9"};
    std::u16string sixteen{u"a\U0001f600b"};
    std::u32string more{U"xyz"};
    typedef std::vector<int> numbers_type;
    numbers_type named{4, 5};
    const std::map<int, int> fixed{{1, 2}};
    std::set<std::pair<int, int>> pairs{{1, 2}};
    std::map<char, std::unique_ptr<int>> owned;
    owned[99].reset(new int(3));
    std::vector<int> &by_reference = ints;
    stop();
    return 0;
}
