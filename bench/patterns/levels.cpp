// SPDX-License-Identifier: Apache-2.0
/// Paper 1's levels through the C API (antiphon.h): what is known before a call, and so what each call must do.
#include <stdexcept>

#include "antiphon.h"
#include "exchanger.hpp"

namespace bench {

namespace {

/// Level 1 gathers and schedules the pattern in each call, as in the paper's Table 2. Level 2 schedules a known pattern
/// in each call. Level 3 has the phases before the first call.
class Level : public Exchanger {
 public:
  Level(int level, Exchange& exchange, MPI_Comm comm) : level_(level), e_(exchange), comm_(comm) {
    const auto ranks = static_cast<std::size_t>(e_.pattern.size);
    bytes_.resize(ranks * ranks);
    for (const antiphon::PatternMessage& m : e_.pattern.messages) {
      bytes_[static_cast<std::size_t>(m.from) * ranks + static_cast<std::size_t>(m.to)] = m.bytes;
    }
    if (level_ == 3) know_phases();
  }
  ~Level() override {
    if (schedule_ != nullptr) antiphon_schedule_free(&schedule_);
  }

  void call() override {
    if (level_ < 3) control();
    const int said = antiphon_alltoallv_data_trans2(e_.input.data(), e_.send_counts.data(), e_.send_offsets.data(),
                                                    MPI_BYTE, e_.output.data(), e_.recv_counts.data(),
                                                    e_.recv_offsets.data(), MPI_BYTE, schedule_);
    check(said);
    if (level_ < 3) check(antiphon_schedule_free(&schedule_));
  }
  [[nodiscard]] std::string chosen() const override { return "level " + std::to_string(level_); }

 private:
  static void check(int said) {
    if (said != ANTIPHON_OK)
      throw std::runtime_error("the C API of compiled communication said " + std::to_string(said));
  }
  void control() {
    check(level_ == 1 ? antiphon_alltoallv_control1(e_.send_counts.data(), MPI_BYTE, comm_, &schedule_)
                      : antiphon_alltoallv_control2(bytes_.data(), comm_, &schedule_));
  }
  void know_phases() {
    check(antiphon_alltoallv_control2(bytes_.data(), comm_, &schedule_));
    int count = 0;
    antiphon_schedule_parts(schedule_, nullptr, 0, &count);
    std::vector<antiphon_part> parts(static_cast<std::size_t>(count));
    check(antiphon_schedule_parts(schedule_, parts.data(), count, &count));
    check(antiphon_schedule_free(&schedule_));
    check(antiphon_alltoallv_control3(parts.data(), count, comm_, &schedule_));
  }

  int level_;
  Exchange& e_;
  MPI_Comm comm_;
  std::vector<long long> bytes_;
  antiphon_schedule schedule_ = nullptr;
};

}  // namespace

std::unique_ptr<Exchanger> make_level(int level, Exchange& exchange, const Setting& setting) {
  if (antiphon_find("antiphon_impl_control1") == nullptr) return nullptr;
  return std::make_unique<Level>(level, exchange, setting.comm);
}

}  // namespace bench
