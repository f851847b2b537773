#include "textflag.h"
#include "wall_linux.h"

// The wall's program; see wall_linux_amd64.s, which is the same.
TEXT ·wallText(SB), NOSPLIT|NOFRAME, $0
	MOVD $WALL_BASE, R9
	MOVD HEAD_FIRST(R9), R10
	MOVD $-4095, R11

next:
	CBZ  R10, end
	MOVD STEP_NUMBER(R10), R8
	MOVD (STEP_ARGS+0)(R10), R0
	MOVD (STEP_ARGS+8)(R10), R1
	MOVD (STEP_ARGS+16)(R10), R2
	MOVD (STEP_ARGS+24)(R10), R3
	MOVD (STEP_ARGS+32)(R10), R4
	MOVD (STEP_ARGS+40)(R10), R5
	SVC
	MOVD STEP_STORE(R10), R12
	MOVD R0, (R12)
	CMP  R11, R0
	BHS  failed
	CBZ  R0, zero
	MOVD STEP_VALUE(R10), R12
	CMP  R12, R0
	BEQ  same
	MOVD STEP_ELSE(R10), R10
	B    next

zero:
	MOVD STEP_ZERO(R10), R10
	B    next

same:
	MOVD STEP_SAME(R10), R10
	B    next

failed:
	MOVD R0, HEAD_ERROR(R9)
	MOVD R10, HEAD_FAILED(R9)
	MOVD STEP_FAILED(R10), R10
	B    next

end:
	RET

	// Where the program ends, for whoever copies it: "rametend".
	WORD $0x656d6172
	WORD $0x646e6574
	RET

// func wallAddress() unsafe.Pointer
TEXT ·wallAddress(SB), NOSPLIT, $0-8
	MOVD $·wallText(SB), R0
	MOVD R0, ret+0(FP)
	RET
