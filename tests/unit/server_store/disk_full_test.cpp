// A full disk: a commit without space changes nothing, and the store continues when there is space.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "faulty_disk/faulty_disk.hpp"
#include "history.hpp"
#include "in_child.hpp"
#include "server/store/store_error.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::testing {
namespace {

using act = faulty_disk::act;
using outcome = faulty_disk::outcome;

// At every step, and for as many more steps as a commit or a checkpoint takes.
TEST(disk_full, at_every_write_for_some_writes) {
  const history played{21, 12};
  for (const auto kind : {outcome::no_room, outcome::over_quota}) {
    int refused = 0;
    for (const std::uint64_t length : {1, 20}) {
      for (std::uint64_t begin = 1;; ++begin) {
        faulty_disk disk;
        server_impl::sqlite_store store{"/data", history::on(disk)};
        disk.plan = [&, from = disk.steps() + begin](const faulty_disk::step& s) {
          const bool hit = s.what == act::write && s.number >= from && s.number < from + length;
          return hit ? kind : outcome::done;
        };
        const auto opened = disk.steps();
        std::size_t done = 0;
        for (int tries = 0; done < played.size() && tries < 200; ++tries) {
          try {
            store.commit(played.commit(done));
            ++done;
          } catch (const server_impl::disk_full&) {
            ++refused;
            ASSERT_EQ(difference(played.state(done), store.load()), "") << "at step " << begin;
          }
        }
        ASSERT_EQ(done, played.size()) << "at step " << begin;
        ASSERT_EQ(difference(played.state(done), store.load()), "") << "at step " << begin;
        if (disk.steps() - opened < begin) break;
      }
    }
    EXPECT_GT(refused, 50);
  }
}

// Fills the disk while the store is in use and then frees space.
void fill_and_empty(const std::filesystem::path& folder, server_impl::disk* where,
                    const std::function<void()>& make_room) {
  row_model model;
  auto made = first_batch(1);
  {
    server_impl::sqlite_store store{folder, {.wal_bytes = 1 << 16, .custom_disk = where}};
    store.commit(made.changes);
    model.apply(made.changes);
    bool full = false;
    for (std::int64_t zxid = 2; !full && zxid < 10000; ++zxid) {
      owned_batch next;
      next.changes.zxid = zxid;
      next.put("/a/" + std::to_string(zxid), plain_node(zxid, std::string(3000, 'x')));
      try {
        store.commit(next.changes);
        model.apply(next.changes);
      } catch (const server_impl::disk_full& error) {
        full = true;
        if (std::string{error.what()} != "there is no room for " +
                                             (folder / "conclave.db").native() +
                                             "; make room on the disk") {
          throw std::runtime_error{error.what()};
        }
      }
    }
    if (!full) throw std::runtime_error{"it never became full"};
    if (model.nodes.size() < 10) throw std::runtime_error{"it was full at once"};
    if (const auto what = difference(model, store.load()); !what.empty()) {
      throw std::runtime_error{what};
    }
  }
  // The store must open on a full disk.
  server_impl::sqlite_store store{folder, {.wal_bytes = 1 << 16, .custom_disk = where}};
  if (const auto what = difference(model, store.load()); !what.empty()) {
    throw std::runtime_error{"after a start: " + what};
  }
  make_room();
  owned_batch next;
  next.changes.zxid = 20000;
  next.put("/a/large", plain_node(20000, std::string(300'000, 'x')));
  store.commit(next.changes);
  model.apply(next.changes);
  if (const auto what = difference(model, store.load()); !what.empty()) {
    throw std::runtime_error{"with room: " + what};
  }
}

TEST(disk_full, fills_up_and_gets_space) {
  faulty_disk disk;
  disk.capacity = 1 << 20;
  fill_and_empty("/data", &disk, [&disk] { disk.capacity = 4 << 20; });
}

// The same on a real file system, if mounting is permitted.
TEST(disk_full, fills_up_and_gets_space_on_tmpfs) {
  const temporary_directory scratch;
  const auto said = in_child([&scratch] {
    const auto& mounted = scratch.path();
    if (::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("small", mounted.c_str(), "tmpfs", 0, "size=2m") != 0) {
      return;
    }
    const auto ballast = mounted / "ballast";
    std::ofstream{ballast} << std::string(1 << 20, 'x');
    fill_and_empty(mounted / "data", nullptr, [&ballast] { std::filesystem::remove(ballast); });
  });
  EXPECT_EQ(said, "");
}

TEST(disk_full, does_not_prevent_a_start) {
  faulty_disk disk;
  {
    server_impl::sqlite_store store{"/data", history::on(disk)};
    store.commit(first_batch(1).changes);
  }
  disk.capacity = disk.used();
  server_impl::sqlite_store store{"/data", history::on(disk)};
  EXPECT_EQ(store.load().nodes.size(), 2U);
  EXPECT_THROW(store.commit(first_batch(2).changes), server_impl::disk_full);
}

TEST(disk_full, a_quota_does_not_prevent_a_start) {
  faulty_disk disk;
  {
    server_impl::sqlite_store store{"/data", history::on(disk)};
    store.commit(first_batch(1).changes);
  }
  disk.plan = [](const faulty_disk::step& s) {
    return s.what == act::write ? outcome::over_quota : outcome::done;
  };
  server_impl::sqlite_store store{"/data", history::on(disk)};
  EXPECT_EQ(store.load().nodes.size(), 2U);
}

TEST(disk_full, a_large_change_does_not_prevent_small_ones) {
  faulty_disk disk;
  server_impl::sqlite_store store{"/data", history::on(disk)};
  store.commit(first_batch(1).changes);
  disk.capacity = 200'000;
  owned_batch large;
  large.put("/a/large", plain_node(2, std::string(300'000, 'x')));
  for (std::int64_t zxid = 3; zxid < 100; ++zxid) {
    large.changes.zxid = zxid - 1;
    EXPECT_THROW(store.commit(large.changes), server_impl::disk_full);
    owned_batch small;
    small.changes.zxid = zxid;
    small.put("/a", plain_node(1, std::to_string(zxid)));
    store.commit(small.changes);
  }
  EXPECT_EQ(store.load().nodes.size(), 2U);
}

// The commit fits into the log only after a checkpoint.
TEST(disk_full, a_checkpoint_makes_space) {
  faulty_disk disk;
  server_impl::sqlite_store store{"/data", history::on(disk)};
  store.commit(first_batch(1).changes);
  disk.capacity = disk.used();
  owned_batch next;
  next.changes.zxid = 2;
  next.put("/a", plain_node(1, std::string(40'000, 'x')));
  EXPECT_THROW(store.commit(next.changes), server_impl::disk_full);
  EXPECT_NO_THROW(store.commit(next.changes));
}

}  // namespace
}  // namespace conclave::testing
