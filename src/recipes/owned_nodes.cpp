#include "recipes/owned_nodes.hpp"

#include <algorithm>
#include <utility>

#include "recipes/contender_data.hpp"
#include "recipes/error_class.hpp"
#include "recipes/sequence_number.hpp"

namespace conclave::recipes {
namespace {

using action = owned_nodes::claimed_item::action;

// The number of nodes that resolve() reads in one write. Many contenders may resolve at once.
constexpr std::size_t reads_in_one_write = 32;

}  // namespace

void owned_nodes::reset(const std::vector<std::string>& parents) {
  nodes_.clear();
  for (const auto& parent : parents) nodes_.emplace_back(context_, parent);
}

bool owned_nodes::one_was_deleted() const noexcept {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const owned_node& n) { return n.watch.deleted(); });
}

// --- creation

owned_nodes::creation owned_nodes::new_creation(std::string_view wait) const {
  const auto& r = context_.request();
  const bool fixed = r.granted_when == lock_request::rule::fixed_name;
  creation c;
  c.prefix = fixed ? r.name : r.layout.name_prefix(r.role);
  c.mode = fixed ? create_mode::ephemeral : create_mode::ephemeral_sequential;
  if (!owner_only()) c.id = context_.session().new_id();
  c.data = owner_only() ? r.owner : format_contender_data(r.owner, c.id, wait);
  return c;
}

// Several nodes are created in one transaction. So two contenders for the same locks have the same
// order in every wait queue.
task<owned_nodes::creation_result> owned_nodes::create(const creation& c, binding where,
                                                       const std::function<void()>& send_along) {
  const auto& extra = context_.request().extra_operations;
  std::optional<pending_reply<create_result>> one;
  std::optional<pending_reply<transaction_result>> all;
  {
    const single_write in_one_write{context_.session()};
    if (nodes_.size() == 1 && extra.empty()) {
      one = context_.send(
          requests::create(context_.defaults(), nodes_[0].child(c.prefix), c.data, c.mode), where);
    } else {
      transaction t;
      for (const auto& n : nodes_) t.create(n.child(c.prefix), c.data, c.mode);
      t.append(extra);
      all = context_.send(requests::commit(context_.defaults(), t), where);
    }
    if (send_along) send_along();
  }
  creation_result result;
  if (one) {
    const auto made = co_await *one;
    context_.session_id = made.sent_on.session;
    result.ec = made.ec;
    result.may_be_too_large = made.may_be_too_large;
    if (!made.ec) {
      set_created(made.value.stat.czxid, made.sent_on);
      adopt(nodes_[0], made.value.path);
    }
  } else {
    const auto made = co_await *all;
    context_.session_id = made.sent_on.session;
    result.ec = made.ec;
    result.may_be_too_large = made.may_be_too_large;
    result.failed_operation = made.value.failed_part().value_or(0);
    if (!made.ec) {
      set_created(made.value.zxid, made.sent_on);
      for (std::size_t i = 0; i < nodes_.size(); ++i) adopt(nodes_[i], made.value.parts[i].path);
    }
  }
  co_return result;
}

void owned_nodes::created(std::string_view path, std::int64_t zxid, binding where) {
  set_created(zxid, where);
  adopt(nodes_[0], path);
}

void owned_nodes::set_created(std::int64_t czxid, binding where) {
  fencing_token_ = czxid_ = czxid;
  verified_on_ = where;
}

void owned_nodes::adopt(owned_node& n, std::string_view path) {
  n.name = path.substr(path.rfind('/') + 1);
  if (const auto parsed = context_.request().layout.parse(n.name)) n.number = parsed->number;
  context_.session().registered_nodes.add(path, czxid_);
  n.registered = true;
  exist_ = true;
}

// While a contender still reads its other nodes, no other contender may use a node with its id.
// Somebody can overwrite the id at any time, and the node would then look like a node of any
// contender.
class owned_nodes::reservations {
 public:
  explicit reservations(session_context& s) : session_{s} {}
  reservations(const reservations&) = delete;
  reservations& operator=(const reservations&) = delete;
  ~reservations() {
    for (const auto& [path, czxid] : nodes_) session_.registered_nodes.remove(path, czxid);
  }
  void add(const std::string& path, std::int64_t czxid) {
    session_.registered_nodes.add(path, czxid);
    nodes_.emplace_back(path, czxid);
  }

 private:
  session_context& session_;
  std::vector<std::pair<std::string, std::int64_t>> nodes_;
};

task<error_code> owned_nodes::resolve(const creation& c,
                                      const std::function<void(error_code)>& disconnected) {
  for (;;) {
    reservations reserved{context_.session()};
    const auto syncing = context_.send(requests::sync(context_.defaults(), nodes_[0].parent),
                                       context_.in_session(), session::on_disconnect::fail);
    const auto synced = co_await syncing;
    auto ec = synced.ec;
    std::vector<std::vector<candidate>> under{nodes_.size()};
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (!ec) ec = co_await find_candidates(nodes_[i], c, synced.sent_on, under[i], reserved);
    if (!ec) ec = co_await choose(under, synced.sent_on);
    if (!ec) co_return ec;
    if (ec == errc::backlog_full || (outcome_unknown(ec) && !is_connection_error(ec))) {
      co_await context_.pause(retry_delay);
      continue;
    }
    if (!is_connection_error(ec)) co_return ec;
    // Callers do not wait for a connection forever, but the contender looks for its nodes until the
    // outcome is resolved.
    if (synced.ec == errc::not_connected) disconnected(ec);
  }
}

// Decides which of the candidates belong to this contender.
//
// The nodes with our id, and the nodes created by the same transaction, are ours. The ids may have
// been overwritten, for example by a revocation. A node of our session is then ours if it is the
// only one and no other contender has registered it. If several contenders of this session have
// lost their replies, such nodes cannot be assigned. They are removed, and the contenders create
// new nodes. If some of our nodes are missing, the rest are removed as well.
//
// With data_format::owner_only there are no ids, but all nodes with our data are equivalent. The
// oldest one is ours, and another contender that lost its reply finds the next one.
task<error_code> owned_nodes::choose(const std::vector<std::vector<candidate>>& under,
                                     binding where) {
  auto& known = context_.session().registered_nodes;
  std::int64_t made_by = 0;
  const auto may_be_ours = [&](const candidate& n) {
    return (n.has_our_data && !owner_only()) || !known.contains(n.path, n.czxid);
  };
  for (const auto& nodes : under)
    for (const auto& n : nodes)
      if (n.has_our_data && may_be_ours(n) && (made_by == 0 || n.czxid < made_by))
        made_by = n.czxid;
  std::vector<std::pair<owned_node*, const candidate*>> mine;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (const auto& n : under[i])
      if (may_be_ours(n) && (made_by == 0 || n.czxid == made_by)) mine.emplace_back(&nodes_[i], &n);
  // With data_format::owner_only the data identifies the contender: a node with other data is not
  // ours.
  bool one_each = mine.size() == nodes_.size() && (made_by != 0 || !owner_only());
  for (std::size_t i = 0; i < nodes_.size() && one_each; ++i)
    one_each = mine[i].first == &nodes_[i] && mine[i].second->czxid == mine[0].second->czxid;
  if (one_each) {
    set_created(mine[0].second->czxid, where);
    for (const auto& [n, found] : mine) adopt(*n, found->path);
    co_return error_code{};
  }
  std::vector<pending_reply<requests::nothing>> removing;
  {
    const single_write in_one_write{context_.session()};
    for (const auto& [n, found] : mine) {
      known.add(found->path, found->czxid);  // so that no other contender adopts it meanwhile
      removing.push_back(
          context_.send(requests::remove(context_.defaults(), found->path, any_version), where));
    }
  }
  error_code ec;
  for (const auto& each : removing) {
    const auto removed = co_await each;
    if (removed.ec && removed.ec != errc::no_node) ec = removed.ec;
  }
  for (const auto& [n, found] : mine) known.remove(found->path, found->czxid);
  co_return ec;
}

// Collects the nodes of this session under one parent that are or may be ours.
task<error_code> owned_nodes::find_candidates(const owned_node& under, const creation& c,
                                              binding where, std::vector<candidate>& into,
                                              reservations& reserved) {
  const auto& known = context_.session().registered_nodes;
  auto& lists_ephemerals = context_.session().server_lists_ephemerals;
  std::vector<std::string> paths;
  if (lists_ephemerals) {
    const auto listing =
        context_.send(requests::ephemerals(context_.defaults(), under.child({})), where);
    const auto mine = co_await listing;
    // A server before 3.6 refuses the request and closes the connection, so the nodes must be
    // listed on the next one.
    if (mine.ec == errc::unimplemented) {
      lists_ephemerals = false;
      co_return errc::not_connected;
    }
    if (mine.ec) co_return mine.ec;
    paths = mine.value;
  } else {
    const auto listing =
        context_.send(requests::children(context_.defaults(), under.parent, {}), where);
    const auto all = co_await listing;
    if (all.ec && all.ec != errc::no_node) co_return all.ec;
    for (const auto& name : all.value.names) paths.push_back(under.child(name));
  }
  const auto prefix = under.child(c.prefix);
  const bool fixed = c.mode == create_mode::ephemeral;
  const auto not_ours = [&](const std::string& path) {
    return !path.starts_with(prefix) || path.find('/', prefix.size()) != path.npos ||
           (fixed && path != prefix);
  };
  std::erase_if(paths, not_ours);
  // Most nodes are registered by other contenders of the session. Our node can be among them only
  // if it got the name of another contender's node that was deleted. So the other nodes are read
  // first.
  const auto registered = std::partition(
      paths.begin(), paths.end(), [&](const std::string& path) { return !known.has_name(path); });
  const auto unregistered = static_cast<std::size_t>(registered - paths.begin());
  bool found = false;
  for (std::size_t next = 0; next < paths.size();) {
    // With data_format::owner_only, all nodes with our data are candidates.
    if (found && (!owner_only() || next >= unregistered)) break;
    const auto end =
        std::min(next < unregistered ? unregistered : paths.size(), next + reads_in_one_write);
    std::vector<pending_reply<get_result>> reading;
    {
      const single_write in_one_write{context_.session()};
      for (auto i = next; i < end; ++i)
        reading.push_back(context_.send(requests::get(context_.defaults(), paths[i], {}), where));
    }
    error_code ec;
    for (const auto& each : reading) {
      const auto node = co_await each;
      const auto& path = paths[next++];
      if (node.ec && node.ec != errc::no_node) ec = node.ec;
      if (node.ec || node.value.stat.ephemeral_owner != context_.session_id) continue;
      const auto id = parse_contender_data(node.value.data).id;
      const bool ours = owner_only() ? node.value.data == c.data : id == c.id;
      const auto czxid = node.value.stat.czxid;
      // Another contender has registered this node.
      if ((!ours || owner_only()) && known.contains(path, czxid)) continue;
      if (ours || id.empty()) into.push_back({path, czxid, ours});
      if (ours && !owner_only()) reserved.add(path, czxid);
      found = found || ours;
    }
    if (ec) co_return ec;
  }
  co_return error_code{};
}

// --- verification

pending_reply<get_result> owned_nodes::send_read(owned_node& n) {
  return context_.send(requests::get(context_.defaults(), n.path(), n.watch.set(n.path())),
                       context_.in_session());
}

error_code owned_nodes::note_read(owned_node& n, const reply<get_result>& got) {
  if (got.ec) n.watch.read_failed();
  if (is_connection_error(got.ec)) n.watch.mark_changed();  // it is read again
  if (got.ec == errc::no_node || (!got.ec && got.value.stat.czxid != czxid_))
    n.watch.mark_deleted();
  return got.ec;
}

task<error_code> owned_nodes::read_and_watch(owned_node& n) {
  const auto pending = send_read(n);
  const auto got = co_await pending;
  if (!note_read(n, got) && nodes_.size() == 1) verified_on_ = got.sent_on;
  co_return got.ec;
}

task<error_code> owned_nodes::read_and_watch_until_release(owned_node& n, std::string& data) {
  const auto pending = send_read(n);
  pending.notify(context_.changed);
  while (!pending.await_ready() && !context_.release_requested()) co_await context_.changed;
  if (!pending.await_ready()) {
    n.watch.mark_changed();  // it is not known yet whether the watch is set
    co_return context_.interruption();
  }
  const auto got = co_await pending;
  if (!note_read(n, got) && nodes_.size() == 1) verified_on_ = got.sent_on;
  data = got.value.data;
  co_return got.ec;
}

task<error_code> owned_nodes::verify() {
  binding where = context_.in_session();
  for (auto& n : nodes_) {
    // All reads use one connection. Otherwise the first node could be deleted between the reads.
    const auto pending = context_.send(requests::exists(context_.defaults(), n.path(), {}), where);
    const auto got = co_await pending;
    if (got.ec) co_return got.ec;
    if (!got.value || got.value->czxid != czxid_) {
      n.watch.mark_deleted();
      co_return error_code{};
    }
    where = got.sent_on;
  }
  if (!one_was_deleted()) verified_on_ = where;
  co_return error_code{};
}

task<> owned_nodes::drop_deleted() {
  for (;;) {
    verified_on_ = context_.in_session();
    const auto syncing = context_.send(requests::sync(context_.defaults(), nodes_[0].parent),
                                       verified_on_, session::on_disconnect::fail);
    const auto synced = co_await syncing;
    context_.end_session_if_dead(synced.ec);
    if (context_.session_ended()) {
      exist_ = false;
      co_return done;
    }
    if (synced.ec) {
      if (!is_connection_error(synced.ec)) co_await context_.pause(retry_delay);
      continue;
    }
    verified_on_ = synced.sent_on;
    error_code ec;
    std::vector<owned_node> left;
    for (auto& n : nodes_) {
      const auto pending =
          context_.send(requests::get(context_.defaults(), n.path(), {}), verified_on_);
      const auto got = co_await pending;
      if (got.ec && got.ec != errc::no_node) ec = got.ec;
      if (!got.ec && got.value.stat.czxid == czxid_)
        left.push_back(n);
      else if ((got.ec == errc::no_node || !got.ec) && std::exchange(n.registered, false))
        context_.session().registered_nodes.remove(n.path(), czxid_);
    }
    if (ec) {
      if (!is_connection_error(ec)) co_await context_.pause(retry_delay);
      continue;
    }
    nodes_ = std::move(left);
    exist_ = !nodes_.empty();
    co_return done;
  }
}

// --- replacement

task<error_code> owned_nodes::replace(const std::string& name, const creation& c) {
  auto& n = nodes_[0];
  auto& known = context_.session().registered_nodes;
  const auto path = n.child(name);
  // Register the new node, so that no other contender of this session adopts it meanwhile.
  known.add(path, owned_node_registry::any_age);
  for (;;) {
    transaction t;
    t.remove(n.path()).create(path, c.data, create_mode::ephemeral);
    const auto pending = context_.send(requests::commit(context_.defaults(), t), verified_on_);
    const auto got = co_await pending;
    replacement made{got.ec, got.value.zxid, got.sent_on};
    if (is_connection_error(got.ec) || outcome_unknown(got.ec))
      made = co_await resolve_replacement(path, c);
    const bool did_not_happen =
        made.ec == errc::no_node && !got.value.failed_part() && !made.old_is_gone;
    if (!context_.session_ended() && did_not_happen) continue;
    known.remove(path, owned_node_registry::any_age);
    if (context_.session_ended()) co_return context_.session_end();
    if (made.ec == errc::no_node) {  // the old node does not exist
      n.watch.mark_deleted();
      co_return errc::lock_lost;
    }
    if (made.ec) co_return made.ec;
    known.remove(n.path(), czxid_);
    known.add(path, made.czxid);
    n.watch.forget();
    n.name = name;
    czxid_ = made.czxid;
    verified_on_ = made.seen_on;
    co_return error_code{};
  }
}

task<owned_nodes::replacement> owned_nodes::resolve_replacement(const std::string& path,
                                                                const creation& c) {
  auto& n = nodes_[0];
  replacement result{errc::connection_loss, 0, {}};
  while (is_connection_error(result.ec) || outcome_unknown(result.ec)) {
    if (context_.session_ended()) break;
    const auto syncing = context_.send(requests::sync(context_.defaults(), n.parent),
                                       context_.in_session(), session::on_disconnect::fail);
    const auto synced = co_await syncing;
    if (synced.ec == errc::backlog_full) {
      co_await context_.pause(retry_delay);
      continue;  // the outcome is still unknown
    }
    if (result.ec = synced.ec; result.ec) continue;
    const auto asked_new =
        context_.send(requests::get(context_.defaults(), path, {}), synced.sent_on);
    const auto found = co_await asked_new;
    if (found.ec == errc::backlog_full) {
      result.ec = errc::connection_loss;  // the outcome is still unknown
    } else if (result.ec = found.ec; !result.ec) {
      // The id may have been overwritten, for example by a revocation.
      const auto id = parse_contender_data(found.value.data).id;
      if (found.value.stat.ephemeral_owner != context_.session_id || (!id.empty() && id != c.id))
        result.ec = errc::node_exists;
      result.czxid = found.value.stat.czxid;
      result.seen_on = synced.sent_on;
    } else if (result.ec == errc::no_node) {  // not replaced
      const auto asked_old =
          context_.send(requests::get(context_.defaults(), n.path(), {}), synced.sent_on);
      const auto old = co_await asked_old;
      result.old_is_gone = old.ec == errc::no_node || (!old.ec && old.value.stat.czxid != czxid_);
      if (old.ec == errc::backlog_full || is_connection_error(old.ec)) {
        result.ec = errc::connection_loss;  // the outcome is still unknown
        continue;
      }
      if (old.ec && !result.old_is_gone) result.ec = old.ec;
      verified_on_ = synced.sent_on;
      break;
    }
  }
  co_return result;
}

// --- removal

task<owned_nodes::removal_result> owned_nodes::remove(removal_plan& plan) {
  removal_result result;
  auto& item = plan.item;
  bool with_records = !plan.parent_records.empty();
  bool may_be_removed = false;
  std::size_t nodes_in_one_request = nodes_.size();
  int losses = 0;
  duration delay = retry_delay;
  // A node of another contender may have the name of a deleted node.
  if (exist_ && !context_.session_ended() && plan.must_verify) co_await drop_deleted();
  while (exist_ && !context_.session_ended()) {
    const auto count = std::min(nodes_in_one_request, nodes_.size());
    transaction t;
    for (std::size_t i = 0; i < count; ++i) t.remove(nodes_[i].path());
    if (item.on_release == action::remove_with_claim)
      t.remove(item.path, item.version);
    else if (!item.path.empty())
      t.check(item.path, item.version);
    if (with_records)
      for (const auto& n : nodes_)
        if (const auto r = plan.parent_records.find(n.parent); r != plan.parent_records.end())
          t.set(n.parent, r->second);
    error_code ec;
    bool refused = false;
    bool may_be_too_large = false;
    if (t.size() == 1) {
      const auto pending = context_.send(
          requests::remove(context_.defaults(), nodes_[0].path(), any_version), verified_on_);
      const auto got = co_await pending;
      ec = got.ec;
      may_be_too_large = got.may_be_too_large;
    } else {
      const auto pending = context_.send(requests::commit(context_.defaults(), t), verified_on_);
      const auto got = co_await pending;
      ec = got.ec;
      may_be_too_large = got.may_be_too_large;
      refused = got.value.failed_part().has_value();
      const bool by_another_part = refused && *got.value.failed_part() >= count;
      if (by_another_part && !item.path.empty()) {
        const auto item_ec = co_await update_refused_item(item, ec);
        if (item_ec) result.item_error = item_ec;
        co_await drop_deleted();
        continue;
      }
      // We are not permitted to write the parent, or one of several nodes was deleted.
      if (by_another_part) ec = errc::no_auth;
    }
    if (!ec && count < nodes_.size()) {
      forget_first(count);
      continue;
    }
    result.confirmed = !ec;
    context_.end_session_if_dead(ec);
    if (!ec || context_.session_ended()) break;
    if (ec == errc::no_node && nodes_.size() == 1) break;
    if (refused && with_records && ec == errc::no_auth) {
      with_records = false;
      continue;
    }
    // With the parent records, the release of many nodes is larger than their creation. The nodes
    // need not be removed in one transaction, because the contender no longer holds the lock.
    const bool too_large = ec == errc::too_large || may_be_too_large;
    if (too_large && (with_records || count > 1)) {
      if (!std::exchange(with_records, false)) nodes_in_one_request = count / 2;
      if (ec == errc::too_large) continue;  // not sent
    }
    // The server may close the connection because of this request, and would do so every time. Each
    // lost connection suspends all holds of the client.
    const bool lost_often = ec == errc::connection_loss && ++losses > 2;
    if (!is_connection_error(ec) || may_be_too_large || lost_often) {
      co_await context_.pause(delay);
      delay = std::min<duration>(delay * 2, longest_retry_delay);
    }
    // The nodes may be removed already, and other nodes can get their names. So the nodes are
    // verified before the next attempt.
    may_be_removed = may_be_removed || outcome_unknown(ec);
    co_await drop_deleted();
    result.confirmed = may_be_removed && !exist_ && !context_.session_ended();
  }
  forget();
  co_return result;
}

task<error_code> owned_nodes::update_refused_item(claimed_item& item, error_code refusal) {
  const bool removes = item.on_release == action::remove_with_claim;
  if (!removes || refusal != errc::bad_version) {
    item = {};
    co_return removes&& refusal != errc::no_node ? refusal : error_code{};
  }
  const auto reading = context_.send(requests::exists(context_.defaults(), item.path, {}), {});
  const auto found = co_await reading;
  if (!found.ec && (!found.value || found.value->czxid != item.czxid))
    item = {};
  else if (found.value)
    item.version = found.value->version;
  co_return error_code{};
}

void owned_nodes::forget_first(std::size_t count) {
  const auto end = nodes_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto n = nodes_.begin(); n != end; ++n)
    if (std::exchange(n->registered, false))
      context_.session().registered_nodes.remove(n->path(), czxid_);
  nodes_.erase(nodes_.begin(), end);
}

void owned_nodes::forget() {
  for (auto& n : nodes_)
    if (std::exchange(n.registered, false))
      context_.session().registered_nodes.remove(n.path(), czxid_);
  exist_ = false;
}

}  // namespace conclave::recipes
