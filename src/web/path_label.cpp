#include "web/path_label.hpp"

#include <array>

#include <openssl/evp.h>

namespace conclave::web {
namespace {

constexpr std::size_t hash_bytes = 16;  // of the 32 bytes of SHA-256
constexpr std::string_view separator = "//";

std::string hash_of(std::string_view text) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  EVP_Digest(text.data(), text.size(), hash.data(), nullptr, EVP_sha256(), nullptr);
  std::string result;
  for (std::size_t i = 0; i < hash_bytes; ++i) {
    result += digits[hash[i] >> 4U];
    result += digits[hash[i] & 0xfU];
  }
  return result;
}

}  // namespace

std::string path_label(std::string_view path) {
  if (path.size() <= max_path_label_bytes) return std::string{path};
  auto end = max_path_label_bytes - separator.size() - 2 * hash_bytes;
  // Does not cut a UTF-8 character in two.
  while (end > 0 && (static_cast<unsigned char>(path[end]) & 0xc0U) == 0x80U) --end;
  return std::string{path.substr(0, end)}.append(separator) + hash_of(path);
}

}  // namespace conclave::web
