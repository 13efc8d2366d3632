/* A grid that threads relax by bands, with two mistakes: the first thread sets all of it up, and
   the threads count their rows in neighbouring words of one line.

   Usage: grid THREADS ROWS COLUMNS STEPS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long threads, rows, columns, steps;
static double *from, *to;
static volatile long *counters;
static pthread_barrier_t barrier;

static void set_up(void)
{
    from = malloc((size_t)(rows * columns) * sizeof *from);
    to = malloc((size_t)(rows * columns) * sizeof *to);
    counters = calloc((size_t)threads, sizeof *counters);
    if (!from || !to || !counters)
        exit(1);
    for (long place = 0; place < rows * columns; place++) {
        from[place] = (double)(place % 7);
        to[place] = 0.0;
    }
}

static void relax_row(const double *in, double *out, long row)
{
    const double *above = in + (row - 1) * columns;
    const double *here = in + row * columns;
    const double *below = in + (row + 1) * columns;
    for (long column = 1; column < columns - 1; column++)
        out[row * columns + column] =
            0.25 * (above[column] + below[column] + here[column - 1] + here[column + 1]);
}

static void *work(void *argument)
{
    long id = (long)argument;
    long first = 1 + (rows - 2) * id / threads, end = 1 + (rows - 2) * (id + 1) / threads;
    double *in = from, *out = to;
    for (long step = 0; step < steps; step++) {
        for (long row = first; row < end; row++) {
            relax_row(in, out, row);
            counters[id]++;
        }
        double *other = in;
        in = out;
        out = other;
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int count, char **words)
{
    if (count != 5) {
        fprintf(stderr, "usage: grid THREADS ROWS COLUMNS STEPS\n");
        return 2;
    }
    threads = atol(words[1]);
    rows = atol(words[2]);
    columns = atol(words[3]);
    steps = atol(words[4]);
    if (threads < 1 || threads > 64 || rows < threads + 2 || columns < 3)
        return 2;
    pthread_t made[64];
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    set_up();
    for (long id = 1; id < threads; id++)
        if (pthread_create(&made[id], NULL, work, (void *)id) != 0)
            return 1;
    work((void *)0);
    long done = counters[0];
    for (long id = 1; id < threads; id++) {
        pthread_join(made[id], NULL);
        done += counters[id];
    }
    printf("%ld rows\n", done);
    return 0;
}
