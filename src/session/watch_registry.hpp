// Stores the watches of a session. It finds the watchers for each watch event, and sets the watches
// again on a new connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "conclave/watch.hpp"
#include "session/watcher_list.hpp"
#include "wire/records.hpp"

namespace conclave::session {

// The server's five kinds of watches. `exist` is a watch set by exists() on a missing node.
enum class watch_slot { data, exist, child, persistent, recursive };
inline constexpr std::size_t watch_slots = 5;

class watch_registry {
 public:
  // Adds a watcher to this path. In all functions, paths include the chroot.
  void add(watch_slot slot, std::string_view path, const watcher& w,
           watch_owner owner = watch_owner::program);

  // Returns each watcher for an event once, and removes one-shot watches.
  std::vector<watcher> trigger(watch_event::kind type, std::string_view path);

  // Removes w from the watches of this kind, or all watchers of the program if w is empty. Returns
  // the removed watchers. Sets `emptied` to true if no remaining watcher needs the server's watch.
  std::vector<watcher> remove(watch_kind kind, std::string_view path, const watcher& w,
                              bool& emptied);

  // Removes all watchers and returns them with their paths.
  std::vector<std::pair<std::string, watcher>> take_all();

  // Returns the watchers of persistent watches, each with its path.
  std::vector<std::pair<std::string, watcher>> persistent() const;

  // Returns true if a persistent watch on this path delivers all events of the given one-shot
  // watch.
  bool has_persistent(watch_slot one_shot, std::string_view path) const;
  // Returns true if there is any watch on this path.
  bool contains(std::string_view path) const;

  std::size_t size() const noexcept;  // number of watched paths, summed over all kinds

  // Returns request frames that set all watches on a new connection. The server reports the changes
  // after `seen_zxid`. Each frame is at most
  // `max_bytes` long, unless a single path is longer. Uses setWatches where possible, because
  // servers before ZooKeeper 3.6 do not know setWatches2.
  std::vector<std::string> rearm_frames(std::int64_t seen_zxid, std::size_t max_bytes) const;

 private:
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept {
      return std::hash<std::string_view>{}(s);
    }
  };
  using watched = std::unordered_map<std::string, watcher_list, hash, std::equal_to<>>;

  watched& at(watch_slot slot) { return slots_[static_cast<std::size_t>(slot)]; }
  const watched& at(watch_slot slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  void collect(watch_slot slot, std::string_view path, bool once, watcher_list& into);

  watched slots_[watch_slots];
};

}  // namespace conclave::session
