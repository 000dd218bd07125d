// The command line of stator-run.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stator {

struct Arguments {
  std::string model;
  std::vector<std::string> inputs;  // `FILE.safetensors`, `NAME=FILE.npy`
  std::string outputs;
  std::string method = "forward";
  std::string mode;
  std::string batch;  // a file of jobs
  std::optional<int> threads;
  std::optional<std::int64_t> seed;
  int repeat = 1;
  bool trust_compiled = false;
  bool describe = false;
  bool help = false;
};

extern const char* const kUsage;

/// Throws std::invalid_argument, whose text says what is wrong.
Arguments parse_arguments(int count, char** given);

}  // namespace stator
