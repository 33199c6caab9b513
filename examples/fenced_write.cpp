// What a lock cannot prevent, a fencing token does: fenced_write SERVER
//
// A holder that was paused for longer than its session lives wakes up, does not know yet that
// another holds the lock, and writes. A resource that remembers the highest token it has seen
// refuses that write. For data in ZooKeeper itself the server does it.
#include <cstdint>
#include <iostream>
#include <string>

#include <conclave/mutex.hpp>

namespace {

// Stands for a file server, a database, a device.
class resource {
 public:
  bool write(std::int64_t token, const std::string& text) {
    if (token < highest_) return false;
    highest_ = token;
    text_ = text;
    return true;
  }

 private:
  std::int64_t highest_ = 0;
  std::string text_;
};

}  // namespace

int main(int argc, char** argv) try {
  conclave::client zk{argc > 1 ? argv[1] : "127.0.0.1:2181"};
  conclave::mutex m{zk, "/examples/fenced"};
  const auto report =
      zk.create("/examples-report-", "", conclave::create_mode::ephemeral_sequential).path;
  resource file;

  m.lock();
  const auto slow = m.hold();  // of one that will be late
  const auto write = slow.fenced(conclave::transaction{}.set(report, "by the first"));
  zk.commit(write);
  m.unlock();

  m.lock();
  file.write(m.fencing_token(), "by the second");
  std::cout << "late write to the resource accepted: " << std::boolalpha
            << file.write(slow.fencing_token(), "by the first, late") << "\n";
  try {
    zk.commit(write);
  } catch (const conclave::error& e) {
    std::cout << "late write to a node refused: " << e.code().message() << "\n";
  }
  m.unlock();
} catch (const conclave::error& e) {
  std::cerr << "fenced_write: " << e.what() << "\n";
  return 1;
}
