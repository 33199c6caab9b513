#include "simulation/users/locker.hpp"

#include <algorithm>
#include <utility>

#include "recipes/lock_kinds.hpp"
#include "simulation/world/message_text.hpp"

namespace conclave::simulated {

// --- kinds

lock_kind a_mutex(std::vector<std::string> paths) {
  return {recipes::lock_of(std::move(paths), layout::curator(), role::exclusive), {}};
}

lock_kind a_shared_mutex(std::string path) {
  return {recipes::lock_of({std::move(path)}, layout::curator(), role::writer), {}};
}

lock_kind a_semaphore(const std::string& path, std::size_t permits) {
  auto [permit, admission] = recipes::semaphore_of(path, permits);
  return {std::move(permit), std::move(admission)};
}

lock_kind a_named_mutex(const std::string& path) { return {recipes::named_lock_of(path), {}}; }

lock_kind an_election(const std::string& path) {
  return {recipes::candidacy_of(path, layout::election()), {}};
}

std::vector<std::string> lock_kind::resources() const {
  if (request.granted_when == recipes::lock_request::rule::fixed_name)
    return {request.parents[0] + '/' + request.name};
  if (admission) return {request.semaphore_path};
  return request.parents;
}

std::vector<std::string> lock_kind::parents() const {
  auto all = request.parents;
  if (admission) all.push_back(admission->parents[0]);
  return all;
}

// --- locker

locker::locker(simulated::client& c, const lock_kind& kind, std::shared_ptr<judge> j)
    : client_{c.shared_from_this()}, kind_{kind}, judge_{std::move(j)} {}

void locker::make(lock_options o) {
  if (o.owner.empty()) o.owner = "somebody";
  const auto noting = [weak = weak_from_this()](std::string what) {
    return [weak, what = std::move(what)](const conclave::hold&) {
      if (const auto self = weak.lock()) self->note(what);
    };
  };
  o.on_suspended = noting("suspended");
  o.on_restored = [weak = weak_from_this()](const conclave::hold&) {
    const auto self = weak.lock();
    if (!self) return;
    self->note("restored");
    for (const auto& c : self->calls_)
      if (c->holding()) self->judge_->restored(*c);
  };
  if (o.on_revocation) o.on_revocation = noting("revocation");
  o.on_lost = [weak = weak_from_this()](const conclave::hold&, error_code why) {
    const auto self = weak.lock();
    if (!self) return;
    for (const auto& c : self->calls_)
      if (c->without_mutex && c->holding()) {
        c->hold->lose(why);
        c->hold->loss().request_stop();
      }
    self->note("lost " + name_of(why));
  };
  if (o.on_enqueued)
    o.on_enqueued = [weak = weak_from_this()](std::size_t position) {
      if (const auto self = weak.lock()) self->note("enqueued " + std::to_string(position));
    };
  recipes::progress_callback follow;
  if (kind_.request.data == recipes::lock_request::data_format::owner_only) {
    steps_ = std::make_shared<recipes::candidacy>([weak = weak_from_this()](election_event e) {
      const auto self = weak.lock();
      if (!self) return;
      self->client_->post([weak, e = std::move(e)] {
        if (const auto again = weak.lock()) again->events_.push_back(e);
      });
    });
    follow = [s = steps_](const recipes::progress& p) { s->follow(p); };
  }
  object_ =
      std::make_shared<recipes::lock_object>(client_, kind_.request, kind_.admission, o, follow);
  options_ = std::move(o);
}

// Callbacks run outside of the scope, so they may call the lock. This one does.
void locker::note(const std::string& what) {
  journal_.push_back(what);
  hold(kind_.request.role);
}

int locker::count(std::string_view what) const {
  return static_cast<int>(std::count(journal_.begin(), journal_.end(), what));
}

call_pointer locker::add_call(role as, std::function<void()> on_completed) {
  const auto c = std::make_shared<call>();
  calls_.push_back(c);
  c->client = client_.get();
  c->as = as;
  c->started_at = judge_->now();
  c->on_completed = std::move(on_completed);
  return c;
}

call_pointer locker::lock_locally(std::function<void()> on_completed) {
  using local_result = recipes::lock_object::local_result;
  if (object_->try_acquire_locally() != local_result::acquired) return nullptr;
  const auto c = add_call(kind_.request.role, std::move(on_completed));
  c->without_mutex = true;
  c->completions = 1;
  c->completed_at = judge_->now();
  c->hold = std::make_shared<recipes::hold_state>(client_);
  c->hold->begin(last_hold_->token(), last_hold_->session(), last_hold_->nodes(), last_hold_->id());
  granted(c);
  if (c->on_completed) c->on_completed();
  return c;
}

call_pointer locker::begin(role as, bool waits, std::function<void()> on_completed) {
  const auto c = add_call(as, std::move(on_completed));
  c->who = std::make_shared<recipes::lock_object::caller>();
  c->who->role = as;
  c->who->waits = waits;
  if (describe_wait) c->who->wait = describe_wait();
  c->who->complete = [weak = weak_from_this(), c_weak = std::weak_ptr{c}](error_code ec) {
    const auto self = weak.lock();
    const auto completed = c_weak.lock();
    if (self && completed) self->completed(completed, ec);
  };
  const recipes::session_context::scope inside{*client_};
  object_->acquire(c->who);
  return c;
}

void locker::completed(const call_pointer& c, error_code ec) {
  if (++c->completions > 1) judge_->report_violation("a call completed twice");
  c->ec = ec;
  c->completed_at = judge_->now();
  if (!ec) {
    c->hold = hold(c->as);
    granted(c);
  }
  if (c->on_completed) c->on_completed();
}

void locker::granted(const call_pointer& c) {
  c->loss_callback.emplace(c->hold->lost(), [this, raw = c.get()] {
    raw->lost_at = last_unlock_ = judge_->now();
    judge_->ended(*raw);
    judge_->where().write_trace(
        [&] { return client_->name() + " has lost " + raw->hold->nodes()[0]; });
    if (raw->on_lost) raw->on_lost();
  });
  if (c->as != role::reader && !kind_.admission) {
    c->local = last_hold_ && last_hold_->token() == c->hold->token();
    last_hold_ = c->hold;
  }
  judge_->where().write_trace([&] {
    return client_->name() + (c->local ? " holds again " : " holds ") + c->hold->nodes()[0];
  });
  if (c->local) {
    check_recall();
    const bool aware = others_since_ && judge_->must_know(*client_, *others_since_);
    if (aware && ++grants_beside_others_ > options_.local_handoffs)
      judge_->report_violation(c->hold->nodes()[0] +
                               " was granted locally although another contender waits");
    if (client_->suspension_reported())
      judge_->report_violation(c->hold->nodes()[0] + " was granted locally without a connection");
  } else {
    others_since_.reset();
    grants_beside_others_ = 0;
  }
  judge_->granted(*this, *c);
}

std::string locker::kept_node() const {
  if (options_.keep_for.count() == 0 || !last_hold_) return {};
  const auto busy = [](const call_pointer& c) { return c->completions == 0 || c->holding(); };
  return std::any_of(calls_.begin(), calls_.end(), busy) ? std::string{} : last_hold_->nodes()[0];
}

// Returns true if the node of the last hold exists and another child exists beside it.
bool locker::others_contend() const {
  auto& hand = judge_->where().by_hand();
  for (const auto& node : last_hold_->nodes())
    if (hand.get(node).stat.czxid == last_hold_->token() &&
        hand.children(node.substr(0, node.rfind('/'))).size() > 1)
      return true;
  return false;
}

void locker::check_recall() {
  if (options_.keep_for.count() == 0 || !last_hold_ || !judge_->where().server().up()) return;
  if (!others_contend()) return others_since_.reset();
  if (!others_since_) others_since_ = judge_->now();
  if (const auto node = kept_node();
      !node.empty() && judge_->must_know(*client_, std::max(*others_since_, last_unlock_)))
    judge_->report_violation(node + " is idle and was not released for another contender");
}

void locker::give_up(const call_pointer& c) {
  c->gave_up = true;
  const recipes::session_context::scope inside{*client_};
  object_->give_up(c->who, error_code{ECANCELED, boost::system::system_category()});
}

void locker::unlock(const call_pointer& c) {
  c->unlocked = true;
  last_unlock_ = judge_->now();
  judge_->ended(*c);
  judge_->where().write_trace([&] { return client_->name() + " unlocks " + c->hold->nodes()[0]; });
  if (c->without_mutex && object_->release_locally()) return;
  if (kind_.request.data != recipes::lock_request::data_format::owner_only) return unlock(c->as);
  const recipes::session_context::scope inside{*client_};
  object_->release_hold(*c->hold);
}

void locker::when_all_gone(std::function<void()> f) {
  const recipes::session_context::scope inside{*client_};
  object_->when_all_gone(std::move(f));
}

void locker::unlock(role as) {
  const recipes::session_context::scope inside{*client_};
  object_->release(as, 0, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) ++self->confirmed_;
  });
}

void locker::downgrade(const call_pointer& c) {
  judge_->downgrades(*c);
  const recipes::session_context::scope inside{*client_};
  object_->downgrade([weak = weak_from_this(), c](error_code ec) {
    const auto self = weak.lock();
    if (!self) return;
    self->downgrades_.push_back(ec);
    if (!ec && c->without_mutex) {
      const auto reader = self->hold(role::reader);
      c->hold->move_to(reader->nodes(), reader->id());
    }
    self->judge_->downgraded(*c, ec);
  });
}

void locker::close() {
  for (const auto& c : calls_) {
    c->unlocked = true;
    judge_->ended(*c);
  }
  const recipes::session_context::scope inside{*client_};
  object_->close(errc::closed);
}

std::shared_ptr<recipes::hold_state> locker::hold(role as) {
  const recipes::session_context::scope inside{*client_};
  return object_->hold(as);
}

// --- judge

namespace {

checkers::exclusion::id id_of(const call& c) {
  return reinterpret_cast<checkers::exclusion::id>(c.hold.get());
}

}  // namespace

judge::judge(world& w, checkers::violation_callback on_violation)
    : world_{w},
      on_violation_{std::move(on_violation)},
      exclusion_{[this](const std::string& what) { report_violation(what); },
                 [this](auto which) { return still_holds(which); }},
      order_{[this](const std::string& what) { report_violation(what); }} {}

void judge::report_violation(const std::string& what) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now()).count();
  auto text = "at " + std::to_string(us) + " us: " + what;
  world_.write_trace([&] { return "WRONG: " + what; });
  if (on_violation_) on_violation_(text);
  violations_.push_back(std::move(text));
}

// A paused process cannot be notified. After it resumes, it can still check its deadline.
bool judge::still_holds(checkers::exclusion::id which) const {
  const auto found = holds_.find(which);
  if (found == holds_.end()) return true;  // a hold of another library lasts until other_ended()
  const auto& c = *found->second;
  return c.holding() && !c.node_was_deleted && (!c.client->paused_until_now() || c.held());
}

void judge::granted(const locker& l, call& c) {
  ++grants;
  const auto me = c.hold->nodes().front();
  // The node was deleted before the grant was reported.
  if (const auto gone = deleted_nodes_.find(c.hold->token()); gone != deleted_nodes_.end()) {
    c.node_was_deleted = true;
    if (gone->second && must_know(*c.client, *gone->second))
      report_violation(me + " was granted long after its node was deleted");
  }
  if (c.node_was_deleted || name_may_be_deleted_by_previous_owner(c)) {
    c.node_was_deleted = true;
    ++excused_grants;
    return;
  }
  const bool shared = c.as == role::reader;
  shared_grants += shared;
  local_grants += c.local;
  grants_without_mutex += c.without_mutex;
  if (!c.held()) report_violation(me + " was granted after its deadline");
  const auto& request = l.kind().request;
  const auto permits =
      request.granted_when == recipes::lock_request::rule::permits ? request.permits : 1;
  holds_[id_of(c)] = &c;
  for (const auto& resource : l.kind().resources()) {
    exclusion_.granted(resource, id_of(c), {me, permits, !c.alone()});
    // The admission lock of a semaphore keeps the order, unless nodes are deleted by hand.
    if (!c.local && (!l.kind().admission || deleted_nodes_.empty()))
      order_.granted(resource, c.hold->token(), me, shared);
  }
}

void judge::other_granted(const std::string& resource, checkers::exclusion::id id,
                          const std::string& node, std::int64_t token, bool shared) {
  exclusion_.granted(resource, id, {node, 1, shared});
  order_.granted(resource, token, node, shared);
}

// After a node and its parent were deleted by hand, a new node can get the same name. The previous
// owner may not know yet, and may delete the new node by name. If the new node is gone, this may
// have happened at any time since the call, because the reply that reports the grant can be late.
bool judge::name_may_be_deleted_by_previous_owner(const call& c) {
  using namespace std::chrono_literals;
  constexpr instant moment = 300ms;
  for (const auto& node : c.hold->nodes())
    for (auto [gone, end] = deleted_names_.equal_range(node); gone != end; ++gone) {
      const bool is_gone =
          world_.server().up() && world_.by_hand().get(node).stat.czxid != c.hold->token();
      const auto since = is_gone ? c.started_at : now();
      const auto& [when, owner] = gone->second;
      if (since < (owner != nullptr ? owner->may_be_unaware_until(when, moment) : when + moment))
        return true;
    }
  return false;
}

bool judge::must_know(const simulated::client& c, instant since) const {
  using namespace std::chrono_literals;
  return now() >= since + 1s && c.is_connected() && c.connected_since() <= since &&
         c.inactive_until() < since;
}

void judge::ended(const call& c) {
  if (c.hold) exclusion_.ended(id_of(c));
}

void judge::downgrades(call& c) {
  c.downgrading = true;
  exclusion_.becomes_shared(id_of(c));
}

void judge::downgraded(call& c, error_code ec) {
  c.downgrading = false;
  if (ec) {
    if (!c.node_was_deleted && c.holding() && c.held()) exclusion_.becomes_exclusive(id_of(c));
    return;
  }
  c.as = role::reader;
  c.node_deleted_at.reset();
  c.node_was_deleted = c.node_was_deleted || name_may_be_deleted_by_previous_owner(
                                                 c);  // the downgrade has replaced the node
}

bool judge::write(const locker& l, const call& c) {
  bool done = true;
  for (const auto& resource : l.kind().resources())
    done = resources_[resource].write(c.hold->token()) && done;
  if (!done && !c.node_was_deleted && c.holding() && c.held())
    report_violation(c.hold->nodes().front() + " is held, but its write was refused");
  return done;
}

std::uint64_t judge::stale_writes_refused() const {
  std::uint64_t n = 0;
  for (const auto& [path, r] : resources_) n += r.refused();
  return n;
}

void judge::expired(std::int64_t session) {
  for (const auto& l : lockers_)
    for (const auto& c : l->calls()) {
      if (!c->hold || c->unlocked || c->client->killed() || c->hold->session() != session) continue;
      ++expiries_of_holders;
      if (c->holding() && (!l->client().paused_until_now() || c->held()))
        report_violation(c->hold->nodes().front() +
                         ": the session expired before the holder was notified");
    }
}

void judge::restored(const call& c) {
  if (c.node_deleted_at && *c.node_deleted_at < c.client->connected_since())
    report_violation(c.hold->nodes().front() +
                     " was restored although its node was deleted before the reconnect");
}

bool judge::note_deletion(const std::string& path, const node_stat& node, bool sure) {
  using namespace std::chrono_literals;
  bool held = false;
  deleted_nodes_[node.czxid] = sure ? std::optional{now()} : std::nullopt;
  const simulated::client* owner = nullptr;
  for (const auto& l : lockers_)
    if (l->client().session().id == node.ephemeral_owner) owner = &l->client();
  deleted_names_.insert({path, {now(), owner}});
  for (const auto& l : lockers_)
    for (const auto& c : l->calls()) {
      if (!c->holding()) continue;
      // A downgrade keeps the sequence number. The holder may not know the new name yet.
      const auto same = [&](const std::string& its) {
        const auto slash = its.rfind('/');
        return its == path ||
               (c->downgrading && path.compare(0, slash + 1, its, 0, slash + 1) == 0 &&
                path.ends_with(its.substr(its.size() - 10)));
      };
      const auto nodes = c->hold->nodes();
      if (std::none_of(nodes.begin(), nodes.end(), same)) continue;
      held = c->node_was_deleted = true;
      // The time is not certain for a downgraded hold or for a new node with an old name.
      if (!sure || c->downgrading || c->hold->token() != node.czxid) continue;
      c->node_deleted_at = now();
      world_.after(1s, [this, c] {
        if (c->holding() && c->node_deleted_at && must_know(*c->client, *c->node_deleted_at))
          report_violation(c->hold->nodes().front() + " is held long after its node was deleted");
      });
    }
  return held;
}

void judge::end() {
  for (const auto& l : std::exchange(lockers_, {}))
    for (const auto& c : l->calls()) {
      c->loss_callback.reset();
      c->on_completed = c->on_lost = {};
    }
}

void judge::expect_nothing_left() {
  std::set<std::string> parents;
  for (const auto& l : lockers_)
    for (const auto& parent : l->kind().parents()) parents.insert(parent);
  for (const auto& parent : parents) {
    if (parent == "/") continue;
    for (const auto& name : world_.by_hand().children(parent))
      if (!parents.contains(parent + '/' + name))
        report_violation("left behind: " + parent + '/' + name);
  }
  for (const auto& l : lockers_) {
    if (l->client().killed()) continue;
    for (const auto& left : l->client().leftovers()) report_violation(left);
  }
  for (const auto& left : world_.leftover_watches()) report_violation(left);
}

// --- world

lock_world::lock_world(const world_options& options, checkers::violation_callback on_violation)
    : world{options}, judge{std::make_shared<simulated::judge>(world, std::move(on_violation))} {
  world.expired = [j = judge](std::int64_t session) { j->expired(session); };
  if (!world.wait_until_connected()) judge->report_violation("not every client could connect");
}

locker_pointer lock_world::add(std::size_t client, const lock_kind& kind, lock_options o) {
  auto l = std::make_shared<locker>(world.client(client), kind, judge);
  l->make(std::move(o));
  judge->add(l);
  return l;
}

}  // namespace conclave::simulated
