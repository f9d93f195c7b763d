/* Small symmetric matrices: eigenvalues (in no order) and eigenvectors. */
#ifndef SB_CORE_FIT_EIGEN_H
#define SB_CORE_FIT_EIGEN_H

enum { SB_EIGEN_MAX = 64 };

/* n <= SB_EIGEN_MAX. a[n * n] is destroyed; values[n], vectors[n * n] with eigenvector i in column i. */
void eigen_symmetric (int n, double *a, double *values, double *vectors);

#endif
