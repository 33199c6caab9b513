#include "conclave/contenders.hpp"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "client/call.hpp"
#include "client/contenders.hpp"
#include "recipes/describe.hpp"
#include "recipes/parent_record.hpp"
#include "recipes/sequence_number.hpp"

namespace conclave {
namespace {

struct found {
  layout::contender parsed;
  contender_info info;
};

// Sorts by sequence number. Where sequence numbers are exhausted they give no order, so it sorts by
// creation.
void sort(std::vector<found>& line) {
  recipes::number_range numbers;
  for (const auto& f : line) numbers.add(f.parsed.number);
  const bool by_age = numbers.ordered_by_age();
  std::sort(line.begin(), line.end(), [&](const found& a, const found& b) {
    const auto age =
        std::tie(a.info.fencing_token, a.info.node) < std::tie(b.info.fencing_token, b.info.node);
    return by_age || a.parsed.number == b.parsed.number ? age : a.parsed.number < b.parsed.number;
  });
}

// The ten digits that the server appends to the name of a sequential node.
std::optional<std::int64_t> sequence_number(std::string_view node) {
  constexpr std::size_t digits = 10;
  if (node.size() < digits) return {};
  node.remove_prefix(node.size() - digits);
  std::int64_t number = 0;
  const auto [stop, ec] = std::from_chars(node.data(), node.data() + digits, number);
  if (ec != std::errc{} || stop != node.data() + digits) return {};
  return number;
}

}  // namespace

namespace detail {

std::vector<std::string> children_of(const core_pointer& core, const std::string& path) {
  try {
    return block("children " + path, core, &start_listing, path).names;
  } catch (const error& e) {
    if (e.code() == errc::no_node) return {};
    throw;
  }
}

std::vector<contender_info> contenders(const core_pointer& core, const std::string& path,
                                       const layout& names) {
  std::vector<found> line;
  for (const auto& name : children_of(core, path)) {
    if (const auto parsed = names.parse(name)) {
      contender_info info;
      info.node = path + '/' + name;
      info.role = parsed->role;
      line.push_back({*parsed, std::move(info)});
    } else if (layout::known_elsewhere(name)) {
      throw error{errc::layout_mismatch,
                  "contenders of " + path + " (" + names.explain_mismatch(name) + ")"};
    }
  }
  get_result lock;  // the lock's path, read after the contenders' nodes
  for (auto from = line.begin(); from != line.end();) {
    constexpr std::ptrdiff_t group_size = 500;
    read_group group;
    auto end = from;
    for (; end != line.end() && end - from < group_size; ++end) group.get(end->info.node);
    if (end == line.end()) group.get(path);
    for (auto& got : block("read", core, &start_read, std::move(group))) {
      if (from == end) {
        if (!got.ec) lock = {std::move(got.data), got.stat};
        break;
      }
      auto& info = (from++)->info;
      if (got.ec == errc::no_node) continue;  // deleted since the listing
      if (got.ec) throw error{got.ec, "get " + info.node};
      recipes::describe(info, got.data, got.stat);
    }
  }
  std::erase_if(line, [](const found& f) { return f.info.fencing_token == 0; });
  sort(line);
  std::vector<contender_info> all;
  bool only_readers = true;  // all contenders ahead of this one are readers
  for (auto& f : line) {
    const bool reads = f.info.role == layout::role::reader;
    f.info.holds = all.empty() || (reads && only_readers);
    only_readers = only_readers && reads;
    all.push_back(std::move(f.info));
  }
  std::vector<contender_info*> each;
  for (auto& info : all) each.push_back(&info);
  estimate_grants(lock, each);
  return all;
}

}  // namespace detail

std::vector<contender_info> contenders(client& c, const std::string& path, const layout& names) {
  return detail::contenders(detail::core_access::of(c), path, names);
}

contender_info describe_contender(std::string node, const get_result& read) {
  contender_info info;
  info.node = std::move(node);
  recipes::describe(info, read.data, read.stat);
  return info;
}

void estimate_grants(const get_result& lock, const std::vector<contender_info*>& contenders) {
  const auto& path = lock.stat;
  const auto served = recipes::parse_parent_record(lock.data, path).served;
  // If this contender's creation was the last change of the children, no contender has left since.
  std::optional<std::chrono::system_clock::time_point> nobody_left_since;
  for (const auto* const c : contenders)
    if (c->fencing_token == path.pzxid) nobody_left_since = c->since;
  for (auto* const c : contenders) {
    if (!c->holds) continue;
    auto& grant = c->granted.emplace();
    grant.earliest = c->since;
    const auto number = sequence_number(c->node);
    const bool follows_record = served && number && *served < *number;
    // The previous exclusive holder wrote the record when it released the lock.
    const bool waited_for_release = follows_record && path.mzxid > c->fencing_token;
    if (waited_for_release)
      grant.earliest = std::max(
          c->since, std::chrono::system_clock::time_point{std::chrono::milliseconds{path.mtime}});
    const bool was_next = number == 0 || (follows_record && *number == *served + 1);
    if (was_next || (waited_for_release && path.mzxid == path.pzxid))
      grant.latest = grant.earliest;
    else if (nobody_left_since)
      grant.latest = std::max(grant.earliest, *nobody_left_since);
  }
}

void ask_to_release(client& c, const std::string& node) {
  while (true) {
    const auto found = c.get(node);
    try {
      c.set(node, recipes::ask_to_release(found.data), found.stat.version);
      return;
    } catch (const error& e) {
      if (e.code() != errc::bad_version) throw;  // another client wrote the node
    }
  }
}

}  // namespace conclave
