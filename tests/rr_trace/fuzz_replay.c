/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the fuzzer's function over the files of the directories given, without a fuzzer: the
 * corpus stays a test for every compiler. */
#include <dirent.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    uint8_t *bytes = size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (!bytes) {
        perror(path);
        return 1;
    }
    rewind(file);
    size_t got = fread(bytes, 1, (size_t)size, file);
    fclose(file);
    if (got == (size_t)size)
        LLVMFuzzerTestOneInput(bytes, got);
    free(bytes);
    return got != (size_t)size;
}

static int run_dir(const char *dir, size_t *count)
{
    DIR *handle = opendir(dir);
    struct dirent *entry;
    int failed = 0;
    if (!handle) {
        perror(dir);
        return 1;
    }
    while ((entry = readdir(handle)) != NULL) {
        char path[PATH_MAX];
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
        failed |= run_file(path);
        (*count)++;
    }
    closedir(handle);
    return failed;
}

int main(int argc, char **argv)
{
    size_t count = 0;
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= run_dir(argv[i], &count);
    printf("%zu inputs\n", count);
    return failed || count == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
