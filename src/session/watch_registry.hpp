// The watches a session has left with its server, so that events find their watchers and a new
// connection can be told about them again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "conclave/watch.hpp"
#include "wire/records.hpp"

namespace conclave::session {

// The server's five kinds of watches. One left on a missing node by exists() waits for its
// creation.
enum class watch_slot { data, exist, child, persistent, recursive };
inline constexpr std::size_t watch_slots = 5;

class watch_registry {
 public:
  // Paths are the server's.
  void add(watch_slot slot, std::string_view path, const watcher& w);

  // The watchers that an event concerns, each once; one-shot watches are gone afterwards.
  std::vector<watcher> fire(watch_event::kind type, std::string_view path);

  // Takes w (or every watcher, if w is none) off the watches of that kind and returns them;
  // `emptied` tells whether nobody is left who needs the server's watch.
  std::vector<watcher> remove(watch_kind kind, std::string_view path, const watcher& w,
                              bool& emptied);

  // Every watcher with the path it watches; nothing is left.
  std::vector<std::pair<std::string, watcher>> take_all();

  // The watchers of add_watch, each with its path.
  std::vector<std::pair<std::string, watcher>> lasting() const;

  // Whether a watch left by add_watch on this very path tells all that the one-shot watch would.
  bool has_lasting(watch_slot one_shot, std::string_view path) const;
  // Whether anybody watches this very path, in whatever way.
  bool contains(std::string_view path) const;

  std::size_t size() const noexcept;  // watched paths, over all kinds

  // Frames that leave all watches with a new server, each below the size given (a path that is
  // longer stands alone): setWatches2, or setWatches where that says it all, since servers before
  // ZooKeeper 3.6 know no other.
  std::vector<std::string> rearm_frames(std::int64_t last_zxid, std::size_t max_bytes) const;

 private:
  struct hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept {
      return std::hash<std::string_view>{}(s);
    }
  };
  using watched = std::unordered_map<std::string, std::vector<watcher>, hash, std::equal_to<>>;

  watched& at(watch_slot slot) { return slots_[static_cast<std::size_t>(slot)]; }
  const watched& at(watch_slot slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  void collect(watch_slot slot, std::string_view path, bool once, std::vector<watcher>& into);

  watched slots_[watch_slots];
};

}  // namespace conclave::session
