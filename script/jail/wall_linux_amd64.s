#include "textflag.h"
#include "wall_linux.h"

// The wall's program: it makes system call after system call from the list
// that stands at WALL_BASE, and knows nothing of what they are for. It keeps where
// it is in one register, so that a process that shares its memory for a while
// (vfork) does not disturb it. Where a list has an end it returns, with the last
// result, as a function of C. See plan_linux.go for the list's form.
TEXT ·wallText(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX
	MOVQ $WALL_BASE, R11
	MOVQ HEAD_FIRST(R11), BX

next:
	TESTQ BX, BX
	JEQ  end
	MOVQ STEP_NUMBER(BX), AX
	MOVQ (STEP_ARGS+0)(BX), DI
	MOVQ (STEP_ARGS+8)(BX), SI
	MOVQ (STEP_ARGS+16)(BX), DX
	MOVQ (STEP_ARGS+24)(BX), R10
	MOVQ (STEP_ARGS+32)(BX), R8
	MOVQ (STEP_ARGS+40)(BX), R9
	SYSCALL
	MOVQ STEP_STORE(BX), DX
	MOVQ AX, (DX)
	CMPQ AX, $-4095
	JCC  failed
	TESTQ AX, AX
	JEQ  zero
	CMPQ AX, STEP_VALUE(BX)
	JEQ  same
	MOVQ STEP_ELSE(BX), BX
	JMP  next

zero:
	MOVQ STEP_ZERO(BX), BX
	JMP  next

same:
	MOVQ STEP_SAME(BX), BX
	JMP  next

failed:
	MOVQ $WALL_BASE, R11
	MOVQ AX, HEAD_ERROR(R11)
	MOVQ BX, HEAD_FAILED(R11)
	MOVQ STEP_FAILED(BX), BX
	JMP  next

end:
	POPQ BX
	RET

	// Where the program ends, for whoever copies it.
	BYTE $0x72; BYTE $0x61; BYTE $0x6d; BYTE $0x65; BYTE $0x74; BYTE $0x65; BYTE $0x6e; BYTE $0x64
	RET

// func wallAddress() unsafe.Pointer
TEXT ·wallAddress(SB), NOSPLIT, $0-8
	LEAQ ·wallText(SB), AX
	MOVQ AX, ret+0(FP)
	RET
