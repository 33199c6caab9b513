// `conclave queue ls`, `len`, `restore` and `discard`: list a queue and the items set aside.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <map>

#include "cli/commands/queue/queue_flags.hpp"
#include "cli/exit_code.hpp"
#include "cli/nodes/in_batches.hpp"
#include "cli/show/contender.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/node.hpp"
#include "cli/show/text.hpp"
#include "conclave/inspect.hpp"

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

struct ls_flags {
  queue_flags queue;
  std::size_t count = 0;
  bool json = false, set_aside = false;
};

struct claim_info {
  std::string owner;
  std::int64_t since = 0;  // milliseconds since 1970
};

std::map<std::string, claim_info> claims_of(client& zk, const queue_flags& f) {
  std::map<std::string, claim_info> all;
  for (const auto& claim : queue_claims(zk, f.node(), f.options().layout))
    // The first line is the owner. Claims of other libraries contain only an id.
    if (claim.readable)
      all[std::string{last_name(claim.node)}] = {
          claim.owner.substr(0, claim.owner.find('\n')),
          std::chrono::duration_cast<std::chrono::milliseconds>(claim.since.time_since_epoch())
              .count()};
  return all;
}

std::string age(std::int64_t ms) {
  return short_time(std::chrono::system_clock::now().time_since_epoch() -
                    std::chrono::milliseconds{ms});
}

struct listed_item {
  std::string name;
  node_stat stat;
  std::string data;  // empty unless requested
  std::optional<claim_info> claim;
};

struct item_reply {
  error_code ec;
  get_result item;  // without data unless requested
};

// Reads the items, in the same order. The reply for an item that was removed or may not be read
// contains an error.
std::vector<item_reply> read_items(client& zk, const queue& q,
                                   const std::vector<std::string>& names, bool with_data) {
  std::vector<item_reply> all(names.size());
  in_batches(zk, names.size(), [&](std::size_t i, const auto& done) {
    const auto path = q.item_path(names[i]);
    if (with_data)
      zk.async_get(path, [&to = all[i], &done](error_code ec, get_result r) {
        to = {ec, std::move(r)};
        done();
      });
    else
      zk.async_exists(path, [&to = all[i], &done](error_code ec, std::optional<node_stat> s) {
        to.ec = ec || s ? ec : error_code{errc::no_node};
        if (s) to.item.stat = *s;
        done();
      });
  });
  for (const auto& [ec, item] : all)
    if (is_connection_error(ec) || ec == errc::invalid_path) throw error{ec, "read items"};
  return all;
}

std::vector<listed_item> items_of(client& zk, const ls_flags& f) {
  const queue q{zk, f.queue.node(), f.queue.options()};
  auto names = explain_layout(zk, f.queue, [&] { return q.names(); });
  if (f.count != 0 && names.size() > f.count) names.resize(f.count);
  const auto claims = claims_of(zk, f.queue);
  auto items = read_items(zk, q, names, f.json);
  std::vector<listed_item> all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto& [ec, item] = items[i];
    if (ec) continue;  // removed since the listing, or not readable
    all.push_back({names[i], item.stat, std::move(item.data), {}});
    const auto claim = claims.find(names[i]);
    if (claim != claims.end()) all.back().claim = claim->second;
  }
  return all;
}

json::value as_json(const std::vector<listed_item>& items) {
  json::array list;
  for (const auto& i : items) {
    json::object o{{"name", i.name},
                   {"data_length", i.stat.data_length},
                   {"attempts", i.stat.version},
                   {"claimed_by", nullptr}};
    add_time(o, "created", i.stat.ctime);
    if (i.claim) {
      o["claimed_by"] = is_utf8(i.claim->owner) ? i.claim->owner : std::string{"?"};
      add_time(o, "claimed", i.claim->since);
    }
    add_data(o, i.data);
    list.push_back(std::move(o));
  }
  return list;
}

std::string bytes(std::size_t n) { return std::to_string(n) + (n == 1 ? " byte " : " bytes"); }

void show(const std::vector<listed_item>& items) {
  std::size_t widest = 0, largest = 0;
  for (const auto& i : items) {
    widest = std::max(widest, i.name.size());
    largest = std::max(largest, bytes(static_cast<std::size_t>(i.stat.data_length)).size());
  }
  for (const auto& i : items) {
    std::cout << std::left << std::setw(static_cast<int>(widest)) << i.name << "  " << std::right
              << std::setw(static_cast<int>(largest))
              << bytes(static_cast<std::size_t>(i.stat.data_length)) << "  " << std::setw(6)
              << age(i.stat.ctime) << " old";
    if (i.claim)
      std::cout << "  claimed by " << printable(i.claim->owner) << " for " << age(i.claim->since)
                << ", attempt " << i.stat.version;
    else if (i.stat.version > 0)
      std::cout << "  attempted " << i.stat.version << (i.stat.version == 1 ? " time" : " times");
    std::cout << "\n";
  }
}

int show_set_aside(client& zk, const ls_flags& f) {
  const auto items = queue{zk, f.queue.node(), f.queue.options()}.set_aside();
  if (f.json) {
    json::array list;
    for (const auto& i : items) {
      json::object o{{"name", i.name}, {"data_length", i.data.size()}};
      add_data(o, i.data);
      list.push_back(std::move(o));
    }
    print(list);
    return ok;
  }
  std::size_t widest = 0;
  for (const auto& i : items) widest = std::max(widest, i.name.size());
  for (const auto& i : items)
    std::cout << std::left << std::setw(static_cast<int>(widest)) << i.name << "  "
              << bytes(i.data.size()) << "\n";
  return ok;
}

int ls(ls_flags& f, const invocation&) {
  connection c{f.queue.connect};
  if (f.set_aside) return show_set_aside(c.zk(), f);
  const auto items = items_of(c.zk(), f);
  if (f.json)
    print(as_json(items));
  else
    show(items);
  return ok;
}

int len(ls_flags& f, const invocation&) {
  connection c{f.queue.connect};
  const queue q{c.zk(), f.queue.node(), f.queue.options()};
  const auto n = explain_layout(c.zk(), f.queue, [&] { return q.size(); });
  if (f.json)
    print(json::object{{"length", n}});
  else
    std::cout << n << "\n";
  return ok;
}

struct set_aside_flags {
  queue_flags queue;
  std::vector<std::string> names;
  bool all = false;
};

// Returns those items that were set aside and that the flags select.
std::vector<queue_item> selected_items(const queue& q, const set_aside_flags& f) {
  if (f.all != f.names.empty())
    throw failure{usage,
                  "pass either the names of items or --all; see: conclave queue ls --set-aside"};
  auto set_aside = q.set_aside();
  if (f.all) return set_aside;
  std::vector<queue_item> items;
  for (const auto& name : f.names) {
    const auto found = std::find_if(set_aside.begin(), set_aside.end(),
                                    [&](const queue_item& i) { return i.name == name; });
    if (found == set_aside.end())
      throw failure{failed, name + " was not set aside; see: conclave queue ls --set-aside"};
    items.push_back(*found);
  }
  return items;
}

int restore(set_aside_flags& f, const invocation&) {
  connection c{f.queue.connect};
  queue q{c.zk(), f.queue.node(), f.queue.options()};
  for (const auto& item : selected_items(q, f)) q.restore(item);
  return ok;
}

int discard(set_aside_flags& f, const invocation&) {
  connection c{f.queue.connect};
  queue q{c.zk(), f.queue.node(), f.queue.options()};
  for (const auto& item : selected_items(q, f)) q.discard(item);
  return ok;
}

std::shared_ptr<set_aside_flags> add_set_aside_flags(CLI::App& app) {
  auto flags = std::make_shared<set_aside_flags>();
  add_queue_flags(app, flags->queue);
  app.add_option("NAME", flags->names,
                 "names of items, as printed by `conclave queue ls --set-aside`");
  app.add_flag("-a,--all", flags->all, "all items that were set aside");
  return flags;
}

}  // namespace

void describe_ls(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<ls_flags>();
  app.description("list the items in order, with name, size, age and claim");
  app.footer(
      "Examples:\n"
      "  conclave queue ls jobs\n"
      "  conclave queue ls --json jobs | jq -r '.[] | select(.claimed_by == null) | .name'\n"
      "  conclave queue ls --set-aside jobs     (items that failed too often)");
  add_queue_flags(app, flags->queue);
  app.add_option("-n,--count", flags->count, "list only the first N items")
      ->type_name("N")
      ->check(CLI::Range{1, 1'000'000'000});
  app.add_flag("--set-aside", flags->set_aside,
               "list the items that `work --max-attempts` has set aside, instead of the queue");
  app.add_flag(
      "--json", flags->json,
      "one line of JSON: name, data_length, created, attempts, claimed_by, claimed, data (or "
      "base64); with --set-aside only name, data_length and data (or base64)");
  when_used(app, call, flags, ls);
}

void describe_len(CLI::App& app, invocation& call) {
  auto flags = std::make_shared<ls_flags>();
  app.description("print the number of items, including claimed ones");
  app.footer("Example: conclave queue len jobs");
  add_queue_flags(app, flags->queue);
  app.add_flag("--json", flags->json, "one line of JSON");
  when_used(app, call, flags, len);
}

void describe_restore(CLI::App& app, invocation& call) {
  app.description("return items that were set aside to the end of the queue");
  app.footer(
      "Examples:\n"
      "  conclave queue restore jobs qn-0000000007\n"
      "  conclave queue restore --all jobs");
  when_used(app, call, add_set_aside_flags(app), restore);
}

void describe_discard(CLI::App& app, invocation& call) {
  app.description("delete items that were set aside");
  app.footer(
      "Examples:\n"
      "  conclave queue discard jobs qn-0000000007\n"
      "  conclave queue discard --all jobs");
  when_used(app, call, add_set_aside_flags(app), discard);
}

}  // namespace conclave::cli
