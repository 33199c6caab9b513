// Lists the holders and waiters of a lock, reads the position of a waiter, and asks a holder to
// release the lock. To list all recipes in a tree, see inspect.hpp.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "conclave/client.hpp"
#include "conclave/contender_info.hpp"
#include "conclave/layout.hpp"

namespace conclave {
namespace recipes {
struct queued_contender;
}  // namespace recipes

// Returns the contenders in the order of the wait queue. Returns an empty list if nobody uses the
// lock or the path does not exist. Reads the node of every contender. Use the result for inspection
// and not for decisions, because the wait queue may have changed by the time the function returns.
// Throws the same errors as the client's calls, and errc::layout_mismatch.
std::vector<contender_info> contenders(client& c, const std::string& path,
                                       const layout& names = layout::curator());

// Like contenders(), but lists the permits of a semaphore, oldest first. The newest entry may be a
// waiter, because a waiter creates its node before a permit is free. contender_info::holds is false
// for such an entry.
std::vector<contender_info> permits_in_use(client& c, const std::string& path);

struct wait_position {
  std::size_t ahead = 0;  // how many holders and waiters are ahead
  // The first holder. Empty if nobody is ahead, or if the holder's node cannot be read.
  std::optional<contender_info> holder;
};

// Reads the position of this client's session in a wait queue, so that a program can show it
// repeatedly while the client waits. The first call of read() looks for the session's contender and
// may read many nodes. Later calls only list the wait queue, and read the node of a new holder.
class wait_position_reader {
 public:
  // Reads the wait queue of a lock or an election. The client must outlive the reader.
  explicit wait_position_reader(client& c, std::string path, layout names = layout::curator());
  // Reads the wait queue of a semaphore.
  wait_position_reader(client& c, const std::string& semaphore, std::size_t permits);

  // If the session has no contender there, all contenders are ahead. Throws the same errors as the
  // client's calls.
  wait_position read();

 private:
  std::optional<contender_info> read_holder(const std::string& parent,
                                            const recipes::queued_contender& first);

  client& client_;
  std::string wait_queue_;  // the parent of the waiters
  layout names_ = layout::curator();
  std::string leases_;  // the parent of the permits; empty if there are none
  std::size_t permits_ = 0;
  std::string own_name_;                  // empty until it is found
  std::optional<contender_info> holder_;  // as read() has returned it
};

// Asks the contender that owns this node to release the lock. The holder is notified by
// lock_options::on_revocation or Curator's Revocable, and may ignore the request. If another
// library created the node, the request overwrites the node's data. Throws errc::no_node if the
// node does not exist.
void ask_to_release(client& c, const std::string& node);

}  // namespace conclave
