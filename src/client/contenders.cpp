#include "conclave/contenders.hpp"

#include <algorithm>
#include <tuple>

#include "client/blocking.hpp"
#include "client/contenders.hpp"
#include "recipes/describe.hpp"
#include "recipes/numbers.hpp"
#include "recipes/revocation.hpp"

namespace conclave {
namespace {

struct found {
  layout::contender parsed;
  contender_info info;
};

// The line's order is that of the numbers, or of creation where the numbers have come to their end.
void sort(std::vector<found>& line) {
  const bool by_age = std::any_of(line.begin(), line.end(), [](const found& f) {
    return recipes::near_the_end(f.parsed.number);
  });
  std::sort(line.begin(), line.end(), [&](const found& a, const found& b) {
    const auto age =
        std::tie(a.info.fencing_token, a.info.node) < std::tie(b.info.fencing_token, b.info.node);
    return by_age || a.parsed.number == b.parsed.number ? age : a.parsed.number < b.parsed.number;
  });
}

}  // namespace

namespace detail {

std::vector<std::string> children_of(const core_pointer& core, const std::string& path) {
  try {
    return block(("children " + path).c_str(), core, &start_children, path, watcher{}).names;
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
      throw error{errc::layout_mismatch, "contenders of " + path};
    }
  }
  for (auto from = line.begin(); from != line.end();) {
    constexpr std::ptrdiff_t at_once = 500;
    read_group group;
    for (auto f = from; f != line.end() && f - from < at_once; ++f) group.get(f->info.node);
    for (const auto& got : block("read", core, &start_read, std::move(group))) {
      auto& info = (from++)->info;
      if (got.ec == errc::no_node) continue;  // it has gone meanwhile
      if (got.ec) throw error{got.ec, "get " + info.node};
      recipes::describe(info, got.data, got.stat);
    }
  }
  std::erase_if(line, [](const found& f) { return f.info.fencing_token == 0; });
  sort(line);
  std::vector<contender_info> all;
  bool only_readers = true;  // before this one
  for (auto& f : line) {
    const bool reads = f.info.role == layout::role::reader;
    f.info.holds = all.empty() || (reads && only_readers);
    only_readers = only_readers && reads;
    all.push_back(std::move(f.info));
  }
  return all;
}

}  // namespace detail

std::vector<contender_info> contenders(client& c, const std::string& path, const layout& names) {
  return detail::contenders(detail::core_access::of(c), path, names);
}

void ask_to_release(client& c, const std::string& node) {
  c.set(node, std::string{recipes::revocation});
}

}  // namespace conclave
