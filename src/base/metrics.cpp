#include "conclave/metrics.hpp"

#include <cerrno>
#include <string>

#include "base/metric_counters.hpp"
#include "conclave/detail/prometheus_writer.hpp"

namespace conclave {
namespace {

bool is_cancelled(const error_code& ec) noexcept {
  return ec == error_code{ECANCELED, boost::system::system_category()};
}

using detail::prometheus_writer;

void sample(prometheus_writer& to, const std::string& labels, const duration_histogram& h) {
  to.sample(labels, h.limits, h.counts, h.sum);
}

std::string label(const char* name, const char* value) {
  return std::string{name} + "=\"" + value + "\"";
}

void losses(prometheus_writer& to, const std::string& labels,
            const metrics_snapshot::loss_counts& n) {
  const auto each = [&](const char* reason, std::uint64_t count) {
    to.sample(labels + label("reason", reason), count);
  };
  each("deadline_passed", n.deadline_passed);
  each("session_expired", n.session_expired);
  each("node_deleted", n.node_deleted);
  each("closed", n.closed);
  each("auth_failed", n.auth_failed);
}

void session_metrics(prometheus_writer& to, const metrics_snapshot::session_counts& s) {
  const auto counter = [&](const char* name, const char* help, std::uint64_t value) {
    to.family(name, "counter", help);
    to.sample("", value);
  };
  counter("conclave_sessions_total", "Number of sessions started.", s.started);
  counter("conclave_session_expiries_total", "Number of sessions that expired.", s.expired);
  counter("conclave_connections_lost_total", "Number of connections lost in an open session.",
          s.connections_lost);
  counter("conclave_reconnects_total", "Number of times a session continued on a new connection.",
          s.reconnects);
  counter("conclave_connect_failures_total", "Number of failed attempts to connect to a server.",
          s.failed_attempts);
}

void request_metrics(prometheus_writer& to, const metrics_snapshot::request_counts& r) {
  to.family("conclave_requests_total", "counter", "Number of completed requests.");
  to.sample(label("outcome", "succeeded"), r.succeeded);
  to.sample(label("outcome", "refused"), r.refused);
  to.sample(label("outcome", "unknown"), r.outcome_unknown);
  to.sample(label("outcome", "cancelled"), r.cancelled);
  to.sample(label("outcome", "failed"), r.failed);
  to.family("conclave_request_seconds", "histogram", "Time from sending a request to its reply.");
  sample(to, "", r.latency);
}

void lock_metrics(prometheus_writer& to, const metrics_snapshot& s) {
  const auto each = [&](const char* name, const char* type, const char* help, auto write) {
    to.family(name, type, help);
    for (std::size_t k = 0; k < lock_kind_count; ++k)
      write(label("kind", to_string(static_cast<lock_kind>(k))), s.locks[k]);
  };
  each("conclave_lock_calls_total", "counter", "Number of completed calls to acquire a lock.",
       [&](const auto& kind, const auto& n) {
         const auto outcome = [&](acquire_outcome o, std::uint64_t count) {
           to.sample(kind + "," + label("outcome", to_string(o)), count);
         };
         outcome(acquire_outcome::acquired, n.acquired);
         outcome(acquire_outcome::contended, n.contended);
         outcome(acquire_outcome::timed_out, n.timed_out);
         outcome(acquire_outcome::cancelled, n.cancelled);
         outcome(acquire_outcome::failed, n.failed);
       });
  const auto number = [&](auto value) {
    return [&to, value](const auto& kind, const auto& n) { to.sample(kind, value(n)); };
  };
  each("conclave_lock_local_grants_total", "counter",
       "Number of acquisitions that sent no request.",
       number([](const auto& n) { return n.local; }));
  each("conclave_lock_untimed_grants_total", "counter",
       "Number of acquisitions that the histograms do not contain.",
       number([](const auto& n) { return n.untimed; }));
  each("conclave_lock_waiting", "gauge", "Number of calls that wait for a lock.",
       number([](const auto& n) { return n.waiting; }));
  each("conclave_lock_holding", "gauge", "Number of timed holds.",
       number([](const auto& n) { return n.holding; }));
  each("conclave_lock_losses_total", "counter", "Number of holds that were lost.",
       [&](const auto& kind, const auto& n) { losses(to, kind + ",", n.lost); });
  each("conclave_lock_wait_seconds", "histogram", "Time from a call to the grant.",
       [&](const auto& kind, const auto& n) { sample(to, kind, n.wait); });
  each("conclave_lock_hold_seconds", "histogram", "Time from the grant to the release or the loss.",
       [&](const auto& kind, const auto& n) { sample(to, kind, n.hold); });
}

void queue_metrics(prometheus_writer& to, const metrics_snapshot::queue_counts& q) {
  const auto each = [&](auto write) {
    write(label("call", "push"), q.push);
    write(label("call", "pop"), q.pop);
    write(label("call", "claim"), q.claim);
    write(label("call", "complete"), q.complete);
  };
  to.family("conclave_queue_calls_total", "counter", "Number of completed calls.");
  each([&](const auto& call, const auto& n) {
    to.sample(call + "," + label("outcome", "succeeded"), n.succeeded);
    to.sample(call + "," + label("outcome", "unavailable"), n.unavailable);
    to.sample(call + "," + label("outcome", "cancelled"), n.cancelled);
    to.sample(call + "," + label("outcome", "failed"), n.failed);
  });
  to.family("conclave_queue_call_seconds", "histogram",
            "Time from a successful call to its result.");
  each([&](const auto& call, const auto& n) { sample(to, call, n.time); });
  to.family("conclave_queue_pushed_total", "counter", "Number of items pushed.");
  to.sample("", q.pushed_items);
  to.family("conclave_queue_popped_total", "counter", "Number of items popped or completed.");
  to.sample("", q.popped_items);
  to.family("conclave_queue_claims_released_total", "counter",
            "Number of claims released, so that the item returned to the queue.");
  to.sample("", q.released_claims);
  to.family("conclave_queue_claims_lost_total", "counter", "Number of claims that were lost.");
  losses(to, "", q.lost_claims);
  to.family("conclave_queue_claim_seconds", "histogram",
            "Time from a claim to its completion, release or loss.");
  sample(to, "", q.claim_time);
}

}  // namespace

// --- names

const char* to_string(lock_kind k) noexcept {
  switch (k) {
    case lock_kind::lock: return "lock";
    case lock_kind::read_write_lock: return "read_write_lock";
    case lock_kind::semaphore: return "semaphore";
    case lock_kind::election: return "election";
  }
  return "unknown";
}

const char* to_string(acquire_outcome o) noexcept {
  switch (o) {
    case acquire_outcome::acquired: return "acquired";
    case acquire_outcome::contended: return "contended";
    case acquire_outcome::timed_out: return "timed_out";
    case acquire_outcome::cancelled: return "cancelled";
    case acquire_outcome::failed: return "failed";
  }
  return "unknown";
}

// --- counting

void loss_counters::add(const error_code& why) noexcept {
  if (why == errc::deadline_passed)
    deadline_passed_.add();
  else if (why == errc::node_deleted)
    node_deleted_.add();
  else if (why == errc::closed)
    closed_.add();
  else if (why == errc::auth_failed)
    auth_failed_.add();
  else
    session_expired_.add();
}

metrics_snapshot::loss_counts loss_counters::read() const noexcept {
  return {deadline_passed_.read(), session_expired_.read(), node_deleted_.read(), closed_.read(),
          auth_failed_.read()};
}

void queue_call_counters::completed(const error_code& ec, std::chrono::nanoseconds took) noexcept {
  if (!ec) {
    succeeded.add();
    time.add(took);
  } else if (ec == errc::lock_busy) {
    unavailable.add();
  } else if (is_cancelled(ec)) {
    cancelled.add();
  } else {
    failed.add();
  }
}

metrics_snapshot::queue_call_counts queue_call_counters::read() const noexcept {
  return {succeeded.read(), unavailable.read(), cancelled.read(), failed.read(), time.read()};
}

void metric_counters::request_counters::completed(const error_code& ec) noexcept {
  if (!ec) return succeeded.add();
  if (ec == errc::connection_loss) return outcome_unknown.add();
  if (is_cancelled(ec)) return cancelled.add();
  for (const auto local :
       {errc::not_connected, errc::session_expired, errc::closed, errc::auth_failed,
        errc::lock_lost, errc::reply_too_large, errc::protocol_error})
    if (ec == local) return failed.add();
  refused.add();
}

local_grant_counter::local_grant_counter(metric_counters& all, lock_kind k)
    : all_{all}, kind_{static_cast<std::size_t>(k)} {
  const std::lock_guard lock{all_.mutex_};
  all_.local_grants_.insert(this);
}

local_grant_counter::~local_grant_counter() {
  const std::lock_guard lock{all_.mutex_};
  all_.local_grants_.erase(this);
  all_.ended_local_grants_[kind_] += value_.load(std::memory_order_relaxed);
}

// --- reading

metrics_snapshot metric_counters::read() const {
  metrics_snapshot s;
  s.sessions = {sessions.started.read(), sessions.connections_lost.read(),
                sessions.reconnects.read(), sessions.expired.read(),
                sessions.failed_attempts.read()};
  s.requests = {requests.succeeded.read(), requests.refused.read(), requests.outcome_unknown.read(),
                requests.cancelled.read(), requests.failed.read(),  requests.latency.read()};
  std::array<std::uint64_t, lock_kind_count> untimed{};
  {
    const std::lock_guard lock{mutex_};
    untimed = ended_local_grants_;
    for (const auto* one : local_grants_)
      untimed[one->kind_] += one->value_.load(std::memory_order_relaxed);
  }
  for (std::size_t k = 0; k < lock_kind_count; ++k) {
    const auto& from = locks[k];
    auto& to = s.locks[k];
    const auto calls = [&](acquire_outcome o) {
      return from.calls[static_cast<std::size_t>(o)].read();
    };
    to.acquired = calls(acquire_outcome::acquired) + untimed[k];
    to.contended = calls(acquire_outcome::contended);
    to.timed_out = calls(acquire_outcome::timed_out);
    to.cancelled = calls(acquire_outcome::cancelled);
    to.failed = calls(acquire_outcome::failed);
    to.local = from.local.read() + untimed[k];
    to.untimed = untimed[k];
    to.waiting = from.waiting.read();
    to.holding = from.holding.read();
    to.lost = from.lost.read();
    to.wait = from.wait.read();
    to.hold = from.hold.read();
  }
  auto& q = s.queues;
  q.push = queues.push.read();
  q.pop = queues.pop.read();
  q.claim = queues.claim.read();
  q.complete = queues.complete.read();
  q.pushed_items = queues.pushed_items.read();
  q.popped_items = queues.popped_items.read();
  q.released_claims = queues.released_claims.read();
  q.lost_claims = queues.lost_claims.read();
  q.claim_time = queues.claim_time.read();
  return s;
}

metrics::metrics() : counters_{std::make_unique<metric_counters>()} {}
metrics::~metrics() = default;

metrics_snapshot metrics::snapshot() const { return counters_->read(); }

std::string prometheus_text(const metrics_snapshot& s) {
  prometheus_writer to;
  session_metrics(to, s.sessions);
  request_metrics(to, s.requests);
  lock_metrics(to, s);
  queue_metrics(to, s.queues);
  return to.text();
}

}  // namespace conclave
