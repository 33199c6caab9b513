// Counts the open batches of a session. While a batch is open, submitted requests stay in the
// output buffer, so that one write sends all of them.
#pragma once

namespace conclave::runtime {

class open_batches {
 public:
  enum class kind {
    user,    // client::batch: an urgent request sends the buffer at once
    recipe,  // also collects urgent requests
  };

  void open(kind k) noexcept { ++count(k); }
  void close(kind k) noexcept { --count(k); }
  bool empty() const noexcept { return users_ == 0 && recipes_ == 0; }

  // Must be called after an urgent request has been added to the buffer.
  void note_urgent() noexcept { has_urgent_ = true; }
  // Must be called after the buffer has been sent, or when it will be sent as soon as the socket
  // accepts it.
  void note_flushed() noexcept { has_urgent_ = false; }

  // Returns true if the buffer must not be sent yet.
  bool hold_back() const noexcept { return recipes_ > 0 || (users_ > 0 && !has_urgent_); }

 private:
  unsigned& count(kind k) noexcept { return k == kind::user ? users_ : recipes_; }

  unsigned users_ = 0;
  unsigned recipes_ = 0;
  bool has_urgent_ = false;
};

}  // namespace conclave::runtime
