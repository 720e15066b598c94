/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Images are mapped privately and read-only. Whoever truncates a mapped file while we use it gets
 * SIGBUS, as with any other reader of mapped files; reading whole files instead would make opening
 * a model cost as much as its largest library.
 */
#include "wet/model/image.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <wetdbg/errors.h>

int mdl_image_map(struct mdl_image_bytes *image, int fd, const char *path)
{
    struct stat status;
    void *data, *scratch;
    size_t size;

    if (fstat(fd, &status) < 0)
        return wetdbg_fail_errno("cannot look at the image of %s", path);
    if (!S_ISREG(status.st_mode) || status.st_size <= 0)
        return wetdbg_fail(-EINVAL, "the image of %s is empty or no file", path);
    size = (size_t)status.st_size;
    data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return wetdbg_fail_errno("cannot map the image of %s", path);
    scratch = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    if (scratch == MAP_FAILED) {
        wetdbg_fail_errno("cannot map the image of %s", path);
        munmap(data, size);
        return -ENOMEM;
    }
    *image = (struct mdl_image_bytes){
        .data = data, .size_bytes = size, .is_mapped = true, .scratch = scratch};
    return 0;
}

void mdl_image_fini(struct mdl_image_bytes *image)
{
    if (image->scratch)
        munmap(image->scratch, image->size_bytes);
    if (image->is_mapped)
        munmap((void *)image->data, image->size_bytes);
    memset(image, 0, sizeof(*image));
}

int mdl_elf_section(Elf *elf, const char *name, GElf_Shdr *shdr, Elf_Scn **scn)
{
    size_t strings;

    if (!elf || elf_getshdrstrndx(elf, &strings) < 0)
        return -1;
    *scn = NULL;
    while ((*scn = elf_nextscn(elf, *scn))) {
        const char *section;

        if (!gelf_getshdr(*scn, shdr))
            continue;
        section = elf_strptr(elf, strings, shdr->sh_name);
        if (section && strcmp(section, name) == 0)
            return 0;
    }
    return -1;
}
