#include "web/views.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "conclave/version.hpp"
#include "web/json.hpp"

namespace conclave::web {
namespace {

// JSON has no line breaks, so the data is one line.
shared_text event(std::string_view name, const std::string& json) {
  std::string text{"event: "};
  text.reserve(json.size() + 32);
  text.append(name).append("\ndata: ").append(json).append("\n\n");
  return share(std::move(text));
}

class json_list {
 public:
  explicit json_list(std::string& to) : to_{to} { to_ += '['; }
  void add(std::string_view value) {
    if (!is_first_) to_ += ',';
    is_first_ = false;
    to_ += value;
  }
  void end() { to_ += ']'; }

 private:
  std::string& to_;
  bool is_first_ = true;
};

// Appends "gone" (ids) and "put" ([index, entry] pairs in ascending order). The page removes the
// entries that are gone or put, and then inserts the others at their indexes.
void append_difference(std::string& to, const entry_list& old, const entry_list& current) {
  std::unordered_map<std::uint64_t, const list_entry*> before;
  before.reserve(old.size());
  for (const auto& e : old) before.emplace(e->id, e.get());
  std::string put;
  json_list put_list{put};
  for (std::size_t i = 0; i < current.size(); ++i) {
    const auto at = before.find(current[i]->id);
    const bool is_same = at != before.end() && at->second == current[i].get();
    if (at != before.end()) before.erase(at);
    if (is_same) continue;
    std::string pair{"["};
    pair.append(std::to_string(i)).append(",").append(current[i]->json).append("]");
    put_list.add(pair);
  }
  put_list.end();
  to += "\"gone\":";
  json_list gone{to};
  for (const auto& [id, e] : before) gone.add(std::to_string(id));
  gone.end();
  to += ",\"put\":" + put;
}

bool is_subsequence(const entry_list& old, const entry_list& current) {
  // The entries of both lists must be in the same order. Ids of contenders do not show the order,
  // so their positions are compared.
  std::unordered_map<std::uint64_t, std::size_t> position;
  position.reserve(current.size());
  for (std::size_t i = 0; i < current.size(); ++i) position.emplace(current[i]->id, i);
  std::size_t last = 0;
  for (const auto& e : old) {
    const auto at = position.find(e->id);
    if (at == position.end()) continue;
    if (at->second < last) return false;
    last = at->second;
  }
  return true;
}

void append_entries(std::string& to, const entry_list& entries) {
  json_list list{to};
  for (const auto& e : entries) list.add(e->json);
  list.end();
}

}  // namespace

event_streams::event_streams(const live_model& model, address_query& addresses, page_facts facts)
    : model_{model}, addresses_{addresses}, facts_{std::move(facts)} {}
event_streams::~event_streams() = default;

std::string event_streams::status(const live_state& s) const {
  const auto connection = model_.connection();
  json::array paths;
  for (const auto& path : facts_.paths) paths.emplace_back(path);
  json::object o{{"now_us", now()},
                 {"connected", connection.is_connected},
                 {"connection_since_us", connection.since},
                 {"complete", s.is_complete},
                 {"omits_recipes", s.omits_recipes},
                 {"servers", facts_.servers},
                 {"paths", std::move(paths)},
                 {"read_at_us", s.read_at},
                 {"allows_actions", facts_.allows_actions},
                 {"deadlocks", s.deadlocks},
                 {"possible_deadlocks", s.possible_deadlocks},
                 {"node_reads", s.node_reads},
                 {"inspections", s.inspections},
                 {"events", s.events},
                 {"has_server", s.server != nullptr},
                 {"version", version}};
  if (!s.error.empty()) o["error"] = s.error;
  auto text = to_text(o);
  text.pop_back();
  return text + ",\"unreadable\":" + s.unreadable + ",\"notices\":" + s.notices + "}";
}

// Sends only if the state or the connection has changed since the last event.
class event_streams::stream : public event_source {
 public:
  explicit stream(event_streams& all) : all_{all} {}

  shared_text next() final {
    auto current = all_.model_.state();
    const bool is_connected = all_.model_.connection().is_connected;
    if (sent_ && sent_->version == current->version && was_connected_ == is_connected &&
        !has_more())
      return nullptr;
    auto text = difference(sent_.get(), *current, is_connected);
    sent_ = std::move(current);
    was_connected_ = is_connected;
    return text;
  }

 protected:
  // Returns true if something is new that is not part of the state.
  virtual bool has_more() const { return false; }
  // `old` is nullptr for the first event.
  virtual shared_text difference(const live_state* old, const live_state& current,
                                 bool is_connected) = 0;

  event_streams& all_;
  std::shared_ptr<const live_state> sent_;
  bool was_connected_ = false;
};

class event_streams::overview_stream final : public stream {
 public:
  using stream::stream;

 private:
  shared_text difference(const live_state* old, const live_state& current,
                         bool is_connected) override {
    auto& cached = all_.overview_;
    const auto from = old == nullptr ? 0 : old->version;
    if (cached.text && cached.from == from && cached.to == current.version &&
        cached.was_connected == is_connected && from != current.version)
      return cached.text;
    std::string text{"{\"status\":" + all_.status(current)};
    static const recipe_list none;
    const auto& before = old == nullptr ? none : old->recipes;
    std::string changed;
    json_list changed_list{changed};
    text += ",\"gone\":";
    json_list gone{text};
    // Both lists are sorted by id.
    auto b = before.begin();
    for (const auto& r : current.recipes) {
      for (; b != before.end() && (*b)->id < r->id; ++b) gone.add(std::to_string((*b)->id));
      const bool was_there = b != before.end() && (*b)->id == r->id;
      if (!was_there || *b != r) changed_list.add(r->summary);
      if (was_there) ++b;
    }
    for (; b != before.end(); ++b) gone.add(std::to_string((*b)->id));
    gone.end();
    changed_list.end();
    text += ",\"recipes\":" + changed + "}";
    cached = {from, current.version, is_connected, event(old == nullptr ? "all" : "changes", text)};
    return cached.text;
  }
};

class event_streams::recipe_stream final : public stream {
 public:
  recipe_stream(event_streams& all, std::string path, std::string layout, std::string kind)
      : stream{all}, path_{std::move(path)}, layout_{std::move(layout)}, kind_{std::move(kind)} {}

 private:
  const recipe_view* find(const live_state& s) const {
    const auto at = std::find_if(s.recipes.begin(), s.recipes.end(), [this](const auto& r) {
      return r->path == path_ && (layout_.empty() || r->layout == layout_) &&
             (kind_.empty() || to_string(r->kind) == kind_);
    });
    return at == s.recipes.end() ? nullptr : at->get();
  }

  bool has_more() const override { return all_.addresses_.last() != sent_addresses_; }

  // Adds the addresses of the sessions, and requests new ones if some are missing or old. A session
  // that is not connected has none, so this requests them again until it is.
  void append_addresses(std::string& to, const recipe_view& r) {
    constexpr moment max_age = 30 * one_second;
    const auto known = sent_addresses_ = all_.addresses_.last();
    bool is_complete = known && known->asked_at > now() - max_age;
    json::object found;
    for (const auto session : r.sessions) {
      if (!known) break;
      const auto at = known->result.find(session);
      if (at == known->result.end())
        is_complete = false;
      else if (!at->second.empty())
        found[session_text(session)] = at->second;
    }
    if (!is_complete) all_.addresses_.request();
    to += ",\"addresses\":" + to_text(found);
  }

  shared_text difference(const live_state* old, const live_state& current, bool) override {
    const auto* const r = find(current);
    const auto* before = old == nullptr ? nullptr : find(*old);
    std::string text{"{\"status\":" + all_.status(current)};
    if (r == nullptr) return event("all", text + ",\"recipe\":null}");
    append_addresses(text, *r);
    if (before == r) return event("changes", text + "}");
    text += ",\"recipe\":" + r->summary + ",\"charts\":" + r->charts;
    const bool can_update = before != nullptr && before->id == r->id &&
                            is_subsequence(before->contenders, r->contenders);
    if (!can_update) before = nullptr;
    for (const auto& [name, list] : {std::pair{"contenders", &recipe_view::contenders},
                                     std::pair{"holds", &recipe_view::holds}}) {
      text.append(",\"").append(name).append("\":");
      if (before == nullptr) {
        append_entries(text, r->*list);
        continue;
      }
      text += '{';
      append_difference(text, before->*list, r->*list);
      text += '}';
    }
    return event(before == nullptr ? "all" : "changes", text + "}");
  }

  const std::string path_, layout_, kind_;
  std::shared_ptr<const address_query::answer> sent_addresses_;
};

class event_streams::graph_stream final : public stream {
 public:
  using stream::stream;

 private:
  shared_text difference(const live_state* old, const live_state& current, bool) override {
    std::string text{"{\"status\":" + all_.status(current)};
    const bool is_new = old == nullptr || old->graph != current.graph;
    if (is_new && current.graph) text += ",\"graph\":" + *current.graph;
    return event(old == nullptr ? "all" : "changes", text + "}");
  }
};

class event_streams::server_stream final : public stream {
 public:
  using stream::stream;

 private:
  shared_text difference(const live_state* old, const live_state& current, bool) override {
    json::object server;
    if (current.server)
      for (const auto& [name, value] : *current.server) server[name] = value;
    return event(old == nullptr ? "all" : "changes",
                 "{\"status\":" + all_.status(current) + ",\"server\":" + to_text(server) + "}");
  }
};

std::unique_ptr<event_source> event_streams::overview() {
  return std::make_unique<overview_stream>(*this);
}
std::unique_ptr<event_source> event_streams::recipe(std::string path, std::string layout,
                                                    std::string kind) {
  return std::make_unique<recipe_stream>(*this, std::move(path), std::move(layout),
                                         std::move(kind));
}
std::unique_ptr<event_source> event_streams::server() {
  return std::make_unique<server_stream>(*this);
}
std::unique_ptr<event_source> event_streams::graph() {
  return std::make_unique<graph_stream>(*this);
}

}  // namespace conclave::web
