#include "server/store/store_files.hpp"

#include "server/store/database.hpp"
#include "server/store/store_error.hpp"

namespace conclave::server_impl {

store_files::store_files(const std::filesystem::path& its_folder)
    : folder{std::filesystem::absolute(its_folder).lexically_normal()} {
  if (!folder.has_filename()) folder = folder.parent_path();  // "data/"
}

std::filesystem::path store_files::before_upgrade(int format) const {
  return folder / ("conclave.db.v" + std::to_string(format) + ".bak");
}

void store_files::refuse(const std::string& what) const {
  throw store_error{main().native() + ' ' + what + "; restore a backup, or move the folder " +
                    folder.native() + " away to start with nothing"};
}

void store_files::refuse(const database_error& error) const {
  if (error.no_room()) {
    throw disk_full{"there is no room for " + main().native() + "; make room on the disk"};
  }
  if (error.damaged()) refuse("is damaged (" + std::string{error.what()} + ')');
  if (error.busy()) {
    throw store_error{main().native() + " is open in another program, perhaps sqlite3; close that"};
  }
  throw store_error{"cannot read or write " + main().native() + " (" + error.what() +
                    "); check the disk and the permissions"};
}

}  // namespace conclave::server_impl
