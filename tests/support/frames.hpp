// The few bytes of the ZooKeeper protocol that the test tools must read and write themselves. They
// do not use the library's codec: a bug there must not be able to hide from the tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace conclave::testing {

// Integers in network byte order. Reading past the end throws std::out_of_range.
void append_int32(std::string& bytes, std::int32_t value);
void append_int64(std::string& bytes, std::int64_t value);
std::int32_t int32_at(std::string_view bytes, std::size_t position);
std::int64_t int64_at(std::string_view bytes, std::size_t position);

// The payload behind its length.
std::string framed(std::string_view payload);

struct connect_request {
  connect_request() = default;
  explicit connect_request(std::int32_t timeout) : timeout_ms(timeout) {}

  std::int32_t protocol_version{0};
  std::int64_t last_zxid_seen{0};
  std::int32_t timeout_ms{10000};
  std::int64_t session_id{0};
  std::string password = std::string(16, '\0');
  bool has_read_only{true};  // old clients leave the byte out
  bool read_only{false};
};

std::string encode(const connect_request& request);  // the payload, without its length
connect_request decode_connect_request(std::string_view payload);

}  // namespace conclave::testing
