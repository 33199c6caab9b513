#include "cli/show/node.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "cli/show/duration.hpp"

namespace conclave::cli {
namespace {

using std::chrono::milliseconds;

// Date and time with `between` as the separator.
std::string seconds_of(const std::tm& t, char between) {
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%F %T", &t);
  text[10] = between;
  return text.data();
}

std::string zone(const std::tm& t) {
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), " %z", &t)};
}

std::tm local(std::int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm t{};
  ::localtime_r(&seconds, &t);
  return t;
}

std::string fraction(std::int64_t ms) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), ".%03d", static_cast<int>(ms % 1000));
  return text.data();
}

std::string age(std::int64_t ms) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return "(" + short_time(now - milliseconds{ms}) + " ago)";
}

std::string base64(const std::string& data) {
  constexpr std::string_view letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < data.size(); i += 3) {
    const auto n = std::min<std::size_t>(3, data.size() - i);
    unsigned bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < n ? static_cast<unsigned char>(data[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += k <= n ? letters[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string date(std::int64_t ms) {
  const auto t = local(ms);
  return seconds_of(t, ' ') + fraction(ms) + zone(t);
}

std::string short_date(std::int64_t ms) { return seconds_of(local(ms), ' '); }

std::string iso_date(std::int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm t{};
  ::gmtime_r(&seconds, &t);
  return seconds_of(t, 'T') + fraction(ms) + "Z";
}

std::string hex(std::int64_t id) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(id));
  return text.data();
}

void print_stat(std::ostream& out, const node_stat& s) {
  out << "created   " << date(s.ctime) << "  " << age(s.ctime) << ", zxid " << hex(s.czxid) << "\n"
      << "changed   " << date(s.mtime) << "  " << age(s.mtime) << ", zxid " << hex(s.mzxid) << "\n"
      << "version   " << s.version << " (of the data)\n"
      << "data      " << s.data_length << (s.data_length == 1 ? " byte\n" : " bytes\n")
      << "children  " << s.num_children << ", changed " << s.cversion
      << (s.cversion == 1 ? " time, last by zxid " : " times, last by zxid ") << hex(s.pzxid)
      << "\n"
      << "acl       version " << s.aversion << "\n"
      << "owner     "
      << (s.ephemeral_owner == 0 ? "none (persistent node)"
                                 : "session " + hex(s.ephemeral_owner) + " (ephemeral node)")
      << "\n";
}

json::object stat_json(const node_stat& s) {
  json::object o{{"version", s.version},
                 {"cversion", s.cversion},
                 {"aversion", s.aversion},
                 {"data_length", s.data_length},
                 {"num_children", s.num_children},
                 {"ephemeral_owner", s.ephemeral_owner},
                 {"ephemeral_owner_text", hex(s.ephemeral_owner)}};
  add_number(o, "czxid", s.czxid);
  add_number(o, "mzxid", s.mzxid);
  add_number(o, "pzxid", s.pzxid);
  add_time(o, "created", s.ctime);
  add_time(o, "changed", s.mtime);
  return o;
}

bool is_utf8(const std::string& data) noexcept {
  for (std::size_t i = 0; i < data.size();) {
    const auto first = static_cast<unsigned char>(data[i++]);
    if (first < 0x80) continue;
    const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4) return false;
    char32_t code = first & (0x3F >> more);
    for (int k = 0; k < more; ++k, ++i) {
      if (i == data.size() || (static_cast<unsigned char>(data[i]) & 0xC0) != 0x80) return false;
      code = code << 6 | (static_cast<unsigned char>(data[i]) & 0x3F);
    }
    constexpr std::array<char32_t, 4> least{0, 0x80, 0x800, 0x10000};
    if (code < least[static_cast<std::size_t>(more)] || code > 0x10FFFF) return false;
    if (code >= 0xD800 && code <= 0xDFFF) return false;
  }
  return true;
}

void add_data(json::object& to, const std::string& data) {
  if (is_utf8(data))
    to["data"] = data;
  else
    to["base64"] = base64(data);
}

}  // namespace conclave::cli
