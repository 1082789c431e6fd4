/* `_dl_find_object` for programs that are linked with musl: the unwinder of GCC 12 and newer asks for it, and only glibc has it. Without it a
 * program would not link; with it a panic prints its stack. The GNU C Library manual, "Dynamic Linker Introspection", says what it must do.
 *
 * Compiled with the headers of glibc, which declare the structures; those of `dl_iterate_phdr` are the same in musl. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <string.h>

struct query {
    ElfW(Addr) address;
    struct dl_find_object *result;
};

static int look(struct dl_phdr_info *info, size_t size, void *data) {
    struct query *query = data;
    ElfW(Addr) start = 0, end = 0, frame = 0;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        ElfW(Addr) at = info->dlpi_addr + header->p_vaddr;
        if (header->p_type == PT_LOAD && query->address >= at && query->address < at + header->p_memsz) {
            start = at;
            end = at + header->p_memsz;
        }
        if (header->p_type == PT_GNU_EH_FRAME)
            frame = at;
    }
    if (end == 0 || frame == 0)
        return 0;
    memset(query->result, 0, sizeof *query->result);
    query->result->dlfo_map_start = (void *)start;
    query->result->dlfo_map_end = (void *)end;
    query->result->dlfo_eh_frame = (void *)frame;
    return 1;
}

int _dl_find_object(void *address, struct dl_find_object *result) {
    struct query query = {(ElfW(Addr))address, result};
    return dl_iterate_phdr(look, &query) ? 0 : -1;
}
