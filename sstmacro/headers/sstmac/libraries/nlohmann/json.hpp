/// \file
/// SST/macro's headers include this name, but release 16 installs the file one folder higher.
#pragma once

#include <sstmac/libraries/json.hpp>
