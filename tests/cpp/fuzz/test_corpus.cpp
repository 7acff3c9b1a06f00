// Inputs that were kept: what once was wrong, and a few of each kind.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fuzz.hpp"
#include "testing.hpp"

using namespace tramontane;

namespace {

std::size_t try_all(const char* folder, void (*try_one)(std::string_view)) {
    std::size_t tried = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::string(TRAMONTANE_CORPUS "/") + folder)) {
        std::ifstream file(entry.path(), std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        INFO(entry.path().filename().string());
        try_one(text);
        ++tried;
    }
    return tried;
}

}  // namespace

TEST_CASE("points of the corpus are simulated or refused") { CHECK(try_all("point", fuzz::try_point) > 0); }

TEST_CASE("schedules of the corpus hold what they promise, or are refused") {
    CHECK(try_all("schedule", fuzz::try_schedule) > 0);
}

TEST_CASE("files of GOAL in the corpus are simulated or refused") { CHECK(try_all("graph", fuzz::try_graph) > 0); }
