/* SPDX-License-Identifier: Apache-2.0 */
/* Makes every blocking collective of the checks its nonblocking form, which is waited for at once. */
#pragma once

#include <mpi.h>

MPI_Request* new_request(void);
/* Waits for the request, in each way that MPI offers by turns. Returns what the start or the wait returned. */
int ended(int started);

#define MPI_Barrier(comm) ended(MPI_Ibarrier(comm, new_request()))
#define MPI_Bcast(...) ended(MPI_Ibcast(__VA_ARGS__, new_request()))
#define MPI_Scatter(...) ended(MPI_Iscatter(__VA_ARGS__, new_request()))
#define MPI_Scatterv(...) ended(MPI_Iscatterv(__VA_ARGS__, new_request()))
#define MPI_Gather(...) ended(MPI_Igather(__VA_ARGS__, new_request()))
#define MPI_Gatherv(...) ended(MPI_Igatherv(__VA_ARGS__, new_request()))
#define MPI_Allgather(...) ended(MPI_Iallgather(__VA_ARGS__, new_request()))
#define MPI_Allgatherv(...) ended(MPI_Iallgatherv(__VA_ARGS__, new_request()))
#define MPI_Alltoall(...) ended(MPI_Ialltoall(__VA_ARGS__, new_request()))
#define MPI_Alltoallv(...) ended(MPI_Ialltoallv(__VA_ARGS__, new_request()))
#define MPI_Alltoallw(...) ended(MPI_Ialltoallw(__VA_ARGS__, new_request()))
#define MPI_Reduce(...) ended(MPI_Ireduce(__VA_ARGS__, new_request()))
#define MPI_Allreduce(...) ended(MPI_Iallreduce(__VA_ARGS__, new_request()))
#define MPI_Reduce_scatter(...) ended(MPI_Ireduce_scatter(__VA_ARGS__, new_request()))
#define MPI_Reduce_scatter_block(...) ended(MPI_Ireduce_scatter_block(__VA_ARGS__, new_request()))
#define MPI_Scan(...) ended(MPI_Iscan(__VA_ARGS__, new_request()))
#define MPI_Exscan(...) ended(MPI_Iexscan(__VA_ARGS__, new_request()))
#define MPI_Neighbor_allgather(...) ended(MPI_Ineighbor_allgather(__VA_ARGS__, new_request()))
#define MPI_Neighbor_allgatherv(...) ended(MPI_Ineighbor_allgatherv(__VA_ARGS__, new_request()))
#define MPI_Neighbor_alltoall(...) ended(MPI_Ineighbor_alltoall(__VA_ARGS__, new_request()))
#define MPI_Neighbor_alltoallv(...) ended(MPI_Ineighbor_alltoallv(__VA_ARGS__, new_request()))
#define MPI_Neighbor_alltoallw(...) ended(MPI_Ineighbor_alltoallw(__VA_ARGS__, new_request()))

#if MPI_VERSION >= 4
#define MPI_Bcast_c(...) ended(MPI_Ibcast_c(__VA_ARGS__, new_request()))
#define MPI_Scatter_c(...) ended(MPI_Iscatter_c(__VA_ARGS__, new_request()))
#define MPI_Scatterv_c(...) ended(MPI_Iscatterv_c(__VA_ARGS__, new_request()))
#define MPI_Gather_c(...) ended(MPI_Igather_c(__VA_ARGS__, new_request()))
#define MPI_Gatherv_c(...) ended(MPI_Igatherv_c(__VA_ARGS__, new_request()))
#define MPI_Allgather_c(...) ended(MPI_Iallgather_c(__VA_ARGS__, new_request()))
#define MPI_Allgatherv_c(...) ended(MPI_Iallgatherv_c(__VA_ARGS__, new_request()))
#define MPI_Alltoall_c(...) ended(MPI_Ialltoall_c(__VA_ARGS__, new_request()))
#define MPI_Alltoallv_c(...) ended(MPI_Ialltoallv_c(__VA_ARGS__, new_request()))
#define MPI_Alltoallw_c(...) ended(MPI_Ialltoallw_c(__VA_ARGS__, new_request()))
#define MPI_Reduce_c(...) ended(MPI_Ireduce_c(__VA_ARGS__, new_request()))
#define MPI_Allreduce_c(...) ended(MPI_Iallreduce_c(__VA_ARGS__, new_request()))
#define MPI_Reduce_scatter_c(...) ended(MPI_Ireduce_scatter_c(__VA_ARGS__, new_request()))
#define MPI_Reduce_scatter_block_c(...) ended(MPI_Ireduce_scatter_block_c(__VA_ARGS__, new_request()))
#define MPI_Scan_c(...) ended(MPI_Iscan_c(__VA_ARGS__, new_request()))
#define MPI_Exscan_c(...) ended(MPI_Iexscan_c(__VA_ARGS__, new_request()))
#define MPI_Neighbor_allgather_c(...) ended(MPI_Ineighbor_allgather_c(__VA_ARGS__, new_request()))
#define MPI_Neighbor_allgatherv_c(...) ended(MPI_Ineighbor_allgatherv_c(__VA_ARGS__, new_request()))
#define MPI_Neighbor_alltoall_c(...) ended(MPI_Ineighbor_alltoall_c(__VA_ARGS__, new_request()))
#define MPI_Neighbor_alltoallv_c(...) ended(MPI_Ineighbor_alltoallv_c(__VA_ARGS__, new_request()))
#define MPI_Neighbor_alltoallw_c(...) ended(MPI_Ineighbor_alltoallw_c(__VA_ARGS__, new_request()))
#endif
