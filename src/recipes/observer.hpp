// Who leads an election, for somebody who does not stand in it.
//
// Looks at the line, reads its first node and leaves a watch on it. When that node goes, it looks
// again; so a change of leaders costs one look, and a candidate that comes or goes costs nothing.
// Where there is no candidate it watches for children, where there is not even a path, for that.
// A lost connection changes nothing, since watches survive it. In a new session it begins again.
//
// All members are called inside a session_context::scope.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "conclave/contenders.hpp"
#include "conclave/layout.hpp"
#include "recipes/request.hpp"
#include "recipes/session_context.hpp"
#include "recipes/task.hpp"
#include "recipes/wakeup.hpp"

namespace conclave::recipes {

class observer final : public session_listener, public std::enable_shared_from_this<observer> {
 public:
  // Through session_context::post(): at first, and when it is another one. None: there is no
  // candidate.
  using callback = std::function<void(const std::optional<contender_info>&)>;

  observer(std::shared_ptr<session_context> p, std::string path, layout names, callback c);
  ~observer();

  void start();
  // Takes its watch away, and tells nothing any more but what is on its way.
  void stop();

  void session_changed(const session_event& e) override;

 private:
  // No error: a watch will tell when to look again.
  task<> run();
  task<error_code> find_leader();
  task<error_code> oldest_of(const std::vector<std::string>& names, std::string& oldest);
  task<error_code> watch_leader(std::string name);
  task<error_code> watch_for_candidates();
  task<error_code> watch_for_path();
  task<> pause(duration d);

  const watcher& new_watch(std::string path, watch_kind kind);
  void forget_watch();
  void report(const std::optional<contender_info>& leader);
  void end();
  template <class Result>
  pending_reply<Result> send(requests::request<Result> r) {
    return recipes::send(context_, shared_from_this(), std::move(r));
  }

  std::shared_ptr<session_context> context_;
  std::string path_;
  layout names_;
  callback callback_;
  task<> run_;
  wakeup wakeup_;
  bool listens_ = true;
  bool stopped_ = false;
  bool watch_fired_ = false;      // what is watched has changed, or the watch is gone
  bool session_changed_ = false;  // there is another connection or session

  struct watch {
    std::string path;
    watch_kind kind;
    watcher w;
  };
  std::optional<watch> watch_;
  std::uint64_t watches_ = 0;
  std::optional<std::pair<std::string, std::int64_t>> reported_;  // the node and its czxid
};

}  // namespace conclave::recipes
