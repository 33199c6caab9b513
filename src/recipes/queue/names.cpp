#include "recipes/queue/names.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <tuple>
#include <utility>

#include "conclave/queue_item.hpp"
#include "recipes/sequence_number.hpp"

namespace conclave {

const char* to_string(queue_layout l) noexcept {
  switch (l) {
    case queue_layout::zookeeper: return "zookeeper";
    case queue_layout::kazoo: return "kazoo";
    case queue_layout::kazoo_locking: return "kazoo-locking";
  }
  return "";
}

namespace recipes {
namespace {

// The prefixes of item names without and with priorities.
constexpr std::string_view plain = "qn-";
constexpr std::string_view entry = "entry-";
constexpr std::size_t priority_digits = 3;
// The folder of the items in the layout kazoo_locking.
constexpr std::string_view locking_entries = "entries";

std::optional<int> parse_priority(std::string_view text) {
  unsigned n = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return static_cast<int>(n);
}

template <class Parse>
std::vector<item_name> sorted(const std::vector<std::string>& children, Parse parse) {
  std::vector<item_name> all;
  all.reserve(children.size());
  for (const auto& child : children)
    if (auto name = parse(child)) all.push_back(std::move(*name));
  const auto precedes = [](const item_name& a, const item_name& b) {
    return std::tie(a.priority, a.number, a.text) < std::tie(b.priority, b.number, b.text);
  };
  // The embedded server lists children by name, which is the order of the queue in most cases.
  if (!std::is_sorted(all.begin(), all.end(), precedes))
    std::sort(all.begin(), all.end(), precedes);
  return all;
}

}  // namespace

std::optional<queue_layout> layout_of_queue(const std::vector<std::string>& children,
                                            const std::vector<std::string>* entries) {
  // Other programs may use a folder with this name for other purposes.
  const queue_names entry_names{{}, queue_layout::kazoo_locking};
  const bool is_locking =
      entries != nullptr && std::all_of(entries->begin(), entries->end(), [&](const auto& name) {
        return entry_names.parse(name).has_value();
      });
  if (is_locking && !entries->empty()) return queue_layout::kazoo_locking;
  for (const auto l : {queue_layout::zookeeper, queue_layout::kazoo})
    if (queue_names{{}, l}.has_item(children)) return l;
  return is_locking ? std::optional{queue_layout::kazoo_locking} : std::nullopt;
}

queue_names::queue_names(std::string path, queue_layout l)
    : layout_{l}, path_{std::move(path)}, internal_{path_ + std::string{internal_suffix}} {
  const bool locking = l == queue_layout::kazoo_locking;
  items_ = locking ? path_ + '/' + std::string{locking_entries} : path_;
  claims_ = locking ? path_ + "/taken" : internal("taken");
}

std::string queue_names::prefix(int priority) const {
  if (!has_priorities()) return item(plain);
  char digits[16];
  std::snprintf(digits, sizeof digits, "%03d-", priority);
  return item(entry) + digits;
}

std::optional<item_name> queue_names::parse(std::string_view name) const {
  item_name found{std::string{name}, default_priority, 0};
  auto number = name;
  if (!has_priorities()) {
    if (!name.starts_with(plain)) return std::nullopt;
    number.remove_prefix(plain.size());
  } else {
    if (!name.starts_with(entry)) return std::nullopt;
    number.remove_prefix(entry.size());
    if (number.size() <= priority_digits || number[priority_digits] != '-') return std::nullopt;
    const auto priority = parse_priority(number.substr(0, priority_digits));
    if (!priority) return std::nullopt;
    found.priority = *priority;
    number.remove_prefix(priority_digits + 1);
  }
  for (const auto& each : split_sequence_number(number)) {
    if (!each || !each->prefix.empty()) continue;
    found.number = static_cast<std::uint32_t>(each->number);
    return found;
  }
  return std::nullopt;
}

std::vector<item_name> queue_names::in_order(const std::vector<std::string>& children) const {
  return sorted(children, [this](const std::string& name) { return parse(name); });
}

bool queue_names::has_only_another_layout(const std::vector<std::string>& children) const {
  const queue_names other{{}, has_priorities() ? queue_layout::zookeeper : queue_layout::kazoo};
  bool found = false;
  for (const auto& child : children) {
    if (parse(child)) return false;
    found = found || other.parse(child);
  }
  return found;
}

bool queue_names::has_item(const std::vector<std::string>& children) const {
  return std::any_of(children.begin(), children.end(),
                     [this](const std::string& name) { return parse(name).has_value(); });
}

std::string queue_names::other_place_of_items(const std::vector<std::string>& children,
                                              bool exists) const {
  if (claims_only()) return exists ? std::string{} : path_;
  if (has_item(children)) return {};
  const bool has_entries =
      std::find(children.begin(), children.end(), locking_entries) != children.end();
  return has_entries ? item(locking_entries) : std::string{};
}

bool queue_names::is_elsewhere(const std::vector<std::string>& children,
                               const std::vector<std::string>& others) const {
  const auto found =
      claims_only() ? layout_of_queue(others, nullptr) : layout_of_queue(children, &others);
  return found && *found != layout_;
}

std::string queue_names::set_aside_item(std::string_view name, std::int64_t czxid) const {
  char suffix[20];
  std::snprintf(suffix, sizeof suffix, ".%llx", static_cast<unsigned long long>(czxid));
  return set_aside() + '/' + std::string{name} + suffix;
}

std::optional<item_name> queue_names::parse_set_aside(std::string_view name) const {
  auto found = parse(name.substr(0, name.find('.')));
  if (found) found->text = name;
  return found;
}

std::vector<item_name> queue_names::set_aside_in_order(
    const std::vector<std::string>& children) const {
  return sorted(children, [this](const std::string& name) { return parse_set_aside(name); });
}

}  // namespace recipes
}  // namespace conclave
