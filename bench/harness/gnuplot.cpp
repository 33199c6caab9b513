#include "harness/gnuplot.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <utility>

#include "harness/command.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::bench {
namespace {

void draw(const std::string& script, const std::filesystem::path& file,
          const std::string& terminal) {
  const testing::temporary_directory folder;
  const auto commands = folder.path() / "plot.gp";
  std::ofstream(commands) << "set encoding utf8\nset terminal " << terminal << "\nset output '"
                          << file.string() << "'\n"
                          << script;
  output_of({"gnuplot", commands.string()}, std::chrono::seconds{30});
}

}  // namespace

std::vector<std::string> draw(const std::vector<plot>& plots, const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (const auto& p : plots) {
    if (p.script.empty()) continue;
    for (const auto& [ending, terminal] :
         {std::pair{".svg", "svg background rgb 'white' font 'DejaVu Sans,13' size "},
          std::pair{".png", "pngcairo font 'DejaVu Sans,11' size "}}) {
      const auto file = folder / (p.name + ending);
      try {
        draw(p.script, file, terminal + p.size);
        files.push_back(file.string());
      } catch (const std::exception& e) {
        std::fprintf(stderr, "no plot: %s\n", e.what());
      }
    }
  }
  return files;
}

}  // namespace conclave::bench
