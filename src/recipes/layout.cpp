#include "conclave/layout.hpp"

#include <algorithm>

#include "conclave/error.hpp"
#include "recipes/sequence_number.hpp"

namespace conclave {
namespace {

using role = layout::role;

}  // namespace

layout::pattern layout::make(role r, std::string_view text) {
  if (text.empty() || text.find('/') != text.npos || std::count(text.begin(), text.end(), '*') > 1)
    throw error{errc::invalid_argument, "layout pattern '" + std::string{text} + "'"};
  const auto star = text.find('*');
  if (star == text.npos) return {r, std::string{text}, std::nullopt};
  return {r, std::string{text.substr(0, star)}, std::string{text.substr(star + 1)}};
}

layout layout::of(std::string name,
                  std::initializer_list<std::pair<role, std::string_view>> patterns,
                  std::string filling) {
  auto made = std::make_shared<std::vector<pattern>>();
  for (const auto& [r, text] : patterns) made->push_back(make(r, text));
  if (filling.find('/') != filling.npos)
    throw error{errc::invalid_argument, "layout filling '" + filling + "'"};
  layout l;
  l.patterns_ = std::move(made);
  l.filling_ = std::move(filling);
  l.name_ = std::move(name);
  return l;
}

layout layout::of_election(std::string name,
                           std::initializer_list<std::pair<role, std::string_view>> patterns) {
  auto l = of(std::move(name), patterns, {});
  l.is_for_elections_ = true;
  return l;
}

// All locks share the patterns of these layouts.

layout layout::curator() {
  static const auto shared = of("curator",
                                {{role::exclusive, "lock-"},
                                 {role::exclusive, "_c_*-lock-"},
                                 {role::reader, "__READ__"},
                                 {role::reader, "_c_*-__READ__"},
                                 {role::writer, "__WRIT__"},
                                 {role::writer, "_c_*-__WRIT__"}},
                                {});
  return shared;
}

layout layout::kazoo() {
  static const auto shared = of("kazoo",
                                {{role::exclusive, "__lock__"},
                                 {role::exclusive, "*__lock__"},
                                 {role::writer, "__lock__"},
                                 {role::writer, "*__lock__"},
                                 {role::reader, "__rlock__"},
                                 {role::reader, "*__rlock__"}},
                                {});
  return shared;
}

layout layout::zookeeper() {
  static const auto shared = of("zookeeper",
                                {{role::exclusive, "x-"},
                                 {role::exclusive, "x-*-"},
                                 {role::reader, "read-"},
                                 {role::writer, "write-"}},
                                {});
  return shared;
}

layout layout::election() {
  static const auto shared = of_election("election", {{role::exclusive, "n_"}});
  return shared;
}

layout layout::leader_latch() {
  static const auto shared =
      of_election("leader-latch", {{role::exclusive, "latch-"}, {role::exclusive, "_c_*-latch-"}});
  return shared;
}

layout layout::custom(std::string exclusive, std::string filling) {
  return of(exclusive, {{role::exclusive, exclusive}}, std::move(filling));
}

layout layout::custom_shared(std::string read, std::string write, std::string filling) {
  return of(write, {{role::reader, read}, {role::writer, write}}, std::move(filling));
}

std::string layout::name_prefix(role r) const {
  const auto p = std::find_if(patterns_->begin(), patterns_->end(),
                              [&](const pattern& x) { return x.role == r; });
  if (p == patterns_->end()) return {};
  return p->tail ? p->head + filling_ + *p->tail : p->head;
}

std::optional<std::int32_t> layout::match(const pattern& p, std::string_view name) {
  for (const auto& each : recipes::split_sequence_number(name)) {
    if (!each) continue;
    const auto& [text, number] = *each;
    const bool fits = p.tail ? text.size() >= p.head.size() + p.tail->size() &&
                                   text.starts_with(p.head) && text.ends_with(*p.tail)
                             : text == p.head;
    if (fits) return number;
  }
  return std::nullopt;
}

std::optional<layout::contender> layout::parse(std::string_view name) const {
  for (const auto& p : *patterns_) {
    const auto number = match(p, name);
    if (!number) continue;
    const auto first = std::find_if(patterns_->begin(), patterns_->end(),
                                    [&](const pattern& x) { return x.role == p.role; });
    bool ours = &*first == &p;
    if (ours && p.tail) {
      const auto behind = name.substr(p.head.size());
      ours = behind.starts_with(filling_) && behind.substr(filling_.size()).starts_with(*p.tail);
    }
    return contender{p.role, *number, ours};
  }
  return std::nullopt;
}

// Mutexes, readers and writers of Conclave wait for each other. In other libraries, mutexes ignore
// readers and writers, and readers and writers ignore mutexes, unless writers and mutexes have the
// same names.
bool layout::share_wait_queue(role own, const contender& other) const {
  return other.ours || (own == role::exclusive) == (other.role == role::exclusive) ||
         name_prefix(role::writer) == name_prefix(role::exclusive);
}

std::optional<layout::contender> layout::parse_for(role own, std::string_view name) const {
  auto c = parse(name);
  if (c && !share_wait_queue(own, *c)) c.reset();
  return c;
}

const std::vector<layout>& layout::known() {
  static const std::vector<layout> all{curator(),
                                       kazoo(),
                                       zookeeper(),
                                       election(),
                                       leader_latch(),
                                       custom("lock-*-"),
                                       custom_shared("*-R-", "*-W-")};
  return all;
}

std::string layout::known_as(std::string_view name) {
  for (const auto& l : known())
    if (l.parse(name)) return l.name();
  return {};
}

bool layout::in_known_layout(std::string_view name) {
  return std::any_of(known().begin(), known().end(),
                     [&](const layout& l) { return l.parse(name).has_value(); });
}

bool layout::may_be_writer(std::string_view name) {
  for (const auto& l : known())
    for (const auto& p : *l.patterns_)
      if (p.role == role::writer && match(p, name)) return true;
  return false;
}

std::string layout::explain_mismatch(std::string_view child) const {
  const auto node = "node " + std::string{child};
  const auto mine = parse(child);
  if (!mine)
    return node + " has the layout " + known_as(child) + ", but this lock has the layout " + name_;
  const bool exclusive = mine->role == role::exclusive;
  return node + " is another library's " + (exclusive ? "mutex" : "reader or writer") +
         ", which does not see " + (exclusive ? "readers and writers" : "mutexes");
}

const char* to_string(layout::role r) noexcept {
  switch (r) {
    case layout::role::reader: return "reader";
    case layout::role::writer: return "writer";
    case layout::role::exclusive: break;
  }
  return "exclusive";
}

}  // namespace conclave
