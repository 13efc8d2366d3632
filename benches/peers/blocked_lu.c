/* LU in blocks: what the simulated program does on one thread, as a plain program in C.

   blocked_lu ORDER BLOCK TIMES factors the same dense matrix TIMES times and prints the logarithm of
   its determinant. Each block lies in one place. Compiled with hooks, all of it is recorded. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "headroom.h"

static size_t order, size;
static double *matrix;

static double *block_at(size_t row, size_t column) {
    return matrix + (row * (order / size) + column) * size * size;
}

static double *element(size_t row, size_t column) {
    return block_at(row / size, column / size) + row % size * size + column % size;
}

static void fill(void) {
    for (size_t row = 0; row < order; row++)
        for (size_t column = 0; column < order; column++) {
            double value = (double)((row * 37 + column * 11) % 101) / 101;
            *element(row, column) = row == column ? value + (double)order : value;
        }
}

static void subtract(double *target, const double *source, size_t count, double factor) {
    for (size_t word = 0; word < count; word++)
        target[word] -= factor * source[word];
}

static void factor(double *block) {
    for (size_t k = 0; k < size; k++)
        for (size_t i = k + 1; i < size; i++) {
            double *row = block + i * size;
            row[k] /= block[k * size + k];
            subtract(row + k + 1, block + k * size + k + 1, size - k - 1, row[k]);
        }
}

static void divide_by_upper(double *block, const double *diagonal) {
    for (size_t k = 0; k < size; k++)
        for (size_t i = 0; i < size; i++) {
            double *row = block + i * size;
            row[k] /= diagonal[k * size + k];
            subtract(row + k + 1, diagonal + k * size + k + 1, size - k - 1, row[k]);
        }
}

static void divide_by_lower(double *block, const double *diagonal) {
    for (size_t k = 0; k < size; k++)
        for (size_t i = k + 1; i < size; i++)
            subtract(block + i * size, block + k * size, size, diagonal[i * size + k]);
}

static void update(double *block, const double *left, const double *upper) {
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < size; k++)
            subtract(block + i * size, upper + k * size, size, left[i * size + k]);
}

static void decompose(void) {
    size_t blocks = order / size;
    for (size_t k = 0; k < blocks; k++) {
        double *diagonal = block_at(k, k);
        factor(diagonal);
        for (size_t i = k + 1; i < blocks; i++) {
            divide_by_upper(block_at(i, k), diagonal);
            divide_by_lower(block_at(k, i), diagonal);
        }
        for (size_t i = k + 1; i < blocks; i++)
            for (size_t j = k + 1; j < blocks; j++)
                update(block_at(i, j), block_at(i, k), block_at(k, j));
    }
}

int main(int count, char **words) {
    if (count != 4)
        return 2;
    order = strtoul(words[1], NULL, 10);
    size = strtoul(words[2], NULL, 10);
    matrix = malloc(order * order * sizeof *matrix);
    if (matrix == NULL)
        return 1;
    for (long times = strtol(words[3], NULL, 10); times > 0; times--) {
        fill();
        headroom_begin();
        decompose();
        headroom_end();
    }
    double sum = 0;
    for (size_t row = 0; row < order; row++)
        sum += log(*element(row, row));
    printf("%.12g\n", sum);
    free(matrix);
    return 0;
}
