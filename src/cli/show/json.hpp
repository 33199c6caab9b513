// What is printed with --json: one value, in one line.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace conclave::cli {

namespace json = boost::json;

void print(const json::value& v);

}  // namespace conclave::cli
