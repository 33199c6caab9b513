#include "cli/show/node.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>

#include <boost/locale/utf.hpp>
#include <openssl/evp.h>

#include "cli/show/duration.hpp"

namespace conclave::cli {
namespace {

using std::chrono::milliseconds;

// Returns the date and time with `between` as the separator.
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
  std::string text((data.size() + 2) / 3 * 4 + 1, '\0');  // with a terminating NUL
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(data.data()),
                  static_cast<int>(data.size()));
  text.pop_back();
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
  namespace utf = boost::locale::utf;
  const char* next = data.data();
  for (const char* const end = next + data.size(); next != end;)
    if (!utf::is_valid_codepoint(utf::utf_traits<char>::decode(next, end))) return false;
  return true;
}

void add_data(json::object& to, const std::string& data) {
  if (is_utf8(data))
    to["data"] = data;
  else
    to["base64"] = base64(data);
}

}  // namespace conclave::cli
