/* Small symmetric matrices (n <= 28): eigenvalues and eigenvectors by Jacobi rotations. */
#ifndef SB_CORE_FIT_EIGEN_H
#define SB_CORE_FIT_EIGEN_H

/* a[n * n] is destroyed; values[n], vectors[n * n] with eigenvector i in column i. */
void eigen_symmetric (int n, double *a, double *values, double *vectors);

#endif
