# From the loader to Rust: two 32-bit entries (PVH, multiboot2), then long mode.
#
# Both loaders hand over in 32-bit protected mode without paging, with the address of their
# information in `ebx`. The first page tables map the first 4 GiB twice, identically and at
# DIRECT_MAP; `memory` replaces them. An unsuitable processor, or too little memory, is refused with
# a message (`refuse.s`) before anything depends on it.

.section .note.Xen, "a", @note
.p2align 2
    .long 4, 8, 18                      # name and descriptor sizes, XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .quad pvh_start                     # QEMU reads eight bytes from a 64-bit ELF file

.section .multiboot2, "a"
.p2align 3
header:
    .long 0xe85250d6, 0, header_end - header, -(0xe85250d6 + (header_end - header))
    .short 6, 0                         # modules on page boundaries
    .long 8
    .short 0, 0                         # end
    .long 8
header_end:

.section .boot, "ax"
.code32
.global multiboot_start
pvh_start:
    mov esi, {PVH}
    jmp start32
multiboot_start:
    mov esi, {MULTIBOOT2}
    cmp eax, 0x36d76289
    je start32
    xor esi, esi                        # neither: Rust says so
start32:
    cli
    cld
    mov edi, ebx
    # A loader without room beside the kernel may put the system image over it.
    cmp esi, {PVH}
    jne 1f
    cmp dword ptr [ebx + 12], 0         # modules
    je 1f
    mov ecx, [ebx + 16]                 # the first one's record: address and size
    mov edx, [ecx]
    cmp edx, offset image_end
    jae 1f
    add edx, [ecx + 8]
    cmp edx, offset image_start
    ja too_little_memory
1:
    # Without memory at the image's end there is no stack to continue on.
    mov ecx, offset image_end - 4
    mov dword ptr [ecx], 0x5aa5c33c
    cmp dword ptr [ecx], 0x5aa5c33c
    jne too_little_memory
    mov dword ptr [ecx], 0
    mov esp, offset {stacks} + {STACK_SPAN}
    jmp check_processor
suitable:

    xor ecx, ecx
fill:                                   # boot_p2[i] = i * 2 MiB, present, writable, large
    mov eax, ecx
    shl eax, 21
    or eax, 0x83
    mov dword ptr [boot_p2 + ecx * 8], eax
    inc ecx
    cmp ecx, 2048
    jne fill
    mov dword ptr [boot_p3], offset boot_p2 + 3
    mov dword ptr [boot_p3 + 8], offset boot_p2 + 0x1003
    mov dword ptr [boot_p3 + 16], offset boot_p2 + 0x2003
    mov dword ptr [boot_p3 + 24], offset boot_p2 + 0x3003
    mov dword ptr [boot_p4], offset boot_p3 + 3
    mov dword ptr [boot_p4 + 256 * 8], offset boot_p3 + 3

    mov eax, offset boot_p4
    mov cr3, eax
    mov eax, cr4
    or eax, 0x620                       # PAE, OSFXSR, OSXMMEXCPT
    mov cr4, eax
    mov ecx, 0xc0000080                 # EFER: LME, NXE
    rdmsr
    or eax, 0x900
    wrmsr
    mov eax, cr0
    and eax, 0x9ffffff3                 # not CD, NW, TS, EM
    or eax, 0x80010022                  # PG, WP, NE, MP
    mov cr0, eax
    lgdt [boot_gdt_pointer]
    push 8
    mov eax, offset start64
    push eax
    retf

.code64
start64:
    mov eax, 16
    mov ds, eax
    mov es, eax
    mov ss, eax
    xor eax, eax
    mov fs, eax
    mov gs, eax
    lea rsp, [rip + {stacks} + {STACK_SPAN}]
    xor ebp, ebp
    mov edi, edi                        # the upper halves are undefined
    mov esi, esi
    call {main}
    ud2

.section .boot.texts, "a"
.p2align 3
boot_gdt:
    .quad 0, 0x00af9b000000ffff, 0x00cf93000000ffff
boot_gdt_pointer:
    .short 23
    .long boot_gdt, 0

.section .bss.boot, "aw", @nobits
.p2align 12
boot_p4: .skip 4096
boot_p3: .skip 4096
boot_p2: .skip 4 * 4096
