# Refuses a machine that the kernel cannot run on, with a message on COM1 and on the VGA text screen.
#
# 32-bit code that runs before anything else is set up: no paging, no interrupt table. `esi` and
# `edi` belong to `boot.s` until a refusal. A refusal uses no stack, as there may be no memory for
# one.

.section .boot, "ax"
.code32
check_processor:
    pushfd                              # a processor with CPUID lets bit 21 of the flags change
    pop eax
    mov ecx, eax
    xor eax, 0x200000
    push eax
    popfd
    pushfd
    pop eax
    cmp eax, ecx
    mov ebx, offset no_cpuid
    je lacks
    mov eax, 1
    cpuid
    mov ebp, edx                        # features of leaf 1
    mov eax, 0x80000000
    cpuid
    xor edx, edx
    cmp eax, 0x80000001
    jb 2f
    mov eax, 0x80000001
    cpuid
2:
    mov ecx, edx                        # features of leaf 0x80000001
    mov eax, offset needed
3:
    mov ebx, [eax + 8]                  # name; none ends the table
    test ebx, ebx
    jz suitable
    mov edx, ebp
    cmp dword ptr [eax], 1
    je 4f
    mov edx, ecx
4:
    test edx, [eax + 4]
    jz lacks
    add eax, 12
    jmp 3b

lacks:                                  # ebx: name of what the processor lacks
    mov ebp, offset says_lacks
    jmp refuse
too_little_memory:
    mov ebp, offset says_memory
refuse:                                 # ebp: texts to say, one after the other; ebx: what stands for the one that is 1
    mov esi, offset line_set_up         # 115,200 baud, 8 bits, no parity
5:
    movzx edx, word ptr [esi]
    test edx, edx
    jz 6f
    mov al, [esi + 2]
    out dx, al
    add esi, 3
    jmp 5b
6:
    mov edi, 0xb8000
next_text:
    mov esi, [ebp]
    add ebp, 4
    test esi, esi
    jz refused
    cmp esi, 1
    jne next_byte
    mov esi, ebx
next_byte:
    mov ah, [esi]
    inc esi
    test ah, ah
    jz next_text
    mov ecx, 100000                     # a line that never becomes free does not hold the rest up
7:
    mov dx, {COM1} + 5
    in al, dx
    test al, 0x20
    jnz 8f
    dec ecx
    jnz 7b
8:
    mov al, ah
    mov dx, {COM1}
    out dx, al
    cmp al, ' '
    jb next_byte
    mov ah, 0x0f                        # white on black
    mov [edi], ax
    add edi, 2
    jmp next_byte
refused:
    mov esi, offset says_status
9:
    mov al, [esi]
    inc esi
    test al, al
    jz 10f
    mov dx, {DEBUG_CONSOLE}
    out dx, al
    jmp 9b
10:
    mov eax, {UNSUITABLE}
    mov dx, {DEBUG_EXIT}
    out dx, eax
11:
    hlt
    jmp 11b

.section .boot.texts, "a"
.p2align 2
needed:                                 # leaf (1, or 2 for 0x80000001), bit of edx, name
    .long 1, 1 << 4, no_tsc
    .long 1, 1 << 5, no_msr
    .long 1, 1 << 6, no_pae
    .long 1, 1 << 8, no_cx8
    .long 1, 1 << 9, no_apic
    .long 1, 1 << 15, no_cmov
    .long 1, 1 << 24, no_fxsr
    .long 1, 1 << 25, no_sse
    .long 1, 1 << 26, no_sse2
    .long 2, 1 << 29, no_long
    .long 2, 1 << 20, no_nx
    .long 0, 0, 0
says_lacks:
    .long text_lacks, 1, text_way_out, 0
says_memory:
    .long text_memory, 0
line_set_up:                            # port, value
    .short {COM1} + 1
    .byte 0
    .short {COM1} + 3
    .byte 0x80
    .short {COM1}
    .byte 1
    .short {COM1} + 1
    .byte 0
    .short {COM1} + 3
    .byte 3
    .short {COM1} + 2
    .byte 0xc7
    .short {COM1} + 4
    .byte 3
    .short 0
text_lacks: .asciz "cannot start: the processor lacks "
text_way_out: .asciz "; use an x86-64 one that has it, or switch it on in the firmware's set-up or the emulator's -cpu option\r\n"
text_memory: .asciz "cannot start: too little memory for the kernel; give the machine 64 MiB\r\n"
says_status: .asciz "exit status {UNSUITABLE}\n"
no_cpuid: .asciz "CPUID"
no_tsc: .asciz "a time-stamp counter (TSC)"
no_msr: .asciz "model-specific registers (MSR)"
no_pae: .asciz "large physical addresses (PAE)"
no_cx8: .asciz "CMPXCHG8B (CX8)"
no_apic: .asciz "a local APIC"
no_cmov: .asciz "conditional moves (CMOV)"
no_fxsr: .asciz "FXSAVE (FXSR)"
no_sse: .asciz "SSE"
no_sse2: .asciz "SSE2"
no_long: .asciz "64-bit mode (long mode, LM)"
no_nx: .asciz "protection of data from execution (NX, XD)"
