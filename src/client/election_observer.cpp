#include "client/callback_queue.hpp"
#include "client/core.hpp"
#include "conclave/election.hpp"
#include "recipes/observer.hpp"

namespace conclave {

struct election_observer::own {
  detail::core_pointer core;
  callback told;
  detail::callback_queue callbacks;
  std::shared_ptr<recipes::observer> watching;
};

election_observer::election_observer(client& c, std::string path, callback told,
                                     conclave::layout names)
    : own_{std::make_shared<own>()} {
  if (!session::valid_path(path) || path == "/")
    throw error{errc::invalid_path, "election_observer " + path};
  own_->core = detail::core_access::of(c);
  own_->told = std::move(told);
  if (own_->core->driver->loop().in_child()) throw error{errc::forked, "election_observer " + path};
  const recipes::session_context::scope inside{*own_->core->recipes};
  own_->watching = std::make_shared<recipes::observer>(
      own_->core->recipes, std::move(path), std::move(names),
      [weak = std::weak_ptr{own_}](const std::optional<contender_info>& leader) {
        const auto self = weak.lock();
        if (!self) return;
        self->callbacks.push([self, leader] { self->told(leader); });
        self->callbacks.run();
      });
  own_->watching->start();
}

election_observer::~election_observer() {
  if (own_->core->driver->loop().in_child()) return;
  {
    const recipes::session_context::scope inside{*own_->core->recipes};
    own_->watching->stop();
  }
  own_->callbacks.close();
}

}  // namespace conclave
