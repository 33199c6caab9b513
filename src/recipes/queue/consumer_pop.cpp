#include <algorithm>
#include <utility>

#include "recipes/queue/consumer.hpp"

namespace conclave::recipes {
namespace {

// The limit for data that is read ahead, assuming that the next items are as large as the current
// one.
constexpr std::size_t most_bytes_ahead = std::size_t{1} << 20;

}  // namespace

task<error_code> consumer::pop_items() {
  const auto self = shared_from_this();
  const auto wanted = plan_.batch_size(callers_.size());
  if (const auto ec = co_await read_items(wanted)) co_return ec;
  if (!folder_.is_identified()) plan_.clear();
  const auto n = plan_.count_read(std::min(wanted, callers_.size()));
  if (n == 0) co_return error_code{};
  transaction t;
  folder_.check_in(t);
  const auto checks = t.size();
  for (std::size_t i = 0; i < n; ++i)
    t.remove(names_->item(plan_[i].name.text), plan_[i].read->stat.version);
  // A caller that gives up from here on still gets its item if the transaction succeeds.
  const auto served = callers_.pop_front(n);
  plan_.request_data(self, n, n + std::min(n, most_bytes_ahead / (plan_[0].read->data.size() + 1)));
  // The data of an earlier busy period may be outdated: a different node can have the same name and
  // version by now. So the data is read again right before the removal.
  rereads again(n);
  const std::function<void()> read_again = [&] {
    for (std::size_t i = 0; i < n; ++i)
      if (!folder_.is_checked() && plan_.is_from_earlier_period(i))
        again[i] = send(context_, self,
                        requests::get(context_->defaults(), names_->item(plan_[i].name.text), {}),
                        {}, session::on_disconnect::fail);
  };
  const auto result = co_await transactions_.commit(self, t, read_again);
  if (!result.ec) {
    co_await deliver_popped(served, again);
    plan_.erase_first(n);
    plan_.count_acquired(n);
    plan_.count_success();
    co_return error_code{};
  }
  if (result.outcome_unknown) {
    for (const auto& who : served) complete(who, result.ec);
    plan_.erase_first(n);
    co_return error_code{};
  }
  // Nothing was removed, so the callers continue to wait.
  std::for_each(served.rbegin(), served.rend(), [&](const auto& who) { wait_again(who); });
  if (!result.failed_part) co_return result.ec;
  if (result.ec != errc::no_node && result.ec != errc::bad_version) co_return result.ec;
  if (*result.failed_part < checks) {
    folder_.require_verification();
    plan_.clear();
    co_return error_code{};
  }
  // Another client has removed or written the item. The items behind it may have changed, too.
  const auto failed = *result.failed_part - checks;
  for (std::size_t i = failed; i < n; ++i) plan_[i].read.reset();
  if (result.ec == errc::no_node) {
    plan_.erase(failed);
    found_other_consumers();
  }
  co_return error_code{};
}

// Completes the callers with the first items of the plan, which were removed. If a second read
// failed because the connection was lost, the earlier data is used.
task<> consumer::deliver_popped(const std::vector<caller_ptr>& callers, const rereads& again) {
  std::vector<error_code> errors(callers.size());
  for (std::size_t i = 0; i < callers.size(); ++i) {
    if (!again[i]) continue;
    auto got = co_await *again[i];
    const auto removed = plan_[i].read->stat.version;
    if (got.ec == errc::no_node || (!got.ec && got.value.stat.version != removed))
      errors[i] = errc::connection_loss;  // another item was removed; its data is unknown
    else if (!got.ec)
      plan_[i].read = std::move(got.value);
  }
  for (std::size_t i = 0; i < callers.size(); ++i) {
    auto& item = plan_[i];
    if (errors[i])
      complete(callers[i], errors[i]);
    else
      complete(callers[i], {},
               acquired_item{{item.name.text, std::move(item.read->data), item.name.priority}, {}});
  }
  co_return done;
}

}  // namespace conclave::recipes
