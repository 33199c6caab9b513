#include "queue_load.hpp"

#include <sstream>
#include <utility>

#include "driver/zookeeper.hpp"

namespace conclave::bench {

std::string to_text(const consumption& c) {
  std::ostringstream text;
  text << c.count << ' ' << c.sum << ' ' << c.begun << ' ' << c.last;
  return text.str();
}

consumption consumption_from(const std::string& text) {
  consumption result;
  std::istringstream words(text);
  words >> result.count >> result.sum >> result.begun >> result.last;
  return result;
}

void consumption_counter::begin() {
  std::int64_t none = 0;
  begun_.compare_exchange_strong(none, monotonic_ns());
}

void consumption_counter::add(const std::string& item) {
  sum_ += std::stoll(item);
  const auto now = monotonic_ns();
  for (auto before = last_.load(); before < now && !last_.compare_exchange_weak(before, now);) {
  }
  ++count_;
}

std::vector<std::unique_ptr<queue_session>> open_queue_sessions(const load_plan& plan,
                                                                std::optional<context> shared) {
  queue_options options;
  if (plan.claims()) options.layout = queue_layout::kazoo_locking;
  std::vector<std::unique_ptr<queue_session>> all;
  for (auto& zk : open_sessions(plan.producers + plan.consumers, plan.servers, std::move(shared)))
    all.push_back(std::make_unique<queue_session>(std::move(zk), plan.path, options));
  return all;
}

std::string item_text(std::int64_t number, std::size_t bytes) {
  auto text = std::to_string(number);
  text.resize(bytes, ' ');
  return text;
}

std::unique_ptr<recipe_load> make_queue_load(std::istream& arguments) {
  load_plan plan;
  arguments >> plan.mode >> plan.servers >> plan.path >> plan.producers >> plan.consumers >>
      plan.first_item >> plan.items >> plan.bytes;
  return plan.mode == mode::blocking || plan.mode == mode::claiming ? make_blocking_load(plan)
                                                                    : make_asynchronous_load(plan);
}

}  // namespace conclave::bench
