/* SPDX-License-Identifier: GPL-3.0-or-later */
/* SSE2 always, AVX2 where this processor has it: vector loads, shuffles, masks, gathers. */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>

static uint32_t sum_sse2(const uint32_t *values, int count)
{
    __m128i sum = _mm_setzero_si128();
    uint32_t lanes[4];

    for (int i = 0; i < count; i += 4)
        sum = _mm_add_epi32(sum, _mm_loadu_si128((const __m128i *)(values + i)));
    _mm_storeu_si128((__m128i *)lanes, sum);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

static int count_byte_sse2(const char *text, int length, char wanted)
{
    int found = 0;

    for (int i = 0; i + 16 <= length; i += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(text + i));
        int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8(wanted)));
        found += __builtin_popcount((unsigned)mask);
    }
    return found;
}

__attribute__((target("avx2"))) static uint32_t sum_avx2(const uint32_t *values, int count)
{
    __m256i sum = _mm256_setzero_si256();
    __m256i order = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    uint32_t lanes[8];
    uint32_t total = 0;

    for (int i = 0; i < count; i += 8) {
        __m256i loaded = _mm256_i32gather_epi32((const int *)values + i, order, 4);
        sum = _mm256_add_epi32(sum, _mm256_permutevar8x32_epi32(loaded, order));
    }
    _mm256_storeu_si256((__m256i *)lanes, sum);
    for (int i = 0; i < 8; i++)
        total += lanes[i] * (uint32_t)(i + 1);
    return total;
}

__attribute__((target("avx2"))) static double dot_avx2(const double *a, const double *b, int count)
{
    __m256d sum = _mm256_setzero_pd();
    double lanes[4];

    for (int i = 0; i < count; i += 4)
        sum = _mm256_add_pd(sum, _mm256_mul_pd(_mm256_loadu_pd(a + i), _mm256_loadu_pd(b + i)));
    _mm256_storeu_pd(lanes, sum);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

/* What sum_avx2 and dot_avx2 compute, so that the output is the same on every machine. */
static uint32_t sum_weighted(const uint32_t *values, int count)
{
    uint32_t total = 0;

    for (int i = 0; i < count; i++)
        total += values[i] * (uint32_t)(i % 8 + 1);
    return total;
}

static double dot_plain(const double *a, const double *b, int count)
{
    double sum = 0;

    for (int i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

int main(void)
{
    static const char text[] = "the quick brown fox jumps over the lazy dog; so do the others...";
    uint32_t values[64];
    double a[32];
    double b[32];
    int has_avx2 = __builtin_cpu_supports("avx2");

    for (int i = 0; i < 64; i++)
        values[i] = (uint32_t)i * 2654435761u;
    for (int i = 0; i < 32; i++) {
        a[i] = i;
        b[i] = 32 - i;
    }
    printf("sse2 sum %08x\n", sum_sse2(values, 64));
    printf("sse2 count %d\n", count_byte_sse2(text, (int)sizeof(text) - 1, 'o'));
    printf("wide sum %08x\n", has_avx2 ? sum_avx2(values, 64) : sum_weighted(values, 64));
    printf("wide dot %.1f\n", has_avx2 ? dot_avx2(a, b, 32) : dot_plain(a, b, 32));
    return 0;
}
