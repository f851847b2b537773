package salscript

// Fill is fill, for fuzzing.
var Fill = fill
