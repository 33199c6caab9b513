// `conclave why`: says in sentences why a lock is not granted now.
#include <algorithm>
#include <iostream>
#include <set>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "cli/connect/session_connections.hpp"
#include "cli/exit_code.hpp"
#include "cli/run/requested_lock.hpp"
#include "cli/show/contender.hpp"
#include "cli/show/deadlock.hpp"
#include "cli/show/duration.hpp"
#include "cli/show/node.hpp"
#include "cli/show/text.hpp"
#include "cli/show/unreadable.hpp"

namespace conclave::cli {
namespace {

using place = wait_graph::place;

struct why_flags {
  connect_flags connect;
  std::string path, layout;
  bool all = false, json = false;
};

// The locks that holders may wait for are searched here. The path itself is also named, because it
// may be readable even if a node above it is not.
std::vector<std::string> search_roots(const why_flags& f, const std::string& path) {
  if (f.all || path == "/") return {"/", path};
  return {path.substr(0, path.find('/', 1)), path};
}

bool is_at_or_below(const std::string& path, const std::string& root) {
  return root == "/" || path == root || path.starts_with(root + "/");
}

// Returns true if this node may hide contenders of the lock at the path.
bool may_hide_lock(const unreadable_node& n, const std::string& path) {
  if (is_at_or_below(path, n.path)) return true;
  const auto nodes = inspected_paths({path});
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const auto& node) { return is_at_or_below(n.path, node); });
}

std::string printable_name(const contender_info& c) { return printable(contender_name(c)); }

std::string age(const contender_info& c) {
  return short_time(std::chrono::system_clock::now() - c.since);
}

// Explains one lock. Each part of the explanation is a sentence and a part of the JSON document.
class lock_explanation {
 public:
  lock_explanation(const wait_graph& g, std::size_t recipe, const session_connections& connections)
      : graph_{g}, recipe_{recipe}, connections_{connections} {
    add_holders();
    add_waiters();
  }

  const std::vector<std::string>& sentences() const noexcept { return sentences_; }
  json::object document() const { return document_; }

 private:
  const recipe_info& lock() const { return graph_.seen().recipes[recipe_]; }

  void add_holders() {
    json::array holders;
    const auto& all = lock().contenders;
    std::size_t count = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!all[i].holds) continue;
      auto holder = holder_json(all[i]);
      const bool shown = ++count <= most_holders;
      if (shown) add_holder_sentence(all[i], holder);
      add_waits({recipe_, i}, holder, shown);
      holders.push_back(std::move(holder));
    }
    if (count > most_holders)
      sentences_.push_back("There are " + std::to_string(count - most_holders) + " more holders.");
    const auto permits = lock().permits;
    if (permits && count < static_cast<std::size_t>(std::max(*permits, 0)))
      sentences_.push_back(std::to_string(count) + " of " + std::to_string(*permits) +
                           " permits of " + name() + " are in use.");
    else if (count == 0)
      sentences_.push_back("Nobody holds " + name() + ".");
    document_["path"] = lock().path;
    document_["kind"] = to_string(lock().what);
    if (permits) document_["permits"] = *permits;
    document_["holders"] = std::move(holders);
  }

  static json::object holder_json(const contender_info& c) {
    json::object o{{"node", c.node}, {"owner", is_utf8(c.owner) ? c.owner : std::string{"?"}}};
    o["readable"] = c.readable;
    if (!c.readable) return o;
    o["asked_to_release"] = c.asked_to_release;
    add_number(o, "fencing_token", c.fencing_token);
    add_contender(o, c);
    return o;
  }

  void add_holder_sentence(const contender_info& c, json::object& holder) {
    if (!c.readable) {
      sentences_.push_back(printable_name(c) + " holds " + name() +
                           ". An ACL does not permit to read more about it.");
      return;
    }
    auto text = printable_name(c) + " " + what_it_does() + " " + name() + " for " +
                held_for(c, std::chrono::system_clock::now()) + ". ";
    const auto session = "Its session " + hex(c.session_id);
    const auto found = connections_.connected.find(c.session_id);
    const char* state = "unknown";
    if (found != connections_.connected.end()) {
      state = "connected";
      text += session + " is connected" +
              (found->second.empty() ? "" : " from " + printable(found->second)) + ".";
      holder["connected_from"] = printable(found->second);
    } else if (connections_.complete) {
      state = "not_connected";
      text += session +
              " has no connection now. If it stays so, the lock is free when the session "
              "expires.";
    } else {
      text +=
          "The servers do not report whether its session " + hex(c.session_id) + " is connected.";
    }
    holder["connection"] = state;
    if (c.asked_to_release) text += " It was asked to release the lock.";
    sentences_.push_back(std::move(text));
  }

  std::string what_it_does() const {
    switch (lock().what) {
      case recipe_info::kind::semaphore: return "has held a permit of";
      case recipe_info::kind::election: return "has led";
      default: return "has held";
    }
  }

  // What the holder itself waits for.
  void add_waits(place holder, json::object& into, bool shown) {
    json::array waits;
    for (const auto& link : graph_.waits_of(holder)) {
      const auto& waiter = graph_.contender(link.waiter);
      const auto& path = graph_.recipe(link.waiter).path;
      json::array blocked_by;
      std::string names;
      const auto blockers = graph_.blockers_of(link.waiter);
      for (const auto* list : {&blockers.all, &blockers.any})
        for (const auto b : *list) {
          if (!graph_.contender(b).holds || blocked_by.size() == most_holders) continue;
          const auto name = printable_name(graph_.contender(b));
          blocked_by.emplace_back(name);
          names += (names.empty() ? "" : ", ") + name;
        }
      json::object wait{{"path", path},
                        {"node", waiter.node},
                        {"certain", link.certain},
                        {"time_limit", waiter.wait && waiter.wait->has_time_limit},
                        {"held_by", std::move(blocked_by)}};
      add_time(wait, "created", waiter.since);
      waits.push_back(std::move(wait));
      if (!shown || waits.size() > most_waits) continue;
      const auto what =
          " for " + printable(path) + (names.empty() ? "" : ", held by " + names) + ".";
      const auto name = printable_name(graph_.contender(holder));
      sentences_.push_back(link.certain ? name + " itself has waited " + age(waiter) + what
                                        : name + " may itself wait: its session has waited " +
                                              age(waiter) + what);
    }
    into["waits_for"] = std::move(waits);
  }

  void add_waiters() {
    std::size_t count = 0;
    const contender_info* first = nullptr;
    for (const auto& c : lock().contenders) {
      if (c.holds) continue;
      if (count++ == 0) first = &c;
    }
    document_["waiters"] = count;
    if (first == nullptr) return;
    json::object next{{"node", first->node}, {"readable", first->readable}};
    auto text = count == 1 ? std::string{"One contender waits: "}
                           : std::to_string(count) + " contenders wait. The first one is ";
    text += printable_name(*first);
    if (first->readable) {
      text += ", for " + age(*first);
      next["owner"] = is_utf8(first->owner) ? first->owner : std::string{"?"};
      add_contender(next, *first);
    }
    document_["first_waiter"] = std::move(next);
    sentences_.push_back(text + ".");
  }

  std::string name() const { return printable(lock().path); }

  static constexpr std::size_t most_holders = 5, most_waits = 3;  // in sentences

  const wait_graph& graph_;
  const std::size_t recipe_;
  const session_connections& connections_;
  std::vector<std::string> sentences_;
  json::object document_;
};

// All nodes that the contenders of this lock wait for, directly or through other tasks.
class awaited_nodes {
 public:
  awaited_nodes(const wait_graph& g, std::size_t recipe) : graph_{g} {
    for (std::size_t i = 0; i < g.seen().recipes[recipe].contenders.size(); ++i) add({recipe, i});
    while (!next_.empty()) {
      const auto p = next_.back();
      next_.pop_back();
      for (const auto& link : graph_.waits_of(p)) {
        add(link.waiter);
        const auto blockers = graph_.blockers_of(link.waiter);
        for (const auto* list : {&blockers.all, &blockers.any})
          for (const auto b : *list) add(b);
      }
    }
  }

  bool touch(const deadlock& d) const {
    return std::any_of(d.members.begin(), d.members.end(), [&](const deadlock::member& m) {
      return nodes_.contains(m.waits_for.contender.node) ||
             std::any_of(m.holds.begin(), m.holds.end(),
                         [&](const auto& h) { return nodes_.contains(h.contender.node); });
    });
  }

 private:
  void add(place p) {
    if (nodes_.insert(graph_.contender(p).node).second) next_.push_back(p);
  }

  const wait_graph& graph_;
  std::set<std::string> nodes_;
  std::vector<place> next_;
};

// Adds the first nodes and the number of the others.
void add_unreadable(const std::vector<unreadable_node>& all, std::vector<std::string>& sentences) {
  constexpr std::size_t most = 5;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
    sentences.push_back(unreadable_sentence(all[i]));
  if (all.size() > most)
    sentences.push_back("Cannot read " + std::to_string(all.size() - most) + " more nodes.");
}

int run(why_flags& f, const invocation&) {
  const auto path = node_path(f.path);
  inspect_options options;
  options.layouts = extra_layouts(f.layout);
  connection c{find_server(f.connect)};
  const wait_graph g{inspect(c.zk(), search_roots(f, path), options)};
  const auto deadlocks = confirmed_deadlocks(c.zk(), g);
  std::optional<session_connections> connections;
  json::array locks;
  std::vector<std::string> sentences;
  std::vector<deadlock> relevant;
  bool has_queue = false;
  for (std::size_t i = 0; i < g.seen().recipes.size(); ++i) {
    const auto& r = g.seen().recipes[i];
    if (r.path != path) continue;
    if (r.what == recipe_info::kind::queue) {
      has_queue = true;
      continue;
    }
    if (!connections) connections = find_session_connections(c.at());
    const lock_explanation e{g, i, *connections};
    sentences.insert(sentences.end(), e.sentences().begin(), e.sentences().end());
    locks.push_back(e.document());
    const awaited_nodes awaited{g, i};
    for (const auto& d : deadlocks)
      if (awaited.touch(d) && std::none_of(relevant.begin(), relevant.end(),
                                           [&](const auto& each) { return each.same_nodes(d); }))
        relevant.push_back(d);
  }
  const bool in_use = !locks.empty();
  // If the lock is in use, every unreadable node may be part of a deadlock.
  std::vector<unreadable_node> hidden;
  for (const auto& n : g.seen().unreadable)
    if (in_use || may_hide_lock(n, path)) hidden.push_back(n);
  add_unreadable(hidden, sentences);
  const bool is_free = !in_use && hidden.empty();
  if (has_queue && !in_use)
    throw failure{usage, "why " + path + ": the path has a queue; try: conclave queue ls"};
  if (f.json) {
    print(json::object{{"path", path},
                       {"in_use", in_use || is_free ? json::value(in_use) : json::value(nullptr)},
                       {"locks", std::move(locks)},
                       {"deadlocks", deadlocks_json(relevant)},
                       {"unreadable", unreadable_json(hidden)}});
  } else {
    if (is_free)
      sentences.push_back("Nobody holds or waits for " + printable(path) +
                          ". It would be granted at once.");
    for (const auto& s : sentences) std::cout << s << "\n";
    for (const auto& d : relevant) std::cout << deadlock_sentence(d) << "\n";
    if (in_use && relevant.empty()) std::cout << no_deadlock_sentence(g.seen()) << "\n";
    std::cout.flush();
  }
  return is_free ? failed : exit_code_for(relevant, g.seen());
}

}  // namespace

void describe_why(CLI::App& app, invocation& call) {
  auto f = std::make_shared<why_flags>();
  app.description(
      "Say why a lock is not granted now: who holds it, whether that session is connected, what\n"
      "the holder itself waits for, and whether there is a deadlock.");
  app.footer(
      "Examples:\n"
      "  conclave why backups/db\n"
      "  conclave why backups/db --json | jq '.locks[].holders[].owner'\n"
      "\n"
      "Whether a session is connected is known only if the servers answer the four-letter word\n"
      "cons.\n"
      "Exit codes: 0 no deadlock; 79 a deadlock; 80 a possible deadlock; 1 nobody holds or waits\n"
      "for the lock; 77 no deadlock was found, but an ACL does not permit to read everything.");
  app.add_option("PATH", f->path, "path of the lock; without a leading /, it is below /conclave")
      ->required();
  app.add_flag("-a,--all", f->all,
               "search the whole tree for locks that the holders wait for (default: only below the "
               "first part of the path)");
  app.add_option("--layout", f->layout,
                 "also recognise contenders by this prefix of their node names")
      ->type_name("L");
  app.add_flag("--json", f->json, "one line of JSON");
  add_connect_flags(app, f->connect);
  when_used(app, call, f, run);
}

}  // namespace conclave::cli
