#include "conclave/secret.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "conclave/error.hpp"

namespace conclave {
namespace {

void wipe(std::string& s) noexcept {
  ::explicit_bzero(s.data(), s.size());
  s.clear();
}

}  // namespace

secret::secret(const secret& other) = default;

// Moving a short string copies it, so the source must be wiped.
secret::secret(secret&& other) noexcept {
  value_ = other.value_;
  wipe(other.value_);
}

secret& secret::operator=(secret other) noexcept {
  value_.swap(other.value_);
  return *this;
}

secret::~secret() { wipe(value_); }

secret secret::from_memory(std::string_view value) {
  secret s;
  s.value_ = value;
  return s;
}

secret secret::from_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  secret s;
  try {
    s.value_.reserve(4096);  // growing would leave copies in freed memory
    s.value_.assign(std::istreambuf_iterator<char>{in}, {});
  } catch (const std::ios_base::failure&) {
    in.setstate(std::ios::failbit);  // a directory can be opened but not read
  }
  while (!s.value_.empty() && (s.value_.back() == '\n' || s.value_.back() == '\r'))
    s.value_.pop_back();
  if (!in || s.value_.empty())
    throw error{errc::bad_secret, "cannot read a secret from the file " + path};
  return s;
}

secret secret::from_environment(const std::string& variable) {
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr)
    throw error{errc::bad_secret, "the environment variable " + variable + " is not set"};
  return from_memory(value);
}

}  // namespace conclave
