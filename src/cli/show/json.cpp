#include "cli/show/json.hpp"

#include <iostream>

#include <boost/json/src.hpp>  // here only: the library without a library

namespace conclave::cli {

void print(const json::value& v) { std::cout << json::serialize(v) << std::endl; }

}  // namespace conclave::cli
