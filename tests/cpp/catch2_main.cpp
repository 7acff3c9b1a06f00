/// \file
/// main() of the tests where Catch2 is a single header (version 2).
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
