// Offsets in the wall's list, as plan_linux.go writes it.
#define WALL_BASE   0x100000
#define HEAD_ERROR  0
#define HEAD_FAILED 8
#define HEAD_FIRST  24
#define STEP_NUMBER 0
#define STEP_ARGS   8
#define STEP_STORE  56
#define STEP_VALUE  64
#define STEP_FAILED 72
#define STEP_ZERO   80
#define STEP_SAME   88
#define STEP_ELSE   96
