#include "frames.hpp"

#include <stdexcept>

namespace conclave::testing {
namespace {

void append_big_endian(std::string& bytes, std::uint64_t value, int size) {
  for (int shift = 8 * (size - 1); shift >= 0; shift -= 8)
    bytes.push_back(static_cast<char>((value >> shift) & 0xff));
}

std::uint64_t big_endian_at(std::string_view bytes, std::size_t position, std::size_t size) {
  if (position > bytes.size() || bytes.size() - position < size)
    throw std::out_of_range("frame too short");
  std::uint64_t value = 0;
  for (const char byte : bytes.substr(position, size))
    value = (value << 8) | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace

void append_int32(std::string& bytes, std::int32_t value) {
  append_big_endian(bytes, static_cast<std::uint32_t>(value), 4);
}
void append_int64(std::string& bytes, std::int64_t value) {
  append_big_endian(bytes, static_cast<std::uint64_t>(value), 8);
}

std::int32_t int32_at(std::string_view bytes, std::size_t position) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(big_endian_at(bytes, position, 4)));
}
std::int64_t int64_at(std::string_view bytes, std::size_t position) {
  return static_cast<std::int64_t>(big_endian_at(bytes, position, 8));
}

std::string framed(std::string_view payload) {
  std::string bytes;
  append_int32(bytes, static_cast<std::int32_t>(payload.size()));
  return bytes.append(payload);
}

std::string encode(const connect_request& request) {
  std::string bytes;
  append_int32(bytes, request.protocol_version);
  append_int64(bytes, request.last_zxid_seen);
  append_int32(bytes, request.timeout_ms);
  append_int64(bytes, request.session_id);
  append_int32(bytes, static_cast<std::int32_t>(request.password.size()));
  bytes += request.password;
  if (request.has_read_only) bytes.push_back(request.read_only ? '\1' : '\0');
  return bytes;
}

connect_request decode_connect_request(std::string_view payload) {
  connect_request request;
  request.protocol_version = int32_at(payload, 0);
  request.last_zxid_seen = int64_at(payload, 4);
  request.timeout_ms = int32_at(payload, 12);
  request.session_id = int64_at(payload, 16);
  const std::int32_t password_size = int32_at(payload, 24);
  const std::string_view rest = payload.substr(28);
  const std::size_t size = password_size < 0 ? 0 : static_cast<std::size_t>(password_size);
  if (size > rest.size()) throw std::out_of_range("frame too short");
  request.password = std::string(rest.substr(0, size));
  request.has_read_only = rest.size() > size;
  request.read_only = request.has_read_only && rest[size] != '\0';
  return request;
}

}  // namespace conclave::testing
