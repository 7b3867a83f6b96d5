// SPDX-License-Identifier: Apache-2.0
#pragma once

/// This is a complete profile: two switches of 8 nodes, joined by one link.
inline constexpr const char* two_switch_profile = R"({
 "format": "antiphon-profile", "version": 1, "created": "2026-11-22T01:00:00Z", "tool": "antiphon 0.1.0",
 "machine": {"name": "two switches", "nodes": 16, "ranks_per_node": 4, "fingerprint": "f",
             "mpi": {"name": "openmpi", "version": "5.0.11", "transport": "tcp"}},
 "link_classes": [
   {"name": "memory", "scope": "node", "latency_s": 1e-6, "os_s": [[0, 5e-7]], "or_s": [[0, 5e-7]],
    "g_s": [[0, 1e-6], [1048576, 3e-4]]},
   {"name": "one switch", "scope": "switch", "latency_s": 3.5e-5, "eager_bytes": 65536,
    "os_s": [[0, 9e-6], [65536, 4e-5]], "or_s": [[0, 1e-5], [65536, 5e-5]],
    "g_s": [[0, 2e-5], [65536, 5.5e-3], [65536, 5.8e-3], [1048576, 8.8e-2]]},
   {"name": "across", "scope": "uplink", "latency_s": 7e-5, "os_s": [[0, 9e-6]], "or_s": [[0, 1e-5]],
    "g_s": [[0, 2e-5], [1048576, 8.8e-2]]}],
 "topology": {"switches": [{"name": "a"}, {"name": "b", "parent": "a", "uplink_bytes_per_s": 1.195e7}],
              "nodes": [{"switch": "a", "port_bytes_per_s": 1.195e7, "burst_bytes": 8192, "count": 8},
                        {"switch": "b", "port_bytes_per_s": 1.195e7, "count": 8}]},
 "contention": {"gamma": [{"ranks": 4, "gamma": 0.1}, {"ranks": 16, "gamma": 0.4}], "credit_bytes": 65536,
                "port_buffer_bytes": 131072, "retransmission_timeout_s": 0.2,
                "incast": [{"senders": 4, "bytes": 65536, "ratio": 1.6}]},
 "processors": {"cores_per_node": 2, "nodes_sharing": 16, "turn_s": 4e-6, "copy_bytes_per_s": 4e9},
 "concurrency": {"index": 2, "two_destinations_ratio": 2.0, "two_directions_ratio": 1.02},
 "codecs": [{"name": "some", "encode_bytes_per_s": 1e9, "decode_bytes_per_s": 2e9}],
 "decisions": {"version": 1,
               "rules": [{"collective": "bcast", "bytes": [65536, null], "use": "chain:segment_bytes=4k"}]},
 "measurements": {"samples": "machine.samples.json"}
})";
