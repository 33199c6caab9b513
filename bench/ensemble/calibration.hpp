// The parameters of the ensemble model for this machine.
#pragma once

#include "simulation/ensemble/ensemble.hpp"

namespace conclave::bench {

// What the calibration uses. Other measurements check the model.
struct calibration_input {
  double read_us = 0;           // latency of a read, one client
  double reads_per_second = 0;  // many clients
  double lock_us = 0;           // latency of an acquisition of an own lock, one client
  double locks_per_second = 0;  // own locks, many clients
  std::size_t many_clients = 32;
  std::size_t cores = 2;
};

// Finds parameters with which the model gives the same four figures.
simulated::ensemble_options calibrate(const calibration_input& measured);

}  // namespace conclave::bench
