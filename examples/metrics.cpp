// Counts what a client does and traces its locks: metrics SERVER
#include <iostream>
#include <memory>
#include <mutex>

#include <conclave/metrics.hpp>
#include <conclave/mutex.hpp>
#include <conclave/tracer.hpp>

namespace {

// With OpenTelemetry, this class would have a span of the call and a span of the hold.
class printed_acquisition final : public conclave::acquisition_tracer {
 public:
  void end_acquire(conclave::acquire_outcome o, const conclave::error_code&) override {
    std::cout << "end of the call: " << conclave::to_string(o) << "\n";
  }
  void begin_hold(const conclave::hold& h) override {
    std::cout << "begin of the hold with token " << h.fencing_token() << "\n";
  }
  void end_hold(const conclave::error_code& why_lost) override {
    std::cout << "end of the hold: " << (why_lost ? why_lost.message() : "released") << "\n";
  }
};

class printing_tracer final : public conclave::tracer {
 public:
  std::unique_ptr<conclave::acquisition_tracer> begin_acquire(
      const conclave::lock_call& call) override {
    std::cout << "begin of a call: " << call.path << "\n";
    return std::make_unique<printed_acquisition>();
  }
};

}  // namespace

int main(int argc, char** argv) try {
  const auto metrics = std::make_shared<conclave::metrics>();
  conclave::client_options options;
  options.metrics = metrics;
  options.tracer = std::make_shared<printing_tracer>();
  conclave::client zk{argc > 1 ? argv[1] : "127.0.0.1:2181", options};
  conclave::mutex mutex{zk, "/examples/metrics"};
  { const std::scoped_lock guard{mutex}; }

  const auto counts = metrics->snapshot().of(conclave::lock_kind::lock);
  std::cout << "acquired " << counts.acquired << ", lost " << counts.lost.total() << "\n";
  std::cout << prometheus_text(metrics->snapshot());  // the reply to GET /metrics
} catch (const conclave::error& e) {
  std::cerr << "metrics: " << e.what() << "\n";
  return 1;
}
