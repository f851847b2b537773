package rhaiscript

// assumedMemory is for machines that do not tell theirs.
const assumedMemory = 4 << 30 // bytes
