// The flags of the web page.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "conclave/client.hpp"
#include "web/ui.hpp"

namespace CLI {
class App;
}

namespace conclave::cli {

struct ui_flags {
  std::string listen;
  std::string token_file;
  std::vector<std::string> host_names;
  bool allow_actions = false;
};

// Adds all flags but that of the address. Their names begin with `prefix`: "" or "http-".
void add_ui_flags(CLI::App& app, ui_flags& f, const std::string& prefix);

// Returns the options that follow from the flags. Sets a generated token if the address is not a
// loopback address or actions are allowed, and there is no token file. Throws failure if a flag is
// not valid.
web::ui_options read_ui_flags(const ui_flags& f);
// Throws failure if the address cannot be used. `given` is the address on the command line.
std::unique_ptr<web::ui> start_ui(client& zk, web::ui_options options, const std::string& given);
// Returns the URL to open. If there is a generated token, the URL contains it after a #. Browsers
// do not send this part to servers.
std::string page_address(const web::ui& page, const web::ui_options& options, const ui_flags& f);

}  // namespace conclave::cli
