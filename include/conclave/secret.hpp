// A password or key that never reaches a log: it cannot be printed, and its memory is wiped.
//
// There is no way to give one on a command line, where every user of the machine could read it.
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
  // The file's content without a line end at its end. Throws errc::bad_secret, naming the file.
  static secret from_file(const std::string& path);
  // Throws errc::bad_secret, naming the variable, if it is not set.
  static secret from_environment(const std::string& variable);

  bool empty() const noexcept { return value_.empty(); }
  // For the few places that must have it. The view ends with this object.
  std::string_view reveal() const noexcept { return value_; }

 private:
  std::string value_;
};

// What a client shows the server: `{"digest", secret "user:password"}`.
struct credentials {
  credentials(std::string s, secret v) : scheme{std::move(s)}, value{std::move(v)} {}

  std::string scheme;
  secret value;
};

}  // namespace conclave
