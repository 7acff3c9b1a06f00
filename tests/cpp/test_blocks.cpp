#include <random>

#include "blocks.hpp"
#include "decomposition.hpp"
#include "divisor.hpp"
#include "testing.hpp"

using namespace tramontane;

TEST_CASE("Divisor is exact for all 32-bit numbers") {
    std::mt19937 dice{1};
    std::vector<std::uint32_t> values{0,   1,     2,     3,          5,          7,          255,
                                      256, 65535, 65536, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff};
    for (int i = 0; i < 200; ++i) {
        values.push_back(static_cast<std::uint32_t>(dice()) >> (i % 32));
    }
    bool exact = true;
    for (const std::uint32_t d : values) {
        if (d == 0) {
            continue;
        }
        const Divisor divisor{d};
        for (const std::uint32_t n : values) {
            // Multiples of d and their predecessors are where a rounded reciprocal would fail first.
            for (const std::uint32_t m : {n, n / d * d, n / d * d - 1}) {
                exact = exact && divisor.quotient(m) == m / d && divisor.remainder(m) == m % d;
            }
        }
    }
    REQUIRE(exact);
}

TEST_CASE("Blocks tile the dimension, the first (points mod parts) one longer") {
    for (std::int64_t points = 0; points <= 40; ++points) {
        for (Rank parts = 1; parts <= 25; ++parts) {
            const Blocks blocks{points, parts};
            std::int64_t next = 0;
            for (Rank part = 0; part < parts; ++part) {
                REQUIRE(blocks.first(part) == next);
                REQUIRE(blocks.size(part) == points / parts + (part < points % parts ? 1 : 0));
                REQUIRE(blocks.range(part).size() == blocks.size(part));
                for (std::int64_t i = 0; i < blocks.size(part); ++i) {
                    REQUIRE(blocks.owner(next + i) == part);
                }
                next += blocks.size(part);
            }
            REQUIRE(next == points);
        }
    }
}

TEST_CASE("Cyclic sums of block sizes equal their definition") {
    for (std::int64_t points : {0, 3, 17, 40}) {
        for (Rank parts = 1; parts <= 19; ++parts) {
            const Blocks blocks{points, parts};
            for (Rank start = 0; start < parts; ++start) {
                std::int64_t backward = 0;
                for (Rank count = 0; count <= parts; ++count) {
                    REQUIRE(blocks.backward_sum(start, count) == backward);
                    backward += blocks.size(static_cast<Rank>(testing::modulo(start - count, parts)));
                }
                for (std::int64_t stride = 1; stride <= parts; ++stride) {
                    std::int64_t strided = 0;
                    for (Rank count = 0; (count - 1) * stride < parts; ++count) {
                        REQUIRE(blocks.strided_sum(start, stride, count) == strided);
                        strided += blocks.size(static_cast<Rank>((start + count * stride) % parts));
                    }
                }
            }
        }
    }
}

TEST_CASE("nearest_square is the best pair of factors within the limits") {
    for (Rank ranks = 1; ranks <= 240; ++ranks) {
        for (const DecompositionLimits limits :
             {DecompositionLimits{1000, 1000}, DecompositionLimits{7, 60}, DecompositionLimits{40, 9}}) {
            std::optional<Decomposition> best;
            for (Rank cx = 1; cx <= ranks; ++cx) {
                const Decomposition d{cx, ranks / cx};
                if (ranks % cx == 0 && limits.admit(d) &&
                    (!best || std::max(d.cx, d.cy) < std::max(best->cx, best->cy))) {
                    best = d;
                }
            }
            REQUIRE(nearest_square(ranks, limits) == best);
        }
    }
    REQUIRE(nearest_square(1000000, transposition_bounds({28800, 14400, 256}).limits()) == Decomposition{250, 4000});
    REQUIRE(nearest_square(2147483647, {2147483647, 2147483647}) == Decomposition{1, 2147483647});
}
