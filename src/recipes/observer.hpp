// Reports the leader of an election to a program that is not a candidate.
//
// The observer lists the candidates, reads the node of the first one and watches it. When that node
// is deleted, the observer lists again. So a change of the leader costs one listing, and no request
// is sent when other candidates join or leave. If there is no candidate, the observer watches the
// children of the path. If the path does not exist, it watches for the creation of the path. A lost
// connection changes nothing, because watches survive it. In a new session the observer starts
// again.
//
// All members must be called inside a session_context::scope.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "conclave/contender_info.hpp"
#include "conclave/layout.hpp"
#include "recipes/request.hpp"
#include "recipes/session_context.hpp"
#include "recipes/task.hpp"
#include "recipes/wakeup.hpp"

namespace conclave::recipes {

class observer final : public session_listener, public std::enable_shared_from_this<observer> {
 public:
  // Called through session_context::post(), first with the current leader and then after every
  // change of the leader. The argument is empty if there is no candidate.
  using callback = std::function<void(const std::optional<contender_info>&)>;

  observer(std::shared_ptr<session_context> context, std::string path, layout names, callback c);
  ~observer();

  void start();
  // Removes the watch. Callbacks that were already posted still run, but no others.
  void stop();

  void session_changed(const session_event& e) override;

 private:
  // If find_leader() or a watch_ function succeeds, it has set a watch that reports the next
  // change.
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
  bool watch_fired_ = false;      // the watched node has changed, or the session ended
  bool session_changed_ = false;  // there is a new connection, or the session ended

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
