// The content of a folder's lock file: the process of the server, the latest runs of the store, and
// whether a store was created in the folder.
//
// A run is the time between two starts of a server. Each run has a random id, which is also in the
// store (meta.run). If the lock file does not contain the store's run, the store is a copy of an
// earlier state that somebody has put back.
//
// Every line has a fixed position, so that a write that a power failure interrupts damages only its
// own line:
//
//   process 4711
//   run 0123456789abcdef
//   run ----------------
//   a store was made here
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "server/store/disk.hpp"

namespace conclave::server_impl {

class lock_record {
 public:
  static constexpr std::size_t run_size = 16;

  // Reads the file and writes the id of this process to it.
  explicit lock_record(disk::folder_lock& file);

  // The part of the content that names the process, for messages: "process 4711". Empty if the
  // server has not written it yet.
  static std::string process_of(std::string_view content);

  bool store_was_created() const noexcept { return store_was_created_; }
  void mark_store_created();

  bool has_runs() const noexcept;
  bool has_run(std::string_view run) const noexcept;
  // The store of a new run is written in three steps. After an interruption at any point, the file
  // contains the run of the store.
  //   1. begin_run() adds the new run. It keeps the store's run, unless that is null.
  //   2. The caller commits the new run to the store.
  //   3. keep_only() removes all other runs.
  // All steps are durable. Throws disk_full or store_error.
  void begin_run(std::string_view next, const std::optional<std::string>& stored);
  void keep_only(std::string_view run);

 private:
  void format();
  void write_run(std::size_t slot, std::string_view run);

  disk::folder_lock& file_;
  std::array<std::string, 2> runs_;  // empty if the line contains no run
  bool formatted_ = false;           // all lines are at their positions
  bool store_was_created_ = false;
};

}  // namespace conclave::server_impl
