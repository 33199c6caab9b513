#include "base/valid_path.hpp"
#include "client/call.hpp"
#include "conclave/election.hpp"
#include "recipes/callback_queue.hpp"
#include "recipes/observer.hpp"

namespace conclave {

struct election_observer::own {
  detail::core_pointer core;
  callback on_leader;
  recipes::callback_queue callbacks;
  std::shared_ptr<recipes::observer> watching;
};

election_observer::election_observer(client& c, std::string path, callback on_leader,
                                     conclave::layout names)
    : own_{std::make_shared<own>()} {
  if (!valid_path(path) || path == "/")
    throw error{errc::invalid_path, "election_observer " + path};
  own_->core = client_impl::core_access::of(c);
  own_->on_leader = std::move(on_leader);
  if (own_->core->forked()) throw error{errc::forked, "election_observer " + path};
  const recipes::session_context::scope inside{*own_->core->recipes};
  own_->watching = std::make_shared<recipes::observer>(
      own_->core->recipes, std::move(path), std::move(names),
      [weak = std::weak_ptr{own_}](const std::optional<contender_info>& leader) {
        const auto self = weak.lock();
        if (!self) return;
        self->callbacks.push([self, leader] { self->on_leader(leader); });
        self->callbacks.run();
      });
  own_->watching->start();
}

election_observer::~election_observer() {
  client_impl::keep_in_child(*own_->core, own_);
  client_impl::in_recipes(own_->core, [&] { own_->watching->stop(); });
  if (!own_->core->forked()) own_->callbacks.close(recipes::callback_queue::rest::discard);
}

}  // namespace conclave
