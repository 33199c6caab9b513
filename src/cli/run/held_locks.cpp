#include "cli/run/held_locks.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "conclave/connect_string.hpp"
#include "conclave/error.hpp"

namespace conclave::cli {
namespace {

// Neither paths nor host names contain these characters.
constexpr char between_locks = '\n', between_fields = '\t';
constexpr auto variable = "CONCLAVE_HELD";
constexpr std::array<std::string_view, 4> names{"exclusive", "shared", "permit", "election"};

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(at), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::optional<held_lock> parse(const std::string& line) {
  auto fields = split(line, between_fields);
  if (fields.size() < 5) return {};
  const auto kind = std::find(names.begin(), names.end(), fields[0]);
  if (kind == names.end()) return {};
  held_lock l;
  l.what = static_cast<held_lock::kind>(kind - names.begin());
  std::from_chars(fields[1].data(), fields[1].data() + fields[1].size(), l.session);
  l.node = fields[2];
  l.hosts = fields[3];
  l.paths.assign(fields.begin() + 4, fields.end());
  return l;
}

std::string line_of(const held_lock& l) {
  std::string line{names[static_cast<std::size_t>(l.what)]};
  line += between_fields + std::to_string(l.session);
  line += between_fields + l.node;
  line += between_fields + l.hosts;
  for (const auto& p : l.paths) line += between_fields + p;
  return line;
}

// Two connect strings with a common host and the same chroot mean the same server or ensemble.
bool same_server(const std::string& a, const std::string& b) {
  try {
    const auto one = connect_string::parse(a), other = connect_string::parse(b);
    return one.chroot == other.chroot &&
           std::find_first_of(one.hosts.begin(), one.hosts.end(), other.hosts.begin(),
                              other.hosts.end()) != one.hosts.end();
  } catch (const error&) {
    return false;  // the text in the environment is invalid
  }
}

bool excludes(held_lock::kind held, held_lock::kind wanted) {
  using kind = held_lock::kind;
  if (held == kind::permit || held == kind::election || wanted == kind::permit ||
      wanted == kind::election)
    return held == wanted;
  return held == kind::exclusive || wanted == kind::exclusive;
}

}  // namespace

held_lock held_lock::of(const hold& held, kind what, std::string hosts,
                        std::vector<std::string> paths) {
  return {what, std::move(hosts), std::move(paths), held.node(), held.session_id()};
}

held_locks held_locks::from_environment() {
  held_locks found;
  const char* const text = std::getenv(variable);
  for (const auto& line : split(text == nullptr ? "" : text, between_locks))
    if (auto l = parse(line)) found.all_.push_back(std::move(*l));
  return found;
}

std::pair<std::string, std::string> held_locks::with(const held_lock& another) const {
  std::string text;
  for (const auto& l : all_) text += line_of(l) + between_locks;
  return {variable, text + line_of(another)};
}

std::vector<held_lock> held_locks::blocking(const held_lock& wanted) const {
  std::vector<held_lock> found;
  for (const auto& l : all_)
    if (excludes(l.what, wanted.what) &&
        std::find_first_of(l.paths.begin(), l.paths.end(), wanted.paths.begin(),
                           wanted.paths.end()) != l.paths.end() &&
        same_server(l.hosts, wanted.hosts))
      found.push_back(l);
  return found;
}

}  // namespace conclave::cli
