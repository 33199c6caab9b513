// `conclave queue pop` and `peek`: print items and remove them, or only print them.
//
// pop claims an item, prints it, and removes it only after the output was written. So no item is
// lost if the pipe is closed, the disk is full or the command is killed. An item that `conclave
// queue work` has claimed is not popped.
#include <algorithm>
#include <iostream>

#include "cli/commands/queue/queue_flags.hpp"
#include "cli/connect/pending.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/close_on_signal.hpp"
#include "cli/show/item_output.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

struct pop_flags {
  queue_flags queue;
  item_format format;
  std::string wait = "0";
  std::size_t count = 1;
  bool no_claim = false;
};

// The largest number of items that are claimed and printed together.
constexpr std::size_t most_at_once = 64;

// The time at which to stop waiting for the next item. Empty means never.
using limit = std::optional<clock::time_point>;

// Calls attempt(time until the limit), as connection::try_for() does.
template <class Attempt>
auto try_until(connection& c, clock::time_point until, Attempt attempt) {
  return c.try_for(std::max(until - clock::now(), clock::duration{0}), attempt);
}

// Claims up to `most` items. Returns an empty list if no item arrived before the limit.
std::vector<queue_claim> claim_some(connection& c, queue& q, std::size_t most, limit until) {
  std::vector<queue_claim> got;
  if (!until) {
    got.push_back(q.claim());
  } else if (auto first = try_until(c, *until, [&](auto d) { return q.claim_for(d); })) {
    got.push_back(std::move(*first));
  } else {
    return got;
  }
  std::vector<pending<std::optional<queue_claim>>> others(most - 1);
  for (auto& other : others) q.async_claim_for(0ms, other.handler());
  error_code claim_error;
  for (auto& other : others) {
    auto [ec, one] = other.get();
    if (ec) claim_error = ec;
    if (one) got.push_back(std::move(*one));
  }
  if (claim_error) throw error{claim_error, "claim from a queue"};
  return got;
}

// Returns the number of printed items.
std::size_t pop_claimed(connection& c, queue& q, item_output& out, std::size_t most, limit until) {
  auto claims = claim_some(c, q, most, until);
  for (const auto& claim : claims)
    out.add({claim.name(), claim.data(), claim.priority()}, claim.attempts());
  out.write();
  std::vector<pending<bool>> completed(claims.size());
  for (std::size_t i = 0; i < claims.size(); ++i)
    claims[i].async_complete(completed[i].completion_handler());
  for (std::size_t i = 0; i < claims.size(); ++i)
    if (const auto ec = completed[i].get().first)
      throw failure{lost, claims[i].name() +
                              " was printed but not removed; another consumer may get it, too: " +
                              ec.message()};
  return claims.size();
}

std::size_t pop_plainly(connection& c, queue& q, item_output& out, limit until) {
  std::optional<queue_item> item;
  if (until)
    item = try_until(c, *until, [&](auto d) { return q.pop_for(d); });
  else
    item = q.pop();
  if (!item) return 0;
  out.add(*item, 0);
  out.write();
  return 1;
}

int pop(pop_flags& f, const invocation&) {
  if (f.no_claim && f.queue.options().layout == queue_layout::kazoo_locking)
    throw failure{usage, "--layout kazoo-locking always claims items; leave out --no-claim"};
  item_output out{f.format};
  const auto wait = parse_wait(f.wait);
  const limit until = wait ? limit{clock::now() + *wait} : limit{};
  close_on_signal on_signal;
  connection c{f.queue.connect};
  const auto closing = on_signal.closes(c.zk());
  queue q{c.zk(), f.queue.node(), f.queue.options()};
  const auto pop_some = [&](std::size_t most) {
    return f.no_claim ? pop_plainly(c, q, out, until) : pop_claimed(c, q, out, most, until);
  };
  std::size_t printed = 0;
  while (printed < f.count) {
    const auto most = std::min(f.count - printed, most_at_once);
    const auto n = explain_layout(c.zk(), f.queue, [&] { return pop_some(most); });
    if (n == 0) break;
    printed += n;
  }
  return printed == 0 ? failed : ok;
}

int peek(pop_flags& f, const invocation&) {
  item_output out{f.format};
  connection c{f.queue.connect};
  queue q{c.zk(), f.queue.node(), f.queue.options()};
  const auto item = explain_layout(c.zk(), f.queue, [&] { return q.front(); });
  if (!item) return failed;
  out.add(*item, 0);
  out.write();
  return ok;
}

}  // namespace

void describe_pop(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<pop_flags>();
  app.description("print the first item and remove it");
  app.footer(
      "Examples:\n"
      "  conclave queue pop jobs\n"
      "  conclave queue pop -w 30 jobs            (waits for an item)\n"
      "  while job=$(conclave queue pop -w forever jobs); do ./do \"$job\"; done\n"
      "An item is removed only after it was written to stdout. If the program that reads it dies,\n"
      "the item is lost. Use `conclave queue work` to avoid this.\n"
      "Exit codes: 1 no item; 74 the item could not be written and is still in the queue; 75 the\n"
      "item was written, but another consumer may get it, too.");
  add_queue_flags(app, flags->queue);
  app.add_option("-w,--wait", flags->wait, "wait this long for an item, or: forever")
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("-n,--count", flags->count, "print up to N items")
      ->type_name("N")
      ->check(CLI::Range{1, 1'000'000'000})
      ->capture_default_str();
  app.add_flag("--no-claim", flags->no_claim,
               "remove each item before it is printed; for queues that programs of other libraries "
               "pop from");
  add_item_format(app, flags->format);
  when_used(app, call, flags, pop);
}

void describe_peek(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<pop_flags>();
  app.description("print the first item, claimed or not, and leave it in the queue");
  app.footer("Example: conclave queue peek jobs\nExit code: 1 if there is no item.");
  add_queue_flags(app, flags->queue);
  add_item_format(app, flags->format);
  when_used(app, call, flags, peek);
}

}  // namespace conclave::cli
