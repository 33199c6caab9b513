// Transactions that happen once, whatever becomes of their answers.
//
// Each one also advances the version of an ephemeral node of our own, from the version that it was
// left with. A transaction whose answer was lost is simply sent again: if it had happened, our
// node's version is another one, and the server refuses.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "recipes/request.hpp"
#include "recipes/session_context.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

class counted_transactions {
 public:
  // Our node is to be made in this folder. An `owner` keeps us, and is kept while requests are
  // under way.
  counted_transactions(std::shared_ptr<session_context> p, std::string folder)
      : context_{std::move(p)}, folder_{std::move(folder)} {}

  struct outcome {
    error_code ec;                           // none: it happened
    bool unknown = false;                    // perhaps it did: the session ended before we knew
    std::optional<std::size_t> failed_part;  // of the transaction, which the server refused
  };
  // One at a time. `along` is called right before the transaction is first sent, and what it asks
  // for leaves in the same write.
  task<outcome> commit(std::shared_ptr<void> owner, const transaction& t,
                       const std::function<void()>& along = {});

  // Makes our node if there is none in this session, and sees to it that we know its version.
  task<error_code> enrol(std::shared_ptr<void> owner);
  bool enrolled() const noexcept { return session_ != 0 && session_ == context_->session().id; }
  const std::string& name() const noexcept { return name_; }

  // Takes our node away, if nothing is under way, as soon as there is a connection: as long as its
  // session lives it would count as one of us.
  task<> leave(std::shared_ptr<void> owner);

 private:
  std::string path() const { return folder_ + '/' + name_; }

  std::shared_ptr<session_context> context_;
  std::string folder_;
  std::string name_;
  std::int64_t session_ = 0;  // in which our node was made; 0: there is none
  // In which it may have been made without our hearing of it.
  std::int64_t perhaps_in_ = 0;
  std::optional<std::int32_t> version_;  // none: somebody wrote into it
};

}  // namespace conclave::recipes
