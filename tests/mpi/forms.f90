! Calls of Fortran, by the module of MPI-3 and the one before: a ring, and some collectives.
program forms
  use mpi_f08, only: MPI_Comm, MPI_Request, f08_isend => MPI_Isend, f08_recv => MPI_Recv, f08_wait => MPI_Wait, &
      f08_allreduce => MPI_Allreduce, world => MPI_COMM_WORLD, f08_double => MPI_DOUBLE_PRECISION, &
      f08_sum => MPI_SUM, no_status => MPI_STATUS_IGNORE
  use mpi, only: MPI_COMM_WORLD, MPI_DOUBLE_PRECISION, MPI_STATUS_SIZE, MPI_STATUSES_IGNORE, MPI_IN_PLACE, MPI_INTEGER, &
      MPI_MAX, MPI_ANY_SOURCE
  implicit none
  integer :: rank, ranks, error, step, requests(2), status(MPI_STATUS_SIZE)
  type(MPI_Request) :: request
  double precision :: out(1000), in(1000)
  integer :: number
  out = 1
  call mpi_init(error)
  call mpi_comm_rank(MPI_COMM_WORLD, rank, error)
  call mpi_comm_size(MPI_COMM_WORLD, ranks, error)
  do step = 1, 3
    call mpi_irecv(in, 1000, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, requests(1), error)
    call mpi_isend(out, 10 * step, MPI_DOUBLE_PRECISION, mod(rank + 1, ranks), 5, MPI_COMM_WORLD, requests(2), error)
    call mpi_waitall(2, requests, MPI_STATUSES_IGNORE, error)
  end do
  call mpi_sendrecv(out, 7, MPI_INTEGER, mod(rank + 1, ranks), 6, in, 100, MPI_INTEGER, mod(rank + ranks - 1, ranks), 6, &
      MPI_COMM_WORLD, status, error)
  call f08_isend(out, 50, f08_double, mod(rank + 1, ranks), 8, world, request)
  call f08_recv(in, 1000, f08_double, mod(rank + ranks - 1, ranks), 8, world, no_status)
  call f08_wait(request, no_status)
  number = rank
  call mpi_allreduce(MPI_IN_PLACE, number, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, error)
  call f08_allreduce(out, in, 100, f08_double, f08_sum, world)
  call mpi_finalize(error)
end program
