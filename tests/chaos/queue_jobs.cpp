// Jobs that push, pop and claim items.
#include <vector>

#include "chaos/job.hpp"
#include "chaos/recorded_hold.hpp"
#include "conclave/queue.hpp"

namespace conclave::chaos {
namespace {

using namespace std::chrono_literals;

bool is_outcome_unknown(const error_code& ec) {
  return ec == condition::session_dead || ec == condition::outcome_unknown;
}

class push_job : public job {
 public:
  push_job(worker_context& s, const char* path) : s_{s}, queue_{s.zk, path, options()} {}
  void once() override {
    std::vector<std::string> items;
    for (auto n = s_.between(1, 3).count(); n > 0; --n)
      items.push_back(s_.name + '.' + std::to_string(next_++));
    for (const auto& item : items) s_.log.write("pushing", {item});
    const char* fate = "unknown";
    try {
      fate = queue_.push_for(2s, items) ? "done" : "refused";
    } catch (const error& e) {
      if (e.code() == errc::not_connected)
        fate = "refused";
      else if (!is_outcome_unknown(e.code()))
        throw;
    }
    for (const auto& item : items) s_.log.write("pushed", {item, fate});
    s_.pause(s_.between(0, 40));
  }

 private:
  static queue_options options() {
    queue_options o;
    o.capacity = 40;
    return o;
  }
  worker_context& s_;
  queue queue_;
  int next_ = 0;
};

class pop_job : public job {
 public:
  explicit pop_job(worker_context& s) : s_{s} {}
  void once() override {
    s_.log.write("popping");
    try {
      const auto item = queue_.pop_for(1s);
      s_.log.write("popped", {item ? item->data : "-"});
    } catch (const error& e) {
      if (e.code() == errc::not_connected)
        s_.log.write("popped", {"-"});
      else if (is_outcome_unknown(e.code()))
        s_.log.write("pop-unknown");
      else
        throw;
    }
    s_.pause(s_.between(0, 15));
  }

 private:
  worker_context& s_;
  queue queue_{s_.zk, queue_path};
};

class claim_job : public job {
 public:
  explicit claim_job(worker_context& s) : s_{s} {}
  void once() override {
    auto claim = queue_.claim_for(1s);
    if (!claim) return;
    const auto item = claim->data();
    recorded_hold stay{s_, claim->hold(), {std::string{claims_path} + '/' + claim->name()}};
    if (!stay.stay(s_.chance(0.15) ? s_.between(200, 2500) : s_.between(1, 20))) return;
    if (s_.chance(0.1)) return claim->release();
    s_.log.write("completing", {item});
    const char* fate = "unknown";
    try {
      claim->complete();
      fate = "done";
    } catch (const error& e) {
      if (e.code() == errc::lock_lost)
        fate = "lost";
      else if (!is_outcome_unknown(e.code()))
        throw;
    }
    s_.log.write("completed", {item, fate});
  }

 private:
  worker_context& s_;
  queue queue_{s_.zk, claims_path};
};

}  // namespace

std::unique_ptr<job> make_queue_job(std::string_view kind, worker_context& s) {
  if (kind == "push") return std::make_unique<push_job>(s, queue_path);
  if (kind == "push-claims") return std::make_unique<push_job>(s, claims_path);
  if (kind == "pop") return std::make_unique<pop_job>(s);
  if (kind == "claim") return std::make_unique<claim_job>(s);
  return nullptr;
}

}  // namespace conclave::chaos
