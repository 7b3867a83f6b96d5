// SPDX-License-Identifier: Apache-2.0
// A preload object serves several MPI libraries, and some of them lack these functions. Weak references let programs
// start even with LD_BIND_NOW. A wrapper of such a function runs only if the program calls the function, and then the
// library has it. The build includes this file before every source.
#pragma once

// MPI 4.0 defines these; Open MPI has them from 5.0 on, or not at all.
#pragma weak PMPI_Type_get_envelope_c
#pragma weak PMPI_Allgather_init
#pragma weak PMPI_Allgatherv_init
#pragma weak PMPI_Allreduce_init
#pragma weak PMPI_Alltoall_init
#pragma weak PMPI_Alltoallv_init
#pragma weak PMPI_Alltoallw_init
#pragma weak PMPI_Barrier_init
#pragma weak PMPI_Bcast_init
#pragma weak PMPI_Exscan_init
#pragma weak PMPI_Gather_init
#pragma weak PMPI_Gatherv_init
#pragma weak PMPI_Isendrecv
#pragma weak PMPI_Isendrecv_replace
#pragma weak PMPI_Neighbor_allgather_init
#pragma weak PMPI_Neighbor_allgatherv_init
#pragma weak PMPI_Neighbor_alltoall_init
#pragma weak PMPI_Neighbor_alltoallv_init
#pragma weak PMPI_Neighbor_alltoallw_init
#pragma weak PMPI_Reduce_init
#pragma weak PMPI_Reduce_scatter_block_init
#pragma weak PMPI_Reduce_scatter_init
#pragma weak PMPI_Scan_init
#pragma weak PMPI_Scatter_init
#pragma weak PMPI_Scatterv_init

// MPI 4.1 defines these.
#pragma weak PMPI_Request_get_status_all
#pragma weak PMPI_Request_get_status_any
#pragma weak PMPI_Request_get_status_some
