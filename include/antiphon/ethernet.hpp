// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace antiphon::ethernet {

/// A full frame as links and token buckets count it: an IP packet of 1500 bytes behind Ethernet's header of 14.
constexpr int full_frame_bytes = 1514;
/// Headers of a TCP segment: Ethernet's 14 bytes, IP's 20, TCP's 20 with 12 for the timestamps that Linux adds.
constexpr int header_bytes = 66;
/// What a full frame carries for TCP: 1448 bytes.
constexpr int payload_bytes = full_frame_bytes - header_bytes;
constexpr double payload_share = static_cast<double>(payload_bytes) / full_frame_bytes;

}  // namespace antiphon::ethernet
