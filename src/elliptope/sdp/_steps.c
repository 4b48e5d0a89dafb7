/* The inner steps of an ascent over H with unit rows, each in one call.

A factor is n by r, float64, in Fortran order: r columns of n numbers. At n = 200 a call to NumPy costs more than what it
computes, and a step is some fifty of them. What is computed is what steps.py and quasi_newton.py say; they do without
this file where it could not be built.
*/

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <float.h>
#include <math.h>
#include <string.h>

/* One version per instruction set, chosen when the module is loaded, where the compiler and the C library can do that. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define FAST __attribute__((target_clones("avx512f", "avx2", "default"))) static
#else
#define FAST static
#endif

#ifdef _MSC_VER
#define restrict __restrict
#define SIMD
#define SIMD_SUM
#else
#define SIMD _Pragma("omp simd")
#define SIMD_SUM _Pragma("omp simd reduction(+ : sum)")
#endif

typedef Py_ssize_t Size;
typedef const double *restrict In;
typedef double *restrict Out;

#define EACH(i, count) for (Size i = 0; i < (count); i++)

FAST double dot(In u, In v, Size m)
{
    double sum = 0;
    SIMD_SUM EACH(i, m) sum += u[i] * v[i];
    return sum;
}

/* y <- y + a x */
FAST void add(double a, In x, Out y, Size m)
{
    SIMD EACH(i, m) y[i] += a * x[i];
}

FAST void row_dots(In U, In V, Size n, Size r, Out dots)
{
    memset(dots, 0, n * sizeof(double));
    EACH(k, r) SIMD EACH(i, n) dots[i] += U[k * n + i] * V[k * n + i];
}

/* Rows of V times v. */
FAST void scale_rows(In v, Out V, Size n, Size r)
{
    EACH(k, r) SIMD EACH(i, n) V[k * n + i] *= v[i];
}

/* sum_i v_i |y_i|^2 over rows y_i */
FAST double weighted_square(In v, In Y, Size n, Size r)
{
    double sum = 0;
    EACH(k, r) SIMD_SUM EACH(i, n) sum += v[i] * Y[k * n + i] * Y[k * n + i];
    return sum;
}

/* slack_i = h_i . p_i, residual_i = slack_i h_i - p_i, inverse_i = 1 / |p_i| */
FAST void measure_rows(In H, In P, Size n, Size r, Out slack, Out residual, Out inverse)
{
    row_dots(H, P, n, r, slack);
    row_dots(P, P, n, r, inverse);
    SIMD EACH(i, n) inverse[i] = 1 / (sqrt(inverse[i]) + DBL_MIN);
    EACH(k, r) SIMD EACH(i, n) residual[k * n + i] = slack[i] * H[k * n + i] - P[k * n + i];
}

FAST double total(In v, Size n)
{
    double sum = 0;
    SIMD_SUM EACH(i, n) sum += v[i];
    return sum;
}

FAST double absolute_total(In v, Size n)
{
    double sum = 0;
    SIMD_SUM EACH(i, n) sum += fabs(v[i]);
    return sum;
}

/* V = H + t D with rows normalised; the smallest of their squared lengths. */
FAST double move_rows(In H, In D, double t, Size n, Size r, Out V, Out lengths)
{
    double least = INFINITY;
    SIMD EACH(i, n * r) V[i] = H[i] + t * D[i];
    row_dots(V, V, n, r, lengths);
    EACH(i, n) least = lengths[i] < least ? lengths[i] : least;
    SIMD EACH(i, n) lengths[i] = 1 / sqrt(lengths[i]);
    scale_rows(lengths, V, n, r);
    return least;
}

/* Minus Z, less its components along the rows of H. */
FAST void project_rows(In Z, In H, Size n, Size r, Out V, Out dots)
{
    row_dots(Z, H, n, r, dots);
    EACH(k, r) SIMD EACH(i, n) V[k * n + i] = dots[i] * H[k * n + i] - Z[k * n + i];
}

/* Arguments: arrays of float64, and numbers. */

typedef struct {
    Py_buffer buffer;
    double *data;
    Size rows, columns;
} Array;

static void release(Array *arrays, int count)
{
    while (count--)
        PyBuffer_Release(&arrays[count].buffer);
}

/* The first arguments as arrays: vectors ('v'), and matrices in Fortran order ('f') or in C order ('c'); capitals stand for
those that are written to. */
static int arrays_of(PyObject *const *args, Size given, Size expected, const char *kinds, Array *arrays)
{
    if (given != expected) {
        PyErr_Format(PyExc_TypeError, "expected %zd arguments, got %zd", expected, given);
        return -1;
    }
    for (int i = 0; kinds[i]; i++) {
        Py_buffer *b = &arrays[i].buffer;
        int kind = kinds[i] | 0x20, matrix = kind != 'v';
        int order = kind == 'f' ? PyBUF_F_CONTIGUOUS : PyBUF_C_CONTIGUOUS;
        int access = kinds[i] == kind ? PyBUF_SIMPLE : PyBUF_WRITABLE;
        if (PyObject_GetBuffer(args[i], b, order | access | PyBUF_FORMAT) < 0) {
            release(arrays, i);
            return -1;
        }
        if (b->ndim != 1 + matrix || b->itemsize != sizeof(double) || strcmp(b->format, "d") != 0) {
            PyErr_Format(PyExc_TypeError, "argument %d must be a %s of float64", i + 1, matrix ? "matrix" : "vector");
            release(arrays, i + 1);
            return -1;
        }
        arrays[i].data = b->buf;
        arrays[i].rows = b->shape[0];
        arrays[i].columns = matrix ? b->shape[1] : 1;
    }
    return 0;
}

static int refuse(int wrong)
{
    if (wrong && !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "arrays do not fit together");
    return wrong || PyErr_Occurred() != NULL;
}

static int same_shape(const Array *a, const Array *b)
{
    return a->rows == b->rows && a->columns == b->columns;
}

static double *scratch(Size count)
{
    double *room = PyMem_Malloc((count + 1) * sizeof(double));
    if (room == NULL)
        PyErr_NoMemory();
    return room;
}

/* measure(H, P, slack, residual, inverse) -> (gain, sum |slack|, <residual, residual> in the metric of pulls) */
static PyObject *measure(PyObject *self, PyObject *const *args, Size count)
{
    Array a[5], *H = a, *P = a + 1, *slack = a + 2, *residual = a + 3, *inverse = a + 4;
    PyObject *found = NULL;
    if (arrays_of(args, count, 5, "ffVFV", a))
        return NULL;
    Size n = H->rows, r = H->columns;
    if (!refuse(!same_shape(H, P) || !same_shape(H, residual) || slack->rows != n || inverse->rows != n)) {
        measure_rows(H->data, P->data, n, r, slack->data, residual->data, inverse->data);
        found = Py_BuildValue("ddd", total(slack->data, n), absolute_total(slack->data, n),
                              weighted_square(inverse->data, residual->data, n, r));
    }
    release(a, 5);
    return found;
}

/* move(H, D, V, t) -> smallest squared length of the rows of H + t D; V gets them normalised. */
static PyObject *move(PyObject *self, PyObject *const *args, Size count)
{
    Array a[3], *H = a, *D = a + 1, *V = a + 2;
    PyObject *found = NULL;
    if (arrays_of(args, count, 4, "ffF", a))
        return NULL;
    double t = PyFloat_AsDouble(args[3]), *lengths = NULL;
    if (!refuse(!same_shape(H, D) || !same_shape(H, V)) && (lengths = scratch(H->rows)) != NULL)
        found = PyFloat_FromDouble(move_rows(H->data, D->data, t, H->rows, H->columns, V->data, lengths));
    PyMem_Free(lengths);
    release(a, 3);
    return found;
}

/* The memory of L-BFGS: steps S, changes Y (a pair per row), the inverse of R, and curvatures s . y. */
static int is_memory(const Array *a, Size length)
{
    const Array *S = a, *Y = a + 1, *inverse = a + 2, *curvatures = a + 3;
    return same_shape(S, Y) && S->columns == length && inverse->rows == S->rows && inverse->columns == S->rows &&
           curvatures->rows == S->rows;
}

/* direction(S, Y, inverse, curvatures, residual, inverse_pulls, H, D, used, last) -> slope

D gets minus the inverse Hessian times the residual, projected, from the first `used` pairs, of which `last` is the youngest:
R u = S q, z = g M (q - Y' u), R' w = diag(R) u - Y z, z + S' w.
*/
static PyObject *direction(PyObject *self, PyObject *const *args, Size count)
{
    Array a[8], *residual = a + 4, *pulls = a + 5, *H = a + 6, *D = a + 7;
    PyObject *found = NULL;
    if (arrays_of(args, count, 10, "cccvfvfF", a))
        return NULL;
    Size used = PyLong_AsSsize_t(args[8]), last = PyLong_AsSsize_t(args[9]);
    Size n = H->rows, r = H->columns, m = n * r, size = a[0].rows;
    double *room = NULL;
    if (!refuse(!is_memory(a, m) || !same_shape(H, residual) || !same_shape(H, D) || pulls->rows != n || used > size ||
                last < 0 || last >= used) &&
        (room = scratch(3 * used + n + m)) != NULL) {
        const double *S = a[0].data, *Y = a[1].data, *inverse = a[2].data, *curvatures = a[3].data;
        double *Sq = room, *u = Sq + used, *w = u + used, *dots = w + used, *z = dots + n;
        memcpy(z, residual->data, m * sizeof(double));
        EACH(j, used) Sq[j] = dot(S + j * m, z, m);
        EACH(j, used) u[j] = dot(inverse + j * size, Sq, used);
        EACH(j, used) add(-u[j], Y + j * m, z, m);
        double scale = curvatures[last] / weighted_square(pulls->data, Y + last * m, n, r);
        scale_rows(pulls->data, z, n, r);
        EACH(i, m) z[i] *= scale;
        memset(w, 0, used * sizeof(double));
        EACH(j, used) add(curvatures[j] * u[j] - dot(Y + j * m, z, m), inverse + j * size, w, used);
        EACH(j, used) add(w[j], S + j * m, z, m);
        project_rows(z, H->data, n, r, D->data, dots);
        found = PyFloat_FromDouble(-2 * dot(residual->data, D->data, m));
    }
    PyMem_Free(room);
    release(a, 8);
    return found;
}

/* remember(S, Y, inverse, curvatures, D, old, new, H, slot, used, t, least) -> whether a pair was kept

The step t D and the change from the residual `old`, brought to H, to the residual `new` there become pair `slot` of
`used`, if the cosine between them is more than `least`.
*/
static PyObject *remember(PyObject *self, PyObject *const *args, Size count)
{
    Array a[8], *D = a + 4, *old = a + 5, *new = a + 6, *H = a + 7;
    PyObject *found = NULL;
    if (arrays_of(args, count, 12, "CCCVffff", a))
        return NULL;
    Size slot = PyLong_AsSsize_t(args[8]), used = PyLong_AsSsize_t(args[9]);
    double t = PyFloat_AsDouble(args[10]), least = PyFloat_AsDouble(args[11]);
    Size n = H->rows, r = H->columns, m = n * r, size = a[0].rows;
    double *room = NULL;
    if (!refuse(!is_memory(a, m) || !same_shape(H, D) || !same_shape(H, old) || !same_shape(H, new) || slot < 0 ||
                slot >= used || used > size) &&
        (room = scratch(m + n + used)) != NULL) {
        double *S = a[0].data, *Y = a[1].data, *inverse = a[2].data, *y = room, *dots = y + m, *Sy = dots + n;
        project_rows(old->data, H->data, n, r, y, dots);
        add(1, new->data, y, m);
        double curvature = t * dot(D->data, y, m);
        int kept = curvature > least * t * sqrt(dot(D->data, D->data, m) * dot(y, y, m));
        if (kept) {
            EACH(i, m) S[slot * m + i] = t * D->data[i];
            memcpy(Y + slot * m, y, m * sizeof(double));
            a[3].data[slot] = curvature;
            EACH(j, used) inverse[slot * size + j] = inverse[j * size + slot] = 0;
            EACH(j, used) Sy[j] = dot(S + j * m, y, m) / -curvature;
            Sy[slot] = 0;
            EACH(j, used) inverse[j * size + slot] = dot(inverse + j * size, Sy, used);
            inverse[slot * size + slot] = 1 / curvature;
        }
        found = PyBool_FromLong(kept);
    }
    PyMem_Free(room);
    release(a, 8);
    return found;
}

#define METHOD(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}

static PyMethodDef methods[] = {
    METHOD(measure), METHOD(move), METHOD(direction), METHOD(remember), {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "_steps", .m_size = 0, .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__steps(void)
{
    return PyModuleDef_Init(&module);
}
