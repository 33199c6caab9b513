#include "conclave/election.hpp"

#include "client/call.hpp"
#include "client/contenders.hpp"
#include "client/locking.hpp"
#include "recipes/callback_queue.hpp"
#include "recipes/candidacy.hpp"
#include "recipes/contender_data.hpp"
#include "recipes/first_contenders.hpp"
#include "recipes/lock_kinds.hpp"
#include "recipes/recipe_path.hpp"

namespace conclave {

// The lock object shares ownership of this struct, because its contender may still have to remove
// its node after the election is destroyed.
struct election::own : std::enable_shared_from_this<own> {
  own(detail::core_pointer c, std::string p, election_options o)
      : core{std::move(c)}, path{std::move(p)}, options{std::move(o)} {
    if (options.id.empty()) options.id = client_impl::host_name();
  }

  void follow(const recipes::progress& p) {
    steps.follow(p);
    if (p.what != recipes::progress::kind::releasing) return;
    // Reports the resignation to the code that runs as the leader.
    core->recipes->post([old = std::exchange(resignation, {})]() mutable { old.request_stop(); });
  }

  // Called inside a session_context::scope.
  void report(election_event e) {
    callbacks.push([self = shared_from_this(), e = std::move(e)] { self->options.on_event(e); });
    core->recipes->post([self = shared_from_this()] { self->callbacks.run(); });
  }
  // Called outside of a session_context::scope, by callbacks of the lock object.
  template <class F, class... Arguments>
  void pass_on(const F& f, const Arguments&... arguments) {
    if (!f) return;
    callbacks.push([&f, arguments..., self = shared_from_this()] { f(arguments...); });
    callbacks.run();
  }

  detail::core_pointer core;
  std::string path;
  election_options options;
  recipes::callback_queue callbacks;
  // Belongs to the current leadership, or to the next one if there is none. Used inside a
  // session_context::scope.
  std::stop_source resignation;
  recipes::candidacy steps{options.on_event ? [this](election_event e) { report(std::move(e)); }
                                            : std::function<void(election_event)>{}};
};

namespace {

detail::core_pointer checked(client& c, const std::string& path, const layout& names) {
  recipes::require_recipe_path("election", path, names);
  return client_impl::core_access::of(c);
}

}  // namespace

election::election(client& c, std::string path, election_options options)
    : own_{std::make_shared<own>(checked(c, path, options.layout), path, std::move(options))} {
  auto request = recipes::candidacy_of(own_->path, own_->options.layout);
  if (request.layout.name_prefix(role).empty())
    throw error{errc::invalid_argument,
                "election " + path + ": the layout has no names for this kind of lock"};
  contender_info shown;
  recipes::set_node_info(shown, own_->options.id, {});
  if (shown.owner != own_->options.id)
    throw error{errc::invalid_argument,
                "election " + path +
                    ": the id must not be __REVOKE__ or contain a line break followed by 'id '"};
  lock_options o;
  o.layout = request.layout;
  o.owner = own_->options.id;
  const auto& wanted = own_->options;
  if (wanted.on_suspended)
    o.on_suspended = [self = own_](const conclave::hold& h) {
      self->pass_on(self->options.on_suspended, h);
    };
  if (wanted.on_restored)
    o.on_restored = [self = own_](const conclave::hold& h) {
      self->pass_on(self->options.on_restored, h);
    };
  if (wanted.on_lost)
    o.on_lost = [self = own_](const conclave::hold& h, error_code why) {
      self->pass_on(self->options.on_lost, h, why);
    };
  state_ =
      client_impl::make_lock(c, std::move(path), std::move(request), std::nullopt, std::move(o),
                             [self = own_](const recipes::progress& p) { self->follow(p); });
  state_->verb = "campaign";
}

election::~election() {
  client_impl::keep_in_child(*own_->core, own_);
  client_impl::end(state_);  // its callbacks push into own_->callbacks
  if (!own_->core->forked()) own_->callbacks.close();
}

void election::campaign() { client_impl::lock(state_, role); }
bool election::campaign(std::stop_token stop) {
  return client_impl::lock(state_, role, std::move(stop));
}
std::optional<hold> election::campaign_to_lead(std::stop_token stop) {
  return client_impl::lock_to_hold(state_, role, std::move(stop));
}
bool election::campaign_before(detail::deadline d) {
  return client_impl::try_lock(state_, role, d);
}

void election::resign() noexcept { client_impl::abandon(state_); }
void election::resign(const conclave::hold& leadership) noexcept {
  client_impl::unlock(state_, leadership);
}

std::stop_token election::resignation() const {
  return client_impl::in_recipes(own_->core, [&] { return own_->resignation.get_token(); });
}

hold election::hold() const { return client_impl::hold_of(state_, role); }
election_state election::state() const { return own_->steps.state(); }
const std::string& election::id() const noexcept { return own_->options.id; }

std::optional<contender_info> election::leader() const {
  const auto& [core, path, names] = std::tie(own_->core, own_->path, own_->options.layout);
  for (;;) {
    const auto children = client_impl::children_of(core, path);
    if (recipes::has_other_layout(children, names))
      throw error{errc::layout_mismatch, "leader of " + path};
    const auto front = recipes::first_contenders(children, names);
    if (front.empty()) return std::nullopt;
    if (front.size() > 1) {  // the sequence numbers give no order near their end
      auto all = candidates();
      if (all.empty()) return std::nullopt;
      return std::move(all.front());
    }
    contender_info info;
    info.node = path + '/' + front.front();
    info.holds = true;
    try {
      const auto got =
          client_impl::block("get " + info.node, core, &detail::start_get, info.node, watcher{});
      recipes::set_node_info(info, got.data, got.stat);
      return info;
    } catch (const error& e) {
      if (e.code() != errc::no_node) throw;  // deleted since the listing
    }
  }
}

std::vector<contender_info> election::candidates() const {
  const auto& names = own_->options.layout;
  return client_impl::contenders(own_->core, own_->path, names, [&](std::string_view name) {
    return recipes::parse_candidate(name, names);
  });
}

}  // namespace conclave
