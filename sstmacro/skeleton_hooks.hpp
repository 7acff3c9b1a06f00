/// \file
/// What SST/macro does otherwise than an MPI library; included before everything else when the skeleton is compiled for it.
#pragma once

/// Its messages carry sizes; a null pointer is all the data they need.
#define TRAMONTANE_NULL_BUFFER(bytes) nullptr
#define TRAMONTANE_FREE_BUFFER(pointer) static_cast<void>(pointer)
