// A password or key. It cannot be printed, and its memory is cleared when it is destroyed.
//
// Secrets come from memory, a file or an environment variable, but not from a command line, which
// other users can read.
#pragma once

#include <string>
#include <string_view>

namespace conclave {

class secret {
 public:
  secret() = default;
  secret(const secret& other);
  secret(secret&& other) noexcept;
  secret& operator=(secret other) noexcept;
  ~secret();

  static secret from_memory(std::string_view value);
  // Reads a file and removes line breaks at the end. Throws errc::bad_secret if the file cannot be
  // read or is empty.
  static secret from_file(const std::string& path);
  // Throws errc::bad_secret if the variable is not set.
  static secret from_environment(const std::string& variable);

  bool empty() const noexcept { return value_.empty(); }
  // The value itself. The view is valid while this object exists and is not modified.
  std::string_view reveal() const noexcept { return value_; }

 private:
  std::string value_;
};

// What a client presents to the server, for example scheme "digest" and value "user:password".
struct credentials {
  credentials(std::string s, secret v) : scheme{std::move(s)}, value{std::move(v)} {}

  std::string scheme;
  secret value;
};

}  // namespace conclave
