#include "cli/run/requested_lock.hpp"

#include "cli/exit_code.hpp"
#include "conclave/inspect.hpp"
#include "conclave/multi_mutex.hpp"
#include "conclave/mutex.hpp"
#include "conclave/semaphore.hpp"
#include "conclave/shared_mutex.hpp"

namespace conclave::cli {
namespace {

using limit_type = std::optional<std::chrono::milliseconds>;
using done_type = std::function<void(error_code, bool)>;

template <class Kind>
class lock_of_kind : public requested_lock {
 public:
  template <class... Arguments>
  explicit lock_of_kind(Arguments&&... a) : kind_{std::forward<Arguments>(a)...} {}

  void acquire(limit_type limit, done_type done) override {
    if (limit) return try_for(*limit, std::move(done));
    auto granted = [done = std::move(done)](error_code ec) { done(ec, !ec); };
    if constexpr (is_shared)
      kind_.async_lock_shared(std::move(granted));
    else if constexpr (is_semaphore)
      kind_.async_acquire(std::move(granted));
    else
      kind_.async_lock(std::move(granted));
  }
  conclave::hold hold() const override {
    if constexpr (is_shared)
      return kind_.shared_hold();
    else
      return kind_.hold();
  }

 private:
  static constexpr bool is_shared = std::is_same_v<Kind, shared_mutex>;
  static constexpr bool is_semaphore = std::is_same_v<Kind, semaphore>;

  void try_for(std::chrono::milliseconds limit, done_type done) {
    if constexpr (is_shared)
      kind_.async_try_lock_shared_for(limit, std::move(done));
    else if constexpr (is_semaphore)
      kind_.async_try_acquire_for(limit, std::move(done));
    else
      kind_.async_try_lock_for(limit, std::move(done));
  }

  Kind kind_;
};

}  // namespace

void requested_lock::check(const description& d) {
  if (d.paths.size() > 1 && (d.shared || d.permits != 0))
    throw failure{usage, "--shared and --permits need exactly one PATH"};
  if (d.shared && d.permits != 0)
    throw failure{usage, "--shared and --permits are both given; use only one of them"};
}

std::unique_ptr<requested_lock> requested_lock::make(client& zk, description d) {
  if (d.paths.size() > 1)
    return std::make_unique<lock_of_kind<multi_mutex>>(zk, std::move(d.paths),
                                                       std::move(d.options));
  auto& path = d.paths.front();
  if (d.permits != 0)
    return std::make_unique<lock_of_kind<semaphore>>(zk, std::move(path), d.permits,
                                                     std::move(d.options));
  if (d.shared)
    return std::make_unique<lock_of_kind<shared_mutex>>(zk, std::move(path), std::move(d.options));
  return std::make_unique<lock_of_kind<mutex>>(zk, std::move(path), std::move(d.options));
}

namespace {

const std::vector<layout>& named_layouts() {
  static const std::vector<layout> all{layout::curator(), layout::kazoo(), layout::zookeeper()};
  return all;
}

}  // namespace

layout parse_layout(const std::string& text) {
  for (const auto& l : named_layouts())
    if (l.name() == text) return l;
  if (text == layout::leader_latch().name())
    throw failure{usage, "layout '" + text + "' is for elections; use conclave elect"};
  if (text.find('-') == std::string::npos && text.find('_') == std::string::npos)
    throw failure{
        usage,
        "unknown layout '" + text +
            "'; use curator, kazoo, zookeeper, or a prefix of node names that contains - or _"};
  try {
    return layout::custom(text);
  } catch (const error&) {
    throw failure{
        usage, "'" + text + "' cannot be a prefix of node names; use at most one * and no slash"};
  }
}

namespace {

std::string layout_advice(const std::string& layout) {
  for (const auto& known : named_layouts())
    if (layout == known.name()) return "; pass --layout " + layout + " to share the lock with it";
  return "; use another path";
}

// Returns why this path is refused. Empty if the reason no longer exists.
std::string why_refused(client& zk, const std::string& path, const requested_lock::description& d) {
  const auto children = zk.children(path).names;
  if (d.permits != 0) {
    for (const auto& name : children)
      if (layout::in_known_layout(name))
        return "node " + name + " belongs to a lock without permits; leave out --permits";
    if (const auto n = recorded_permits(zk.get(path)))
      return "it is in use with " + std::to_string(*n) + " permits; pass --permits " +
             std::to_string(*n);
    return {};
  }
  const auto& own_layout = d.options.layout;
  const auto own_role = d.shared ? layout::role::reader : layout::role::exclusive;
  for (const auto& name : children)
    if (!own_layout.parse_for(own_role, name) && layout::in_known_layout(name))
      return own_layout.explain_mismatch(name) + (own_layout.parse(name)
                                                      ? "; use another path"
                                                      : layout_advice(layout::known_as(name)));
  if (const auto n = recorded_permits(zk.get(path)))
    return "it is in use with permits; pass --permits " + std::to_string(*n);
  return {};
}

}  // namespace

failure disagreement(client& zk, const requested_lock::description& d, error_code ec) {
  for (const auto& path : d.paths) try {
      if (const auto why = why_refused(zk, path, d); !why.empty())
        return {disagrees, "lock " + path + ": " + why};
    } catch (const error&) {
      // The nodes have changed in the meantime, or we are not permitted to read them.
    }
  return {disagrees, "lock " + d.paths.front() + ": " + ec.message()};
}

std::vector<layout> extra_layouts(const std::string& text) {
  if (text.empty()) return {};
  return {parse_layout(text)};
}

}  // namespace conclave::cli
