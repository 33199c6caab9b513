// The version of this library. docs/abi.md describes which versions are compatible.
#pragma once

#define CONCLAVE_VERSION_MAJOR 0
#define CONCLAVE_VERSION_MINOR 1
#define CONCLAVE_VERSION_PATCH 0

namespace conclave {

inline constexpr const char* version = "0.1.0";

}  // namespace conclave
