// A client of the ensemble model: a session machine and the session_context for its recipes.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "recipes/session_context.hpp"
#include "session/machine.hpp"
#include "simulation/ensemble/ensemble.hpp"

namespace conclave::simulated {

class ensemble_client final : public recipes::session_context,
                              public std::enable_shared_from_this<ensemble_client> {
 public:
  ensemble_client(ensemble& e, std::size_t server, std::chrono::milliseconds session_timeout,
                  std::uint64_t seed);
  void start();
  bool is_connected() const { return machine_.state() == session_state::connected; }
  std::size_t server() const noexcept { return server_; }

  // --- session_context

  void submit(std::unique_ptr<session::operation> op) override;
  void forget_watch(const std::string& path, watch_kind kind, const watcher& w) override;
  void cork() override { ++corks_; }
  void uncork() override;
  session_view session() const override;
  recipes::time_point now() const override {
    return recipes::time_point{std::chrono::hours{1} + ensemble_.now()};
  }
  std::shared_ptr<const recipes::session_clock> clock() const override {
    return shared_from_this();
  }
  std::uint64_t random() override { return random_(); }

 protected:
  void wake_at(recipes::time_point when) override;

 private:
  void flush();
  void pump();
  void request_pump();
  void dispatch(session::notice& n);
  void schedule_timer();
  void timer(instant planned);

  ensemble& ensemble_;
  std::size_t server_;
  std::mt19937_64 random_;
  session::machine machine_;
  ensemble::connection_id connection_ = 0;  // 0 until the client has connected
  int corks_ = 0;
  bool pumping_ = false;
  bool pump_requested_ = false;
  std::vector<std::pair<std::unique_ptr<session::operation>, error_code>> refused_;
  recipes::time_point wake_ = recipes::time_point::max();
  instant timer_ = instant::max();
};

}  // namespace conclave::simulated
